package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

// logarithms split x = m·2^e with m = 1 + f about 1.
func logarithms() []Func {
	return slices.Concat(
		both(Func{Name: "log", Arity: 1, Method: "polynomial", full: unary(log)}, 1.75, 1.25),
		both(Func{Name: "log1p", Arity: 1, Method: "polynomial", full: unary(log1p)}, 1.9, 2),
		both(Func{Name: "log2", Arity: 1, Method: "polynomial", full: unary(log2)}, 2, 2),
		both(Func{Name: "log10", Arity: 1, Method: "polynomial", full: unary(log10)}, 2, 2),
	)
}

// parts are an x > 0 as (1 + f)·2^e, with e in units: a multiplication is saved by
// counting 2^-23 where e is the integer that a float32's exponent is in its place.
type parts struct {
	f, e lane.V
	unit float64
	// exact says that f and e make the logarithm what it is at 0, at infinity and
	// below 0, too.
	exact bool
}

// unit is what exponentOf counts e in.
func (p prog) unit() float64 { return p.pick(0x1p23, 1) }

// split is the parts of x, with m in [2/3, 4/3) for float32, [1/√2, √2) for float64,
// and [3/4, 3/2) where the processor splits.
func (p prog) split(x lane.V) parts {
	if p.set == AVX512 {
		m := p.GetMant(x, 0.75)
		below := p.Cmp(lane.LT, m, p.c(1))
		e := p.GetExp(x)
		return parts{p.Sub(m, p.c(1)), p.Select(below, p.Add(e, p.c(1)), e), 1, true}
	}
	least, up := p.pick(0x1p-126, 0x1p-1022), p.pick(23, 54)
	small := p.Cmp(lane.LT, x, p.c(least))
	x = p.Select(small, p.Mul(x, p.c(math.Exp2(up))), x)
	from := p.i(0x3f2aaaab)
	if p.t == lane.F64 {
		from = p.i(0x3fe6a09e667f3bcd)
	}
	exponent := p.exponentFrom(p.bits(x), from)
	f := p.Sub(p.float(p.Sub(p.bits(x), exponent)), p.c(1))
	e := p.Sub(p.exponentOf(exponent), p.Select(small, p.c(up*p.unit()), p.c(0)))
	return parts{f, e, p.unit(), false}
}

// tails are the coefficients of logTail for split.
func (p prog) tails() (tail32, tail64 []float64) {
	if p.set == AVX512 {
		return log1pTail32, log1pTail64
	}
	return logTail32, logTail64
}

// exponentFrom is the e of m·2^e, whose bits are given, in the place of an exponent,
// with m at least the number that has the bits from.
func (p prog) exponentFrom(bits, from lane.V) lane.V {
	mask := int64(-1) << p.mantissa()
	return p.And(p.Sub(bits, from), p.i(mask))
}

// exponentOf is e in units, given in the place of an exponent. That of float64 is
// put into a significand, since AVX2 cannot convert it.
func (p prog) exponentOf(e lane.V) lane.V {
	if p.t == lane.F32 {
		return p.IToF(e)
	}
	biased := p.Shr(p.Add(e, p.i(1023<<52)), 52)
	return p.Sub(p.float(p.Or(biased, p.i(0x433<<52))), p.c(0x1p52+1023))
}

// logEdges puts into y, a logarithm of x - origin, what it is at 0, below and at
// infinity.
func (p prog) logEdges(y, x lane.V, origin float64) lane.V {
	o := p.c(origin)
	y = p.Select(p.Cmp(lane.LT, x, p.inf()), y, x)
	below := p.Select(p.Cmp(lane.EQ, x, o), p.c(math.Inf(-1)), p.nan())
	return p.Select(p.Cmp(lane.GT, x, o), y, below)
}

// logTail32 are the coefficients of (log(1+f) - f)/f² for |f| <= 1/3, to 2^-27.6 of
// the logarithm; log1pTail32 for f from -1/4 to 1/2, to 2^-27.5.
var (
	logTail32 = []float64{-0x1.000000p-1, 0x1.5554fap-2, -0x1.ffff94p-3, 0x1.99d592p-3, -0x1.557e06p-3,
		0x1.1e8162p-3, -0x1.f6bf48p-4, 0x1.1ffc80p-3, -0x1.ff545ep-4}
	log1pTail32 = []float64{-0x1.000000p-1, 0x1.5555acp-2, -0x1.000082p-2, 0x1.996708p-3, -0x1.54d684p-3,
		0x1.287768p-3, -0x1.0e9694p-3, 0x1.b20c58p-4, -0x1.796f32p-5}
)

