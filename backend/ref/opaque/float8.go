package opaque

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/ir"
)

// Float8Bytes returns the codes of the elements of x in a format: of its numbers, which the
// codes up to top count from 0 on, the nearest, the even one of two. Attributes: unit, one
// over the smallest normal number; steps, how many numbers there are from a power of two to
// the next; top; over, the code of what is larger; nan; least, the first code with a sign.
func Float8Bytes(c *ir.Call) error {
	attr := func(i int) float64 { return c.Attrs[i].Scalar.Float() }
	unit, steps, top := attr(0), attr(1), int(attr(2))
	value := func(code int) float64 { // of the format, had it exponents without end
		exponent, fraction := code/int(steps), float64(code%int(steps))
		if exponent == 0 {
			return fraction / steps / unit
		}
		return math.Ldexp((1+fraction/steps)/unit, exponent-1)
	}
	out := newTensor(c.Out[0].Shape, ir.Scalar{})
	for i, s := range load(c.In[0], c.Compute).v {
		x, code := math.Abs(s.Float()), 0
		for code <= top && value(code) < x {
			code++
		}
		if code > 0 {
			below, above := x-value(code-1), value(code)-x
			if below < above || below == above && code%2 == 1 {
				code--
			}
		}
		if code > top {
			code = int(attr(3))
		}
		switch {
		case x != x:
			code = int(attr(4))
		case math.Signbit(s.Float()) && code >= int(attr(5)) && code < 128:
			code += 128
		}
		out.v[i] = ir.IntScalar(int64(code))
	}
	store(c.Out[0], out, ir.Uint8)
	return nil
}

// Float8Numbers returns the numbers of codes in a format, which is the attribute.
func Float8Numbers(c *ir.Call) error {
	k := c.Attrs[0].Int
	if k < 0 || k >= int64(len(ir.Float8s)) {
		return fmt.Errorf("format %d, want one of %d", k, len(ir.Float8s))
	}
	format := ir.Float8s[k]
	out := newTensor(c.Out[0].Shape, ir.Scalar{})
	for i, s := range load(c.In[0], ir.Uint8).v {
		out.v[i] = ir.FloatScalar(float64(format.Value(uint8(s.Int()))))
	}
	store(c.Out[0], out, ir.Float32)
	return nil
}
