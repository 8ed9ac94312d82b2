package num

import (
	"math"
	"math/cmplx"
)

// CSqrt returns the principal square root.
func CSqrt[T Complex](x T) T { return T(cmplx.Sqrt(complex128(x))) }

// CRsqrt returns 1/sqrt(x).
func CRsqrt[T Complex](x T) T { return T(1 / cmplx.Sqrt(complex128(x))) }

// CExp returns e^x.
func CExp[T Complex](x T) T { return T(cmplx.Exp(complex128(x))) }

// CLog returns the principal logarithm.
func CLog[T Complex](x T) T { return T(clog(complex128(x))) }

func clog(x complex128) complex128 { return complex(log(cmplx.Abs(x)), cmplx.Phase(x)) }

// CPow returns a^b.
func CPow[T Complex](a, b T) T { return T(cmplx.Pow(complex128(a), complex128(b))) }

// CSigmoid returns 1/(1 + e^-x).
func CSigmoid[T Complex](x T) T { return T(1 / (1 + cmplx.Exp(-complex128(x)))) }

// CSin returns the sine.
func CSin[T Complex](x T) T { return T(cmplx.Sin(complex128(x))) }

// CCos returns the cosine.
func CCos[T Complex](x T) T { return T(cmplx.Cos(complex128(x))) }

// CTan returns the tangent.
func CTan[T Complex](x T) T {
	z := complex128(x)
	t := ctanh(complex(-imag(z), real(z)))
	return T(complex(imag(t), -real(t)))
}

// CAsin returns the arcsine.
func CAsin[T Complex](x T) T { return T(cmplx.Asin(complex128(x))) }

// CAcos returns the arccosine.
func CAcos[T Complex](x T) T { return T(cmplx.Acos(complex128(x))) }

// CAtan returns the arctangent.
func CAtan[T Complex](x T) T { return T(cmplx.Atan(complex128(x))) }

// CSinh returns the hyperbolic sine.
func CSinh[T Complex](x T) T { return T(cmplx.Sinh(complex128(x))) }

// CCosh returns the hyperbolic cosine.
func CCosh[T Complex](x T) T { return T(cmplx.Cosh(complex128(x))) }

// CTanh returns the hyperbolic tangent.
func CTanh[T Complex](x T) T { return T(ctanh(complex128(x))) }

// ctanh is Kahan's: unlike the library's, its denominator is a sum of squares,
// which neither cancels near a pole nor overflows.
func ctanh(z complex128) complex128 {
	x, y := real(z), imag(z)
	if y == 0 {
		return complex(math.Tanh(x), y)
	}
	s, c := math.Sincos(y)
	switch {
	case math.IsInf(x, 0) && !IsFinite(y):
		return complex(math.Copysign(1, x), 0)
	case math.Abs(x) > 22 && IsFinite(y):
		return complex(math.Copysign(1, x), 4*s*c*math.Exp(-2*math.Abs(x)))
	}
	sh, ch := math.Sinh(x), math.Cosh(x)
	below := c*c + sh*sh
	return complex(sh*ch/below, s*c/below)
}

// CAsinh returns the inverse hyperbolic sine.
func CAsinh[T Complex](x T) T { return T(cmplx.Asinh(complex128(x))) }

// CAcosh returns the inverse hyperbolic cosine.
func CAcosh[T Complex](x T) T { return T(cmplx.Acosh(complex128(x))) }

// CAtanh returns the inverse hyperbolic tangent.
func CAtanh[T Complex](x T) T { return T(cmplx.Atanh(complex128(x))) }

// CAbs returns the modulus.
func CAbs[R Float, T Complex](x T) R { return R(cmplx.Abs(complex128(x))) }

// CAngle returns the argument, in [-pi, pi].
func CAngle[R Float, T Complex](x T) R { return R(cmplx.Phase(complex128(x))) }

// CConj returns the conjugate.
func CConj[T Complex](x T) T { return T(cmplx.Conj(complex128(x))) }

// CIsNaN reports whether a part of x is NaN.
func CIsNaN[T Complex](x T) bool {
	c := complex128(x)
	return math.IsNaN(real(c)) || math.IsNaN(imag(c))
}

// CIsInf reports whether a part of x is infinite.
func CIsInf[T Complex](x T) bool { return cmplx.IsInf(complex128(x)) }

// CIsFinite reports whether both parts of x are finite.
func CIsFinite[T Complex](x T) bool {
	c := complex128(x)
	return IsFinite(real(c)) && IsFinite(imag(c))
}
