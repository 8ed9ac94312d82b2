package wide

import (
	"math/big"
	"sync"
)

// maxAngleExp bounds the binary exponent of an angle. Larger ones are not
// float64 values; they arise in the middle of expressions, where float64 has
// infinity, and are answered alike, by NaN.
const maxAngleExp = 4096

// trigHalvings is how often the argument of the series is halved, and trigTerms
// how many terms it then needs.
const (
	trigHalvings = 5
	trigTerms    = 16
)

// sinVersin returns sin(r) and 1 - cos(r) for |r| <= 0.8, to full relative precision.
func sinVersin(r *big.Float) (s, v *big.Float) {
	f := inverseFactorials()
	t := scaled(r, -trigHalvings)
	square := mul(t, t)
	s, v = fresh(), fresh()
	for k := trigTerms - 1; k >= 0; k-- { // s: 1/1! - t^2/3! + ..., v: 1/2! - t^2/4! + ...
		s.Sub(f[2*k+1], s.Mul(s, square))
		v.Sub(f[2*k+2], v.Mul(v, square))
	}
	s.Mul(s, t)
	v.Mul(v, square)
	for range trigHalvings {
		s, v = scaled(mul(s, sub(unit, v)), 1), scaled(mul(s, s), 1)
	}
	return s, v
}

// reduce returns r and the quadrant q, with x = r + q*pi/2 modulo 2 pi and
// |r| <= 0.79.
func reduce(x *big.Float) (r *big.Float, q int) {
	if x.MantExp(nil) < 0 {
		return x, 0
	}
	prec := uint(x.MantExp(nil) + 3*work)
	halfPi := new(big.Float).SetPrec(prec).Set(widePi())
	halfPi.SetMantExp(halfPi, -1)
	turns := new(big.Float).SetPrec(prec).Quo(x, halfPi)
	turns.Add(turns, big.NewFloat(0.5))
	n, _ := turns.Int(nil)
	if turns.Signbit() && !turns.IsInt() {
		n.Sub(n, one)
	}
	turns.SetInt(n)
	exact := new(big.Float).SetPrec(prec).Sub(x, turns.Mul(turns, halfPi))
	return fresh().Set(exact), int(new(big.Int).And(n, big.NewInt(3)).Int64())
}

// sinCos returns the sine and cosine of x + shift*pi/2.
func sinCos(x *big.Float, shift int) (s, c *big.Float) {
	r, q := reduce(x)
	s, v := sinVersin(r)
	c = sub(unit, v)
	switch (q + shift) & 3 {
	case 1:
		s, c = c, neg(s)
	case 2:
		s, c = neg(s), neg(c)
	case 3:
		s, c = neg(c), s
	}
	return s, c
}

func isAngle(x Float) bool { return x.finite() && x.big().MantExp(nil) <= maxAngleExp }

func sin(x Float) Float {
	if x.IsZero() {
		return x
	}
	if !isAngle(x) {
		return NaN()
	}
	s, _ := sinCos(x.big(), 0)
	return rounded(s)
}

func cos(x Float) Float {
	if !isAngle(x) {
		return NaN()
	}
	_, c := sinCos(x.big(), 0)
	return rounded(c)
}

func tan(x Float) Float {
	if x.IsZero() {
		return x
	}
	if !isAngle(x) {
		return NaN()
	}
	s, c := sinCos(x.big(), 0)
	return rounded(quo(s, c))
}

// atans holds atan(i/64).
var atans = sync.OnceValue(func() []*big.Float {
	t := []*big.Float{fresh()}
	step := scaled(unit, -6)
	for i := 1; i <= 64; i++ { // atan(a) - atan(b) = atan((a-b)/(1+ab))
		product := scaled(number(i*(i-1)), -12)
		t = append(t, add(t[i-1], arcSeries(quo(step, add(unit, product)), false)))
	}
	return t
})

