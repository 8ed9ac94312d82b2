package wide

import "math/big"

// A Complex is a number of two Floats.
type Complex struct{ Re, Im Float }

// FromComplex returns the exact value of z.
func FromComplex(z complex128) Complex { return Complex{FromFloat64(real(z)), FromFloat64(imag(z))} }

// Complex128 returns z with its parts rounded.
func (z Complex) Complex128() complex128 { return complex(z.Re.Float64(), z.Im.Float64()) }

// Finite reports whether both parts are finite numbers.
func (z Complex) Finite() bool { return z.Re.finite() && z.Im.finite() }

// ComplexFuncs holds the analytic functions of the scalar language, under the names of
// package ir/expr, for operands that are finite. Both parts are accurate, near branch cuts
// and where they cancel too; a zero part says on which side of a cut a number lies. At
// their poles the results are of no use.
var ComplexFuncs = map[string]func(args ...Complex) Complex{
	"sqrt": complexUnary(complexSqrt), "rsqrt": complexUnary(func(z Complex) Complex { return inverse(complexSqrt(z)) }),
	"exp": complexUnary(complexExp), "exp2": complexUnary(complexExp2), "expm1": complexUnary(complexExpm1),
	"log": complexUnary(complexLog), "log1p": complexUnary(complexLog1p),
	"log2":    complexUnary(func(z Complex) Complex { return complexLog(z).over(ln2()) }),
	"log10":   complexUnary(func(z Complex) Complex { return complexLog(z).over(ln10()) }),
	"sigmoid": complexUnary(complexSigmoid), "pow": complexBinary(complexPow),

	"sinh": complexUnary(complexSinh), "cosh": complexUnary(complexCosh), "tanh": complexUnary(complexTanh),
	"sin": complexUnary(func(z Complex) Complex { return complexSinh(z.timesI()).overI() }),
	"cos": complexUnary(func(z Complex) Complex { return complexCosh(z.timesI()) }),
	"tan": complexUnary(func(z Complex) Complex { return complexTanh(z.timesI()).overI() }),

	"asin": complexUnary(complexAsin), "acos": complexUnary(complexAcos), "acosh": complexUnary(complexAcosh),
	"asinh": complexUnary(func(z Complex) Complex { return complexAsin(z.timesI()).overI() }),
	"atanh": complexUnary(complexAtanh),
	"atan":  complexUnary(func(z Complex) Complex { return complexAtanh(z.timesI()).overI() }),
}

func complexUnary(f func(Complex) Complex) func(...Complex) Complex {
	g := remember(f)
	return func(args ...Complex) Complex { return g(args[0]) }
}

func complexBinary(f func(x, y Complex) Complex) func(...Complex) Complex {
	g := remember(func(args [2]Complex) Complex { return f(args[0], args[1]) })
	return func(args ...Complex) Complex { return g([2]Complex(args[:2])) }
}

func (z Complex) timesI() Complex { return Complex{z.Im.Neg(), z.Re} }

func (z Complex) overI() Complex { return Complex{z.Im, z.Re.Neg()} }

func (z Complex) over(x *big.Float) Complex {
	return Complex{z.Re.Quo(rounded(x)), z.Im.Quo(rounded(x))}
}

// inverse returns 1/z.
func inverse(z Complex) Complex {
	size := z.Re.Mul(z.Re).Add(z.Im.Mul(z.Im))
	return Complex{z.Re.Quo(size), z.Im.Neg().Quo(size)}
}

// length returns sqrt(x*x + y*y).
func length(x, y *big.Float) *big.Float { return root(add(mul(x, x), mul(y, y))) }

func complexSqrt(z Complex) Complex {
	if z.Re.IsZero() && z.Im.IsZero() {
		return Complex{Float{}, z.Im}
	}
	x, y := abs(z.Re).big(), abs(z.Im).big()
	larger := root(scaled(add(x, length(x, y)), -1))
	smaller := quo(y, scaled(larger, 1))
	if z.Re.Signbit() {
		larger, smaller = smaller, larger
	}
	return Complex{rounded(larger), rounded(smaller).copySign(z.Im.Signbit())}
}

