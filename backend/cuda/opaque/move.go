package opaque

import (
	"math"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/space"
	"github.com/sinter-go/sinter/ir"
)

// part returns the view of v that starts at the given position of each axis and
// has the given shape.
func part(v ir.View, start, shape []int) ir.View {
	off := 0
	for i, s := range start {
		off += s * v.Strides[i]
	}
	bytes := off * v.DType.Size()
	if v.Ptr != nil {
		v.Ptr = unsafe.Add(v.Ptr, bytes)
	} else {
		v.Addr += uint64(bytes)
	}
	v.Shape = shape
	return v
}

// Cat joins the operands along attribute dim.
func Cat(g code.GPU, c *ir.Call) error {
	out := c.Out[0]
	axis, err := axisOf(c, 0, out.Shape)
	if err != nil || out.NumElements() == 0 {
		return err
	}
	outer, along, inner := around(out.Shape, axis)
	if joinsRows(c, outer) {
		return catRows(g, c, outer, along*inner)
	}
	start := make([]int, len(out.Shape))
	for _, x := range c.In {
		if x.NumElements() > 0 {
			if err := g.Store(part(out, start, x.Shape), x); err != nil {
				return err
			}
		}
		if axis < len(x.Shape) {
			start[axis] += x.Shape[axis]
		}
	}
	return nil
}

// joinsRows reports whether result and operands are rows without gaps in one
// dtype, few enough for catRows.
func joinsRows(c *ir.Call, outer int) bool {
	out := c.Out[0]
	if !out.IsContiguous() || !space.Fits(outer) {
		return false
	}
	for _, x := range c.In {
		if x.Ptr != nil || x.DType != out.DType || !x.IsContiguous() || !space.Fits(x.NumElements()*x.DType.Size()) {
			return false
		}
	}
	return true
}

// catParts is how many operands one launch joins; catEach is how many units a
// thread of these kernels takes.
const (
	catParts = 64
	catEach  = 4
)

// catRows joins rows of the operands, of which the result's have pitch elements.
func catRows(g code.GPU, c *ir.Call, rows, pitch int) error {
	out := c.Out[0]
	size := out.DType.Size()
	addrs, widths := []uint64{out.Addr}, pitch
	var in []ir.View
	for _, x := range c.In {
		if n := x.NumElements(); n > 0 {
			in = append(in, x)
			addrs = append(addrs, x.Addr)
			widths |= n / rows
		}
	}
	n := min(unitLimit(size, addrs...), widths&-widths)
	name, at := ofUnit("cat", n*size), 0
	var p driver.Params
	for len(in) > 0 {
		parts := in[:min(catParts, len(in))]
		in = in[len(parts):]
		p.Reset()
		p.Uint64(out.Addr)
		p.Int64(int64(pitch / n))
		most := int64(0)
		for _, x := range parts {
			count := x.NumElements() / n
			p.Uint64(x.Addr)
			p.Int64(int64(at))
			space.AppendDivider(&p, count/rows)
			p.Uint32(uint32(count))
			at += count / rows
			most = max(most, int64(count))
		}
		p.Struct(make([]byte, (catParts-len(parts))*catPartSize), 8)
		blocks := grid(most, blockThreads*catEach)
		blocks[0], blocks[1] = min(blocks[0], 16*g.Multiprocessors()), len(parts)
		if err := g.Launch("cat", name, blocks, block(blockThreads), 0, p.Bytes()); err != nil {
			return err
		}
	}
	return nil
}

// catPartSize is the bytes of a CatPart in cat.cu.
const catPartSize = 32

// PadConstant surrounds x with a value. Attributes: padding, the elements to add
// before and after the last axis, then the axis before it, and so on; value.
func PadConstant(g code.GPU, c *ir.Call) error {
	x, out, padding := c.In[0], c.Out[0], c.Attrs[0].Ints
	if out.NumElements() == 0 {
		return nil
	}
	rank := len(x.Shape)
	low, shape := make([]int, rank), slices.Clone(x.Shape) // the part of out that has elements of x
	from := make([]int, rank)
	for i := 0; i+1 < len(padding); i += 2 {
		a := rank - 1 - i/2
		before, after := padding[i], padding[i+1]
		from[a], low[a] = max(-before, 0), max(before, 0)
		shape[a] = max(0, x.Shape[a]+min(before, 0)+min(after, 0))
	}
	inside := part(x, from, shape)
	if slices.Equal(shape, out.Shape) {
		return g.Store(out, inside)
	}
	value, err := constant(g, c.Attrs[1].Scalar, c.Compute, out.DType)
	if err != nil {
		return err
	}
	if ok, err := padded(g, out, x, padding, padConstant, value); ok || err != nil {
		return err
	}
	if ir.NumElements(shape) == 0 || x.Ptr != nil || x.DType != out.DType || rank > space.MaxRank || !space.Fits(out.NumElements()) {
		return padInTwo(g, out, inside, low, value)
	}
	// The window's coordinates are the result's; its operand's first element is
	// where position 0 of the result would lie.
	for a, n := range low {
		inside.Addr -= uint64(n * x.Strides[a] * x.DType.Size())
	}
	return windowed(g, out, inside, low, shape, value)
}

