package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

func hyperbolics() []Func {
	return slices.Concat(
		both(Func{Name: "tanh", Arity: 1, Method: "expm1, division", full: unary(tanh)}, 2.75, 1.5),
		both(Func{Name: "sinh", Arity: 1, Method: "exp, division", full: unary(sinh)}, 2, 2),
		both(Func{Name: "cosh", Arity: 1, Method: "exp, division", full: unary(cosh)}, 2, 2),
		both(Func{Name: "asinh", Arity: 1, Method: "log1p, square root, division", full: unary(asinh)}, 3, 3),
		both(Func{Name: "acosh", Arity: 1, Method: "log1p, square root", full: unary(acosh)}, 3, 3),
		both(Func{Name: "atanh", Arity: 1, Method: "log1p, division", full: unary(atanh)}, 3, 3),
	)
}

// tanh is m/(m + 1) with m = (e^(2|x|) - 1)/2. The reduced argument is s = |x| -
// n·log(2)/2, so that nothing is lost of a small x. Where n is not small, m need not
// be known well: float32 does without the second part of log 2.
func tanh(p prog, x lane.V) lane.V {
	if p.set == AVX512 && p.t == lane.F32 {
		return p.tanhOfTable32(x)
	}
	a := p.Min(p.c(p.pick(10, 22)), p.Abs(x))
	n, k := p.whole(a, 2*math.Log2E, p.bias())
	hi, lo := p.ln2(0.5)
	s := p.FNMA(n, hi, a)
	if p.t == lane.F64 {
		s = p.FNMA(n, lo, s)
	}
	var tail []float64 // of ((e^2s - 1)/2 - s)/s²
	for i, c := range p.list(expm1Tail32, expm1Tail64) {
		tail = append(tail, math.Ldexp(c, i+1))
	}
	y := p.FMA(p.Mul(s, s), p.poly(s, tail...), s)
	scale := p.float(k)
	m := p.FMA(scale, y, p.FMS(scale, p.c(0.5), p.c(0.5)))
	return p.Or(p.quotient(m, p.Add(m, p.c(1))), p.And(x, p.c(math.Copysign(0, -1))))
}

// tanhStep is the width of the intervals of tanhTable32.
const tanhStep = 75.0 / 256

// tanhOfTable32 is a polynomial in |x| - k·tanhStep, where k is the nearest of 0 to 31.
// The first has no constant term, so that nothing is lost of a small x.
func (p prog) tanhOfTable32(x lane.V) lane.V {
	k, rest := p.nearest(p.Min(p.c(31.4*tanhStep), p.Abs(x)), tanhStep)
	return p.CopySign(p.piece(k, rest, tanhTable32...), x)
}

// quarterExp is e^a/4 for a >= 0, which is a number where e^a/2 is one.
func (p prog) quarterExp(a lane.V) lane.V {
	a = p.Min(p.c(p.pick(90, 711)), a)
	n, k := p.whole(a, math.Log2E, p.bias()-2)
	return p.Mul(p.expReduced(p.minusLn2(n, a)), p.float(k))
}

// The coefficients of (sinh(x)/x - 1)/x² for |x| <= 1 in x², to 2^-31.6 and 2^-61.8
// of sinh(x)/x.
var (
	sinhTail32 = []float64{0x1.555556p-3, 0x1.1110e0p-7, 0x1.a022bcp-13, 0x1.756c20p-19}
	sinhTail64 = []float64{0x1.5555555555556p-3, 0x1.111111111101ep-7, 0x1.a01a01a03726fp-13, 0x1.71de3a3b06023p-19,
		0x1.ae646ff6096d9p-26, 0x1.6116f410c22a0p-33, 0x1.b5c8d0ef997c7p-41}
)

func sinh(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	e := p.quarterExp(a)
	large := p.Sub(e, p.Div(p.c(1./16), e))
	z := p.Mul(a, a)
	small := p.FMA(p.Mul(z, a), p.poly(z, p.list(sinhTail32, sinhTail64)...), a)
	return p.CopySign(p.Select(p.Cmp(lane.LT, a, p.c(1)), small, p.Add(large, large)), x)
}

