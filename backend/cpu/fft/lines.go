package fft

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/ir"
)

// A line is where the points along the transformed axis lie, of the operand and of
// the result: the offset of the first and the distance of neighbours, in elements.
type line struct{ in, out int }

// lines are all lines of a call: the other axes of operand and result.
type lines struct {
	shape, in, out []int // extents, and strides of operand and result
	count          int
	inStep, toStep int // along the axis
}

func linesOf(out, in ir.View, axis int) lines {
	l := lines{count: 1, inStep: in.Strides[axis], toStep: out.Strides[axis]}
	for a, n := range in.Shape {
		if a != axis {
			l.shape, l.count = append(l.shape, n), l.count*n
			l.in, l.out = append(l.in, in.Strides[a]), append(l.out, out.Strides[a])
		}
	}
	return l
}

// at returns line i in row-major order.
func (l *lines) at(i int) (at line) {
	for a := len(l.shape) - 1; a >= 0; a-- {
		q := i / l.shape[a]
		r := i - q*l.shape[a]
		at.in, at.out = at.in+r*l.in[a], at.out+r*l.out[a]
		i = q
	}
	return at
}

const (
	maxLanes  = 16    // lines that are interleaved
	laneLimit = 32768 // points of interleaved lines, above which there are fewer
	minLanes  = 4     // so that a cache line of strided memory is used
	lineWork  = 4096  // points that are worth another processor
)

// lanes returns how many lines are done at once by a plan, interleaved. Lines that
// lie in one piece are done by themselves, unless they are short, or vectors would
// have nothing to do in the first passes.
func (p *plan[F]) lanes(l *lines) int {
	if p.chirp != nil {
		return 1
	}
	if l.inStep == 1 && l.toStep == 1 && p.n >= 64 && (p.vectors.first == nil || p.passes[0].columns != nil) {
		return 1
	}
	return min(l.count, max(minLanes, min(maxLanes, laneLimit/p.n)))
}

// each calls f for groups of lines, with so many bytes to work in, on all
// processors. With fewer groups than these f is told to share its passes among them.
func (l *lines) each(lanes, n, bytes int, f func(group []line, work unsafe.Pointer, shared bool)) {
	groups := (l.count + lanes - 1) / lanes
	shared := groups < runtime.GOMAXPROCS(0) && n*lanes > passWork
	grain := max(1, lineWork/(n*lanes))
	if shared {
		grain = groups
	}
	pool.For(groups, grain, func(lo, hi int) {
		block := scratch.Get(bytes)
		defer block.Put()
		group := make([]line, 0, maxLanes)
		for ; lo < hi; lo++ {
			group = group[:0]
			for i := lo * lanes; i < min(l.count, (lo+1)*lanes); i++ {
				group = append(group, l.at(i))
			}
			f(group, block.Ptr(), shared)
		}
	})
}

// memory is the elements of a view from its first, however they are laid out.
func memory[E any](v ir.View) []E {
	_, end := ir.Layout{Shape: v.Shape, Strides: v.Strides}.Span()
	return unsafe.Slice((*E)(v.Ptr), end)
}

// A buffer is memory for points of a group of lines.
type buffer[F float] struct {
	x, y  []point[F]
	chirp []point[float64]
}

// apart returns how many points lie between the two halves of a buffer of so many
// points each: were these a power of two apart, what is read of one would wait for what
// is written to the other. Large ones wait for other things.
func apart(n int) int {
	if n > 4096 {
		return 0
	}
	return 24
}

// bytes returns what a buffer for a plan and lanes lines takes.
func (p *plan[F]) bytes(lanes int) int {
	if p.chirp != nil {
		return 16*p.chirp.size() + p.n*int(unsafe.Sizeof(point[F]{}))
	}
	return (2*p.n*lanes + apart(p.n*lanes)) * int(unsafe.Sizeof(point[F]{}))
}

// buffer divides memory of so many bytes.
func (p *plan[F]) buffer(lanes int, memory unsafe.Pointer) (b buffer[F]) {
	if p.chirp != nil {
		size := p.chirp.size()
		b.chirp = unsafe.Slice((*point[float64])(memory), size)
		b.x = unsafe.Slice((*point[F])(unsafe.Add(memory, 16*size)), p.n)
		return b
	}
	n := p.n * lanes
	all := unsafe.Slice((*point[F])(memory), 2*n+apart(n))
	b.x, b.y = all[:n], all[n+apart(n):]
	return b
}

// transform transforms in, which may be b.x, and returns where the result is: out,
// if that is not nil and there is more than one pass, else memory of b.
func (p *plan[F]) transform(in, out []point[F], b *buffer[F], lanes int, shared bool) []point[F] {
	n := p.n * lanes
	if p.chirp != nil {
		transform(p.chirp, b.x, in[:n], b.chirp, shared)
		return b.x
	}
	switch len(p.passes) {
	case 0:
		copy(b.x[:n], in)
		return b.x[:n]
	case 1:
		out = nil
	}
	return p.run(in[:n], out, b.x[:n], b.y[:n], lanes, shared)
}

// adjacent reports whether the lines of a group lie side by side from the first on,
// at the places of one side.
func adjacent(group []line, side func(line) int) bool {
	for i, at := range group {
		if side(at) != side(group[0])+i {
			return false
		}
	}
	return true
}
