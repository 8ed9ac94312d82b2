package opaque

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/conv"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// sliceWindows is how many windows are summed up at least before sums that are kept
// apart.
const sliceWindows = 512

// A weightTiling is the sum over images that the gradient of a weight is made of, in
// tiles: rows are channels at a place of the kernel, or places along an axis, and
// lanes are outputs.
type weightTiling[T float] struct {
	*weightSum[T]
	level  simd.Level
	x      *layout
	places []int // where the terms lie in a group's frames, in bytes
	along  direction
	lanes  int
	blocks int         // of outputs, in a group
	slices int         // sums over images that are kept apart
	ranges int         // of channels, for processors
	starts []conv.Term // all windows of the images there are
	tiles  []tally     // by range
	dst    []T

	data, turned unsafe.Pointer // the frames, and g as [groups, blocks, windows, lanes]
	first        int            // image that is there
	images       int            // that are
	sums         []T            // [slices, groups, blocks, terms, lanes]
}

// A direction is where the rows of tiles follow one another.
type direction struct {
	count int // of neighbours
	terms int // from one to the next
	step  int // bytes from one's element to the next one's
}

// tiles sets dst to the sum.
func (s *weightSum[T]) tiles(x ir.View, dst []T) {
	v, size := s.v, int(unsafe.Sizeof(T(0)))
	t := weightTiling[T]{weightSum: s, level: simd.Active(), dst: dst}
	t.x, t.places = v.windowsOf(x, s.dtype, 1)
	t.lanes = conv.Lanes(t.level, size)
	t.blocks = (v.outs + t.lanes - 1) / t.lanes
	t.along = t.direction()
	all, images := v.groups*t.blocks, t.x.images
	t.slices = max(1, min(images, parts/all, partElements/len(dst), images*v.outSize/sliceWindows))
	t.ranges = 1
	if procs := runtime.GOMAXPROCS(0); procs > 1 {
		t.ranges = max(1, min((4*procs+t.slices*all-1)/(t.slices*all), v.channels/2))
	}
	for r := range t.ranges {
		t.tiles = append(t.tiles, t.tilesOf(r*v.channels/t.ranges, (r+1)*v.channels/t.ranges))
	}
	windows := scratch.Get(images * v.outSize * int(unsafe.Sizeof(conv.Term{})))
	defer windows.Put()
	t.starts = scratch.Slice[conv.Term](windows, images*v.outSize)
	t.start()
	turned, sums := images*v.outSize*all*t.lanes, t.slices*all*s.terms*t.lanes
	block := scratch.Get((turned + sums) * size)
	defer block.Put()
	t.turned, t.sums = block.Ptr(), scratch.Slice[T](block, turned+sums)[turned:]
	t.x.each(func(data unsafe.Pointer, first, images int) {
		t.data, t.first, t.images = data, first, images
		pool.For(images*all, max(1, moveWork/(v.outSize*t.lanes)), t.turn)
		work := s.terms * t.lanes * images * v.outSize / t.slices / t.ranges
		pool.For(t.slices*all*t.ranges, max(1, mulWork/max(1, work)), t.run)
	})
	pool.For(all, max(1, moveWork/(s.terms*t.lanes)), t.finish)
}

// start says where the windows of the images lie that there may be at once, in frames and in g.
func (t *weightTiling[T]) start() {
	size, width := int(unsafe.Sizeof(T(0))), t.v.out[len(t.v.out)-1]
	rows, n := t.x.frame.Rows(t.v.out), 0
	for u := range t.x.images {
		for _, row := range rows {
			for i := range width {
				t.starts[n] = conv.Term{At: u*t.x.image() + row + i*size, Weight: n * t.lanes * size}
				n++
			}
		}
	}
}

// direction returns the one with the most neighbours.
func (t *weightTiling[T]) direction() direction {
	v, f := t.v, t.x.frame
	best, terms := direction{v.channels, v.places, f.Size * f.Elem}, v.places
	for a, n := range v.kernel {
		terms /= n
		last := a == len(v.kernel)-1
		if step := v.dilation[a] * f.Pitch[a] * f.Elem; n > best.count && (!last || f.Stride[a] == 1) {
			best = direction{n, terms, step}
		}
	}
	return best
}

