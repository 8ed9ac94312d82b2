package kernel

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// part returns the view of v that starts at the given position of each axis and
// has the given shape.
func part(v ir.View, start, shape []int) ir.View {
	off := 0
	for i, s := range start {
		off += s * v.Strides[i]
	}
	v.Ptr, v.Shape = unsafe.Add(v.Ptr, off*v.DType.Size()), shape
	return v
}

// Cat joins the operands along attribute dim.
func Cat(c *ir.Call) error {
	out := c.Out[0]
	axis, err := axisOf(c, 0, out.Shape)
	if err != nil {
		return err
	}
	start := make([]int, len(out.Shape))
	for _, x := range c.In {
		if x.NumElements() > 0 {
			tile.Copy(part(out, start, x.Shape), x)
		}
		if axis < len(x.Shape) {
			start[axis] += x.Shape[axis]
		}
	}
	return nil
}

// PadConstant surrounds x with a value. Attributes: padding, the elements to add
// before and after the last axis, then the axis before it, and so on; value.
func PadConstant(c *ir.Call) error {
	x, out, padding := c.In[0], c.Out[0], c.Attrs[0].Ints
	if out.NumElements() == 0 {
		return nil
	}
	rank := len(x.Shape)
	from, to, shape := make([]int, rank), make([]int, rank), slices.Clone(x.Shape)
	for i := 0; i+1 < len(padding); i += 2 {
		a := rank - 1 - i/2
		before, after := padding[i], padding[i+1]
		from[a], to[a] = max(-before, 0), max(before, 0)
		shape[a] = max(0, x.Shape[a]+min(before, 0)+min(after, 0))
	}
	if !slices.Equal(shape, out.Shape) {
		fill(out, c.Attrs[1].Scalar, c.Compute)
	}
	if ir.NumElements(shape) > 0 {
		tile.Copy(part(out, to, shape), part(x, from, shape))
	}
	return nil
}

// fill sets every element of v to s, as a number of dtype compute.
func fill(v ir.View, s ir.Scalar, compute ir.DType) {
	wide := s.Complex()
	if compute == ir.Bool || compute.IsInt() {
		n := s.Int()
		if compute == ir.Bool && s.Bool() {
			n = 1
		}
		repeat(v, ir.Int64, compute, unsafe.Pointer(&n))
		return
	}
	repeat(v, ir.Complex128, compute, unsafe.Pointer(&wide))
}

// repeat sets every element of v to the number of dtype from at p, rounded to
// compute first.
func repeat(v ir.View, from, compute ir.DType, p unsafe.Pointer) {
	var one [2]uint64
	convert.Between(compute, from)(1, unsafe.Pointer(&one), 1, p, 1)
	src := ir.View{Ptr: unsafe.Pointer(&one), DType: compute, Shape: v.Shape, Strides: make([]int, len(v.Shape))}
	tile.Copy(v, src)
}

// Flip reverses x along the axes in attribute dims.
func Flip(c *ir.Call) error {
	x := c.In[0]
	if x.NumElements() == 0 {
		return nil
	}
	x.Strides = slices.Clone(x.Strides)
	for _, d := range c.Attrs[0].Ints {
		axis, err := ir.Axis(d, len(x.Shape))
		if err != nil {
			return err
		}
		if axis < len(x.Shape) {
			x.Ptr = unsafe.Add(x.Ptr, (x.Shape[axis]-1)*x.Strides[axis]*x.DType.Size())
			x.Strides[axis] = -x.Strides[axis]
		}
	}
	tile.Copy(c.Out[0], x)
	return nil
}

// NonzeroSized returns the positions of x's nonzero elements, of which there
// must be as many as attribute n says, one row of axis indices each.
func NonzeroSized(c *ir.Call) error {
	x, want := c.In[0], int(c.Attrs[0].Int)
	nonzero := in[bool](c, 0, ir.Bool)
	have := 0
	for _, b := range nonzero {
		if b {
			have++
		}
	}
	if have != want {
		return fmt.Errorf("x has %d nonzero elements, not %d", have, want)
	}
	d := tile.TargetOf(c.Out[0], ir.Int64)
	at, rank := tile.Elements[int64](d), len(x.Shape)
	for i, b := range nonzero {
		if !b || rank == 0 {
			continue
		}
		for a := rank - 1; a >= 0; a-- {
			at[a] = int64(i % x.Shape[a])
			i /= x.Shape[a]
		}
		at = at[rank:]
	}
	tile.Finish(c.Out[0], d)
	return nil
}
