package num

// The functions of complex numbers; those of complex64 are computed in complex128 and
// rounded. Branch cuts are C99's: the sign of a zero part says on which side of a cut a
// number lies.

import (
	"math"
	"math/cmplx"
)

// CSqrt returns the principal square root.
func CSqrt[T Complex](x T) T { return T(csqrt(complex128(x))) }

// CRsqrt returns 1/sqrt(x).
func CRsqrt[T Complex](x T) T { return T(1 / csqrt(complex128(x))) }

// CExp returns e^x.
func CExp[T Complex](x T) T { return T(cexp(complex128(x))) }

// CExp2 returns 2^x.
func CExp2[T Complex](x T) T { return T(cexp2(complex128(x))) }

// CExpm1 returns e^x - 1.
func CExpm1[T Complex](x T) T { return T(cexpm1(complex128(x))) }

// CLog returns the principal logarithm.
func CLog[T Complex](x T) T { return T(clog(complex128(x))) }

// CLog2 returns the principal logarithm to base 2.
func CLog2[T Complex](x T) T { return T(clog2(complex128(x))) }

// CLog10 returns the principal logarithm to base 10.
func CLog10[T Complex](x T) T { return T(clog10(complex128(x))) }

// CLog1p returns the principal logarithm of 1 + x.
func CLog1p[T Complex](x T) T { return T(clog1p(complex128(x))) }

// CPow returns a^b. A power of 0 is 1 for b of 0, 0 where the real part of b is positive
// and infinite where it is negative. It is NaN where there is no limit: where the real part
// is 0 or NaN, or where only the imaginary part is infinite.
func CPow[T Complex](a, b T) T {
	if a == 0 {
		return T(powOfZero(complex128(b)))
	}
	return T(cpow(complex128(a), complex128(b)))
}

// cpow is cmplx.Pow, whose logarithm of a subnormal modulus has few digits right.
func cpow(a, b complex128) complex128 {
	r := cmplx.Abs(a)
	if !(r < smallestNormal) {
		return cmplx.Pow(a, b)
	}
	l, theta := log(r), cmplx.Phase(a)
	modulus := math.Exp(float64(real(b)*l) - float64(imag(b)*theta))
	s, c := math.Sincos(float64(real(b)*theta) + float64(imag(b)*l))
	return complex(modulus*c, modulus*s)
}

func powOfZero(b complex128) complex128 {
	switch re, im := real(b), imag(b); {
	case b == 0:
		return 1
	case re == 0 || math.IsNaN(re) || math.IsInf(im, 0) && !math.IsInf(re, 0):
		return complex(math.NaN(), math.NaN())
	case re > 0:
		return 0
	case im == 0:
		return complex(math.Inf(1), 0)
	case math.IsNaN(im):
		return complex(math.Inf(1), im)
	}
	return complex(math.Inf(1), math.Inf(1))
}

// CSigmoid returns 1/(1 + e^-x).
func CSigmoid[T Complex](x T) T { return T(csigmoid(complex128(x))) }

// CSin returns the sine.
func CSin[T Complex](x T) T { return T(csin(complex128(x))) }

// CCos returns the cosine.
func CCos[T Complex](x T) T { return T(ccos(complex128(x))) }

// CTan returns the tangent.
func CTan[T Complex](x T) T { return T(ctan(complex128(x))) }

// CAsin returns the arcsine.
func CAsin[T Complex](x T) T { return T(casin(complex128(x))) }

// CAcos returns the arccosine.
func CAcos[T Complex](x T) T { return T(cacos(complex128(x))) }

// CAtan returns the arctangent.
func CAtan[T Complex](x T) T { return T(catan(complex128(x))) }

// CSinh returns the hyperbolic sine.
func CSinh[T Complex](x T) T { return T(csinh(complex128(x))) }

// CCosh returns the hyperbolic cosine.
func CCosh[T Complex](x T) T { return T(ccosh(complex128(x))) }

// CTanh returns the hyperbolic tangent.
func CTanh[T Complex](x T) T { return T(ctanh(complex128(x))) }

// CAsinh returns the inverse hyperbolic sine.
func CAsinh[T Complex](x T) T { return T(casinh(complex128(x))) }

// CAcosh returns the inverse hyperbolic cosine.
func CAcosh[T Complex](x T) T { return T(cacosh(complex128(x))) }

// CAtanh returns the inverse hyperbolic tangent.
func CAtanh[T Complex](x T) T { return T(catanh(complex128(x))) }

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