// logTail64 are the coefficients of (log((1+s)/(1-s))/s - 2)/s² in s², where s is
// f/(2+f): for m from 1/√2 to √2, to 2^-59.5 of the logarithm; log1pTail64 for m from
// 3/4 to 3/2, to 2^-62.6.
var (
	logTail64 = []float64{0x1.5555555555592p-1, 0x1.999999997ff02p-2, 0x1.24924941e36f0p-2, 0x1.c71c52121fdcbp-3,
		0x1.74663d74a98cdp-3, 0x1.39a1d975653e6p-3, 0x1.2f0463858acd9p-3}
	log1pTail64 = []float64{0x1.555555555554fp-1, 0x1.999999999c176p-2, 0x1.24924921e5776p-2, 0x1.c71c748de56efp-3,
		0x1.745c4b7373d45p-3, 0x1.3b35a91a3625dp-3, 0x1.0dcd61a978b82p-3, 0x1.1b7400a82bdaep-3}
)

// logTail is log(1+f) - f. For float64 it is s(f²/2 + s²·tail) - f²/2 with s = f/(2+f).
func (p prog) logTail(f lane.V, tail32, tail64 []float64) lane.V {
	ff := p.Mul(f, f)
	if p.t == lane.F32 {
		return p.Mul(ff, p.poly(f, tail32...))
	}
	s := p.Div(f, p.Add(f, p.c(2)))
	z := p.Mul(s, s)
	half := p.Mul(ff, p.c(0.5))
	return p.FMS(s, p.FMA(z, p.poly(z, tail64...), half), half)
}

// natural is log(1+f) + e·log 2. What float32's log 2 lacks is 2^-28 of the result;
// float64's parts are positive, so that an infinite e gives no NaN.
func (p prog) natural(x parts, tail32, tail64 []float64) lane.V {
	if p.t == lane.F32 {
		return p.FMA(p.Mul(x.f, x.f), p.poly(x.f, tail32...), p.FMA(x.e, p.c(ln2Hi32/x.unit), x.f))
	}
	tail := p.logTail(x.f, nil, tail64)
	tail = p.Add(p.FMA(x.e, p.c(ln2Lo64/x.unit), tail), x.f)
	return p.FMA(x.e, p.c(ln2Hi64/x.unit), tail)
}

// edged is y, a logarithm of x, made right at the edges where the parts did not.
func (p prog) edged(y, x lane.V, of parts) lane.V {
	if of.exact {
		return y
	}
	return p.logEdges(y, x, 0)
}

func log(p prog, x lane.V) lane.V {
	if p.set == AVX512 && p.t == lane.F32 {
		return p.logOfTable32(x)
	}
	of := p.split(x)
	tail32, tail64 := p.tails()
	return p.edged(p.natural(of, tail32, tail64), x, of)
}

// logOfTable32 splits x = m·2^e with m from 1 to 2, and takes m = (1 + f)/c with a c for
// each of 32 intervals, so that |f| is at most 1/32. At the ends c is 1 and 1/2: nothing
// is lost of results near 0.
func (p prog) logOfTable32(x lane.V) lane.V {
	m := p.GetMant(x, 1)
	k := p.Shr(p.bits(m), 18)
	f := p.FMS(m, p.Lookup(k, p.t, p.table(logInverse32...)), p.c(1))
	s := p.FMA(p.GetExp(x), p.c(ln2Hi32), p.Lookup(k, p.t, p.table(logTable32...)))
	return p.FMA(p.horner(f, append([]float64{1}, logShort32...)...), f, s)
}

