// Package num holds the scalar functions of the expression language in Go, for
// emitted loops. Real floating-point functions have plain names, those of
// integers begin with I and those of complex numbers with C. It knows nothing
// of tensors. The meaning of every function is stated in package ir.
package num

import "math"

// Float is a floating-point compute type.
type Float interface{ ~float32 | ~float64 }

// Int is an integer compute type.
type Int interface {
	~uint8 | ~int8 | ~int16 | ~int32 | ~int64
}

// Complex is a complex compute type.
type Complex interface{ ~complex64 | ~complex128 }

// Number is any of them.
type Number interface{ Float | Int | Complex }

// Where returns a if cond holds, and b otherwise.
func Where[T any](cond bool, a, b T) T {
	if cond {
		return a
	}
	return b
}

// single reports whether T is float32.
func single[T Float]() bool {
	one := T(1)
	return one+0x1p-24 == one
}

// FromBool returns 1 for true and 0 for false.
func FromBool[T Number](b bool) T {
	if b {
		return 1
	}
	return 0
}

// ToInt truncates x toward zero and saturates at the type's limits; NaN gives 0.
func ToInt[I Int, T Float](x T) I {
	f := float64(x)
	var lo, hi float64
	switch any(I(0)).(type) {
	case uint8:
		lo, hi = 0, math.MaxUint8
	case int8:
		lo, hi = math.MinInt8, math.MaxInt8
	case int16:
		lo, hi = math.MinInt16, math.MaxInt16
	case int32:
		lo, hi = math.MinInt32, math.MaxInt32
	default:
		if f >= math.MaxInt64 {
			i := int64(math.MaxInt64)
			return I(i)
		}
		if f <= math.MinInt64 {
			i := int64(math.MinInt64)
			return I(i)
		}
		return Where(f == f, I(int64(f)), 0)
	}
	if f != f {
		return 0
	}
	return I(int64(max(lo, min(hi, f))))
}

// Inf returns positive infinity if sign >= 0, negative infinity otherwise.
func Inf[T Float](sign int) T { return T(math.Inf(sign)) }

// NaN returns a quiet NaN.
func NaN[T Float]() T { return T(math.NaN()) }

// Abs returns |x|.
func Abs[T Float](x T) T { return T(math.Abs(float64(x))) }

// Sign returns -1, 0 or 1, and NaN for NaN.
func Sign[T Float](x T) T {
	switch {
	case x > 0:
		return 1
	case x < 0:
		return -1
	}
	return x * 0
}

// Min returns the smaller of a and b; NaN if either is NaN.
func Min[T Float](a, b T) T { return min(a, b) }

// Max returns the larger of a and b; NaN if either is NaN.
func Max[T Float](a, b T) T { return max(a, b) }

// FMin returns the smaller of a and b, the other one where one is NaN.
func FMin[T Float](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return min(a, b)
}

// FMax returns the larger of a and b, the other one where one is NaN.
func FMax[T Float](a, b T) T {
	switch {
	case a != a:
		return b
	case b != b:
		return a
	}
	return max(a, b)
}

// Floor rounds down.
func Floor[T Float](x T) T { return T(math.Floor(float64(x))) }

// Ceil rounds up.
func Ceil[T Float](x T) T { return T(math.Ceil(float64(x))) }

// Trunc rounds toward zero.
func Trunc[T Float](x T) T { return T(math.Trunc(float64(x))) }

// Round rounds to the nearest integer, ties to even.
func Round[T Float](x T) T { return T(math.RoundToEven(float64(x))) }

// FMod returns the remainder of a/b with a's sign.
func FMod[T Float](a, b T) T { return T(math.Mod(float64(a), float64(b))) }

// TruncRem is FMod, for the % operator.
func TruncRem[T Float](a, b T) T { return FMod(a, b) }

// Remainder returns the remainder of a/b with b's sign.
func Remainder[T Float](a, b T) T {
	r := FMod(a, b)
	if r != 0 && (r < 0) != (b < 0) {
		return r + b
	}
	return r
}

// FloorDiv returns a/b rounded down, consistent with Remainder.
func FloorDiv[T Float](a, b T) T {
	if b == 0 {
		return a / b
	}
	r := FMod(a, b)
	q := (a - r) / b
	if r != 0 && (r < 0) != (b < 0) {
		q--
	}
	if q == 0 {
		return T(math.Copysign(0, float64(a/b)))
	}
	f := Floor(q)
	if q-f > 0.5 {
		f++
	}
	return f
}

// TruncDiv returns a/b rounded toward zero.
func TruncDiv[T Float](a, b T) T { return Trunc(a / b) }

// Sqrt returns the square root.
func Sqrt[T Float](x T) T { return T(math.Sqrt(float64(x))) }

// Rsqrt returns 1/sqrt(x).
func Rsqrt[T Float](x T) T { return T(1 / math.Sqrt(float64(x))) }

// Cbrt returns the cube root.
func Cbrt[T Float](x T) T { return T(math.Cbrt(float64(x))) }

