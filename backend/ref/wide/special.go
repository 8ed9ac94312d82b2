package wide

import (
	"math/big"
	"sync"
)

// erfcSplit is where erfc changes from one minus a series, which loses x^2/ln2
// bits, to a continued fraction, which needs more terms the smaller x is.
const erfcSplit = 6

// erfSeries returns erf(x) for 0 < x <= erfcSplit: all its terms are positive.
func erfSeries(x *big.Float) *big.Float {
	square := mul(x, x)
	twice := scaled(square, 1)
	term, sum, k := fresh().Set(x), fresh().Set(x), fresh()
	for i := 3; !negligible(term, sum); i += 2 {
		term.Quo(term.Mul(term, twice), k.SetInt64(int64(i)))
		sum.Add(sum, term)
	}
	sum.Mul(sum, exp(neg(square)))
	return quo(scaled(sum, 1), rootPi())
}

// erfcFraction returns erfc(x) for x >= erfcSplit.
func erfcFraction(x *big.Float) *big.Float {
	f, _ := x.Float64()
	terms := 40 + int(6400/(f*f))
	t := fresh().Set(x)
	for k := terms; k > 0; k-- {
		t.Add(x, t.Quo(scaled(number(k), -1), t))
	}
	return quo(exp(neg(mul(x, x))), mul(rootPi(), t))
}

// erfcPositive returns erfc(x) for x > 0 and x^2 <= maxExp.
func erfcPositive(x *big.Float) *big.Float {
	if x.Cmp(number(erfcSplit)) < 0 {
		return sub(unit, erfSeries(x))
	}
	return erfcFraction(x)
}

func erf(x Float) Float {
	switch {
	case x.IsZero():
		return x
	case x.IsInf() || x.big().MantExp(nil) > 5: // one to far more than 160 bits
		return FromInt64(1).copySign(x.Signbit())
	}
	v := abs(x).big()
	if v.Cmp(number(erfcSplit)) < 0 {
		return rounded(erfSeries(v)).copySign(x.Signbit())
	}
	return rounded(sub(unit, erfcFraction(v))).copySign(x.Signbit())
}

func erfc(x Float) Float {
	large := x.IsInf() || x.big().MantExp(nil) > 10
	switch {
	case x.IsZero():
		return FromInt64(1)
	case large && x.Signbit():
		return FromInt64(2)
	case large:
		return Float{}
	case x.Signbit():
		return rounded(sub(two, erfcPositive(abs(x).big())))
	}
	return rounded(erfcPositive(x.big()))
}

// erfinv solves erf(y) = x by Halley's method, on erfc where that is small.
func erfinv(x Float) Float {
	switch c, _ := abs(x).Cmp(FromInt64(1)); {
	case x.IsZero():
		return x
	case c > 0:
		return NaN()
	case c == 0:
		return Inf(x.Signbit())
	}
	p := abs(x).big()
	y := erfinvStart(p)
	for range 4 { // the start has 8 bits, and each step three times as many
		slope := quo(scaled(exp(neg(mul(y, y))), 1), rootPi())
		var miss *big.Float
		if p.Cmp(half) > 0 {
			miss = sub(sub(unit, p), erfcPositive(y))
		} else {
			miss = sub(erfSeries(y), p)
		}
		step := quo(miss, slope)
		y = sub(y, quo(step, add(unit, mul(y, step))))
	}
	return rounded(y).copySign(x.Signbit())
}

// erfinvStart returns erfinv(p) for 0 < p < 1 within a part in 200.
func erfinvStart(p *big.Float) *big.Float {
	if p.MantExp(nil) < -10 {
		return scaled(mul(p, rootPi()), -1)
	}
	// Winitzki: with l = log(1-p^2) and b = 2/(pi a) + l/2, sqrt(sqrt(b^2 - l/a) - b).
	a := fresh().SetFloat64(0.147)
	l := log(mul(sub(unit, p), add(unit, p)))
	b := add(quo(two, mul(pi(), a)), scaled(l, -1))
	return root(sub(root(sub(mul(b, b), quo(l, a))), b))
}

