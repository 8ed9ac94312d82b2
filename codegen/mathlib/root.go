package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

// roots are the functions that come from roots.
func roots() []Func {
	return slices.Concat(
		both(Func{Name: "rsqrt", Arity: 1, Method: "root and its rest, or division", full: unary(rsqrt)}, 1.5, 1.5),
		both(Func{Name: "cbrt", Arity: 1, Method: "Halley's step", full: unary(cbrt)}, 1, 1),
		both(Func{Name: "hypot", Arity: 2, Method: "square root", full: hypot}, 1, 1.5),
	)
}

// rsqrt for AVX-512 and float32 makes Newton's step from a root of 14 bits, which gives
// NaN in place of zero and infinity.
func rsqrt(p prog, x lane.V) lane.V {
	if p.set != AVX512 || p.t != lane.F32 {
		return p.Div(p.c(1), p.Sqrt(x))
	}
	y := p.Rsqrt14(x)
	rest := p.FNMA(p.Mul(x, y), y, p.c(1))
	better := p.FMA(p.Mul(y, p.c(0.5)), rest, y)
	return p.Select(p.Cmp(lane.UNO, better, better), y, better)
}

// double is the program for F64 with the same operations to come.
func (p prog) double() prog { return prog{p.Prog, lane.F64, p.set} }

// viaDouble computes a function for float32 through its program for float64.
func viaDouble(p prog, f func(p prog, x lane.V) lane.V, x lane.V) lane.V {
	return p.Narrow(f(p.double(), p.Widen(x, lane.F64)), lane.F32)
}

func cbrt(p prog, x lane.V) lane.V {
	if p.t == lane.F32 {
		return viaDouble(p, cbrtNormal, x)
	}
	small := p.Cmp(lane.LT, p.Abs(x), p.c(0x1p-1022))
	y := cbrtNormal(p, p.Select(small, p.Mul(x, p.c(0x1p54)), x))
	return p.Select(small, p.Mul(y, p.c(0x1p-18)), y)
}

// cbrtNormal is the cube root of a float64 that is not subnormal. The high half of
// its bits, taken as a number and divided by three, gives a root to one part in 20;
// a polynomial 22 bits; Halley's step the rest, from a root t of 23 bits whose
// square is exact.
func cbrtNormal(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	high := p.Sub(p.float(p.Or(p.Shr(p.bits(a), 32), p.i(0x433<<52))), p.c(0x1p52))
	third := p.FMA(high, p.c(1./3), p.c(0x1p52+715094163))
	t := p.float(p.Shl(p.bits(third), 32))
	r := p.Mul(p.Mul(t, t), p.Div(t, a))
	// r^(-1/3) from 0.88 to 1.12, to 2^-22.
	t = p.Mul(t, p.horner(r, 0x1.e0911cbce783ep+0, -0x1.e3ac95fe1f2f3p+0, 0x1.a08010b80aaf0p+0, -0x1.85d40c53e2f20p-1, 0x1.2c2b7763d805bp-3))
	t = p.float(p.And(p.Add(p.bits(t), p.i(1<<29)), p.i(-1<<30)))
	over := p.Div(a, p.Mul(t, t))
	step := p.Div(p.Sub(over, t), p.Add(p.Add(t, t), over))
	y := p.CopySign(p.FMA(t, step, t), x)
	own := p.MaskOr(p.Cmp(lane.EQ, x, p.c(0)), p.MaskNot(p.Cmp(lane.LT, a, p.inf())))
	return p.Select(own, x, y)
}

// hypot for float32 squares in float64, where nothing overflows.
func hypot(p prog, v []lane.V) lane.V {
	if p.t == lane.F32 {
		q := p.double()
		a, b := q.Widen(v[0], lane.F64), q.Widen(v[1], lane.F64)
		y := q.Narrow(q.Sqrt(q.FMA(a, a, q.Mul(b, b))), lane.F32)
		return p.infinite(y, v...)
	}
	a, b := p.Abs(v[0]), p.Abs(v[1])
	larger := p.Cmp(lane.GT, a, b)
	a, b = p.Select(larger, a, b), p.Select(larger, b, a)
	// Multiplied by 2^±600 where squares overflow or lose bits.
	up := p.Select(p.Cmp(lane.LT, a, p.c(0x1p-400)), p.c(0x1p600), p.c(1))
	up = p.Select(p.Cmp(lane.GT, a, p.c(0x1p400)), p.c(0x1p-600), up)
	down := p.Select(p.Cmp(lane.LT, a, p.c(0x1p-400)), p.c(0x1p-600), p.c(1))
	down = p.Select(p.Cmp(lane.GT, a, p.c(0x1p400)), p.c(0x1p600), down)
	a, b = p.Mul(a, up), p.Mul(b, up)
	return p.infinite(p.Mul(p.Sqrt(p.FMA(a, a, p.Mul(b, b))), down), v...)
}

// infinite is y, but infinity where one of v is infinite.
func (p prog) infinite(y lane.V, v ...lane.V) lane.V {
	for _, x := range v {
		y = p.Select(p.Cmp(lane.EQ, p.Abs(x), p.inf()), p.c(math.Inf(1)), y)
	}
	return y
}
