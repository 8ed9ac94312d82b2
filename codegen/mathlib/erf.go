package mathlib

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/codegen/lane"
)

func errorFunctions() []Func {
	return slices.Concat([]Func{
		{Name: "erf", Type: lane.F32, Arity: 1, ULP: 2.5, Method: "polynomial, exp2", full: unary(erf32)},
		{Name: "erf", Type: lane.F64, Arity: 1, ULP: 2, Method: "polynomial, erfc", full: unary(erf64)},
		{Name: "erfinv", Type: lane.F32, Arity: 1, ULP: 6, Method: "log, polynomial", full: unary(erfinv32)},
		{Name: "erfinv", Type: lane.F64, Arity: 1, ULP: 6, Method: "Halley's step on erf", full: unary(erfinv64)},
	}, both(Func{Name: "erfc", Arity: 1, Method: "exp of square, polynomial", full: unary(erfc)}, 6, 6))
}

// erf32 is a polynomial in x² up to 7/8, and 1 - 2^L with a polynomial L in x above.
// What exceeds 3.95 has the result 1.
func erf32(p prog, x lane.V) lane.V {
	if p.set == AVX512 {
		return p.erfOfTable32(x)
	}
	const edge = 0.875
	a := p.Abs(x)
	// erf(x)/x - 1 for |x| <= 7/8 in x², to 2^-26 of erf(x)/x.
	small := p.poly(p.Mul(a, a), 0x1.06eba6p-3, -0x1.8126ecp-2, 0x1.ce1b86p-4, -0x1.b69b88p-6, 0x1.479baep-8, -0x1.3ba24cp-11)
	small = p.FMA(small, a, a)
	// log2(erfc(x)) from 7/8 to 3.95, to 2^-29 of erf(x).
	l := p.poly(p.Min(p.c(3.95), a),
		-0x1.948306p-13, -0x1.a09492p+0, -0x1.d65544p-1, -0x1.343f36p-3, 0x1.08f7ccp-5, -0x1.245b9cp-8, 0x1.300a9ap-12)
	n, k := p.whole(l, 1, 127)
	f := p.Sub(l, n)
	// (2^f - 1)/f for |f| <= 1/2.
	e := p.FMA(p.poly(f, exp2Short32...), f, p.c(1))
	large := p.FNMA(p.float(k), e, p.c(1))
	return p.CopySign(p.Select(p.Cmp(lane.LT, a, p.c(edge)), small, large), x)
}

// erfcTail32 and erfcTail64 are the coefficients of e^x²·erfc(x)·(x + k) in (x - k)/(x + k): for
// float32 with k = 2 up to 10.06, to 2^-25.1; for float64 with k = 4 up to 26.6, to
// 2^-53.5.
var (
	erfcTail32 = []float64{0x1.058672p+0, -0x1.5fd390p-1, 0x1.1e2da2p-2, -0x1.2a7a0ap-5, -0x1.60349cp-6, 0x1.a59f4ap-8,
		0x1.8c3becp-9, -0x1.7f88f8p-11, -0x1.0a5768p-11, -0x1.1d3d16p-15}
	erfcTail64 = []float64{0x1.18932bf08e154p+0, -0x1.f3fe31ecb49cbp-1, 0x1.8be202d26c7bfp-1, -0x1.14eacb1acfe56p-1, 0x1.52cac2370ae91p-2,
		-0x1.645fd8a4e3dcep-3, 0x1.38dbd2caa2df6p-4, -0x1.b00c0518a7801p-6, 0x1.908f45f85f884p-8, -0x1.269b7e0405af8p-12,
		-0x1.dd27d589719d0p-12, 0x1.72cf8df671bdep-13, -0x1.e8ac5c91c7ddcp-19, -0x1.3ca47c17fb2c0p-16, 0x1.3bd03b5ef6eb3p-18,
		0x1.85da27065fd76p-20, -0x1.ccb49adc37911p-21, -0x1.ebe66db1e1f78p-24, 0x1.0fb3f25157230p-23, 0x1.0b8364ffae590p-25,
		-0x1.3f8e00115b1dbp-27, -0x1.549b6d444429bp-27, -0x1.9d29e6157f357p-29}
)

