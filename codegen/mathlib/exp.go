package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

// exponentials reduce x to r = x - n·log 2 with n integral and |r| <= log(2)/2.
func exponentials() []Func {
	return slices.Concat(
		both(Func{Name: "exp", Arity: 1, Method: "polynomial", full: unary(exp)}, 1, 1),
		both(Func{Name: "expneg", Arity: 1, Method: "polynomial", full: unary(expNeg)}, 1, 1),
		both(Func{Name: "exp2", Arity: 1, Method: "polynomial", full: unary(exp2)}, 1.1, 1),
		both(Func{Name: "expm1", Arity: 1, Method: "polynomial", full: unary(expm1)}, 1.75, 1.5),
		both(Func{Name: "sigmoid", Arity: 1, Method: "exp, division", full: unary(sigmoid)}, 2.5, 2.5),
	)
}

// The halves of log 2: the nearest number of the dtype and what it lacks.
const (
	ln2Hi32 = 0x1.62e43p-1
	ln2Lo32 = math.Ln2 - ln2Hi32
	ln2Hi64 = 0x1.62e42fefa39efp-1
	ln2Lo64 = 0x1.abc9e3b39803fp-56
)

// ln2 are the halves for the dtype, times scale, a power of two.
func (p prog) ln2(scale float64) (hi, lo lane.V) {
	if p.t == lane.F32 {
		return p.c(ln2Hi32 * scale), p.c(ln2Lo32 * scale)
	}
	return p.c(ln2Hi64 * scale), p.c(ln2Lo64 * scale)
}

// bias is what the dtype adds to exponents.
func (p prog) bias() float64 { return p.pick(127, 1023) }

// whole is t = x·scale rounded to an integer n: n as a number, and n + bias in the
// place of an exponent. It holds for |n| below 2^(mantissa-2).
func (p prog) whole(x lane.V, scale, bias float64) (n, exponent lane.V) {
	magic := p.c(math.Ldexp(1.5, p.mantissa()) + bias)
	var t lane.V
	if scale == 1 {
		t = p.Add(x, magic)
	} else {
		t = p.FMA(x, p.c(scale), magic)
	}
	return p.Sub(t, magic), p.Shl(p.bits(t), p.mantissa())
}

// clamp is x held to [lo, hi]; NaN stays.
func (p prog) clamp(x lane.V, lo, hi float64) lane.V {
	return p.Max(p.c(lo), p.Min(p.c(hi), x))
}

// The coefficients of (e^r - 1 - r)/r²: for the first two to 2^-28.2 and 2^-57.9 of
// e^r, for the last two to 2^-26 and 2^-61.6 of e^r - 1; expShort32 for |r| <= log(2)/32,
// to 2^-29.2 of e^r.
var (
	expTail32 = []float64{0x1.fffffcp-2, 0x1.55548cp-3, 0x1.55585cp-5, 0x1.123d12p-7, 0x1.6aac34p-10}
	expTail64 = []float64{0x1.000000000000ap-1, 0x1.5555555555503p-3, 0x1.555555555060ap-5, 0x1.1111111124db0p-7,
		0x1.6c16c184b46f0p-10, 0x1.a01a013d10f98p-13, 0x1.a019988e5f467p-16, 0x1.71def4500760ap-19,
		0x1.28aedb7c2af06p-22, 0x1.add8c438a4e5bp-26}
	expShort32  = []float64{0x1.00022p-1, 0x1.55559cp-3}
	expm1Tail32 = []float64{0x1.fffffep-2, 0x1.5554aap-3, 0x1.5556d8p-5, 0x1.122c4ep-7, 0x1.6bec1ap-10}
	expm1Tail64 = []float64{0x1.0000000000000p-1, 0x1.5555555555559p-3, 0x1.5555555555558p-5, 0x1.111111110f6f9p-7,
		0x1.6c16c16c16cb8p-10, 0x1.a01a01afaf3dfp-13, 0x1.a01a019e5b68ep-16, 0x1.71ddf8ef52180p-19,
		0x1.27e4f50aa6853p-22, 0x1.af5da9ed7d542p-26, 0x1.1f4422afabeafp-29}
)

