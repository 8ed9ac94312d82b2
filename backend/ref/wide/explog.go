package wide

import (
	"math/big"
	"sync"
)

// expDoublings is how often the argument of the series is halved, and
// expTerms how many terms the result, below 2^-11, then needs.
const (
	expDoublings = 10
	expTerms     = 19
)

// expm1Near returns e^r - 1 for |r| <= 0.4, to full relative precision.
func expm1Near(r *big.Float) *big.Float {
	f := inverseFactorials()
	t := scaled(r, -expDoublings)
	e := fresh().Set(f[expTerms])
	for k := expTerms - 1; k > 0; k-- {
		e.Add(e.Mul(e, t), f[k])
	}
	e.Mul(e, t)
	plus := fresh()
	for range expDoublings { // (1+e)^2 - 1 = e(e+2)
		e.Mul(e, plus.Add(e, two))
	}
	return e
}

// exp returns e^x for |x| <= 2 maxExp.
func exp(x *big.Float) *big.Float {
	f, _ := x.Float64()
	k := int(f*1.4426950408889634 + 0.5) // any integer near x/ln2 will do
	if f < 0 {
		k = -int(-f*1.4426950408889634 + 0.5)
	}
	r := new(big.Float).SetPrec(2 * work)
	r.Mul(wideLn2(), number(k)).Sub(x, r)
	return scaled(add(expm1Near(fresh().Set(r)), unit), k)
}

// expm1 returns e^x - 1 for |x| <= 2 maxExp.
func expm1(x *big.Float) *big.Float {
	if x.MantExp(nil) < -1 {
		return expm1Near(x)
	}
	return sub(exp(x), unit)
}

// logs holds log(i/64) for the i that a number in [0.7, 1.42] is near to.
var logs = sync.OnceValue(func() []*big.Float {
	t := make([]*big.Float, 92)
	for i := 45; i < len(t); i++ {
		z := quo(number(i-64), number(i+64))
		if t[i] = fresh(); i != 64 {
			t[i] = scaled(arcSeries(z, true), 1)
		}
	}
	return t
})

// splitLog returns m and e with log(x) = m + e*ln2, for x > 0 and |m| < 0.35.
func splitLog(x *big.Float) (m *big.Float, e int) {
	m = fresh()
	e = x.MantExp(m)
	if m.Cmp(big.NewFloat(0.7071)) < 0 {
		m, e = scaled(m, 1), e-1
	}
	f, _ := m.Float64()
	i := int(f*64 + 0.5)
	near := scaled(number(i), -6)
	z := quo(sub(m, near), add(m, near))
	if z.Sign() == 0 {
		return logs()[i], e
	}
	return add(scaled(arcSeries(z, true), 1), logs()[i]), e
}

// log returns the natural logarithm of x > 0.
func log(x *big.Float) *big.Float {
	m, e := splitLog(x)
	if e == 0 {
		return m
	}
	return add(m, mul(number(e), ln2()))
}

// log1p returns log(1+x) for x > -1.
func log1p(x *big.Float) *big.Float {
	if x.MantExp(nil) < -8 && x.Sign() != 0 {
		return scaled(arcSeries(quo(x, add(x, two)), true), 1)
	}
	return log(add(x, unit))
}

func expOf(x Float) Float {
	switch {
	case x.IsInf() || x.big().MantExp(nil) > 20: // |x| >= maxExp
		if x.Signbit() {
			return Float{}
		}
		return Inf(false)
	}
	return rounded(exp(x.big()))
}

func exp2Of(x Float) Float {
	switch {
	case x.IsInf() || x.big().MantExp(nil) > 21:
		if x.Signbit() {
			return Float{}
		}
		return Inf(false)
	}
	whole := round(x)
	k, _ := whole.Int()
	return rounded(scaled(exp(mul(sub(x.big(), whole.big()), ln2())), int(k)))
}

func expm1Of(x Float) Float {
	switch {
	case x.IsZero():
		return x
	case x.IsInf() || x.big().MantExp(nil) > 20:
		if x.Signbit() {
			return FromInt64(-1)
		}
		return Inf(false)
	}
	return rounded(expm1(x.big()))
}

// logOf wraps a logarithm that is finite for finite x > 0.
func logOf(f func(*big.Float) *big.Float) func(Float) Float {
	return func(x Float) Float {
		switch {
		case x.IsZero():
			return Inf(true)
		case x.Signbit():
			return NaN()
		case x.IsInf():
			return x
		}
		return rounded(f(x.big()))
	}
}

// log2 is exact for powers of two.
func log2(x *big.Float) *big.Float {
	m, e := splitLog(x)
	return add(quo(m, ln2()), number(e))
}

func log10(x *big.Float) *big.Float { return quo(log(x), ln10()) }

func log1pOf(x Float) Float {
	if x.IsZero() || x.IsInf() && !x.Signbit() {
		return x
	}
	switch c, _ := x.Cmp(FromInt64(-1)); {
	case c < 0:
		return NaN()
	case c == 0:
		return Inf(true)
	}
	return rounded(log1p(x.big()))
}

func sqrtOf(x Float) Float {
	switch {
	case x.IsZero():
		return x
	case x.Signbit():
		return NaN()
	}
	return rounded(root(x.big()))
}

func rsqrtOf(x Float) Float {
	switch {
	case x.IsZero():
		return Inf(x.Signbit())
	case x.Signbit():
		return NaN()
	case x.IsInf():
		return Float{}
	}
	return rounded(quo(unit, root(x.big())))
}

func cbrtOf(x Float) Float {
	if x.IsZero() || x.IsInf() {
		return x
	}
	r := exp(quo(log(abs(x).big()), number(3)))
	return rounded(r).copySign(x.Signbit())
}

func hypot(x, y Float) Float {
	switch {
	case x.IsInf() || y.IsInf():
		return Inf(false)
	case x.nan || y.nan:
		return NaN()
	}
	return rounded(root(add(mul(x.big(), x.big()), mul(y.big(), y.big()))))
}

func sigmoid(x Float) Float {
	if e := expOf(abs(x).Neg()); x.Signbit() {
		return e.Quo(e.Add(FromInt64(1)))
	}
	return FromInt64(1).Quo(expOf(x.Neg()).Add(FromInt64(1)))
}

// isOdd reports whether finite x is an odd integer.
func isOdd(x Float) bool {
	v := x.big()
	return !x.IsZero() && v.MantExp(nil) == int(v.MinPrec())
}

// pow returns x^y with C99's special values.
func pow(x, y Float) Float {
	c, ordered := x.Cmp(FromInt64(1))
	switch {
	case y.IsZero() || ordered && c == 0:
		return FromInt64(1)
	case x.nan || y.nan:
		return NaN()
	case y.IsInf():
		return powInf(x, y)
	}
	negative := x.Signbit() && isOdd(y)
	switch {
	case x.IsZero() || x.IsInf():
		if x.IsZero() != y.Signbit() {
			return signedZero(negative)
		}
		return Inf(negative)
	case x.Signbit() && !y.big().IsInt():
		return NaN()
	}
	power := mul(y.big(), log(abs(x).big()))
	if power.MantExp(nil) > 20 {
		if power.Signbit() {
			return signedZero(negative)
		}
		return Inf(negative)
	}
	return rounded(exp(power)).copySign(negative)
}

func powInf(x, y Float) Float {
	switch c, _ := abs(x).Cmp(FromInt64(1)); {
	case c == 0:
		return FromInt64(1)
	case c > 0 != y.Signbit():
		return Inf(false)
	}
	return Float{}
}
