package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

// trigonometric functions reduce |x| to r = |x| - q·π/2 with q integral and |r| <=
// π/4.
func trigonometric() []Func {
	return slices.Concat(
		wide(Func{Name: "sin", Arity: 1, Method: "polynomial"}, sineOf, 1.75, 2),
		wide(Func{Name: "cos", Arity: 1, Method: "polynomial"}, cosineOf, 1.75, 2),
		wide(Func{Name: "tan", Arity: 1, Method: "polynomial, division"}, tangentOf, 2.75, 2.5),
	)
}

// wide are the functions of both dtypes that compute a result from x and from what |x|
// was reduced to, with a fast program for an |x| that three parts of π/2 reduce. Up
// to the limits, q times the first part cancels exactly, and what a fourth would add
// is nothing beside the smallest rest.
func wide(f Func, of func(p prog, x, r, q lane.V) lane.V, ulp32, ulp64 float64) []Func {
	f.full = func(p prog, x []lane.V) lane.V {
		a := p.Abs(x[0])
		near := p.Cmp(lane.LT, a, p.c(p.pick(limit32, limit64)))
		r, q := p.quadrant(a)
		farR, farQ := p.farQuadrant(a)
		return of(p, x[0], p.Select(near, r, farR), p.Select(near, q, farQ))
	}
	f.fast = func(p prog, x []lane.V) lane.V {
		r, q := p.quadrant(p.Abs(x[0]))
		return of(p, x[0], r, q)
	}
	all := both(f, ulp32, ulp64)
	all[0].limit, all[1].limit = limit32, limit64
	return all
}

const limit32, limit64 = 0x1p15, 0x1p30

// The parts of π/2: float32's three, and those of float64.
const (
	halfPi1   = 0x1.921fb6p+0
	halfPi2   = -0x1.777a5cp-25
	halfPi3   = -0x1.ee59dap-50
	halfPi64  = 0x1.921fb54442d18p+0
	halfPi264 = 0x1.1a62633145c07p-54
	halfPi364 = -0x1.f1976b7ed8fbcp-110
)

// quadrant is r and q, an integer, for a below the limit.
func (p prog) quadrant(a lane.V) (r, q lane.V) {
	magic := p.c(math.Ldexp(1.5, p.mantissa()))
	t := p.FMA(a, p.c(2/math.Pi), magic)
	n := p.Sub(t, magic)
	r = p.FNMA(n, p.c(p.pick(halfPi1, halfPi64)), a)
	r = p.FNMA(n, p.c(p.pick(halfPi2, halfPi264)), r)
	return p.FNMA(n, p.c(p.pick(halfPi3, halfPi364)), r), p.bits(t)
}

// farQuadrant is r and q modulo 4 from the limit on; r is NaN for infinity and NaN.
func (p prog) farQuadrant(a lane.V) (r, q lane.V) {
	if p.t == lane.F32 {
		r, q = p.farQuadrant32(a)
	} else {
		r, q = p.farQuadrant64(a)
	}
	return p.FMA(a, p.c(0), r), q
}

// farQuadrant32 is after Payne and Hanek: a = m·2^(e-23) with a 24-bit m is multiplied
// by the 96 bits of 2/π that begin at the one which m·2^(e-23) makes worth 2m; those
// before it add multiples of four quadrants. The product, modulo 4, has 2^62 to the
// quadrant.
func (p prog) farQuadrant32(a lane.V) (r, q lane.V) {
	d := p.double()
	i32 := func(x int64) lane.V { return p.ConstI(lane.I32, x) }
	bits := p.bits(a)
	m := p.Widen(p.Or(p.And(bits, i32(1<<23-1)), i32(1<<23)), lane.I64)
	start := p.Add(p.Shr(bits, 23), i32(7-127))
	word, by := p.Shr(start, 5), p.And(start, i32(31))
	window := make([]lane.V, 4)
	for k := range window {
		window[k] = p.Lookup(p.Add(word, i32(int64(k))), lane.I32, twoOverPi32)
	}
	product := make([]lane.V, 3) // of m and each word of the 96 bits
	for k := range product {
		w := p.Or(p.ShlV(window[k], by), p.ShrV(window[k+1], p.Sub(i32(32), by)))
		product[k] = p.MulU32(m, p.Widen(w, lane.I64))
	}
	x := p.Add(p.Shl(product[0], 32), p.Add(product[1], p.Shr(product[2], 32)))
	q = p.Narrow(p.Shr(p.Add(x, d.i(1<<61)), 62), lane.I32)
	return p.Narrow(d.quadrants(p.Shl(x, 2), d.i(0)), lane.F32), q
}

