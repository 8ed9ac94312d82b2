package launch

import (
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
)

// A layout is an iteration space and the strides of some operands over it: axes
// from the innermost out, none of extent 1, no two neighbours that are one run in
// every operand. Unlike a space.Space it is made for one call after the other
// without allocating.
type layout struct {
	operands int
	count    int64   // positions
	extents  []int64 // for each axis
	strides  []int64 // for each axis an entry for each operand, in elements
}

// set makes l the layout of the axes of shape that order lists, the innermost
// first, for operands of the given strides.
func (l *layout) set(shape, order []int, strides [][]int) {
	l.operands, l.count = len(strides), 1
	l.extents, l.strides = l.extents[:0], l.strides[:0]
	for _, a := range order {
		n := shape[a]
		l.count *= int64(n)
		if n == 1 || l.join(n, a, strides) {
			continue
		}
		l.extents = append(l.extents, int64(n))
		for k := range strides {
			l.strides = append(l.strides, int64(strides[k][a]))
		}
	}
}

// join makes axis a, of extent n, part of the outermost axis if it goes on where
// that ends.
func (l *layout) join(n, a int, strides [][]int) bool {
	last := len(l.extents) - 1
	if last < 0 {
		return false
	}
	for k := range strides {
		if int64(strides[k][a]) != l.extents[last]*l.stride(last, k) {
			return false
		}
	}
	l.extents[last] *= int64(n)
	return true
}

func (l *layout) rank() int { return len(l.extents) }

// stride returns the distance of neighbours along an axis in an operand.
func (l *layout) stride(axis, operand int) int64 { return l.strides[axis*l.operands+operand] }

func (l *layout) setStride(axis, operand int, v int64) { l.strides[axis*l.operands+operand] = v }

// contiguous reports whether every operand is row-major without gaps.
func (l *layout) contiguous() bool {
	if l.rank() == 0 {
		return true
	}
	for k := range l.operands {
		if l.stride(0, k) != 1 {
			return false
		}
	}
	return l.rank() == 1
}

// remove drops an axis, of which every operand has one element or a base is
// moved instead.
func (l *layout) remove(axis int) {
	n := l.operands
	l.count /= max(l.extents[axis], 1)
	l.extents = append(l.extents[:axis], l.extents[axis+1:]...)
	l.strides = append(l.strides[:axis*n], l.strides[(axis+1)*n:]...)
}

// vectors makes positions of w neighbours along the innermost axis; strides stay
// those of elements.
func (l *layout) vectors(w int64) {
	l.count /= w
	l.extents[0] /= w
}

// widen makes w neighbours along the innermost axis one element, where every
// operand has stride 1 there and all other strides are multiples of w.
func (l *layout) widen(w int64) {
	l.vectors(w)
	for d := 1; d < l.rank(); d++ {
		for k := range l.operands {
			l.setStride(d, k, l.stride(d, k)/w)
		}
	}
	if l.extents[0] == 1 {
		l.remove(0)
	}
}

// width returns the largest power of two of elements, at most limit, that widen
// may make one: innermost strides are 1, or 0 where repeats is set, and the
// elements of the operand of stride 1 are at a multiple of it.
func (l *layout) width(limit int64, repeats bool) int64 {
	if l.rank() == 0 {
		return 1
	}
	all := l.extents[0]
	for k := range l.operands {
		switch l.stride(0, k) {
		case 1:
			for d := 1; d < l.rank(); d++ {
				all |= l.stride(d, k)
			}
		case 0:
			if !repeats {
				return 1
			}
		default:
			return 1
		}
	}
	return min(limit, all&-all)
}

// fits reports whether a kernel can take the layout at once: positions and, for
// kernels that keep 32-bit ones, offsets are below 2^31.
func (l *layout) fits(offsets bool) bool {
	if l.rank() > space.MaxRank || l.count >= space.Limit {
		return false
	}
	if !offsets {
		return true
	}
	for k := range l.operands {
		if l.reach(k) >= space.Limit {
			return false
		}
	}
	return true
}

// reach is the offset of the operand's farthest element.
func (l *layout) reach(operand int) int64 {
	far := int64(0)
	for d, n := range l.extents {
		far += (n - 1) * l.stride(d, operand)
	}
	return far
}

