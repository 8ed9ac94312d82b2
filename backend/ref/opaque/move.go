package opaque

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/backend/ref/element"
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// Cat joins the operands along attribute dim.
func Cat(c *ir.Call) error {
	out := newTensor(c.Out[0].Shape, ir.Scalar{})
	axis, err := axisOf(c, 0, out.shape)
	if err != nil {
		return err
	}
	start := 0
	for _, v := range c.In {
		x := load(v, c.Compute)
		each(x.shape, func(at []int) {
			s := *x.at(at)
			at[axis] += start
			*out.at(at) = s
		})
		start += x.shape[axis]
	}
	store(c.Out[0], out, c.Compute)
	return nil
}

// PadConstant surrounds x with a value. Attributes: padding, the elements to add
// before and after the last axis, then the axis before it, and so on (negative:
// to remove); value, a number of the compute dtype.
func PadConstant(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	padding, value := c.Attrs[0].Ints, element.Convert(c.Attrs[1].Scalar, c.Compute)
	out := newTensor(c.Out[0].Shape, value)
	rank := len(x.shape)
	each(out.shape, func(at []int) {
		from := slices.Clone(at)
		for i := 0; i+1 < len(padding); i += 2 {
			from[rank-1-i/2] -= padding[i]
		}
		if inside(x.shape, from) {
			*out.at(at) = *x.at(from)
		}
	})
	store(c.Out[0], out, c.Compute)
	return nil
}

// PadEdges surrounds x with elements of its own. Attributes: padding, as of PadConstant; how:
// 0 mirrors without the edge, 1 repeats the edge, and 2 continues at the other end.
func PadEdges(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	out := newTensor(c.Out[0].Shape, ir.IntScalar(0))
	each(out.shape, func(at []int) {
		*out.at(at) = *x.at(shownBy(x.shape, at, c.Attrs[0].Ints, c.Attrs[1].Int))
	})
	store(c.Out[0], out, c.Compute)
	return nil
}

// shownBy returns the place in a tensor of the given shape that a place of it with padding
// shows.
func shownBy(shape, at, padding []int, how int64) []int {
	from := slices.Clone(at)
	for i := 0; i+1 < len(padding); i += 2 {
		a := len(shape) - 1 - i/2
		k, last := at[a]-padding[i], shape[a]-1
		switch how {
		case 0:
			for k < 0 || k > last {
				k = max(-k, min(k, 2*last-k))
			}
		case 1:
			k = max(0, min(k, last))
		case 2:
			k = (k%(last+1) + last + 1) % (last + 1)
		}
		from[a] = k
	}
	return from
}

// PadEdgesGrad returns the gradient of PadEdges. Attributes: the padding with its signs
// turned; how.
func PadEdgesGrad(c *ir.Call) error {
	return inRing(c.Compute, c, padEdgesGrad[int64], padEdgesGrad[float64], padEdgesGrad[wide.Float], padEdgesGrad[complex128], padEdgesGrad[wideComplex])
}

func padEdgesGrad[T any](c *ir.Call, r ring[T]) error {
	g, padding := decode(c.In[0], c.Compute, r), make([]int, len(c.Attrs[0].Ints))
	for i, n := range c.Attrs[0].Ints {
		padding[i] = -n
	}
	out := newTensor(c.Out[0].Shape, r.number(0))
	each(g.shape, func(at []int) {
		to := out.at(shownBy(out.shape, at, padding, c.Attrs[1].Int))
		*to = r.add(*to, *g.at(at))
	})
	encode(c.Out[0], c.Compute, r, out)
	return nil
}

// inside reports whether a tensor of the given shape has the element at.
func inside(shape, at []int) bool {
	for a, n := range shape {
		if at[a] < 0 || at[a] >= n {
			return false
		}
	}
	return true
}

// Band copies the matrices in the last two axes of x, with zeros where column less
// row is not from attribute first to attribute last.
func Band(c *ir.Call) error {
	x, last := load(c.In[0], c.Compute), len(c.In[0].Shape)-1
	if last < 1 {
		return fmt.Errorf("x must have two axes or more, not shape %v", x.shape)
	}
	each(x.shape, func(at []int) {
		if d := int64(at[last] - at[last-1]); d < c.Attrs[0].Int || d > c.Attrs[1].Int {
			*x.at(at) = ir.IntScalar(0)
		}
	})
	store(c.Out[0], x, c.Compute)
	return nil
}

// Flip reverses x along the axes in attribute dims.
func Flip(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	out := newTensor(x.shape, ir.Scalar{})
	flipped := make([]bool, max(len(x.shape), 1))
	for _, d := range c.Attrs[0].Ints {
		axis, err := ir.Axis(d, len(x.shape))
		if err != nil {
			return err
		}
		flipped[axis] = true
	}
	each(x.shape, func(at []int) {
		s := *x.at(at)
		for a, n := range x.shape {
			if flipped[a] {
				at[a] = n - 1 - at[a]
			}
		}
		*out.at(at) = s
	})
	store(c.Out[0], out, c.Compute)
	return nil
}

// OnDiagonal returns matrices with the last axis of x on their diagonal that lies attribute
// offset columns from the main one, and zeros elsewhere.
func OnDiagonal(c *ir.Call) error {
	x, out, offset := load(c.In[0], c.Compute), newTensor(c.Out[0].Shape, element.Convert(ir.IntScalar(0), c.Compute)), int(c.Attrs[1].Int)
	each(x.shape, func(at []int) {
		k := at[len(at)-1]
		*out.at(append(at[:len(at)-1:len(at)-1], k+max(-offset, 0), k+max(offset, 0))) = *x.at(at)
	})
	store(c.Out[0], out, c.Compute)
	return nil
}