// expReduced is e^r for |r| <= log(2)/2.
func (p prog) expReduced(r lane.V) lane.V {
	tail := p.poly(r, p.list(expTail32, expTail64)...)
	return p.FMA(p.FMA(tail, r, p.c(1)), r, p.c(1))
}

// minusLn2 is x - n·log 2, log 2 taken with both halves.
func (p prog) minusLn2(n, x lane.V) lane.V {
	hi, lo := p.ln2(1)
	return p.FNMA(n, lo, p.FNMA(n, hi, x))
}

// exp for AVX512 holds r instead of x, which serves both ends: what is too large for r
// to be right is so for n, too, by which an infinite x gives no NaN, and NaN one.
func exp(p prog, x lane.V) lane.V {
	switch {
	case p.set == AVX512 && p.t == lane.F32:
		n, k := p.sixteenths(x, math.Log2E)
		return p.expOfTable32(p.MinAbs(p.minusLn2(n, x), p.c(1)), n, k, 1, 1)
	case p.set == AVX512:
		n, _ := p.whole(x, math.Log2E, 0)
		return p.Scale2(p.expReduced(p.MinAbs(p.minusLn2(n, x), p.c(1))), n)
	}
	x = p.clamp(x, p.pick(-104, -746), p.pick(89, 710))
	n, k := p.whole(x, math.Log2E, p.bias()-1)
	return p.scaleBySign(p.expReduced(p.minusLn2(n, x)), x, n, k)
}

// sixteenths is the multiple n of 1/16 that is nearest to x·scale, and 16n in the low
// bits of an integer.
func (p prog) sixteenths(x lane.V, scale float64) (n, k lane.V) {
	magic := p.c(math.Ldexp(1.5, p.mantissa()-4))
	t := p.FMA(x, p.c(scale), magic)
	return p.Sub(t, magic), p.bits(t)
}

// expOfTable32 is scale·e^(sign·r)·2^n for |r| <= log(2)/32 and the n and k of sixteenths.
// The table's errors are at most 0.452 units in the last place for the scale 1.
func (p prog) expOfTable32(r, n, k lane.V, sign, scale float64) lane.V {
	var table []float64
	for i := range 16 {
		table = append(table, scale*math.Exp2(float64(i)/16))
	}
	power := p.Lookup(k, p.t, p.table(table...))
	tail := p.horner(r, 1, sign*expShort32[0], expShort32[1])
	if sign < 0 {
		return p.Scale2(p.FNMA(p.Mul(r, power), tail, power), n)
	}
	return p.Scale2(p.FMA(p.Mul(r, power), tail, power), n)
}

// scaleBySign is y·2^n, rounded once, for y near 1 and an n with the sign of x from
// twice below the least normal exponent to one above the greatest, where k is n +
// bias - 1 in the place of an exponent. The factor is two numbers: 2^(n-1) and 2 for
// positive x; for negative, 2^(n-1+s) and 2^(1-s).
func (p prog) scaleBySign(y, x, n, k lane.V) lane.V {
	if p.set == AVX512 {
		return p.Scale2(y, n)
	}
	var up lane.V
	if p.t == lane.F32 {
		up = p.And(p.Sar(p.bits(x), 31), p.i(32<<23))
	} else {
		up = p.Select(p.Cmp(lane.LT, x, p.c(0)), p.i(64<<52), p.i(0))
	}
	first := p.float(p.Add(k, up))
	second := p.float(p.Sub(p.bits(p.c(2)), up))
	return p.Mul(p.Mul(y, first), second)
}

// expNeg is e^x for x <= 0. Above log(2)/2 it is none.
func expNeg(p prog, x lane.V) lane.V {
	x = p.Max(p.c(p.pick(-104, -746)), x)
	if p.set == AVX512 && p.t == lane.F32 {
		n, k := p.sixteenths(x, math.Log2E)
		return p.expOfTable32(p.minusLn2(n, x), n, k, 1, 1)
	}
	spare := p.pick(25, 60) // by which 2^n is raised lest it be subnormal
	n, k := p.whole(x, math.Log2E, p.bias()+spare)
	y := p.expReduced(p.minusLn2(n, x))
	if p.set == AVX512 {
		return p.Scale2(y, n)
	}
	return p.Mul(p.Mul(y, p.float(k)), p.c(math.Exp2(-spare)))
}

