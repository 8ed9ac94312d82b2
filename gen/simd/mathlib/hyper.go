package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/gen/simd/lane"
)

var hyperbolics = slices.Concat(
	both(Func{Name: "tanh", Arity: 1, Method: "expm1, division", full: unary(tanh)}, 2.75, 1.5),
	both(Func{Name: "sinh", Arity: 1, Method: "exp, division", full: unary(sinh)}, 2, 2),
	both(Func{Name: "cosh", Arity: 1, Method: "exp, division", full: unary(cosh)}, 2, 2),
	both(Func{Name: "asinh", Arity: 1, Method: "log1p, square root, division", full: unary(asinh)}, 3, 3),
	both(Func{Name: "acosh", Arity: 1, Method: "log1p, square root", full: unary(acosh)}, 3, 3),
	both(Func{Name: "atanh", Arity: 1, Method: "log1p, division", full: unary(atanh)}, 3, 3),
)

// tanh is m/(m + 1) with m = (e^(2|x|) - 1)/2. The reduced argument is s = |x| -
// n·log(2)/2, so that nothing is lost of a small x. Where n is not small, m need not
// be known well: float32 does without the second part of log 2.
func tanh(p prog, x lane.V) lane.V {
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
