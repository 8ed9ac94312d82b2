package ir

import (
	"math"
	"slices"
)

// SameForm reports whether two calls differ in their attributes and in where their operands
// and results are at most.
func (c *Call) SameForm(o *Call) bool {
	return c.Kernel == o.Kernel && c.Flat == o.Flat && c.Precision == o.Precision && slices.Equal(c.Space, o.Space) && slices.Equal(c.Axes, o.Axes) &&
		slices.EqualFunc(c.Out, o.Out, sameForm) && slices.EqualFunc(c.In, o.In, sameForm)
}

func sameForm(a, b View) bool {
	return a.DType == b.DType && slices.Equal(a.Shape, b.Shape) && slices.Equal(a.Strides, b.Strides)
}

// SameAttrs reports whether two calls of one kernel have the same attributes, to the bit.
func (c *Call) SameAttrs(o *Call) bool {
	return slices.EqualFunc(c.Scalars, o.Scalars, Scalar.same) && slices.EqualFunc(c.Attrs, o.Attrs, func(a, b Value) bool {
		return a.Int == b.Int && a.Str == b.Str && a.Scalar.same(b.Scalar) && (a.Ints == nil) == (b.Ints == nil) && slices.Equal(a.Ints, b.Ints)
	})
}

// same tells zeros with different signs apart, and takes a NaN for itself.
func (s Scalar) same(o Scalar) bool {
	return s.category == o.category && s.i == o.i && math.Float64bits(s.re) == math.Float64bits(o.re) && math.Float64bits(s.im) == math.Float64bits(o.im)
}
