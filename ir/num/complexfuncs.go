package num

import (
	"math"
	"math/cmplx"
)

const (
	// overflows is the least real part whose exponential a float64 may not hold where
	// its product with a sine still fits.
	overflows = 709
	// squares is the size from which on sums of squares overflow in the inverse functions.
	squares = 1e150
)

// timesI and overI turn z by a quarter.
func timesI(z complex128) complex128 { return complex(-imag(z), real(z)) }
func overI(z complex128) complex128  { return complex(imag(z), -real(z)) }

// csqrt differs from the library where C99 does, at NaN on the real axis.
func csqrt(z complex128) complex128 {
	if real(z) != real(z) && imag(z) == 0 {
		return complex(real(z), real(z))
	}
	return cmplx.Sqrt(z)
}

// cexp multiplies in two steps where e^re overflows and the parts do not.
func cexp(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case y == 0:
		return complex(math.Exp(x), y)
	case x <= overflows || !IsFinite(x) || !IsFinite(y):
		return cmplx.Exp(z)
	}
	s, c := math.Sincos(y)
	half := math.Exp(x / 2)
	return complex(half*c*half, half*s*half)
}

func cexp2(z complex128) complex128 {
	x, y := real(z), imag(z)*math.Ln2
	if x <= overflows && IsFinite(x) && IsFinite(y) && y != 0 {
		s, c := math.Sincos(y)
		r := math.Exp2(x)
		return complex(r*c, r*s)
	}
	return cexp(complex(x*math.Ln2, y))
}

// cexpm1 splits off 1 - cos, which cancels the 1 for small z.
func cexpm1(z complex128) complex128 {
	x, y := real(z), imag(z)
	if !IsFinite(x) || !IsFinite(y) || x > 1 {
		e := cexp(z)
		return complex(real(e)-1, imag(e))
	}
	if y == 0 {
		return complex(math.Expm1(x), y)
	}
	s, c := math.Sincos(y)
	half := math.Sin(y / 2)
	return complex(float64(math.Expm1(x)*c)-2*half*half, math.Exp(x)*s)
}

// clog finds the size of z near the unit circle without cancellation, and elsewhere
// without overflow.
func clog(z complex128) complex128 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	r, angle := math.Hypot(x, y), cmplx.Phase(z)
	switch {
	case r > 0.5 && r < 2:
		high, low := math.Max(x, y), math.Min(x, y)
		h, l := float64(high*high), float64(low*low) // converted: not fused with what follows
		rest := math.FMA(high, high, -h) + math.FMA(low, low, -l)
		return complex(0.5*math.Log1p((h-1+l)+rest), angle)
	case IsFinite(x) && IsFinite(y) && r != 0 && (r > 1e300 || r < 1e-290): // r is infinite, or has few bits
		scale := 0x1p600
		if r > 1 {
			scale = 0x1p-600
		}
		return complex(log(math.Hypot(x*scale, y*scale))-log(scale), angle)
	}
	return complex(log(r), angle)
}

func clog2(z complex128) complex128 {
	l := clog(z)
	return complex(real(l)/math.Ln2, imag(l)/math.Ln2)
}

func clog10(z complex128) complex128 {
	l := clog(z)
	return complex(real(l)/math.Ln10, imag(l)/math.Ln10)
}

// clog1p does not add 1 to a number that is small beside it.
func clog1p(z complex128) complex128 {
	x, y := real(z), imag(z)
	switch {
	case !(math.Hypot(x, y) < 0.5):
		return clog(complex(1+x, y))
	case y == 0:
		return complex(math.Log1p(x), y)
	}
	// 2x + x*x + y*y, of which the first and the last may cancel.
	xx, yy := float64(x*x), float64(y*y) // converted: not fused with what follows
	rest := math.FMA(x, x, -xx) + math.FMA(y, y, -yy)
	return complex(0.5*math.Log1p((2*x+yy)+xx+rest), math.Atan2(y, 1+x))
}

// csigmoid is half of 1 + tanh(z/2) where e^-z may be near -1, a pole.
func csigmoid(z complex128) complex128 {
	if math.Abs(real(z)) > 1 {
		return 1 / (1 + cexp(-z))
	}
	t := ctanh(z / 2)
	return complex(0.5+0.5*real(t), 0.5*imag(t))
}

// sinh and cosh of x whose exponential may overflow where they do not.
func sinhReal(x float64) float64 {
	if math.Abs(x) > overflows {
		return math.Copysign(coshReal(x), x)
	}
	return math.Sinh(x)
}

func coshReal(x float64) float64 {
	if math.Abs(x) > overflows {
		half := math.Exp(math.Abs(x) / 2)
		return half / 2 * half
	}
	return math.Cosh(x)
}