// atan returns the arc tangent of x.
func atan(x *big.Float) *big.Float {
	switch {
	case x.Sign() == 0:
		return x
	case x.Signbit():
		return neg(atan(neg(x)))
	case x.Cmp(unit) > 0:
		return sub(halfPi(), atan(quo(unit, x)))
	}
	f, _ := x.Float64()
	i := int(f*64 + 0.5)
	near := scaled(number(i), -6)
	z := quo(sub(x, near), add(unit, mul(x, near)))
	if z.Sign() == 0 {
		return atans()[i]
	}
	return add(arcSeries(z, false), atans()[i])
}

func atanOf(x Float) Float {
	switch {
	case x.IsZero():
		return x
	case x.IsInf():
		return rounded(halfPi()).copySign(x.Signbit())
	}
	return rounded(atan(x.big()))
}

// outsideUnit reports whether |x| > 1.
func outsideUnit(x Float) bool { return FromInt64(1).Less(abs(x)) }

func asin(x Float) Float {
	switch c, _ := abs(x).Cmp(FromInt64(1)); {
	case x.IsZero():
		return x
	case c > 0:
		return NaN()
	case c == 0:
		return rounded(halfPi()).copySign(x.Signbit())
	}
	v := x.big()
	return rounded(atan(quo(v, root(mul(sub(unit, v), add(unit, v))))))
}

func acos(x Float) Float {
	v := x.big()
	switch {
	case outsideUnit(x):
		return NaN()
	case x.Equal(FromInt64(-1)):
		return rounded(pi())
	}
	return rounded(scaled(atan(root(quo(sub(unit, v), add(unit, v)))), 1))
}

// atan2 returns the angle of the point (x, y), with C99's special values.
func atan2(y, x Float) Float {
	if x.nan || y.nan {
		return NaN()
	}
	var z *big.Float
	switch {
	case y.IsZero():
		if z = fresh(); x.Signbit() {
			z = pi()
		}
	case x.IsInf() && y.IsInf():
		if z = scaled(pi(), -2); x.Signbit() {
			z = mul(z, number(3))
		}
	case x.IsInf():
		if z = fresh(); x.Signbit() {
			z = pi()
		}
	case y.IsInf() || x.IsZero():
		z = halfPi()
	default:
		z = atan(quo(abs(y).big(), abs(x).big()))
		if x.Signbit() {
			z = sub(pi(), z)
		}
	}
	return rounded(z).copySign(y.Signbit())
}

func sinh(x Float) Float {
	switch {
	case x.IsZero() || x.IsInf():
		return x
	case x.big().MantExp(nil) > 20:
		return Inf(x.Signbit())
	}
	e := expm1(abs(x).big())
	return rounded(scaled(add(e, quo(e, add(e, unit))), -1)).copySign(x.Signbit())
}

func cosh(x Float) Float {
	if x.IsInf() || x.big().MantExp(nil) > 20 {
		return Inf(false)
	}
	e := exp(x.big())
	return rounded(scaled(add(e, quo(unit, e)), -1))
}

func tanh(x Float) Float {
	switch {
	case x.IsZero():
		return x
	case x.IsInf() || x.big().MantExp(nil) > 10: // 1 to far more than 160 bits
		return FromInt64(1).copySign(x.Signbit())
	}
	e := expm1(scaled(x.big(), 1))
	return rounded(quo(e, add(e, two)))
}

func asinh(x Float) Float {
	if x.IsZero() || x.IsInf() {
		return x
	}
	v := abs(x).big()
	square := mul(v, v)
	z := log1p(add(v, quo(square, add(unit, root(add(unit, square))))))
	return rounded(z).copySign(x.Signbit())
}

func acosh(x Float) Float {
	switch {
	case x.Less(FromInt64(1)):
		return NaN()
	case x.IsInf():
		return x
	}
	t := sub(x.big(), unit)
	if t.Sign() == 0 {
		return Float{}
	}
	return rounded(log1p(add(t, root(mul(t, add(t, two))))))
}

func atanh(x Float) Float {
	switch c, _ := abs(x).Cmp(FromInt64(1)); {
	case x.IsZero():
		return x
	case c > 0:
		return NaN()
	case c == 0:
		return Inf(x.Signbit())
	}
	v := abs(x).big()
	z := scaled(log1p(quo(scaled(v, 1), sub(unit, v))), -1)
	return rounded(z).copySign(x.Signbit())
}
