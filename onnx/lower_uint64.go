package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// What tensors hold as the int64 of a uint64's bits needs other operators where the sign
// bit counts.

// turn maps the order of uint64 to that of int64, and back.
func turn(t tensor.Tensor) tensor.Tensor { return t.BitwiseXorScalar(int64(math.MinInt64)) }

// unsigned makes an operator that compares two operands compare uint64, too: with the
// highest bit changed they are in the order of int64.
func unsigned(f func(x, y tensor.Tensor) tensor.Tensor, back bool) lowering {
	return plain(func(c *call) error {
		x := c.t(0)
		is := c.elem(0) == format.Uint64
		if is {
			x = turn(x)
		}
		for i := 1; i < len(c.in); i++ {
			y := c.t(i)
			if is {
				y = turn(y)
			}
			x = f(x, y)
		}
		switch {
		case is && back:
			x = turn(x)
		case len(c.in) == 1:
			x = x.Clone()
		}
		return c.put(0, x)
	}).ofBits()
}

// ofUint64 is one operator of two operands where the first one is of uint64, and another
// one for other types.
func ofUint64(own, other func(x, y tensor.Tensor) tensor.Tensor) lowering {
	return plain(func(c *call) error {
		f := other
		if c.elem(0) == format.Uint64 {
			f = own
		}
		return c.put(0, f(c.t(0), c.t(1)))
	}).ofBits()
}

// divideUint64 divides numbers of 64 bits. Half of x has no sign bit: its quotient, twice,
// is right or one too small.
func divideUint64(x, y tensor.Tensor) tensor.Tensor {
	half := x.BitwiseRightShift(tensor.OnesLike(x)).BitwiseAndScalar(int64(math.MaxInt64))
	some := tensor.Where(y.LtScalar(0), tensor.OnesLike(y), y) // a divisor of 2^63 or more goes once or not at all
	q := tensor.TruncDivide(half, some).MulScalar(2)
	rest := x.Sub(q.Mul(some))
	q = q.Add(turn(rest).Ge(turn(some)).ToType(tensor.Int64))
	return tensor.Where(y.LtScalar(0), turn(x).Ge(turn(y)).ToType(tensor.Int64), q)
}

func restUint64(x, y tensor.Tensor) tensor.Tensor { return x.Sub(divideUint64(x, y).Mul(y)) }

// power has the dtype of the base. An exponent of uint64 counts as the nearest float64.
func power(c *call) error {
	x, y := c.t(0), c.t(1)
	if c.elem(1) == format.Uint64 {
		if isInt(x) {
			return fmt.Errorf("%w: %s to a power of uint64", ErrUnsupported, c.elem(0))
		}
		y = floatOfUint64(y)
	}
	return c.put(0, pow(x, y))
}

// floatOfUint64 returns float64 numbers of bits that int64 tensors hold.
func floatOfUint64(x tensor.Tensor) tensor.Tensor {
	y := x.ToType(tensor.Float64)
	return tensor.Where(x.LtScalar(0), y.AddScalar(math.Ldexp(1, 64)), y)
}
