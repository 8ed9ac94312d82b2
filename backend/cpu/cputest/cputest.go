// Package cputest makes operands for tests of the CPU backend: views of every
// dtype and layout, and access to their elements one at a time. It shares no
// code with what it tests.
package cputest

import (
	"math/rand/v2"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// Layouts are the ways NewView can lay a tensor out.
var Layouts = []string{"contiguous", "transposed", "sliced", "expanded", "offset"}

// NewView returns a view of new memory with the given shape, filled with
// guard bytes. The layout "transposed" reverses the order of axes in memory,
// "sliced" leaves gaps between elements and rows, "expanded" repeats the
// elements along the first axis, "offset" starts in the middle of memory.
func NewView(dtype ir.DType, layout string, shape ...int) ir.View {
	v := ir.View{DType: dtype, Shape: shape, Strides: make([]int, len(shape))}
	n, offset := 1, 0
	order := make([]int, len(shape))
	for i := range order {
		order[i] = len(shape) - 1 - i
		if layout == "transposed" {
			order[i] = i
		}
	}
	if layout == "sliced" {
		n = 3
	}
	for k, a := range order {
		if layout == "expanded" && a == 0 && len(shape) > 0 {
			continue
		}
		v.Strides[a] = n
		n *= max(shape[a], 1)
		if layout == "sliced" && k == 0 {
			n += 5
		}
	}
	if layout == "offset" {
		offset = 7
	}
	size := dtype.Size()
	memory := make([]uint64, (n+offset+8)*size/8+2)
	for i := range memory {
		memory[i] = 0x0101010101010101
	}
	v.Ptr = unsafe.Add(unsafe.Pointer(&memory[0]), offset*size)
	return v
}

// From returns a contiguous view that holds the given numbers.
func From(dtype ir.DType, shape []int, values ...float64) ir.View {
	v := NewView(dtype, "contiguous", shape...)
	for i, x := range values {
		Set(v, i, complex(x, 0))
	}
	return v
}

// Fill sets the elements of v to random small numbers that every dtype holds
// exactly, in row-major order.
func Fill(v ir.View, rng *rand.Rand, low, high int) ir.View {
	for i := range v.NumElements() {
		x := complex(float64(low+rng.IntN(high-low+1)), 0)
		if v.DType.IsComplex() {
			x += complex(0, float64(rng.IntN(5)-2))
		}
		Set(v, i, x)
	}
	return v
}

// FillFloat sets the elements of v to random numbers in [low, high).
func FillFloat(v ir.View, rng *rand.Rand, low, high float64) ir.View {
	for i := range v.NumElements() {
		Set(v, i, complex(low+(high-low)*rng.Float64(), 0))
	}
	return v
}

// Offset returns the element offset of row-major position i.
func Offset(shape, strides []int, i int) int {
	off := 0
	for a := len(shape) - 1; a >= 0 && i > 0; a-- {
		rest := i / shape[a]
		off += (i - rest*shape[a]) * strides[a]
		i = rest
	}
	return off
}

func address(v ir.View, i int) unsafe.Pointer {
	return unsafe.Add(v.Ptr, Offset(v.Shape, v.Strides, i)*v.DType.Size())
}

// Get returns the element of v at row-major position i.
func Get(v ir.View, i int) complex128 {
	p := address(v, i)
	switch v.DType {
	case ir.Bool:
		return complex(float64(*(*uint8)(p)), 0)
	case ir.Uint8:
		return complex(float64(*(*uint8)(p)), 0)
	case ir.Int8:
		return complex(float64(*(*int8)(p)), 0)
	case ir.Int16:
		return complex(float64(*(*int16)(p)), 0)
	case ir.Int32:
		return complex(float64(*(*int32)(p)), 0)
	case ir.Int64:
		return complex(float64(*(*int64)(p)), 0)
	case ir.Float16:
		return complex(float64((*(*ir.Half)(p)).Float32()), 0)
	case ir.BFloat16:
		return complex(float64((*(*ir.BF16)(p)).Float32()), 0)
	case ir.Float32:
		return complex(float64(*(*float32)(p)), 0)
	case ir.Float64:
		return complex(*(*float64)(p), 0)
	case ir.Complex64:
		return complex128(*(*complex64)(p))
	}
	return *(*complex128)(p)
}

// Set sets the element of v at row-major position i. x must be a value of v's
// dtype, or is rounded to one.
func Set(v ir.View, i int, x complex128) {
	p := address(v, i)
	switch v.DType {
	case ir.Bool:
		*(*bool)(p) = x != 0
	case ir.Uint8:
		*(*uint8)(p) = uint8(int64(real(x)))
	case ir.Int8:
		*(*int8)(p) = int8(real(x))
	case ir.Int16:
		*(*int16)(p) = int16(real(x))
	case ir.Int32:
		*(*int32)(p) = int32(real(x))
	case ir.Int64:
		*(*int64)(p) = int64(real(x))
	case ir.Float16:
		*(*ir.Half)(p) = ir.HalfFrom(float32(real(x)))
	case ir.BFloat16:
		*(*ir.BF16)(p) = ir.BF16From(float32(real(x)))
	case ir.Float32:
		*(*float32)(p) = float32(real(x))
	case ir.Float64:
		*(*float64)(p) = real(x)
	case ir.Complex64:
		*(*complex64)(p) = complex64(x)
	default:
		*(*complex128)(p) = x
	}
}

// Values returns the elements of v in row-major order.
func Values(v ir.View) []complex128 {
	out := make([]complex128, v.NumElements())
	for i := range out {
		out[i] = Get(v, i)
	}
	return out
}

// Reals returns the real parts of the elements of v in row-major order.
func Reals(v ir.View) []float64 {
	out := make([]float64, v.NumElements())
	for i := range out {
		out[i] = real(Get(v, i))
	}
	return out
}

// Expand returns v seen as shape, with stride 0 along broadcast axes.
func Expand(v ir.View, shape ...int) ir.View {
	e := v
	e.Shape, e.Strides = shape, make([]int, len(shape))
	lead := len(shape) - len(v.Shape)
	for i, d := range v.Shape {
		if d == shape[lead+i] {
			e.Strides[lead+i] = v.Strides[i]
		}
	}
	return e
}