// twoOverPi32 is 32 zero bits and the first 224 bits of 2/π behind the point.
var twoOverPi32 = []uint64{0, 0xa2f9836e, 0x4e441529, 0xfc2757d1, 0xf534ddc0, 0xdb629599, 0x3c439041, 0xfe5163ab}

// farQuadrant64 does the same with a 53-bit m and 192 bits of 2/π, of whose product it
// takes the upper 128: limbs of 32 bits are multiplied and added by columns.
func (p prog) farQuadrant64(a lane.V) (r, q lane.V) {
	bits := p.bits(a)
	low := p.i(1<<32 - 1)
	m0 := p.And(bits, low)
	m1 := p.Or(p.And(p.Shr(bits, 32), p.i(1<<20-1)), p.i(1<<20))
	start := p.Sub(p.Shr(bits, 52), p.i(1023+30))
	word, by := p.Shr(start, 6), p.And(start, p.i(63))
	window := make([]lane.V, 4)
	for k := range window {
		window[k] = p.Lookup(word, lane.I64, twoOverPi64[k:k+16])
	}
	limbs := make([]lane.V, 6) // of the 192 bits, from the lowest
	for k := range 3 {
		w := p.Or(p.ShlV(window[k], by), p.ShrV(window[k+1], p.Sub(p.i(64), by)))
		limbs[5-2*k], limbs[4-2*k] = p.Shr(w, 32), p.And(w, low)
	}
	column := make([]lane.V, 6) // before the carries, from the third
	sum := p.Add(p.Shr(p.MulU32(m0, limbs[1]), 32), p.Shr(p.MulU32(m1, limbs[0]), 32))
	for k := 2; k < 6; k++ {
		lower, upper := p.MulU32(m0, limbs[k]), p.MulU32(m1, limbs[k-1])
		column[k] = p.Add(sum, p.Add(p.And(lower, low), p.And(upper, low)))
		sum = p.Add(p.Shr(column[k], 32), p.Add(p.Shr(lower, 32), p.Shr(upper, 32)))
	}
	x := p.Add(p.Shl(column[5], 32), p.And(column[4], low))
	rest := p.Add(p.Shl(column[3], 32), p.And(column[2], low))
	q = p.Shr(p.Add(x, p.i(1<<61)), 62)
	return p.quadrants(p.Or(p.Shl(x, 2), p.Shr(rest, 62)), p.Shl(rest, 2)), q
}

// twoOverPi64 is 24 zero bits and the first 1192 bits of 2/π behind the point.
var twoOverPi64 = []uint64{
	0x000000a2f9836e4e, 0x441529fc2757d1f5, 0x34ddc0db6295993c, 0x439041fe5163abde,
	0xbbc561b7246e3a42, 0x4dd2e006492eea09, 0xd1921cfe1deb1cb1, 0x29a73ee88235f52e,
	0xbb4484e99c7026b4, 0x5f7e413991d63983, 0x5339f49c845f8bbd, 0xf9283b1ff897ffde,
	0x05980fef2f118b5a, 0x0a6d1f6d367ecf27, 0xcb09b74f463f669e, 0x5fea2d7527bac7eb,
	0xe5f17b3d0739f78a, 0x5292ea6bfb5fb11f, 0x8d5d0856033046fc,
}

// quadrants is π/2 times a fraction in [-1/2, 1/2), as float64: a signed number of
// 2^-64, and an unsigned one of 2^-128 to be added. The magnitude's parts of 32 bits
// become significands.
func (p prog) quadrants(x, rest lane.V) lane.V {
	negative := p.Shr(x, 63)
	flip := p.Sub(p.i(0), negative)
	x, rest = p.Xor(x, flip), p.Xor(rest, flip)
	part := func(x lane.V) lane.V {
		return p.Sub(p.Bits(p.Or(x, p.i(0x433<<52)), lane.F64), p.c(0x1p52))
	}
	low := p.i(1<<32 - 1)
	y := p.FMA(part(p.And(x, low)), p.c(0x1p-64), p.Mul(part(p.Shr(rest, 32)), p.c(0x1p-96)))
	y = p.FMA(part(p.Shr(x, 32)), p.c(0x1p-32), y)
	y = p.FMA(y, p.c(halfPi64), p.Mul(y, p.c(halfPi264)))
	return p.Xor(y, p.Bits(p.Shl(negative, 63), lane.F64))
}

