package opaque

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/backend/ref/element"
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// A ring is what sums of products are computed in.
type ring[T any] struct {
	from func(ir.Scalar) T
	to   func(T) ir.Scalar // rounded once
	add  func(x, y T) T
	mul  func(x, y T) T
}

// A field is what real functions are computed in.
type field[T any] struct {
	ring[T]
	sub, quo       func(x, y T) T
	larger         func(x, y T) bool // NaN is larger than any number
	exp, log, sqrt func(T) T
}

// number returns i.
func (r ring[T]) number(i int) T { return r.from(ir.IntScalar(int64(i))) }

// doubles serves float32 and narrower.
var doubles = field[float64]{
	ring: ring[float64]{
		from: ir.Scalar.Float,
		to:   ir.FloatScalar,
		add:  func(x, y float64) float64 { return x + y },
		mul:  func(x, y float64) float64 { return x * y },
	},
	sub:    func(x, y float64) float64 { return x - y },
	quo:    func(x, y float64) float64 { return x / y },
	larger: func(x, y float64) bool { return x > y || (x != x && y == y) },
	exp:    math.Exp, log: math.Log, sqrt: math.Sqrt,
}

// wides serves float64.
var wides = field[wide.Float]{
	ring: ring[wide.Float]{
		from: func(s ir.Scalar) wide.Float { return wide.FromFloat64(s.Float()) },
		to:   func(x wide.Float) ir.Scalar { return ir.FloatScalar(x.Float64()) },
		add:  wide.Float.Add,
		mul:  wide.Float.Mul,
	},
	sub:    wide.Float.Sub,
	quo:    wide.Float.Quo,
	larger: func(x, y wide.Float) bool { return y.Less(x) || (x.IsNaN() && !y.IsNaN()) },
	exp:    function("exp"), log: function("log"), sqrt: function("sqrt"),
}

func function(name string) func(wide.Float) wide.Float {
	f := wide.Funcs[name]
	return func(x wide.Float) wide.Float { return f(x) }
}

// integers wrap at 64 bits, and at their own width when they are stored: the low
// bits of a sum of products do not depend on when the high ones are dropped.
var integers = ring[int64]{
	from: ir.Scalar.Int,
	to:   ir.IntScalar,
	add:  func(x, y int64) int64 { return x + y },
	mul:  func(x, y int64) int64 { return x * y },
}

// complexes serves complex64.
var complexes = ring[complex128]{
	from: ir.Scalar.Complex,
	to:   ir.ComplexScalar,
	add:  func(x, y complex128) complex128 { return x + y },
	mul:  func(x, y complex128) complex128 { return x * y },
}

type wideComplex struct{ re, im wide.Float }

// wideComplexes serves complex128.
var wideComplexes = ring[wideComplex]{
	from: func(s ir.Scalar) wideComplex {
		return wideComplex{wide.FromFloat64(real(s.Complex())), wide.FromFloat64(imag(s.Complex()))}
	},
	to: func(x wideComplex) ir.Scalar { return ir.ComplexScalar(complex(x.re.Float64(), x.im.Float64())) },
	add: func(x, y wideComplex) wideComplex {
		return wideComplex{x.re.Add(y.re), x.im.Add(y.im)}
	},
	mul: func(x, y wideComplex) wideComplex {
		return wideComplex{x.re.Mul(y.re).Sub(x.im.Mul(y.im)), x.re.Mul(y.im).Add(x.im.Mul(y.re))}
	},
}

// decode returns an operand, read in the compute dtype, as numbers of a ring.
func decode[T any](v ir.View, dtype ir.DType, r ring[T]) tensor[T] {
	from := load(v, dtype)
	t := tensor[T]{v.Shape, make([]T, len(from.v))}
	for i, s := range from.v {
		t.v[i] = r.from(s)
	}
	return t
}

// encode rounds t and writes it to a result.
func encode[T any](v ir.View, dtype ir.DType, r ring[T], t tensor[T]) {
	for i, x := range t.v {
		element.StoreFrom(v, i, r.to(x), dtype)
	}
}

// order returns -1, 0 or 1 as x is less than, equal to or larger than y, numbers
// of one real dtype. NaN is larger than any number, and NaNs are equal.
func order(x, y ir.Scalar) int {
	if x.Category() == ir.CategoryFloat {
		switch {
		case doubles.larger(x.Float(), y.Float()):
			return 1
		case doubles.larger(y.Float(), x.Float()):
			return -1
		}
		return 0
	}
	switch {
	case x.Int() > y.Int():
		return 1
	case x.Int() < y.Int():
		return -1
	}
	return 0
}

// inRing runs the instance of a kernel for the numbers that dtype is computed
// in.
func inRing(dtype ir.DType, c *ir.Call,
	ints func(*ir.Call, ring[int64]) error,
	floats func(*ir.Call, ring[float64]) error,
	wideFloats func(*ir.Call, ring[wide.Float]) error,
	complexNumbers func(*ir.Call, ring[complex128]) error,
	wideComplexNumbers func(*ir.Call, ring[wideComplex]) error,
) error {
	switch {
	case dtype.IsInt():
		return ints(c, integers)
	case dtype == ir.Float64:
		return wideFloats(c, wides.ring)
	case dtype.IsFloat():
		return floats(c, doubles.ring)
	case dtype == ir.Complex128:
		return wideComplexNumbers(c, wideComplexes)
	case dtype.IsComplex():
		return complexNumbers(c, complexes)
	}
	return unsupported(dtype)
}

// inField runs the instance of a kernel for the numbers that a real
// floating-point dtype is computed in.
func inField(c *ir.Call, floats func(*ir.Call, field[float64]) error, wideFloats func(*ir.Call, field[wide.Float]) error) error {
	switch {
	case c.Compute == ir.Float64:
		return wideFloats(c, wides)
	case c.Compute.IsFloat():
		return floats(c, doubles)
	}
	return unsupported(c.Compute)
}

func unsupported(dtype ir.DType) error {
	return fmt.Errorf("not implemented for %s by the reference", dtype)
}