// The coefficients of (2^f - 1)/f for |f| <= 1/2: to 2^-26.3 and 2^-57.7 of 2^f, and
// to 2^-23.3 for results that are small beside what they are added to.
var (
	exp2Tail32 = []float64{0x1.62e430p-1, 0x1.ebfb94p-3, 0x1.c6af9ep-5, 0x1.3b6806p-7, 0x1.5ef4dcp-10, 0x1.17b216p-13}
	exp2Tail64 = []float64{0x1.62e42fefa39efp-1, 0x1.ebfbdff82c574p-3, 0x1.c6b08d704a1fbp-5, 0x1.3b2ab6fbaad31p-7,
		0x1.5d87fe786ae0dp-10, 0x1.430912dd1b816p-13, 0x1.ffcbfd7a69140p-17, 0x1.62c0903c797f1p-20,
		0x1.b522c8741ca78p-24, 0x1.e33d241ea85bbp-28, 0x1.ed11ffb5e197bp-32, 0x1.f371966d26dadp-35}
	exp2Short32 = []float64{0x1.62e42ap-1, 0x1.ebf9a0p-3, 0x1.c6b586p-5, 0x1.3cf5a4p-7, 0x1.5ccbc2p-10}
)

func exp2(p prog, x lane.V) lane.V {
	x = p.clamp(x, p.pick(-151, -1076), p.pick(128, 1024))
	n, k := p.whole(x, 1, p.bias()-1)
	f := p.Sub(x, n)
	y := p.FMA(p.poly(f, p.list(exp2Tail32, exp2Tail64)...), f, p.c(1))
	return p.scaleBySign(y, x, n, k)
}

// expm1 is 2·(2^(n-1)(e^r - 1) + (2^(n-1) - 1/2)), the half because 2^n may exceed
// the greatest number. A tiny x is the result.
func expm1(p prog, x lane.V) lane.V {
	held := p.clamp(x, p.pick(-18, -40), p.pick(89, 710))
	n, k := p.whole(held, math.Log2E, p.bias()-1)
	r := p.minusLn2(n, held)
	y := p.FMA(p.Mul(r, r), p.poly(r, p.list(expm1Tail32, expm1Tail64)...), r)
	half := p.float(k)
	y = p.FMA(half, y, p.Sub(half, p.c(0.5)))
	return p.Select(p.Cmp(lane.LT, p.Abs(x), p.c(p.pick(0x1p-25, 0x1p-54))), x, p.Add(y, y))
}

// sigmoid is s/(s + s·e^-x) with an s so small that neither the sum exceeds the greatest
// number nor s·e^-x needs to be a subnormal one where it counts. The exponent is reduced
// to -r with r = x + n·log 2.
func sigmoid(p prog, x lane.V) lane.V {
	down := p.pick(40, 80)
	s := p.c(math.Exp2(-down))
	x = p.clamp(x, p.pick(-104, -746), p.pick(25, 50))
	plusLn2 := func(n lane.V) lane.V {
		hi, lo := p.ln2(1)
		return p.FMA(n, lo, p.FMA(n, hi, x))
	}
	if p.set == AVX512 && p.t == lane.F32 {
		const s = 0x1.d026fcp-40 // the significand whose table is the most exact, to 2^-25.9
		n, k := p.sixteenths(x, -math.Log2E)
		return p.quotient(p.c(s), p.Add(p.expOfTable32(plusLn2(n), n, k, -1, s), p.c(s)))
	}
	n, k := p.whole(x, -math.Log2E, p.bias()-down)
	return p.quotient(s, p.FMA(p.expMinus(plusLn2(n)), p.float(k), s))
}

// expMinus is e^-r for |r| <= log(2)/2.
func (p prog) expMinus(r lane.V) lane.V {
	var tail []float64
	for i, c := range p.list(expTail32, expTail64) {
		tail = append(tail, c*float64(1-i%2*2))
	}
	return p.FNMA(p.FNMA(p.poly(r, tail...), r, p.c(1)), r, p.c(1))
}
