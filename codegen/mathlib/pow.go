package mathlib

import (
	"math"

	"github.com/sinter-go/sinter/codegen/lane"
)

func powers() []Func {
	return []Func{
		{Name: "pow", Type: lane.F32, Arity: 2, ULP: 1, Method: "log2, exp2 in float64", full: pow32},
		{Name: "pow", Type: lane.F64, Arity: 2, ULP: 1, Method: "log2 in two numbers, exp2", full: pow64},
	}
}

// pow32 is 2^(y·log2|x|), computed in float64, with the sign of x where y is odd.
func pow32(p prog, v []lane.V) lane.V {
	x, y := v[0], v[1]
	q := p.double()
	power := p.Narrow(q.powWide(q.Widen(p.Abs(x), lane.F64), q.Widen(y, lane.F64)), lane.F32)
	return p.powEdges(power, x, y)
}

// powWide is x^y to 2^-28 for x >= 0 and y that came from float32, but for 1 to the
// power of infinity.
func (p prog) powWide(x, y lane.V) lane.V {
	exponent := p.exponentFrom(p.bits(x), p.i(0x3fe6a09e667f3bcd))
	m := p.float(p.Sub(p.bits(x), exponent))
	s := p.Div(p.Sub(m, p.c(1)), p.Add(m, p.c(1)))
	// log2(m)/s in s², to 2^-45.
	l := p.horner(p.Mul(s, s), 0x1.71547652b8250p+1, 0x1.ec709dc53e36ap-1, 0x1.2776c2916226bp-1, 0x1.a61a30145a6c1p-2,
		0x1.47952749a059ap-2, 0x1.21b344c6e6c3cp-2)
	l = p.FMA(l, s, p.exponentOf(exponent))
	l = p.Select(p.Cmp(lane.LT, x, p.inf()), l, x)
	l = p.Select(p.Cmp(lane.EQ, x, p.c(0)), p.c(math.Inf(-1)), l)
	t := p.clamp(p.Mul(y, l), -200, 200)
	n, k := p.whole(t, 1, p.bias())
	f := p.Sub(t, n)
	// (2^f - 1)/f for |f| <= 1/2, to 2^-34.3 of 2^f.
	e := p.poly(f, 0x1.62e42ff0e1b91p-1, 0x1.ebfbe077a1288p-3, 0x1.c6b08ac039618p-5, 0x1.3b29f38648e96p-7,
		0x1.5d8a86184a40fp-10, 0x1.445c971efa055p-13, 0x1.fde60951d87e1p-17)
	return p.Mul(p.FMA(e, f, p.c(1)), p.float(k))
}

// powEdges is power, |x|^y, with the sign of x^y, and x^y where it is 1 or none.
func (p prog) powEdges(power, x, y lane.V) lane.V {
	half := p.Mul(y, p.c(0.5))
	whole := p.Cmp(lane.EQ, p.Round(y, lane.Nearest), y)
	odd := p.MaskAnd(whole, p.Cmp(lane.NE, p.Round(half, lane.Nearest), half))
	power = p.Select(odd, p.CopySign(power, x), power)
	finite := p.Cmp(lane.GT, x, p.c(math.Inf(-1)))
	none := p.MaskAnd(p.MaskAnd(p.Cmp(lane.LT, x, p.c(0)), finite), p.MaskNot(whole))
	power = p.Select(none, p.nan(), power)
	one := p.MaskOr(p.Cmp(lane.EQ, x, p.c(1)), p.Cmp(lane.EQ, y, p.c(0)))
	unit := p.MaskAnd(p.Cmp(lane.EQ, x, p.c(-1)), p.Cmp(lane.EQ, p.Abs(y), p.inf()))
	return p.Select(p.MaskOr(one, unit), p.c(1), power)
}

// pair is a sum of two numbers, of which lo is below the last place of hi.
type pair struct{ hi, lo lane.V }