// padInTwo fills out with value, or zeros where that has no memory, and then writes
// inside, which starts at low.
func padInTwo(g code.GPU, out, inside ir.View, low []int, value ir.View) error {
	if value.Addr == 0 {
		if err := zero(g, out); err != nil {
			return err
		}
	} else {
		value.Shape, value.Strides = out.Shape, make([]int, len(out.Shape))
		if err := g.Store(out, value); err != nil {
			return err
		}
	}
	if inside.NumElements() == 0 {
		return nil
	}
	return g.Store(part(out, low, inside.Shape), inside)
}

// constant returns a number as one element of dtype dt in device memory, rounded
// to compute first. Zero has no memory.
func constant(g code.GPU, s ir.Scalar, compute, dt ir.DType) (ir.View, error) {
	wide, whole := s.Complex(), s.Int()
	if !s.Bool() && !math.Signbit(real(wide)) && !math.Signbit(imag(wide)) {
		return ir.View{DType: dt}, nil
	}
	v := ir.View{Ptr: unsafe.Pointer(&wide), DType: ir.Complex128}
	if compute == ir.Bool || compute.IsInt() {
		if compute == ir.Bool {
			whole = 1
		}
		v = ir.View{Ptr: unsafe.Pointer(&whole), DType: ir.Int64}
	}
	v, err := g.Dense(v, compute)
	if err != nil {
		return v, err
	}
	return g.Dense(v, dt)
}

// apart is below every stride: axes that have a window are given one of these, so
// that they are not joined with a neighbour.
const apart = math.MinInt / 2

// windowEach is how many positions a thread of these kernels takes.
const windowEach = 4

// windowed launches the kernel that writes x to out where coordinates are low or
// more, and fewer than shape from there, and value elsewhere. x has out's dtype,
// and strides that may be negative. With nil for low all of out is written.
func windowed(g code.GPU, out, x ir.View, low, shape []int, value ir.View) error {
	marks := ir.ContiguousStrides(out.Shape)
	for a, n := range out.Shape {
		if low != nil && shape[a] != n {
			marks[a] = apart - a
		}
	}
	s := space.New(out.Shape, out.Strides, x.Strides, marks)
	size, runs, turn := out.DType.Size(), []bool{true, true}, 0
	joined := s.Strides[2]
	s.Strides = s.Strides[:2]
	if len(joined) > 0 && joined[0] > 0 {
		if n := vectorBytes / size; turnable(&s, n) && (out.Addr|(x.Addr+uint64(size)))%vectorBytes == 0 {
			x.Addr -= uint64(vectorBytes - size) // of the vector that the first element is the last of
			s.Widen(n, runs)
			size, turn = vectorBytes, size
		} else {
			n := s.Width(unitLimit(size, out.Addr, x.Addr), runs)
			s.Widen(n, runs)
			size *= n
		}
	}
	var p driver.Params
	return s.Each(func(piece *space.Space, at []int64) error {
		p.Reset()
		piece.Append(&p)
		p.Uint64(out.Addr + uint64(at[0]*int64(size)))
		p.Uint64(x.Addr + uint64(at[1]*int64(size)))
		p.Uint64(value.Addr)
		appendWindow(&p, joined, low, shape)
		p.Int32(int32(out.DType.Size()))
		p.Int32(int32(turn))
		return g.Launch("cat", ofUnit("window", size), grid(piece.Count(), blockThreads*windowEach), block(blockThreads), 0, p.Bytes())
	})
}

// turnable reports whether the second operand's neighbours along the innermost axis
// are the first's in the opposite order, and both have n at a time there.
func turnable(s *space.Space, n int) bool {
	if len(s.Extents) == 0 || s.Strides[0][0] != 1 || s.Strides[1][0] != -1 {
		return false
	}
	all := s.Extents[0]
	for _, strides := range s.Strides {
		for _, st := range strides[1:] {
			all |= st
		}
	}
	return all%n == 0
}

// appendWindow adds the window of a space whose axes are marked as windowed says.
func appendWindow(p *driver.Params, marks, low, shape []int) {
	bound := func(d int) (int, int) {
		if d < len(marks) && marks[d] < 0 {
			a := apart - marks[d]
			return low[a], low[a] + shape[a]
		}
		return 0, math.MaxInt32
	}
	for d := range space.MaxRank {
		from, _ := bound(d)
		p.Uint32(uint32(from))
	}
	for d := range space.MaxRank {
		_, to := bound(d)
		p.Uint32(uint32(to))
	}
}

// Flip reverses x along the axes in attribute dims.
func Flip(g code.GPU, c *ir.Call) error {
	x, out := c.In[0], c.Out[0]
	if x.NumElements() == 0 {
		return nil
	}
	x, err := onDevice(g, x, x.DType)
	if err != nil {
		return err
	}
	x.Strides = slices.Clone(x.Strides)
	for _, d := range c.Attrs[0].Ints {
		axis, err := ir.Axis(d, len(x.Shape))
		if err != nil {
			return err
		}
		if axis < len(x.Shape) {
			x.Addr += uint64((x.Shape[axis] - 1) * x.Strides[axis] * x.DType.Size())
			x.Strides[axis] = -x.Strides[axis]
		}
	}
	to, err := strided(g, out, x.DType)
	if err != nil {
		return err
	}
	if err := windowed(g, to.View, x, nil, nil, ir.View{}); err != nil {
		return err
	}
	return to.finish(g)
}
