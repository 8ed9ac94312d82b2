package ir

import (
	"fmt"
	"math"
)

// A Scalar is a host number given to an operator: bool, int64, float64 or
// complex128. It keeps its category, which promotion reads, and is converted
// to the compute dtype, never to the storage dtype.
type Scalar struct {
	category Category
	i        int64
	re, im   float64
}

// BoolScalar returns b as a Scalar.
func BoolScalar(b bool) Scalar {
	if b {
		return Scalar{CategoryBool, 1, 1, 0}
	}
	return Scalar{category: CategoryBool}
}

// IntScalar returns i as a Scalar.
func IntScalar(i int64) Scalar { return Scalar{CategoryInt, i, float64(i), 0} }

// UintScalar returns u as a Scalar. Of numbers above the largest int64, Int has the bits,
// and Float the value.
func UintScalar(u uint64) Scalar { return Scalar{CategoryInt, int64(u), float64(u), 0} }

// FloatScalar returns f as a Scalar.
func FloatScalar(f float64) Scalar { return Scalar{CategoryFloat, FloatToInt(f), f, 0} }

// ComplexScalar returns c as a Scalar.
func ComplexScalar(c complex128) Scalar {
	return Scalar{CategoryComplex, FloatToInt(real(c)), real(c), imag(c)}
}

// FloatToInt truncates f toward zero and saturates, so that the conversion is
// the same on every architecture; NaN gives 0.
func FloatToInt(f float64) int64 {
	switch {
	case f != f:
		return 0
	case f >= math.MaxInt64:
		return math.MaxInt64
	case f <= math.MinInt64:
		return math.MinInt64
	}
	return int64(f)
}

// ScalarOf converts a Go number or bool to a Scalar.
func ScalarOf(v any) (Scalar, error) {
	switch v := v.(type) {
	case Scalar:
		return v, nil
	case bool:
		return BoolScalar(v), nil
	case int:
		return IntScalar(int64(v)), nil
	case int8:
		return IntScalar(int64(v)), nil
	case int16:
		return IntScalar(int64(v)), nil
	case int32:
		return IntScalar(int64(v)), nil
	case int64:
		return IntScalar(v), nil
	case uint:
		return UintScalar(uint64(v)), nil
	case uint8:
		return UintScalar(uint64(v)), nil
	case uint16:
		return UintScalar(uint64(v)), nil
	case uint32:
		return UintScalar(uint64(v)), nil
	case uint64:
		return UintScalar(v), nil
	case float32:
		return FloatScalar(float64(v)), nil
	case float64:
		return FloatScalar(v), nil
	case Half:
		return FloatScalar(float64(v.Float32())), nil
	case BF16:
		return FloatScalar(float64(v.Float32())), nil
	case complex64:
		return ComplexScalar(complex128(v)), nil
	case complex128:
		return ComplexScalar(v), nil
	}
	return Scalar{}, fmt.Errorf("%T is not a number (want bool, int, int8 to int64, uint, uint8 to uint64, float32, float64, tensor.Half, tensor.BF16, complex64 or complex128)", v)
}

// Category returns the promotion category the scalar was given as.
func (s Scalar) Category() Category { return s.category }

// Bool reports whether the scalar is not zero.
func (s Scalar) Bool() bool { return s.re != 0 || s.im != 0 || s.i != 0 }

// Int returns the scalar truncated toward zero; the bits of an integer above the largest
// int64.
func (s Scalar) Int() int64 { return s.i }

// huge reports whether s is an integer above the largest int64.
func (s Scalar) huge() bool { return s.category == CategoryInt && s.i < 0 && s.re > 0 }

// Float returns the scalar's real part.
func (s Scalar) Float() float64 { return s.re }

// Complex returns the scalar as a complex number.
func (s Scalar) Complex() complex128 { return complex(s.re, s.im) }

