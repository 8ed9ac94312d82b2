package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

// inverses are the inverse trigonometric functions.
func inverses() []Func {
	return slices.Concat(
		both(Func{Name: "asin", Arity: 1, Method: "polynomial, square root", full: unary(asin)}, 2.5, 2),
		both(Func{Name: "acos", Arity: 1, Method: "polynomial, square root", full: unary(acos)}, 2, 2),
		both(Func{Name: "atan", Arity: 1, Method: "polynomial, division", full: unary(atan)}, 1.75, 1.5),
		both(Func{Name: "atan2", Arity: 2, Method: "polynomial, division", full: atan2}, 3, 3),
	)
}

// The coefficients of (asin(s)/s - 1)/s² for |s| <= 1/2 in s², to 2^-27.6 and 2^-55.9.
var (
	asinTail32 = []float64{0x1.5555c8p-3, 0x1.3301fcp-4, 0x1.747d08p-5, 0x1.8c2d5ap-6, 0x1.596d94p-5}
	asinTail64 = []float64{0x1.5555555555390p-3, 0x1.333333336e80dp-4, 0x1.6db6db427aa26p-5, 0x1.f1c72c38cee8ap-6,
		0x1.6e89f44578b49p-6, 0x1.1c6be14acec81p-6, 0x1.c6fdc8f8e52e4p-7, 0x1.8ec2ceb0dded9p-7, 0x1.abd0c01d3f703p-8,
		0x1.3ff3e079a5151p-6, -0x1.09d23d56f5fbap-6, 0x1.056d3b1a4afd2p-5}
)

// halfPi are π/2 rounded to the dtype, and what that lacks.
func (p prog) halfPi() (hi, lo float64) {
	return p.pick(halfPi1, halfPi64), p.pick(halfPi2, halfPi264)
}

// asinReduced is asin(|x|) for |x| <= 1/2, and asin(√((1-|x|)/2)) above, where large
// is true. It is NaN for |x| > 1.
func (p prog) asinReduced(x lane.V) (y, large lane.V) {
	a := p.Abs(x)
	large = p.Cmp(lane.GT, a, p.c(0.5))
	z := p.Select(large, p.FNMA(a, p.c(0.5), p.c(0.5)), p.Mul(a, a))
	s := p.Select(large, p.Sqrt(z), a)
	return p.FMA(p.Mul(z, s), p.poly(z, p.list(asinTail32, asinTail64)...), s), large
}

// asin is π/2 - 2·asin(√((1-|x|)/2)) for |x| > 1/2.
func asin(p prog, x lane.V) lane.V {
	hi, lo := p.halfPi()
	y, large := p.asinReduced(x)
	above := p.Sub(p.c(hi), p.Sub(p.Add(y, y), p.c(lo)))
	return p.CopySign(p.Select(large, above, y), x)
}

// acos is π/2 - asin(x) for |x| <= 1/2, and twice the reduced arcsine above, or π less
// that.
func acos(p prog, x lane.V) lane.V {
	hi, lo := p.halfPi()
	y, large := p.asinReduced(x)
	negative := p.Cmp(lane.LT, x, p.c(0))
	base := p.Select(large, p.Select(negative, p.c(2*hi), p.c(0)), p.c(hi))
	rest := p.Select(large, p.Select(negative, p.c(2*lo), p.c(0)), p.c(lo))
	factor := p.Select(large, p.c(2), p.c(-1))
	return p.Add(base, p.FMA(factor, p.CopySign(y, x), rest))
}

// The coefficients of (atan(t)/t - 1)/t² in t²: for |t| <= 1 to 2^-28.5 for float32,
// for |t| <= √2 - 1 to 2^-59.4 for float64.
var (
	atanTail32 = []float64{-0x1.55553ep-2, 0x1.9991e4p-3, -0x1.242084p-3, 0x1.c08c1ap-4, -0x1.580814p-4, 0x1.da24ccp-5,
		-0x1.fd6fcap-6, 0x1.641106p-7, -0x1.d32e1cp-10}
	atanTail64 = []float64{-0x1.555555555553dp-2, 0x1.9999999995864p-3, -0x1.24924922ad22cp-3, 0x1.c71c70e5f184bp-4,
		-0x1.745cf8d8960f0p-4, 0x1.3b1118d2fae88p-4, -0x1.10ebb4e6ac998p-4, 0x1.df0f195bd63f9p-5,
		-0x1.9cd1dbc41f3dap-5, 0x1.37d36b1e0846ap-5, -0x1.2565846ce4fedp-6}
)

