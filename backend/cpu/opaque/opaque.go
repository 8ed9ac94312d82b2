// Package opaque holds the kernels of the CPU backend that are written by hand, one
// function for each operator whose body is opaque (ir.Opaque): a kernel entry of
// ops.yaml, of which no expression says what it computes. They take any strides and, where a result's
// dtype differs from the compute dtype, round once as they store it. It knows
// nothing of how calls are made; shapes were checked by the operator's rule.
//
// Errors do not name the operator: the caller does. Where a kernel returns one
// about its operands, it has written nothing.
package opaque

import (
	"fmt"
	"reflect"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// number is what kernels compute in.
type number interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64 | complex64 | complex128
}

// ordered is what kernels compare.
type ordered interface {
	uint8 | int8 | int16 | int32 | int64 | float32 | float64
}

// float is what kernels of real functions compute in.
type float interface{ float32 | float64 }

// A table holds a function for every dtype a kernel computes in.
type table[F any] [ir.NumDTypes]F

// of returns the function for dtype, or an error that there is none.
func (t *table[F]) of(dtype ir.DType) (f F, err error) {
	if int(dtype) < len(t) {
		f = t[dtype]
	}
	if reflect.ValueOf(f).IsNil() {
		return f, unsupported(dtype)
	}
	return f, nil
}

// unsupported is the error of a kernel that does not compute in a dtype.
func unsupported(dtype ir.DType) error { return fmt.Errorf("not implemented for %s on cpu", dtype) }

// bySize holds a function for each size of element, for kernels that move
// elements whatever they mean.
type bySize[F any] struct{ b1, b2, b4, b8, b16 F }

func (s *bySize[F]) of(dtype ir.DType) F {
	switch dtype.Size() {
	case 1:
		return s.b1
	case 2:
		return s.b2
	case 4:
		return s.b4
	case 8:
		return s.b8
	}
	return s.b16
}

// in returns the elements of an operand without gaps, in dtype, whose Go type is
// T.
func in[T any](c *ir.Call, i int, dtype ir.DType) []T {
	return tile.Elements[T](tile.Dense(c.In[i], dtype))
}

// around splits a shape at an axis: how many elements come before, along and
// after it. A scalar has one element along its axis 0.
func around(shape []int, axis int) (outer, along, inner int) {
	if len(shape) == 0 {
		return 1, 1, 1
	}
	return ir.NumElements(shape[:axis]), shape[axis], ir.NumElements(shape[axis+1:])
}

// axisOf returns attribute i, an axis of shape, counted from the front.
func axisOf(c *ir.Call, i int, shape []int) (int, error) {
	return ir.Axis(int(c.Attrs[i].Int), len(shape))
}