func cosh(p prog, x lane.V) lane.V {
	e := p.quarterExp(p.Abs(x))
	y := p.Add(e, p.Div(p.c(1./16), e))
	return p.Add(y, y)
}

// asinh is log1p(a + a²/(1 + √(1 + a²))) of a = |x|, and log(2a) where a² may exceed
// the greatest number.
func asinh(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	aa := p.Mul(a, a)
	y := p.Add(a, p.Div(aa, p.Add(p.Sqrt(p.Add(aa, p.c(1))), p.c(1))))
	return p.CopySign(p.log1pOr2(y, a), x)
}

// acosh is log1p(t + √(t(t + 2))) of t = x - 1.
func acosh(p prog, x lane.V) lane.V {
	t := p.Sub(x, p.c(1))
	y := p.log1pOr2(p.Add(t, p.Sqrt(p.Mul(t, p.Add(t, p.c(2))))), t)
	return p.Select(p.Cmp(lane.LT, x, p.c(1)), p.nan(), y)
}

// log1pOr2 is log(1 + y), but log(2x) for an x so large that 1 is nothing beside it.
func (p prog) log1pOr2(y, x lane.V) lane.V {
	large := p.Cmp(lane.GT, x, p.c(p.pick(0x1p60, 0x1p500)))
	return p.log1pPlus(p.Select(large, x, y), p.Select(large, p.c(p.unit()), p.c(0)))
}

// atanh is log1p(2|x|/(1 - |x|))/2.
func atanh(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	y := log1p(p, p.Div(p.Add(a, a), p.Sub(p.c(1), a)))
	return p.CopySign(p.Mul(y, p.c(0.5)), x)
}