// times is the exact product of two numbers.
func (p prog) times(a, b lane.V) pair {
	hi := p.Mul(a, b)
	return pair{hi, p.FMS(a, b, hi)}
}

// plus is the exact sum of two numbers, the first of which is the greater or 0.
func (p prog) plus(a, b lane.V) pair {
	hi := p.Add(a, b)
	return pair{hi, p.Add(p.Sub(a, hi), b)}
}

// pow64 is 2^(y·log2|x|) with the logarithm and the product as pairs.
func pow64(p prog, v []lane.V) lane.V {
	x, y := v[0], v[1]
	l := p.log2Pair(p.Abs(x))
	t := p.times(y, l.hi)
	lo := p.FMA(y, l.lo, t.lo)
	lo = p.Select(p.Cmp(lane.LT, p.Abs(t.hi), p.c(1100)), lo, p.c(0)) // which may be none
	hi := p.clamp(t.hi, -1076, 1025)
	n, k := p.whole(hi, 1, p.bias()-1)
	f := p.Add(p.Sub(hi, n), lo)
	power := p.scaleBySign(p.FMA(p.poly(f, exp2Tail64...), f, p.c(1)), hi, n, k)
	return p.powEdges(power, x, y)
}

// log2Pair is log2(x) of a float64 x >= 0 to 2^-64, in s = (m-1)/(m+1): 2/log(2)·(s +
// s³/3 + ...), of which the first two terms are pairs.
func (p prog) log2Pair(x lane.V) pair {
	small := p.Cmp(lane.LT, x, p.c(0x1p-1022))
	bits := p.bits(p.Select(small, p.Mul(x, p.c(0x1p54)), x))
	place := p.exponentFrom(bits, p.i(0x3fe6a09e667f3bcd))
	m := p.float(p.Sub(bits, place))
	e := p.Sub(p.exponentOf(place), p.Select(small, p.c(54), p.c(0)))

	f := p.Sub(m, p.c(1))
	g := p.Add(m, p.c(1))
	lost := p.Sub(m, p.Sub(g, p.c(1)))
	over := p.Div(p.c(1), g)
	s := p.Mul(f, over)
	rest := p.FNMA(s, lost, p.FNMA(s, g, f))
	sLo := p.Mul(rest, over)

	z := p.times(s, s)
	z.lo = p.FMA(p.Add(s, s), sLo, z.lo)
	// What follows 2/(3·log 2)·z, over z², to 2^-66 of the logarithm.
	tail := p.poly(z.hi, 0x1.2776c50ef9d24p-1, 0x1.a61762a75984bp-2, 0x1.484b1421986f5p-2, 0x1.0c9a63d7027c2p-2,
		0x1.c69f8bfb06daep-3, 0x1.87b0c4d5eea47p-3, 0x1.85e8f8ed35f52p-3)
	second := p.times(p.c(0x1.ec709dc3a03fdp-1), z.hi)
	second.lo = p.FMA(p.c(0x1.ec709dc3a03fdp-1), z.lo, p.FMA(p.c(0x1.d27f05548af0cp-55), z.hi, second.lo))
	sum := p.plus(p.c(0x1.71547652b82fep+1), second.hi)
	sum.lo = p.Add(sum.lo, p.FMA(p.Mul(z.hi, z.hi), tail, p.Add(second.lo, p.c(0x1.777d0ffda0d24p-55))))
	l := p.times(s, sum.hi)
	l.lo = p.FMA(s, sum.lo, p.FMA(sLo, sum.hi, l.lo))

	total := p.plus(e, l.hi)
	total.lo = p.Add(total.lo, l.lo)
	finite := p.Cmp(lane.LT, x, p.inf())
	total.hi = p.Select(finite, total.hi, x)
	total.hi = p.Select(p.Cmp(lane.EQ, x, p.c(0)), p.c(math.Inf(-1)), total.hi)
	return total
}