// logShort32 are the coefficients of (log(1+f) - f)/f² for f from -1/64 to 1/32, to
// 2^-26.8 of the logarithm. logInverse32 are the c of each interval of m, and logTable32
// -log(c): such c that this has an error of 2^-36 or less, in the upper half also after
// log 2 is taken from it.
var (
	logShort32   = []float64{-0x1.00002ap-1, 0x1.555e42p-2, -0x1.f394a4p-3}
	logInverse32 = []float64{
		0x1p+0, 0x1.e8d396p-1, 0x1.daaa56p-1, 0x1.cd9256p-1, 0x1.c0f664p-1, 0x1.b5222ap-1, 0x1.a9b088p-1, 0x1.9ec00ap-1,
		0x1.945664p-1, 0x1.8ad852p-1, 0x1.8193acp-1, 0x1.786b58p-1, 0x1.70626ap-1, 0x1.680344p-1, 0x1.6052p-1, 0x1.58bf2p-1,
		0x1.51e5bap-1, 0x1.4b20bep-1, 0x1.44a5a8p-1, 0x1.3e329p-1, 0x1.37fcp-1, 0x1.321396p-1, 0x1.2cb5a4p-1, 0x1.27237p-1,
		0x1.21fda4p-1, 0x1.1cfcc8p-1, 0x1.17e306p-1, 0x1.1389f4p-1, 0x1.0f096ep-1, 0x1.0a439ap-1, 0x1.06131ep-1, 0x1p-1,
	}
	logTable32 = []float64{
		0x0p+0, 0x1.7b6dc4p-5, 0x1.362074p-4, 0x1.a8b41ap-4, 0x1.0d13c2p-3, 0x1.43c2a4p-3, 0x1.7a1708p-3, 0x1.af6864p-3,
		0x1.e37b2ep-3, 0x1.0a113ap-2, 0x1.2263ep-2, 0x1.3b00fap-2, 0x1.51192cp-2, 0x1.68a33ap-2, 0x1.7ec134p-2, 0x1.9501e4p-2,
		0x1.a98e7p-2, 0x1.be4794p-2, 0x1.d2851cp-2, 0x1.e71168p-2, 0x1.fb42acp-2, 0x1.076b2cp-1, 0x1.1079ep-1, 0x1.1a0cf6p-1,
		0x1.230f38p-1, 0x1.2bf868p-1, 0x1.35378ap-1, 0x1.3d3bacp-1, 0x1.45aaf4p-1, 0x1.4ec39ap-1, 0x1.56e248p-1, 0x1.62e43p-1,
	}
)

// log2 multiplies by log2(e) in two parts, so that the error near 1 stays small.
func log2(p prog, x lane.V) lane.V {
	of := p.split(x)
	tail32, tail64 := p.tails()
	hi := p.pick(0x1.715476p+0, 0x1.71547652b82fep+0)
	lo := p.pick(math.Log2E-0x1.715476p+0, 0x1.777d0ffda0d24p-56)
	y := p.Mul(p.logTail(of.f, tail32, tail64), p.c(math.Log2E))
	y = p.FMA(of.f, p.c(hi), p.FMA(of.f, p.c(lo), y))
	return p.edged(p.FMA(of.e, p.c(1/of.unit), y), x, of)
}

// log10 does so with log10(e), and with log10(2) for e.
func log10(p prog, x lane.V) lane.V {
	of := p.split(x)
	tail32, tail64 := p.tails()
	hi := p.pick(0x1.bcb7b2p-2, 0x1.bcb7b1526e50ep-2)
	lo := p.pick(math.Log10E-0x1.bcb7b2p-2, 0x1.95355baaafad3p-57)
	ofTwo := p.pick(0x1.344134p-2, 0x1.34413509f79fep-2)
	rest := p.pick(0x1.09f79fef311f1p-26, 0x1.e623e2566b02ep-55)
	y := p.Mul(p.logTail(of.f, tail32, tail64), p.c(math.Log10E))
	y = p.FMA(of.e, p.c(rest/of.unit), p.FMA(of.f, p.c(lo), y))
	return p.edged(p.FMA(of.e, p.c(ofTwo/of.unit), p.FMA(of.f, p.c(hi), y)), x, of)
}

// log1p splits 1 + x = (1 + f)·2^e by the exponent of the rounded sum, and takes
// f = x·2^-e + (2^-e - 1), which loses nothing of a small x. A tiny x is the result.
func log1p(p prog, x lane.V) lane.V { return p.log1pPlus(x, p.c(0)) }

// log1pPlus is log(1 + x) + n·log 2, for an n in units that is 0 for tiny x.
func (p prog) log1pPlus(x, n lane.V) lane.V {
	of := p.split1p(x)
	if n != p.c(0) {
		of.e = p.Add(of.e, n)
	}
	y := p.natural(of, log1pTail32, log1pTail64)
	tiny := p.Cmp(lane.LT, p.Abs(x), p.c(p.pick(0x1p-25, 0x1p-54)))
	return p.Select(tiny, x, p.logEdges(y, x, -1))
}

// split1p is the parts of 1 + x, with m in [3/4, 3/2). 2^-e is no normal number for the
// largest x, 4·2^-e always is one.
func (p prog) split1p(x lane.V) parts {
	exponent := p.exponentFrom(p.bits(p.Add(x, p.c(1))), p.bits(p.c(0.75)))
	four := p.float(p.Sub(p.bits(p.c(4)), exponent))
	f := p.FMA(p.Mul(x, p.c(0.25)), four, p.FMS(four, p.c(0.25), p.c(1)))
	return parts{f, p.exponentOf(exponent), p.unit(), false}
}