// Exp returns e^x.
func Exp[T Float](x T) T { return T(math.Exp(float64(x))) }

// Exp2 returns 2^x.
func Exp2[T Float](x T) T { return T(math.Exp2(float64(x))) }

// Expm1 returns e^x - 1.
func Expm1[T Float](x T) T { return T(math.Expm1(float64(x))) }

// Log returns the natural logarithm.
func Log[T Float](x T) T { return T(log(float64(x))) }

// Log1p returns log(1 + x).
func Log1p[T Float](x T) T { return T(math.Log1p(float64(x))) }

// Log2 returns the binary logarithm.
func Log2[T Float](x T) T { return T(log2(float64(x))) }

// Log10 returns the decimal logarithm.
func Log10[T Float](x T) T { return T(log10(float64(x))) }

// Pow returns a^b.
func Pow[T Float](a, b T) T {
	if single[T]() {
		return T(math.Pow(float64(a), float64(b)))
	}
	return T(pow(float64(a), float64(b)))
}

// Sigmoid returns 1/(1 + e^-x) without overflow.
func Sigmoid[T Float](x T) T {
	e := math.Exp(-math.Abs(float64(x)))
	if x < 0 {
		return T(e / (1 + e))
	}
	return T(1 / (1 + e))
}

// Sin returns the sine.
func Sin[T Float](x T) T { return T(math.Sin(float64(x))) }

// Cos returns the cosine.
func Cos[T Float](x T) T { return T(math.Cos(float64(x))) }

// Tan returns the tangent.
func Tan[T Float](x T) T { return T(math.Tan(float64(x))) }

// Asin returns the arcsine.
func Asin[T Float](x T) T { return T(math.Asin(float64(x))) }

// Acos returns the arccosine.
func Acos[T Float](x T) T { return T(acos(float64(x))) }

// Atan returns the arctangent.
func Atan[T Float](x T) T { return T(math.Atan(float64(x))) }

// Sinh returns the hyperbolic sine.
func Sinh[T Float](x T) T { return T(sinhReal(float64(x))) }

// Cosh returns the hyperbolic cosine.
func Cosh[T Float](x T) T { return T(coshReal(float64(x))) }

// Tanh returns the hyperbolic tangent.
func Tanh[T Float](x T) T { return T(math.Tanh(float64(x))) }

// Asinh returns the inverse hyperbolic sine.
func Asinh[T Float](x T) T { return T(math.Asinh(float64(x))) }

// Acosh returns the inverse hyperbolic cosine.
func Acosh[T Float](x T) T { return T(math.Acosh(float64(x))) }

// Atanh returns the inverse hyperbolic tangent.
func Atanh[T Float](x T) T { return T(math.Atanh(float64(x))) }

// Atan2 returns the angle of the point (b, a), which has a's sign also where a/b
// is less than any number.
func Atan2[T Float](a, b T) T {
	return T(math.Copysign(math.Atan2(float64(a), float64(b)), float64(a)))
}

// Hypot returns sqrt(a*a + b*b) without overflow.
func Hypot[T Float](a, b T) T { return T(math.Hypot(float64(a), float64(b))) }

// Erf returns the error function.
func Erf[T Float](x T) T { return T(math.Erf(float64(x))) }

// Erfc returns 1 - erf(x).
func Erfc[T Float](x T) T { return T(math.Erfc(float64(x))) }

// Erfinv returns the inverse of erf.
func Erfinv[T Float](x T) T { return T(erfinv(float64(x))) }

// Lgamma returns log|Γ(x)|.
func Lgamma[T Float](x T) T { return T(lgamma(float64(x))) }

// Digamma returns the derivative of Lgamma.
func Digamma[T Float](x T) T { return T(digamma(float64(x))) }

// Copysign returns a with b's sign.
func Copysign[T Float](a, b T) T { return T(math.Copysign(float64(a), float64(b))) }

// Signbit reports whether x is negative or negative zero.
func Signbit[T Float](x T) bool { return math.Signbit(float64(x)) }

// IsNaN reports whether x is NaN.
func IsNaN[T Float](x T) bool { return x != x }

// IsInf reports whether x is infinite.
func IsInf[T Float](x T) bool { return math.IsInf(float64(x), 0) }

// IsFinite reports whether x is neither infinite nor NaN.
func IsFinite[T Float](x T) bool { return x-x == 0 }

// FMA returns a*b + c, rounded once.
func FMA[T Float](a, b, c T) T {
	if single[T]() {
		return T(fma32(float32(a), float32(b), float32(c)))
	}
	return T(math.FMA(float64(a), float64(b), float64(c)))
}

// Imag is the imaginary part of a real number, 0.
func Imag[T Float](T) T { return 0 }

// Angle is the argument of a real number: 0, or pi where it is negative; NaN for NaN.
func Angle[T Float](x T) T {
	switch {
	case x != x:
		return x
	case x < 0:
		return T(math.Pi)
	}
	return 0
}