// The coefficients of (sin(r)/r - 1)/r² in r², to 2^-27.9 and 2^-57.9 of the sine; of
// (cos(r) - 1)/r² for float32, to 2^-33 of the cosine; of (cos(r) - 1 + r²/2)/r⁴ for
// float64, to 2^-63.9.
var (
	sinTail32 = []float64{-0x1.555546p-3, 0x1.110774p-7, -0x1.9951eap-13}
	sinTail64 = []float64{-0x1.5555555555548p-3, 0x1.111111110f72fp-7, -0x1.a01a019be8e7cp-13, 0x1.71de3554e8d6fp-19,
		-0x1.ae5e4b456a281p-26, 0x1.5d8b40d8a7330p-33}
	cosTail32 = []float64{-0x1.000000p-1, 0x1.55554ap-5, -0x1.6c0c28p-10, 0x1.99e812p-16}
	cosTail64 = []float64{0x1.555555555554bp-5, -0x1.6c16c16c15014p-10, 0x1.a01a019c8ef6dp-16, -0x1.27e4f7f162885p-22,
		0x1.1ee9dba77b028p-29, -0x1.8fa66c95e9336p-37}
)

// sinCos is the sine of r, if bit 0 of q is not set, else its cosine, and the negative
// of that if bit 1 is.
func (p prog) sinCos(r, q lane.V) lane.V {
	z := p.Mul(r, r)
	s := p.FMA(p.poly(z, p.list(sinTail32, sinTail64)...), p.Mul(z, r), r)
	var c lane.V
	if p.t == lane.F32 {
		c = p.FMA(p.horner(z, cosTail32...), z, p.c(1))
	} else {
		c = p.FMA(p.poly(z, cosTail64...), p.Mul(z, z), p.FNMA(z, p.c(0.5), p.c(1)))
	}
	top := 8*p.t.Size() - 1
	y := p.Select(p.Cmp(lane.LT, p.Shl(q, top), p.i(0)), c, s)
	return p.Xor(y, p.And(p.float(p.Shl(q, top-1)), p.c(math.Copysign(0, -1))))
}

// sineOf puts the sign of x into the sine of |x|.
func sineOf(p prog, x, r, q lane.V) lane.V {
	return p.Xor(p.sinCos(r, q), p.And(x, p.c(math.Copysign(0, -1))))
}

// cosineOf is the sine of a quadrant more.
func cosineOf(p prog, _, r, q lane.V) lane.V { return p.sinCos(r, p.Add(q, p.i(1))) }

// The coefficients of (tan(r)/r - 1)/r² in r², to 2^-29.5 and 2^-60 of the tangent.
var (
	tanTail32 = []float64{0x1.555560p-2, 0x1.110d9ap-3, 0x1.badad2p-5, 0x1.5cb3c0p-6, 0x1.63162ep-7, 0x1.691fcap-14,
		0x1.1efbc4p-8}
	tanTail64 = []float64{0x1.555555555555dp-2, 0x1.11111111106dap-3, 0x1.ba1ba1bab277fp-5, 0x1.664f485fb5083p-6,
		0x1.226e3a31e0800p-7, 0x1.d6d2f44a29bacp-9, 0x1.7db0df72b03c2p-10, 0x1.34c2d8b6f1e82p-11, 0x1.fecf66f856b09p-13,
		0x1.605c16f08fea7p-14, 0x1.1689ec5f3cff1p-14, -0x1.9ceb99ae06b3cp-16, 0x1.90de4f2875a78p-15,
		-0x1.90397c62595f0p-16, 0x1.45af5be3abb22p-17}
)

// tangentOf is tan(r), or -1/tan(r) where q is odd, with the sign of x put in.
func tangentOf(p prog, x, r, q lane.V) lane.V {
	z := p.Mul(r, r)
	y := p.FMA(p.poly(z, p.list(tanTail32, tanTail64)...), p.Mul(z, r), r)
	odd := p.Cmp(lane.LT, p.Shl(q, 8*p.t.Size()-1), p.i(0))
	y = p.Select(odd, p.Div(p.c(-1), y), y)
	return p.Xor(y, p.And(x, p.c(math.Copysign(0, -1))))
}