// tanhTable32 are the coefficients of tanh(k·tanhStep + t) by power of t and by k, to
// 2^-23.5.
var tanhTable32 = [][]float64{
	{
		0x0p+0, 0x1.23b3a2p-2, 0x1.0dcebp-1, 0x1.6967ecp-1, 0x1.a655aap-1, 0x1.cc13e4p-1, 0x1.e26faap-1, 0x1.ef54f6p-1,
		0x1.f6a7c4p-1, 0x1.fac71cp-1, 0x1.fd163ap-1, 0x1.fe6064p-1, 0x1.ff1884p-1, 0x1.ff7f1cp-1, 0x1.ffb83ep-1, 0x1.ffd80ep-1,
		0x1.ffe9c4p-1, 0x1.fff3ap-1, 0x1.fff91cp-1, 0x1.fffc2ap-1, 0x1.fffddep-1, 0x1.fffedp-1, 0x1.ffff56p-1, 0x1.ffffa2p-1,
		0x1.ffffccp-1, 0x1.ffffe2p-1, 0x1.fffffp-1, 0x1.fffff6p-1, 0x1.fffffap-1, 0x1.fffffep-1, 0x1.fffffep-1, 0x1p+0,
	},
	{
		0x1p+0, 0x1.d673dp-1, 0x1.71d202p-1, 0x1.00e4ep-1, 0x1.474176p-2, 0x1.8a51p-3, 0x1.cb5d48p-4, 0x1.06595p-4,
		0x1.284cdp-5, 0x1.4c8468p-6, 0x1.73d3c2p-7, 0x1.9ef3c4p-8, 0x1.ce8fcp-9, 0x1.01a7fp-9, 0x1.1ef07ep-10, 0x1.3f7d3ep-11,
		0x1.63b172p-12, 0x1.8bf9d2p-13, 0x1.b8ce54p-14, 0x1.eab3dp-15, 0x1.111edcp-15, 0x1.3007fap-16, 0x1.527062p-17, 0x1.78bd7cp-18,
		0x1.a3602p-19, 0x1.d2d5e8p-20, 0x1.03d54ep-20, 0x1.213ceep-21, 0x1.41f86cp-22, 0x1.666836p-23, 0x1.8ef798p-24, 0x1.bc1e0ap-25,
	},
	{
		0x1.076beep-20, -0x1.0c031cp-2, -0x1.85c21p-2, -0x1.6aabfp-2, -0x1.0df2e6p-2, -0x1.625536p-3, -0x1.b0d786p-4, -0x1.fb9d94p-5,
		-0x1.22e3fcp-5, -0x1.491f7cp-6, -0x1.71b53ep-7, -0x1.9da1d2p-8, -0x1.cdbd52p-9, -0x1.016654p-9, -0x1.1ec77p-10, -0x1.3f636p-11,
		-0x1.63a0f2p-12, -0x1.8bef14p-13, -0x1.b8c718p-14, -0x1.eaaeaep-15, -0x1.111ceap-15, -0x1.30065ep-16, -0x1.526efp-17, -0x1.78bc18p-18,
		-0x1.a35eb6p-19, -0x1.d2d46ap-20, -0x1.03d48p-20, -0x1.213c0cp-21, -0x1.41f774p-22, -0x1.666722p-23, -0x1.8ef668p-24, -0x1.bc1cb8p-25,
	},
	{
		-0x1.55623ep-2, -0x1.dab468p-3, -0x1.49770ap-5, 0x1.52ec72p-4, 0x1.c65a6ap-4, 0x1.75ecf4p-4, 0x1.fd75bep-5, 0x1.3c319cp-5,
		0x1.75a1f4p-6, 0x1.addb78p-7, 0x1.e753ep-8, 0x1.12015p-8, 0x1.32bd32p-9, 0x1.568664p-10, 0x1.7df43p-11, 0x1.a99786p-12,
		0x1.da02e4p-13, 0x1.07e80ap-13, 0x1.25d23ep-14, 0x1.471a5p-15, 0x1.6c239ep-16, 0x1.955c1p-17, 0x1.c33d8ep-18, 0x1.f64f8ep-19,
		0x1.179456p-19, 0x1.37383ap-20, 0x1.5a70aep-21, 0x1.81a574p-22, 0x1.ad4a08p-23, 0x1.dddef8p-24, 0x1.09f9acp-24, 0x1.28133ap-25,
	},
	{
		0x1.b09f3cp-11, 0x1.35306ap-3, 0x1.2d182p-3, 0x1.ec248ep-5, -0x1.912ce6p-9, -0x1.8acf46p-6, -0x1.7df274p-6, -0x1.119248p-6,
		-0x1.5a948p-7, -0x1.9d71eep-8, -0x1.ddef26p-9, -0x1.0f985cp-9, -0x1.31d396p-10, -0x1.569d4p-11, -0x1.7ebda8p-12, -0x1.aae51ap-13,
		-0x1.dbba0ap-14, -0x1.08f17cp-14, -0x1.2706c2p-15, -0x1.4879d2p-16, -0x1.6dafe8p-17, -0x1.97184cp-18, -0x1.c52dfcp-19, -0x1.f8795cp-20,
		-0x1.18c8fp-20, -0x1.388ffcp-21, -0x1.5bef7cp-22, -0x1.834faap-23, -0x1.af2488p-24, -0x1.dfef34p-25, -0x1.0b1fbp-25, -0x1.295a86p-26,
	},
	{
		0x1.0743cap-3, 0x1.ce5e0ap-5, -0x1.7f283ap-5, -0x1.dc8ecap-5, -0x1.bc35dap-6, -0x1.24753p-8, 0x1.e54c2ap-9, 0x1.32a84ap-8,
		0x1.d2da06p-9, 0x1.2e646cp-9, 0x1.6c5228p-10, 0x1.a73232p-11, 0x1.e23072p-12, 0x1.0fd8d2p-12, 0x1.30c52ep-13, 0x1.5499fep-14,
		0x1.7bfa9p-15, 0x1.a77efep-16, 0x1.d7bdfp-17, 0x1.06a9bep-17, 0x1.24730cp-18, 0x1.459552p-19, 0x1.6a73ccp-20, 0x1.937c1ep-21,
		0x1.c127c2p-22, 0x1.f3fda2p-23, 0x1.1649dcp-23, 0x1.35c868p-24, 0x1.58d744p-25, 0x1.7fddbap-26, 0x1.ab4ecp-27, 0x1.dbaa48p-28,
	},
}