// turn puts the gradients of a block of outputs side by side, of (image, block) pairs
// [from, to).
func (t *weightTiling[T]) turn(from, to int) {
	v, size := t.v, int(unsafe.Sizeof(T(0)))
	all, n := v.groups*t.blocks, v.outSize
	for ; from < to; from++ {
		u, b := from/all, from%all
		first := b % t.blocks * t.lanes
		src := unsafe.Add(t.g, (((t.first+u)*v.groups+b/t.blocks)*v.outs+first)*n*size)
		dst := unsafe.Add(t.turned, (b*t.images+u)*n*t.lanes*size)
		turn(t.level, size, dst, src, t.lanes*size, n*size, min(t.lanes, v.outs-first), n)
	}
}

// run computes tasks [from, to): a range of channels of a block of a slice each.
func (t *weightTiling[T]) run(from, to int) {
	v, size := t.v, int(unsafe.Sizeof(T(0)))
	row, all := t.lanes*size, v.groups*t.blocks
	for ; from < to; from++ {
		r, b, s := from%t.ranges, from/t.ranges%all, from/t.ranges/all
		lo, hi := s*t.images/t.slices*v.outSize, (s+1)*t.images/t.slices*v.outSize
		c := conv.Tiles[T]{
			Level: t.level, Narrow: v.outs-b%t.blocks*t.lanes <= t.lanes/2, Add: t.first > 0,
			Src: unsafe.Add(t.data, b/t.blocks*v.channels*t.x.frame.Size*size), Step: t.along.step,
			Dst: unsafe.Pointer(&t.sums[(s*all+b)*t.terms*t.lanes]), Pitch: t.along.terms * row,
			Weights: unsafe.Add(t.turned, b*t.images*v.outSize*row),
		}
		chunks := max(1, ((hi-lo)*row+tileBytes-1)/tileBytes)
		for i := range chunks {
			w0, w1 := lo+i*(hi-lo)/chunks, lo+(i+1)*(hi-lo)/chunks
			if w0 == w1 {
				continue
			}
			c.Terms = conv.Terms{List: t.starts[w0:w1]}
			for _, k := range t.tiles[r] {
				c.Run(k.rows, k.paired, k.tiles)
			}
			c.Add = true
		}
	}
}

// tilesOf returns those of channels [c0, c1).
func (t *weightTiling[T]) tilesOf(c0, c1 int) (list tally) {
	row, d, places := t.lanes*int(unsafe.Sizeof(T(0))), t.along, t.v.places
	if d.terms == places { // along channels
		d.count = c1 - c0
	}
	n := (d.count + conv.MostRows(t.level) - 1) / conv.MostRows(t.level)
	for term := range (c1 - c0) * places {
		if term/d.terms%d.count > 0 { // not the first in its direction
			continue
		}
		at := c0*places + term
		for i := range n {
			lo, hi := i*d.count/n, (i+1)*d.count/n
			list.add(hi-lo, false, 0, t.places[at]+lo*d.step, (at+lo*d.terms)*row)
		}
	}
	return list
}

// finish adds up the slices of blocks [from, to) and takes them to the result.
func (t *weightTiling[T]) finish(from, to int) {
	v, size := t.v, int(unsafe.Sizeof(T(0)))
	all, n := v.groups*t.blocks, t.terms*t.lanes
	for ; from < to; from++ {
		sum := t.sums[from*n : (from+1)*n]
		for s := 1; s < t.slices; s++ {
			conv.Add(t.level, t.sums[(s*all+from)*n:(s*all+from+1)*n], sum)
		}
		first := from % t.blocks * t.lanes
		to := unsafe.Pointer(&t.dst[(from/t.blocks*v.outs+first)*t.terms])
		turn(t.level, size, to, unsafe.Pointer(&sum[0]), t.terms*size, t.lanes*size, t.terms, min(t.lanes, v.outs-first))
	}
}