// Fits reports whether s can be converted to d without overflow, by PyTorch's rule.
// Toward integers a fraction is cut off, and an integer of -255 or more stands for
// its value modulo 256 in uint8, and so in the wider unsigned ones. Infinities and NaN fit floats, everything fits
// bool, and a complex number without imaginary part what its real part does.
func (s Scalar) Fits(d DType) bool {
	switch {
	case d == Bool:
		return true
	case d.IsComplex():
		return fitsFloat(s.re, d.Real()) && fitsFloat(s.im, d.Real())
	case s.category == CategoryComplex && s.im != 0:
		return false
	case d.IsFloat():
		return fitsFloat(s.re, d)
	}
	lo, hi := d.IntRange()
	if s.category > CategoryInt {
		return s.re >= float64(lo) && s.re <= float64(hi) && s.re < 0x1p63 || d == Uint64 && s.re >= 0 && s.re < 0x1p64
	}
	if s.huge() || d == Uint64 {
		return d == Uint64
	}
	if lo == 0 {
		lo = -hi
	}
	return lo <= s.i && s.i <= hi
}

// IntRange returns the least and the largest integer of d: of uint64 the largest int64, of no dtype 0.
func (d DType) IntRange() (lo, hi int64) {
	if d.Size() == 0 {
		return 0, 0
	}
	if d.Unsigned() {
		return 0, int64(uint64(math.MaxInt64) >> (63 - min(63, 8*d.Size())))
	}
	hi = 1<<(8*d.Size()-1) - 1
	return -hi - 1, hi
}

// fitsFloat reports whether f is no larger than the finite numbers of d, or none.
func fitsFloat(f float64, d DType) bool {
	most := math.MaxFloat64
	switch d {
	case Float16:
		most = 65504
	case BFloat16:
		most = 0x1.fep127
	case Float32:
		most = math.MaxFloat32
	}
	return !(math.Abs(f) > most) || math.IsInf(f, 0)
}

// DType returns the dtype a tensor made of s alone has: bool, int64, uint64 where that
// does not hold it, def, or the complex dtype whose parts are def.
func (s Scalar) DType(def DType) DType {
	switch s.category {
	case CategoryBool:
		return Bool
	case CategoryInt:
		if s.huge() {
			return Uint64
		}
		return Int64
	case CategoryComplex:
		if def == Float64 {
			return Complex128
		}
		return Complex64
	}
	return def
}

// String formats the scalar as Go does.
func (s Scalar) String() string {
	switch s.category {
	case CategoryBool:
		return fmt.Sprint(s.Bool())
	case CategoryInt:
		if s.huge() {
			return fmt.Sprint(uint64(s.i))
		}
		return fmt.Sprint(s.i)
	case CategoryComplex:
		return fmt.Sprint(s.Complex())
	}
	return fmt.Sprint(s.re)
}

// A Value is one attribute of an operator call. Exactly the field that the
// attribute's kind names is meaningful.
type Value struct {
	Int    int64  // AttrInt, AttrBool (0 or 1), AttrEnum (index) and AttrDType
	Scalar Scalar // AttrScalar and AttrFloat
	Ints   []int  // AttrInts; nil when the option was not given
	Str    string // AttrString
}

// IntValue returns the attribute i.
func IntValue[T ~int | ~int64 | ~uint8](i T) Value { return Value{Int: int64(i)} }

// BoolValue returns the attribute b.
func BoolValue(b bool) Value { return Value{Int: BoolScalar(b).Int()} }

// ScalarValue returns the attribute s.
func ScalarValue(s Scalar) Value { return Value{Scalar: s} }

// FloatValue returns the attribute f.
func FloatValue(f float64) Value { return Value{Scalar: FloatScalar(f)} }

// IntsValue returns the attribute list; it keeps the slice.
func IntsValue(list []int) Value { return Value{Ints: list} }

// StringValue returns the attribute s.
func StringValue(s string) Value { return Value{Str: s} }