// octants says how the arctangent of a quotient y/x is reduced: to t, and a multiple
// of π/4 to be added.
type octants struct{ t, base, rest lane.V }

// reduceAtan reduces y/x for y and x >= 0. For float32, t is y/x or -x/y, by which is
// less than 1; for float64, also (y-x)/(y+x) where y/x is about 1.
func (p prog) reduceAtan(y, x lane.V) octants {
	hi, lo := p.halfPi()
	if p.t == lane.F32 {
		steep := p.Cmp(lane.GT, y, x)
		t := p.Div(p.Select(steep, p.Neg(x), y), p.Select(steep, y, x))
		return octants{t, p.Select(steep, p.c(hi), p.c(0)), p.Select(steep, p.c(lo), p.c(0))}
	}
	const edge = math.Sqrt2 - 1
	steep := p.Cmp(lane.GT, p.Mul(y, p.c(edge)), x)
	flat := p.Cmp(lane.LT, y, p.Mul(x, p.c(edge)))
	above := p.Select(flat, y, p.Select(steep, p.Neg(x), p.Sub(y, x)))
	below := p.Select(flat, x, p.Select(steep, y, p.Add(y, x)))
	base := p.Select(flat, p.c(0), p.Select(steep, p.c(hi), p.c(hi/2)))
	rest := p.Select(flat, p.c(0), p.Select(steep, p.c(lo), p.c(lo/2)))
	return octants{p.Div(above, below), base, rest}
}

// atanReduced is atan(t).
func (p prog) atanReduced(t lane.V) lane.V {
	z := p.Mul(t, t)
	return p.FMA(p.Mul(z, t), p.poly(z, p.list(atanTail32, atanTail64)...), t)
}

// atan takes what exceeds 2^60 for that, whose arctangent is π/2 to the last place.
func atan(p prog, x lane.V) lane.V {
	o := p.reduceAtan(p.Min(p.c(0x1p60), p.Abs(x)), p.c(1))
	return p.CopySign(p.Add(o.base, p.Add(p.atanReduced(o.t), o.rest)), x)
}

// atan2 is the angle of (x, y): that of (|x|, |y|), or π less that, with y's sign.
// Equal ones, infinities too, have the quotient 1, and zeros 0. The largest and the
// smallest are multiplied by a power of two, lest their sum overflow or their
// products lose digits.
func atan2(p prog, v []lane.V) lane.V {
	hi, lo := p.halfPi()
	y, x := p.Abs(v[0]), p.Abs(v[1])
	same := p.Cmp(lane.EQ, y, x)
	zero := p.Cmp(lane.EQ, y, p.c(0))
	unit := p.Select(zero, p.c(0), p.c(1))
	y = p.Select(same, unit, y)
	x = p.Select(same, p.c(1), x)
	if p.t == lane.F64 {
		larger := p.Max(y, x)
		scale := p.Select(p.Cmp(lane.GT, larger, p.c(0x1p1000)), p.c(0.25), p.c(1))
		scale = p.Select(p.Cmp(lane.LT, larger, p.c(0x1p-900)), p.c(0x1p120), scale)
		y, x = p.Mul(y, scale), p.Mul(x, scale)
	}
	o := p.reduceAtan(y, x)
	angle := p.atanReduced(o.t)
	negative := p.Cmp(lane.LT, p.bits(v[1]), p.i(0))
	flip := p.And(v[1], p.c(math.Copysign(0, -1)))
	base := p.Add(p.Xor(o.base, flip), p.Select(negative, p.c(2*hi), p.c(0)))
	rest := p.Add(p.Xor(o.rest, flip), p.Select(negative, p.c(2*lo), p.c(0)))
	return p.CopySign(p.Add(base, p.Add(p.Xor(angle, flip), rest)), v[0])
}