// erfc is e^-x² times a polynomial in t = (x - k)/(x + k) over x + k, and 2 less that
// for negative x. The exponent is reduced to r = x² + n·log 2 before x² is rounded:
// the first part of log 2 is so short that its product with n is exact.
func erfc(p prog, x lane.V) lane.V {
	k := p.pick(2, 4)
	a := p.Min(p.c(p.pick(10.1, 27.3)), p.Abs(x))
	spare := p.pick(25, 60) // as in expNeg
	low := 1.0              // what 1/(x + k) is multiplied by, so that the product with 2^(n+spare) is rounded once
	if p.set == AVX2 {
		low = math.Exp2(-spare)
	}
	over := p.quotient(p.c(low), p.Add(a, p.c(k)))
	t := p.FNMA(over, p.c(2*k/low), p.c(1))
	if p.t == lane.F64 { // whose k amplifies the error of the quotient too much
		t = p.Div(p.Sub(a, p.c(k)), p.Add(a, p.c(k)))
	}
	scaled := p.Mul(p.poly(t, p.list(erfcTail32, erfcTail64)...), over)
	n, exponent := p.whole(p.Mul(a, a), -math.Log2E, p.bias()+spare)
	hi, lo := p.pick(0x1.62e4p-1, 0x1.62e42fefa38p-1), p.pick(0x1.7f7d1cf79abcap-20, 0x1.ef35793c76730p-45)
	r := p.FMA(n, p.c(lo), p.FMA(a, a, p.Mul(n, p.c(hi))))
	e := p.expMinus(r)
	var y lane.V
	if p.set == AVX512 {
		y = p.Scale2(p.Mul(e, scaled), n)
	} else {
		y = p.Mul(p.Mul(e, p.float(exponent)), scaled)
	}
	return p.Select(p.Cmp(lane.LT, x, p.c(0)), p.Sub(p.c(2), y), y)
}

// erf64 is a polynomial in x² up to 1, and 1 - erfc above.
func erf64(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	large := p.Sub(p.c(1), erfc(p, a))
	return p.CopySign(p.Select(p.Cmp(lane.LT, a, p.c(1)), p.erfSmall64(a), large), x)
}

// erfSmall64 is erf(a) for 0 <= a <= 1.
func (p prog) erfSmall64(a lane.V) lane.V {
	// erf(x)/x - 1 in x², to 2^-56.3 of erf(x)/x.
	y := p.poly(p.Mul(a, a), 0x1.06eba8214db69p-3, -0x1.812746b037a25p-2, 0x1.ce2f21a0458d1p-4, -0x1.b82ce313548efp-6,
		0x1.565bcd2c54dc4p-8, -0x1.c02db92fd1799p-11, 0x1.f9a3b8deb097ep-14, -0x1.f4dce72a8f948p-17, 0x1.ba68810c770edp-20,
		-0x1.638b5ee7f46abp-23, 0x1.13010d516145cp-26, -0x1.c3e808ad0d45cp-30, 0x1.3a7263f93c2dfp-33)
	return p.FMA(y, a, a)
}

// erfinvRatio is erfinv(x)/x by a polynomial in w = -log(1 - x²), or in √w where w
// exceeds 5, to 2^-21.
func (p prog) erfinvRatio(x lane.V) lane.V {
	of := p.split(p.FNMA(x, x, p.c(1)))
	tail32, tail64 := p.tails()
	w := p.Neg(p.natural(of, tail32, tail64))
	// In w - 5/2, to 2^-23.6.
	central := p.poly(p.Sub(w, p.c(2.5)), 0x1.805c5ep+0, 0x1.f91ebap-3, -0x1.11c974p-8, -0x1.489ae8p-10, 0x1.ca5bdap-13,
		-0x1.2dd064p-18, -0x1.d84acep-19, 0x1.87ddd0p-22, 0x1.dc9beep-26, -0x1.9c4e06p-30)
	// In √w - 3 up to 16.8 to 2^-22.4, or in √w - 4 up to 37.
	tail := []float64{0x1.6a9efep+1, 0x1.006da8p+0, 0x1.351baap-7, -0x1.f409b2p-8, 0x1.7b14aep-8,
		-0x1.da9daep-9, 0x1.4480c6p-10, 0x1.43f3cap-15, -0x1.cdd566p-14}
	middle := 3.0
	if p.t == lane.F64 {
		tail = []float64{0x1.eb7e0ee7d3629p+1, 0x1.026ec4b5c5deep+0, 0x1.47d382ac19c65p-10, -0x1.e27004592d082p-11, 0x1.6a4acfa008915p-12,
			-0x1.61f639e9586c5p-15, 0x1.be4a1a34c7770p-16, -0x1.3df0178fca6d8p-14, 0x1.30014f5356ab2p-15, -0x1.5e506127e23e3p-23,
			-0x1.ee8db1be26a85p-20}
		middle = 4
	}
	return p.Select(p.Cmp(lane.LT, w, p.c(5)), central, p.poly(p.Sub(p.Sqrt(w), p.c(middle)), tail...))
}

// erfinvEdges is y, but infinite at |x| = 1 and NaN beyond.
func (p prog) erfinvEdges(y, x lane.V) lane.V {
	a := p.Abs(x)
	outside := p.Select(p.Cmp(lane.EQ, a, p.c(1)), p.Mul(x, p.inf()), p.nan())
	return p.Select(p.Cmp(lane.LT, a, p.c(1)), y, outside)
}