// turned returns size times e^(i angle).
func turned(size, angle Float) Complex { return Complex{size.Mul(cos(angle)), size.Mul(sin(angle))} }

func complexExp(z Complex) Complex { return turned(expOf(z.Re), z.Im) }

func complexExp2(z Complex) Complex {
	return turned(exp2Of(z.Re), rounded(mul(z.Im.big(), ln2())).copySign(z.Im.Signbit()))
}

func complexExpm1(z Complex) Complex {
	half := sin(rounded(scaled(z.Im.big(), -1)))
	re := expm1Of(z.Re).Mul(cos(z.Im)).Sub(FromInt64(2).Mul(half).Mul(half))
	return Complex{re, expOf(z.Re).Mul(sin(z.Im))}
}

// complexLog takes the logarithm of |z|^2 - 1, which is exact for what a float64 holds near
// the unit circle.
func complexLog(z Complex) Complex {
	if z.Re.IsZero() && z.Im.IsZero() {
		return Complex{Inf(true), atan2(z.Im, z.Re)}
	}
	x, y := abs(z.Re).big(), abs(z.Im).big()
	if x.Cmp(y) < 0 {
		x, y = y, x
	}
	beyond := add(mul(sub(x, unit), add(x, unit)), mul(y, y))
	if beyond.Sign() == 0 {
		return Complex{Float{}, atan2(z.Im, z.Re)}
	}
	if beyond.Cmp(neg(half)) > 0 && beyond.Cmp(unit) < 0 {
		return Complex{rounded(scaled(log1p(beyond), -1)), atan2(z.Im, z.Re)}
	}
	return Complex{rounded(scaled(log(add(mul(x, x), mul(y, y))), -1)), atan2(z.Im, z.Re)}
}

// complexLog1p likewise has 2x + y*y before x*x, which is less than what they cancel to.
func complexLog1p(z Complex) Complex {
	x, y := z.Re.big(), z.Im.big()
	beyond := add(add(scaled(x, 1), mul(y, y)), mul(x, x))
	angle := atan2(z.Im, rounded(add(unit, x)))
	switch {
	case beyond.Sign() == 0 && z.Im.IsZero():
		return Complex{z.Re, angle}
	case beyond.Sign() == 0:
		return Complex{Float{}, angle}
	case beyond.Cmp(neg(half)) > 0:
		return Complex{rounded(scaled(log1p(beyond), -1)), angle}
	}
	return complexLog(Complex{rounded(add(unit, x)), z.Im})
}

func complexSigmoid(z Complex) Complex {
	e := complexExp(Complex{z.Re.Neg(), z.Im.Neg()})
	return inverse(Complex{e.Re.Add(FromInt64(1)), e.Im})
}

// complexPow returns a^b, 1 for b of 0.
func complexPow(a, b Complex) Complex {
	if b.Re.IsZero() && b.Im.IsZero() {
		return Complex{Re: FromInt64(1)}
	}
	if a.Re.IsZero() && a.Im.IsZero() {
		switch {
		case b.Re.IsZero() || b.Re.IsNaN() || b.Im.IsInf() && !b.Re.IsInf():
			return Complex{NaN(), NaN()}
		case !b.Re.Signbit():
			return Complex{}
		case b.Im.IsZero() || b.Im.IsNaN():
			return Complex{Inf(false), b.Im}
		}
		return Complex{Inf(false), Inf(false)}
	}
	l := complexLog(a)
	size := expOf(b.Re.Mul(l.Re).Sub(b.Im.Mul(l.Im)))
	return turned(size, b.Im.Mul(l.Re).Add(b.Re.Mul(l.Im)))
}

func complexSinh(z Complex) Complex {
	return Complex{sinh(z.Re).Mul(cos(z.Im)), cosh(z.Re).Mul(sin(z.Im))}
}