// Stirling's series is used from stirlingFrom on, with stirlingTerms terms: the
// first one left out is below 2^-264.
const (
	stirlingFrom  = 64
	stirlingTerms = 40
)

// bernoulli holds the Bernoulli numbers B(2k) for k = 0 to stirlingTerms.
var bernoulli = sync.OnceValue(func() []*big.Float {
	// sum over j <= m of C(m+1, j) B(j) = 0
	b := []*big.Rat{big.NewRat(1, 1)}
	for m := 1; m <= 2*stirlingTerms; m++ {
		sum := new(big.Rat)
		for j, bj := range b {
			c := new(big.Rat).SetInt(new(big.Int).Binomial(int64(m+1), int64(j)))
			sum.Sub(sum, c.Mul(c, bj))
		}
		b = append(b, sum.Quo(sum, big.NewRat(int64(m+1), 1)))
	}
	even := make([]*big.Float, stirlingTerms+1)
	for k := range even {
		even[k] = fresh().SetRat(b[2*k])
	}
	return even
})

// shift returns how many times x > 0 is moved up by one to reach Stirling's series.
func shift(x *big.Float) int {
	if x.Cmp(number(stirlingFrom)) >= 0 {
		return 0
	}
	f, _ := x.Float64()
	return stirlingFrom - int(f)
}

// lgammaPositive returns the logarithm of gamma(x) for x > 0.
func lgammaPositive(x *big.Float) *big.Float {
	n := shift(x)
	product, y := fresh().Set(unit), fresh().Set(x)
	for range n {
		product.Mul(product, y)
		y.Add(y, unit)
	}
	inverse := quo(unit, y)
	square := mul(inverse, inverse)
	sum := fresh()
	for k := stirlingTerms; k > 0; k-- {
		sum.Add(sum.Mul(sum, square), quo(bernoulli()[k], number(2*k*(2*k-1))))
	}
	sum.Mul(sum, inverse)
	sum.Add(sum, scaled(logTwoPi(), -1))
	sum.Add(sum, sub(mul(sub(y, half), log(y)), y))
	if n == 0 {
		return sum
	}
	return sub(sum, log(product))
}

// digammaPositive returns the derivative of lgamma at x > 0.
func digammaPositive(x *big.Float) *big.Float {
	n := shift(x)
	below, y := fresh(), fresh().Set(x)
	for range n {
		below.Add(below, quo(unit, y))
		y.Add(y, unit)
	}
	inverse := quo(unit, y)
	square := mul(inverse, inverse)
	sum := fresh()
	for k := stirlingTerms; k > 0; k-- {
		sum.Mul(sum.Add(sum, quo(bernoulli()[k], number(2*k))), square)
	}
	z := sub(log(y), scaled(inverse, -1))
	return sub(sub(z, sum), below)
}

// sinCosPi returns the sine and cosine of pi*x, up to a common sign.
func sinCosPi(x Float) (s, c *big.Float) {
	turn := sub(x.big(), round(x).big())
	return sinCos(mul(turn, pi()), 0)
}

func lgamma(x Float) Float {
	switch {
	case x.IsInf() || x.IsZero() || x.Signbit() && x.big().IsInt():
		return Inf(false)
	case x.Equal(FromInt64(1)) || x.Equal(FromInt64(2)):
		return Float{}
	case !x.Signbit():
		return rounded(lgammaPositive(x.big()))
	}
	s, _ := sinCosPi(x)
	return rounded(sub(log(quo(pi(), s.Abs(s))), lgammaPositive(sub(unit, x.big()))))
}

func digamma(x Float) Float {
	switch {
	case x.IsZero():
		return Inf(!x.Signbit())
	case x.IsInf() && !x.Signbit():
		return x
	case x.Signbit() && (x.IsInf() || x.big().IsInt()):
		return NaN()
	case !x.Signbit():
		return rounded(digammaPositive(x.big()))
	}
	s, c := sinCosPi(x)
	return rounded(sub(digammaPositive(sub(unit, x.big())), quo(mul(pi(), c), s)))
}