func erfinv32(p prog, x lane.V) lane.V {
	return p.erfinvEdges(p.Mul(x, p.erfinvRatio(x)), x)
}

// erfinv64 takes Halley's step from the approximation, with erf(y) - |x| computed as
// (1 - |x|) - erfc(y) where that is more exact.
func erfinv64(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	y := p.Mul(a, p.erfinvRatio(a))
	err := p.Select(p.Cmp(lane.LT, y, p.c(1)), p.Sub(p.erfSmall64(y), a), p.Sub(p.Sub(p.c(1), a), erfc(p, y)))
	slope := p.Mul(p.c(2/math.SqrtPi), expNeg(p, p.Neg(p.Mul(y, y))))
	u := p.Div(err, slope)
	y = p.Sub(y, p.Div(u, p.FMA(y, u, p.c(1))))
	return p.erfinvEdges(p.CopySign(y, x), x)
}

// erfStep is the width of the intervals of erfTable32.
const erfStep = 65.0 / 256

// erfOfTable32 is a polynomial in |x| - k·erfStep, where k is the nearest of 0 to 15.
// The first has no constant term, so that nothing is lost of a small x.
func (p prog) erfOfTable32(x lane.V) lane.V {
	k, rest := p.nearest(p.Min(p.c(15.4*erfStep), p.Abs(x)), erfStep)
	return p.CopySign(p.piece(k, rest, erfTable32...), x)
}

// erfTable32 are the coefficients of erf(k·erfStep + t) by power of t and by k, to
// 2^-25.5.
var erfTable32 = [][]float64{
	{0, 0x1.1f31b2p-2, 0x1.0dff4ep-1, 0x1.6fef76p-1, 0x1.b2bb68p-1, 0x1.dad53ep-1, 0x1.f00614p-1, 0x1.f9e15cp-1,
		0x1.fdea6ep-1, 0x1.ff5eb6p-1, 0x1.ffd4cap-1, 0x1.fff5c0p-1, 0x1.fffddap-1, 0x1.ffff9ap-1, 0x1.fffff0p-1, 0x1.fffffep-1},
	{0x1.20dd76p+0, 0x1.0ed47cp+0, 0x1.be6874p-1, 0x1.436686p-1, 0x1.9be438p-2, 0x1.cd22a6p-3, 0x1.c5d048p-4, 0x1.8894eap-5,
		0x1.2a875ap-6, 0x1.8f182ap-8, 0x1.d4fee0p-10, 0x1.e477f0p-12, 0x1.b7e990p-14, 0x1.5f21dcp-16, 0x1.ecbb0cp-19, 0x1.2fe502p-21},
	{0x1.044122p-22, -0x1.130e44p-2, -0x1.c5602ep-2, -0x1.ecad36p-2, -0x1.a25404p-2, -0x1.24b754p-2, -0x1.59af14p-3, -0x1.5ce18ep-4,
		-0x1.2f316cp-5, -0x1.c7fb6ap-7, -0x1.29ad48p-8, -0x1.52382ep-10, -0x1.4efe3ap-12, -0x1.219f26p-14, -0x1.b59500p-17, -0x1.21139ep-19},
	{-0x1.812af4p-2, -0x1.3a91aap-2, -0x1.20439cp-3, 0x1.14a26ap-5, 0x1.23e1e4p-3, 0x1.55c406p-3, 0x1.1372aap-3, 0x1.5bf5a4p-4,
		0x1.68d378p-5, 0x1.3a15d6p-6, 0x1.d0d3eap-8, 0x1.26b878p-9, 0x1.41f076p-11, 0x1.301494p-13, 0x1.f21124p-16, 0x1.626d34p-18},
	{0x1.1bc39cp-12, 0x1.053b5ep-3, 0x1.74fc00p-3, 0x1.2cda06p-3, 0x1.05ed2ep-4, -0x1.4b9c6cp-7, -0x1.76ac1ep-5, -0x1.804a6ep-5,
		-0x1.096e74p-5, -0x1.1c1040p-6, -0x1.ef14b2p-8, -0x1.67e532p-9, -0x1.ba91eap-11, -0x1.d0611ep-13, -0x1.a24174p-15, -0x1.44bf3cp-17},
	{0x1.c6c804p-4, 0x1.474a5ap-4, 0x1.7f6080p-8, -0x1.bccdacp-5, -0x1.177a30p-4, -0x1.6d7422p-5, -0x1.95e660p-7, 0x1.ffb7e8p-8,
		0x1.aa8beep-7, 0x1.483b34p-7, 0x1.68650ep-8, 0x1.37033ep-9, 0x1.b6f6d0p-11, 0x1.02a062p-12, 0x1.019da8p-14, 0x1.b56572p-17},
}