func complexCosh(z Complex) Complex {
	return Complex{cosh(z.Re).Mul(cos(z.Im)), sinh(z.Re).Mul(sin(z.Im))}
}

// complexTanh divides by sinh^2 + cos^2, in which nothing cancels. From 2^10 on the real
// part is 1 to far more digits than there are.
func complexTanh(z Complex) Complex {
	s, c := sin(z.Im), cos(z.Im)
	if z.Re.big().MantExp(nil) > 10 {
		decay := expOf(abs(z.Re).Mul(FromInt64(-2)))
		return Complex{FromInt64(1).copySign(z.Re.Signbit()), FromInt64(4).Mul(s).Mul(c).Mul(decay)}
	}
	sh, ch := sinh(z.Re), cosh(z.Re)
	below := sh.Mul(sh).Add(c.Mul(c))
	return Complex{sh.Mul(ch).Quo(below), s.Mul(c).Quo(below)}
}

// An arc is what the inverse sine and cosine of x + iy, x and y not negative, have in
// common (Hull, Fairgrieve and Tang, 1997): a is half the sum of the distances from 1 and
// -1. All are sums of numbers that are not negative.
type arc struct {
	x, a         *big.Float
	above, below *big.Float // a - 1 and a - x
}

func newArc(z Complex) arc {
	x, y := abs(z.Re).big(), abs(z.Im).big()
	square := mul(y, y)
	right, left := sub(x, unit), add(x, unit)
	far, near := length(left, y), length(right, y)
	share := func(d *big.Float) *big.Float { // y*y/d, 0 where both are
		if square.Sign() == 0 {
			return fresh()
		}
		return quo(square, d)
	}
	r := arc{x: x, a: scaled(add(far, near), -1)}
	if right.Sign() <= 0 {
		r.above = scaled(add(share(add(far, left)), share(sub(near, right))), -1)
		r.below = scaled(add(share(add(far, left)), sub(near, right)), -1)
	} else {
		r.above = scaled(add(share(add(far, left)), add(near, right)), -1)
		r.below = scaled(add(share(add(far, left)), share(add(near, right))), -1)
	}
	return r
}

// other returns sqrt(a*a - x*x).
func (r arc) other() Float { return rounded(root(mul(r.below, add(r.a, r.x)))) }

// growth returns the logarithm of a + sqrt(a*a - 1).
func (r arc) growth() Float {
	if r.above.Sign() == 0 {
		return Float{}
	}
	return rounded(log1p(add(r.above, root(mul(r.above, add(r.a, unit))))))
}

func complexAsin(z Complex) Complex {
	r := newArc(z)
	re := atan2(rounded(r.x), r.other()).copySign(z.Re.Signbit())
	return Complex{re, r.growth().copySign(z.Im.Signbit())}
}

func complexAcos(z Complex) Complex {
	r := newArc(z)
	return Complex{atan2(r.other(), z.Re), r.growth().copySign(!z.Im.Signbit())}
}

func complexAcosh(z Complex) Complex {
	r := newArc(z)
	return Complex{r.growth(), atan2(r.other(), z.Re).copySign(z.Im.Signbit())}
}

func complexAtanh(z Complex) Complex {
	x, y := abs(z.Re).big(), abs(z.Im).big()
	from := sub(unit, x)
	square := mul(y, y)
	if from.Sign() == 0 && square.Sign() == 0 {
		return Complex{Inf(z.Re.Signbit()), z.Im}
	}
	re := Float{}
	if x.Sign() != 0 {
		re = rounded(scaled(log1p(quo(scaled(x, 2), add(mul(from, from), square))), -2))
	}
	angle := atan2(rounded(scaled(y, 1)), rounded(sub(mul(from, add(unit, x)), square)))
	return Complex{re.copySign(z.Re.Signbit()), rounded(scaled(angle.big(), -1)).copySign(z.Im.Signbit())}
}
