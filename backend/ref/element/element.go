// Package element reads and writes the elements of views one at a time, as
// numbers that keep their category. It is the one place of the reference backend
// that knows how dtypes are stored and converted; it knows nothing of operators.
package element

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// Offset returns the distance, in elements, of row-major position i of a shape
// from its first element.
func Offset(shape, strides []int, i int) int {
	off := 0
	for a := len(shape) - 1; a >= 0 && i != 0; a-- {
		rest := i / shape[a]
		off += (i - rest*shape[a]) * strides[a]
		i = rest
	}
	return off
}

// Load returns the element at row-major position i of v, which is in host
// memory. The number has the category of v's dtype and its exact value.
func Load(v ir.View, i int) ir.Scalar {
	p := address(v, i)
	switch v.DType {
	case ir.Bool:
		return ir.BoolScalar(*(*uint8)(p) != 0)
	case ir.Uint8:
		return ir.IntScalar(int64(*(*uint8)(p)))
	case ir.Int8:
		return ir.IntScalar(int64(*(*int8)(p)))
	case ir.Int16:
		return ir.IntScalar(int64(*(*int16)(p)))
	case ir.Int32:
		return ir.IntScalar(int64(*(*int32)(p)))
	case ir.Int64:
		return ir.IntScalar(*(*int64)(p))
	case ir.Float16:
		return ir.FloatScalar(float64((*(*ir.Half)(p)).Float32()))
	case ir.BFloat16:
		return ir.FloatScalar(float64((*(*ir.BF16)(p)).Float32()))
	case ir.Float32:
		return ir.FloatScalar(float64(*(*float32)(p)))
	case ir.Float64:
		return ir.FloatScalar(*(*float64)(p))
	case ir.Complex64:
		return ir.ComplexScalar(complex128(*(*complex64)(p)))
	}
	return ir.ComplexScalar(*(*complex128)(p))
}

// Store writes s, converted to v's dtype, to row-major position i of v.
func Store(v ir.View, i int, s ir.Scalar) {
	p := address(v, i)
	s = Convert(s, v.DType)
	switch v.DType {
	case ir.Bool:
		*(*bool)(p) = s.Bool()
	case ir.Uint8:
		*(*uint8)(p) = uint8(s.Int())
	case ir.Int8:
		*(*int8)(p) = int8(s.Int())
	case ir.Int16:
		*(*int16)(p) = int16(s.Int())
	case ir.Int32:
		*(*int32)(p) = int32(s.Int())
	case ir.Int64:
		*(*int64)(p) = s.Int()
	case ir.Float16:
		*(*ir.Half)(p) = ir.HalfFrom(float32(s.Float()))
	case ir.BFloat16:
		*(*ir.BF16)(p) = ir.BF16From(float32(s.Float()))
	case ir.Float32:
		*(*float32)(p) = float32(s.Float())
	case ir.Float64:
		*(*float64)(p) = s.Float()
	case ir.Complex64:
		*(*complex64)(p) = complex64(s.Complex())
	case ir.Complex128:
		*(*complex128)(p) = s.Complex()
	}
}

// StoreFrom writes s, the result of arithmetic in dtype compute, to row-major
// position i of v. It is rounded once where v holds no more than compute does,
// a 16-bit float included; a wider v holds what compute does.
func StoreFrom(v ir.View, i int, s ir.Scalar, compute ir.DType) {
	if v.DType.Compute() != compute {
		s = Convert(s, compute)
	}
	Store(v, i, s)
}

// Repeat writes the first element of v to all its other places, bit by bit.
func Repeat(v ir.View) {
	size, n := v.DType.Size(), v.NumElements()
	if n > 1 && v.IsContiguous() {
		all := unsafe.Slice((*byte)(v.Ptr), n*size)
		for done := size; done < len(all); done *= 2 {
			copy(all[done:], all[:done])
		}
		return
	}
	first := unsafe.Slice((*byte)(v.Ptr), size)
	for i := 1; i < n; i++ {
		copy(unsafe.Slice((*byte)(address(v, i)), size), first)
	}
}

func address(v ir.View, i int) unsafe.Pointer {
	return unsafe.Add(v.Ptr, Offset(v.Shape, v.Strides, i)*v.DType.Size())
}

// Convert returns s as a number of dtype d. To bool it is "not zero"; a float
// becomes an integer by truncation toward zero, saturating, and 0 from NaN; an
// integer becomes a narrower one by its low bits; a complex number becomes real
// by dropping its imaginary part; a float is rounded once, to nearest even.
func Convert(s ir.Scalar, d ir.DType) ir.Scalar {
	switch d.Category() {
	case ir.CategoryBool:
		return ir.BoolScalar(s.Bool())
	case ir.CategoryInt:
		return ir.IntScalar(toInt(s, d))
	case ir.CategoryFloat:
		if s.Category() <= ir.CategoryInt {
			return ir.FloatScalar(intToFloat(s.Int(), d))
		}
		return ir.FloatScalar(round(s.Float(), d))
	}
	if s.Category() <= ir.CategoryInt {
		return ir.ComplexScalar(complex(intToFloat(s.Int(), d.Real()), 0))
	}
	return ir.ComplexScalar(complex(round(s.Float(), d.Real()), round(imag(s.Complex()), d.Real())))
}

func toInt(s ir.Scalar, d ir.DType) int64 {
	i := s.Int()
	low, high := d.IntRange()
	if s.Category() >= ir.CategoryFloat {
		return min(max(i, low), high)
	}
	switch d {
	case ir.Uint8:
		return int64(uint8(i))
	case ir.Int8:
		return int64(int8(i))
	case ir.Int16:
		return int64(int16(i))
	case ir.Int32:
		return int64(int32(i))
	}
	return i
}

// round returns the number of dtype d nearest to f, ties to even.
func round(f float64, d ir.DType) float64 {
	switch {
	case d == ir.Float64:
		return f
	case d == ir.Float32:
		return float64(float32(f))
	case f != f:
		return f
	}
	return round16(wide.FromFloat64(f), d)
}

func intToFloat(i int64, d ir.DType) float64 {
	switch d {
	case ir.Float64:
		return float64(i)
	case ir.Float32:
		return float64(float32(i))
	}
	return round16(wide.FromInt64(i), d)
}

// round16 rounds to one of the 16-bit floats.
func round16(x wide.Float, d ir.DType) float64 {
	if d == ir.Float16 {
		return x.Rounded(11, -14, 15).Float64()
	}
	return x.Rounded(8, -126, 127).Float64()
}
