package mathlib

import (
	"math"

	"github.com/sinter-go/sinter/codegen/lane"
)

// gammas are computed in float64 for float32, since near a zero all but the last
// digits cancel. For float64 there is no wider type to do so in.
func gammas() []Func {
	return []Func{
		{Name: "lgamma", Type: lane.F32, Arity: 1, ULP: 2, Method: "Stirling's series", full: unary(lgamma32)},
		{Name: "digamma", Type: lane.F32, Arity: 1, ULP: 1, Method: "asymptotic series", full: unary(digamma32)},
	}
}

// logPositive is the logarithm of a normal positive float64; that of 0 is some number
// and that of infinity infinity.
func (p prog) logPositive(x lane.V) lane.V {
	exponent := p.exponentFrom(p.bits(x), p.i(0x3fe6a09e667f3bcd))
	f := p.Sub(p.float(p.Sub(p.bits(x), exponent)), p.c(1))
	y := p.natural(parts{f, p.exponentOf(exponent), p.unit(), false}, nil, logTail64)
	return p.Select(p.Cmp(lane.LT, x, p.inf()), y, x)
}

func lgamma32(p prog, x lane.V) lane.V {
	y := viaDouble(p, lgammaWide, x)
	root := p.MaskOr(p.Cmp(lane.EQ, x, p.c(1)), p.Cmp(lane.EQ, x, p.c(2)))
	return p.Select(root, p.c(0), y)
}

// lgammaWide is log|Γ(x)| to about 2^-50, for an x that came from a float32. With
// z = |x| + 8 it is Stirling's series in z, less the logarithm of |x|(|x|+1)...
// (|x|+7); for negative x it is log(π/|x sin πx|) less that.
func lgammaWide(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	low := p.Cmp(lane.LT, a, p.c(8))
	z := p.Select(low, p.Add(a, p.c(8)), a)
	product := a
	for k := 1.0; k < 8; k++ {
		product = p.Mul(product, p.Add(a, p.c(k)))
	}
	product = p.Select(low, product, p.c(1))
	over := p.Div(p.c(1), z)
	// (lgamma(z) - (z - 1/2)·log z + z - log(2π)/2)·z from 8 on in 1/z², to 2^-54.6.
	series := p.horner(p.Mul(over, over), 0x1.5555555555553p-4, -0x1.6c16c16bbaedep-9, 0x1.a019fd53c0d29p-11,
		-0x1.380ed1cac877fp-11, 0x1.b6ffcc3fd6ccep-11, -0x1.b17c4b11489c7p-10)
	const halfLog2Pi = 0.918938533204672741780329736406
	y := p.FMA(series, over, p.c(halfLog2Pi-0.5))
	y = p.FMA(p.Sub(z, p.c(0.5)), p.Sub(p.logPositive(z), p.c(1)), y)

	r := p.Sub(a, p.Round(a, lane.Nearest))
	sine := p.Abs(p.Mul(p.sinPi(r), a))
	negative := p.Cmp(lane.LT, x, p.c(0))
	// One logarithm serves both: of the product, and of product·π/|x sin πx|.
	divisor := p.Select(negative, p.Mul(sine, p.c(1/math.Pi)), p.c(1))
	y = p.Sub(y, p.logPositive(product))
	y = p.Select(negative, p.Neg(p.Add(y, p.logPositive(divisor))), y)
	pole := p.MaskAnd(p.Cmp(lane.LE, x, p.c(0)), p.Cmp(lane.EQ, r, p.c(0)))
	infinite := p.MaskOr(pole, p.Cmp(lane.EQ, a, p.inf()))
	return p.Select(infinite, p.inf(), y)
}

// sinPi is sin(πr) for |r| <= 1/2.
func (p prog) sinPi(r lane.V) lane.V {
	return p.Mul(r, p.poly(p.Mul(r, r), sinPi64...))
}

// The coefficients of sin(πr)/r to 2^-54.5 and of cos(πr)/(1 - 4r²) to 2^-63.3 for
// |r| <= 1/2, in r².
var (
	sinPi64 = []float64{0x1.921fb54442d18p+1, -0x1.4abbce625be0fp+2, 0x1.466bc67757ff6p+1, -0x1.32d2cce4ddeacp-1,
		0x1.507833e7723f2p-4, -0x1.e306fb970c664p-8, 0x1.e8db81e98baabp-12, -0x1.6bdc854235eb9p-16, 0x1.2b13cd94eb678p-21}
	cosPi64 = []float64{0x1.0000000000000p+0, -0x1.de9e64df22ef3p-1, 0x1.472be122434bep-2, -0x1.d4fcd831179e4p-5,
		0x1.9f05cb00a7bcbp-8, -0x1.f309e80722d56p-12, 0x1.b26836662d728p-16, -0x1.1e5f92aeffd7ap-20, 0x1.20bf2b253cb78p-25}
)

func digamma32(p prog, x lane.V) lane.V {
	y := viaDouble(p, digammaWide, x)
	// Near 0 the function is -1/x, which is infinite at 0.
	near := p.Cmp(lane.LT, p.Abs(x), p.c(0x1p-30))
	return p.Select(near, p.Div(p.c(-1), x), y)
}

// digammaWide is digamma to about 2^-50, for an x that came from a float32. With
// a = |x| and z = a + 8 it is the asymptotic series in z, less 1/a + 1/(a+1) + ... +
// 1/(a+7), whose terms are added in pairs from both ends: with w = a² + 7a, and 2a + 7
// over w, w + 6, w + 10 and w + 12. For negative x, 1/a + π·cot(πa) is added.
func digammaWide(p prog, x lane.V) lane.V {
	a := p.Abs(x)
	low := p.Cmp(lane.LT, a, p.c(8))
	z := p.Select(low, p.Add(a, p.c(8)), a)
	over := p.Div(p.c(1), z)
	u := p.Mul(over, over)
	// (log z - 1/(2z) - digamma(z))·z² from 8 on in 1/z², to 2^-56.7.
	series := p.horner(u, 0x1.5555555555555p-4, -0x1.111111110a961p-7, 0x1.041040cb94edbp-8, -0x1.1110b84086e2cp-8,
		0x1.f03a12a909e4cp-8, -0x1.533b03af740efp-6, 0x1.052d61a05393cp-4)
	y := p.Sub(p.FNMA(over, p.c(0.5), p.logPositive(z)), p.Mul(series, u))

	w := p.Mul(a, p.Add(a, p.c(7)))
	w6, w10, w12 := p.Add(w, p.c(6)), p.Add(w, p.c(10)), p.Add(w, p.c(12))
	first, last := p.Mul(w, w6), p.Mul(w10, w12)
	two := p.Add(w, w)
	above := p.FMA(p.Add(two, p.c(6)), last, p.Mul(p.Add(two, p.c(22)), first))
	sum := p.Div(p.Mul(above, p.FMA(p.c(2), a, p.c(7))), p.Mul(first, last))
	y = p.Select(low, p.Sub(y, sum), y)

	r := p.Sub(a, p.Round(a, lane.Nearest))
	rr := p.Mul(r, r)
	cosine := p.Mul(p.FNMA(p.c(4), rr, p.c(1)), p.poly(rr, cosPi64...))
	cot := p.Div(p.Mul(p.c(math.Pi), cosine), p.sinPi(r))
	reflected := p.Add(p.Add(y, p.Div(p.c(1), a)), cot)
	integral := p.Cmp(lane.EQ, r, p.c(0))
	reflected = p.Select(integral, p.nan(), reflected)
	negative := p.Cmp(lane.LT, x, p.c(0))
	return p.Select(negative, reflected, y)
}