func csinh(z complex128) complex128 {
	x, y := real(z), imag(z)
	s, c := math.Sincos(y)
	switch {
	case y == 0:
		return complex(sinhReal(x), y)
	case !IsFinite(y) && x == 0:
		return complex(x, s)
	case !IsFinite(y) && math.IsInf(x, 0):
		return complex(x, math.NaN())
	case math.Abs(x) > overflows:
		half := math.Exp(math.Abs(x) / 2)
		return complex(math.Copysign(half/2, x)*c*half, half/2*s*half)
	}
	return complex(math.Sinh(x)*c, math.Cosh(x)*s)
}

func ccosh(z complex128) complex128 {
	x, y := real(z), imag(z)
	s, c := math.Sincos(y)
	switch {
	case y == 0:
		return complex(coshReal(x), math.Copysign(1, x)*y)
	case x == 0 && !IsFinite(y):
		return complex(c, 0)
	case x == 0:
		return complex(c, x*s)
	case !IsFinite(y) && math.IsInf(x, 0):
		return complex(math.Inf(1), math.NaN())
	case math.Abs(x) > overflows:
		half := math.Exp(math.Abs(x) / 2)
		return complex(half/2*c*half, math.Copysign(half/2, x)*s*half)
	}
	return complex(math.Cosh(x)*c, math.Sinh(x)*s)
}

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
	case x == 0 && !IsFinite(y):
		return complex(x, s)
	case math.Abs(x) > 22 && IsFinite(y):
		return complex(math.Copysign(1, x), 4*s*c*math.Exp(-2*math.Abs(x)))
	}
	sh, ch := math.Sinh(x), math.Cosh(x)
	below := c*c + sh*sh
	return complex(sh*ch/below, s*c/below)
}

func csin(z complex128) complex128 { return overI(csinh(timesI(z))) }
func ccos(z complex128) complex128 { return ccosh(timesI(z)) }
func ctan(z complex128) complex128 { return overI(ctanh(timesI(z))) }

// The inverse functions are Kahan's. oneMinus and onePlus keep the sign of the imaginary
// part, which 1 - z and 1 + z would lose where it is zero.
func oneMinus(z complex128) complex128 { return complex(1-real(z), -imag(z)) }
func onePlus(z complex128) complex128  { return complex(1+real(z), imag(z)) }

// large reports whether products of parts of z overflow.
func large(z complex128) bool { return math.Abs(real(z)) > squares || math.Abs(imag(z)) > squares }

func casin(z complex128) complex128 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	switch {
	case x == 0 && y != y:
		return z
	case large(z): // log(2z)
		l := clog(complex(x/2, y/2))
		return complex(math.Copysign(math.Atan2(x, y), real(z)), math.Copysign(real(l)+2*math.Ln2, imag(z)))
	}
	a, b := csqrt(oneMinus(z)), csqrt(onePlus(z))
	re := math.Atan2(real(z), float64(real(a)*real(b))-float64(imag(a)*imag(b)))
	return complex(re, math.Asinh(float64(real(a)*imag(b))-float64(imag(a)*real(b))))
}

func cacos(z complex128) complex128 {
	switch {
	case real(z) == 0 && imag(z) != imag(z):
		return complex(math.Pi/2, imag(z))
	case large(z):
		return complex(math.Atan2(math.Abs(imag(z)), real(z)), -imag(casin(z)))
	}
	a, b := csqrt(oneMinus(z)), csqrt(onePlus(z))
	return complex(2*math.Atan2(real(a), real(b)), math.Asinh(float64(real(b)*imag(a))-float64(imag(b)*real(a))))
}

// cacosh is i acos or -i acos, whichever has a real part that is not negative.
func cacosh(z complex128) complex128 {
	w := cacos(z)
	if math.Signbit(imag(z)) {
		return complex(math.Abs(imag(w)), -real(w))
	}
	return complex(math.Abs(imag(w)), real(w))
}

func catanh(z complex128) complex128 {
	x, y := math.Abs(real(z)), math.Abs(imag(z))
	var re, im float64
	switch from := 1 - x; {
	case math.IsInf(x, 0) || math.IsInf(y, 0):
		im = math.Pi / 2
		if y != y {
			im = y
		}
	case x == 0 && y != y:
		im = y
	case x != x || y != y:
		re, im = math.NaN(), math.NaN()
	case large(z) && x > y:
		re, im = 1/(x+y/x*y), math.Pi/2
	case large(z):
		re, im = x/y/(y+x/y*x), math.Pi/2
	case from == 0 && y == 0:
		return complex(math.Copysign(math.Inf(1), real(z)), imag(z))
	default:
		re = 0.25 * math.Log1p(4*x/(from*from+y*y))
		im = 0.5 * math.Atan2(2*y, float64(from*(1+x))-float64(y*y))
		if from == 0 && y < 1/squares {
			re = 0.5 * (math.Ln2 - log(y))
		}
	}
	return complex(math.Copysign(re, real(z)), math.Copysign(im, imag(z)))
}

func casinh(z complex128) complex128 { return overI(casin(timesI(z))) }
func catan(z complex128) complex128  { return overI(catanh(timesI(z))) }