// A piece is a part of a layout that a kernel can take.
type piece struct {
	layout
	first   int64   // linear index of its position 0 in the whole
	offsets []int64 // of position 0 in every operand, in elements
}

// pieces calls f for the parts that l must be cut into, in order. It cuts the
// outermost axis, so that positions of a part are neighbours in the whole.
func (l *layout) pieces(offsets bool, f func(*piece) error) error {
	if l.count == 0 {
		return nil
	}
	p := &piece{layout: *l, offsets: make([]int64, l.operands)}
	return p.cut(offsets, f)
}

func (p *piece) cut(offsets bool, f func(*piece) error) error {
	if p.fits(offsets) {
		return f(p)
	}
	outer := p.rank() - 1
	extent, inner := p.extents[outer], p.count/p.extents[outer]
	step := p.cutStep(offsets)
	for at := int64(0); at < extent; at += step {
		n := min(step, extent-at)
		part := &piece{first: p.first + at*inner}
		part.operands, part.count = p.operands, inner*n
		part.extents = append([]int64(nil), p.extents...)
		part.strides = append([]int64(nil), p.strides...)
		for k, o := range p.offsets {
			part.offsets = append(part.offsets, o+at*p.stride(outer, k))
		}
		part.extents[outer] = n
		if n == 1 {
			part.remove(outer)
		}
		if err := part.cut(offsets, f); err != nil {
			return err
		}
	}
	return nil
}

// cutStep is how many positions of the outermost axis a part may have: 1 where
// the other axes are too much already.
func (p *piece) cutStep(offsets bool) int64 {
	outer := p.rank() - 1
	if p.rank() > space.MaxRank {
		return 1
	}
	step := (space.Limit - 1) / (p.count / p.extents[outer])
	if offsets {
		for k := range p.operands {
			if s := p.stride(outer, k); s > 0 {
				rest := p.reach(k) - (p.extents[outer]-1)*s
				step = min(step, (space.Limit-1-rest)/s+1)
			}
		}
	}
	// A part that is as large as the whole would be cut for ever.
	return max(1, min(step, p.extents[outer]-1))
}

// encode adds the layout to a kernel's parameters: the struct Space.
func (l *layout) encode(p *driver.Params, first int64) {
	p.Int64(first)
	p.Int64(l.count)
	p.Int32(int32(l.rank()))
	for d := range space.MaxRank {
		if d < l.rank() {
			space.AppendDivider(p, int(l.extents[d]))
		} else {
			p.Struct(noDivider[:], 4)
		}
	}
	p.Align(8)
	for k := range l.operands {
		for d := range space.MaxRank {
			if d < l.rank() {
				p.Int64(l.stride(d, k))
			} else {
				p.Int64(0)
			}
		}
	}
}

// noDivider stands for the axes that a space does not have.
var noDivider [12]byte

// encodeRun is encode for a space of one axis of stride 1 and any length, of
// which the kernel reads the count alone.
func (l *layout) encodeRun(p *driver.Params) {
	p.Int64(0)
	p.Int64(l.count)
	p.Int32(0)
	for range space.MaxRank {
		p.Struct(noDivider[:], 4)
	}
	p.Align(8)
	for range l.operands * space.MaxRank {
		p.Int64(0)
	}
}

// natural lists the axes of a shape from the innermost out, but for those of
// extent 1.
func natural(order, shape []int) []int {
	order = order[:0]
	for a := len(shape) - 1; a >= 0; a-- {
		if shape[a] != 1 {
			order = append(order, a)
		}
	}
	return order
}

// nearest sorts axes so that neighbours along the first are closest together in
// the first of the given strides, and where that does not tell in the next. The
// sort is stable: it keeps an order that is good.
func nearest(order []int, strides ...[]int) {
	closer := func(a, b int) bool {
		for _, s := range strides {
			if s[a] != s[b] {
				return s[a] < s[b]
			}
		}
		return false
	}
	for i := 1; i < len(order); i++ {
		for j := i; j > 0 && closer(order[j], order[j-1]); j-- {
			order[j], order[j-1] = order[j-1], order[j]
		}
	}
}
