package rows

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// steps writes the functions of a step of a layer whose state is multiplied as bytes, of
// float32.
func steps(k *kit) {
	if k.Double {
		return
	}
	k.stepsExtent()
	k.stepsQuantize()
	k.stepsGates()
	k.stepsCell()
	k.stepsProduct()
}

func (k *kit) stepsExtent() {
	k.begin("extent", "func(n int, x, low, high, rest *%s)",
		"writes the smallest of n elements and 0, the largest of them and 0, and 0, or NaN where an element is not finite.")
	r, x := k.rowOf(), k.Arg("x")
	acc := k.Vecs(3)
	zero := k.Vec()
	k.Zero(zero)
	for _, v := range acc {
		k.Zero(v)
	}
	r.over(2, func(p place) {
		v := p.load(x)
		k.min(acc[0], v, acc[0])
		k.max(acc[1], v, acc[1])
		k.FMA(v, zero, acc[2])
	})
	k.horizontal(acc[0], func(a, b reg.VecVirtual) { k.min(a, b, a) })
	k.maxOf(acc[1])
	k.sumOf(acc[2])
	for i, name := range []string{"low", "high", "rest"} {
		k.first(acc[i], mem(k.Arg(name)))
	}
	k.End()
}

func (k *kit) stepsQuantize() {
	k.begin("quantize", "func(n int, x *%s, to *byte, scale %s, zero int32)",
		"writes the integers nearest to x/scale, plus zero, as bytes without a sign, of n elements, whole vectors of them.")
	n, x, to := k.Arg("n"), k.Arg("x"), k.Arg("to")
	scale := k.scalar("scale")
	zero := k.scalar("zero")
	k.C.SHRQ(operand.U8(k.pickInt(3, 2)+k.more()), n) // vectors
	k.times(n, func() {
		v := k.Vec()
		k.Move(mem(x), v)
		k.Div(v, scale, v)
		k.C.VCVTPS2DQ(v, v)
		k.C.VPADDD(zero, v, v)
		if k.AVX512 {
			none := k.Vec()
			k.Zero(none)
			k.C.VPMAXSD(none, v, v)
			k.C.VPMOVUSDB(v, mem(to))
		} else {
			high := k.C.XMM()
			k.C.VEXTRACTI128(operand.U8(1), v, high)
			k.C.VPACKSSDW(high, v.AsX(), high)
			k.C.VPACKUSWB(high, high, high)
			k.C.VMOVQ(high, mem(to))
		}
		k.C.ADDQ(imm(k.Bytes()), x)
		k.C.ADDQ(imm(k.Lanes()), to)
	})
	k.End()
}

// more is 1 where vectors have 512 bits.
func (k *kit) more() int {
	if k.AVX512 {
		return 1
	}
	return 0
}

func (k *kit) stepsGates() {
	k.begin("gates", "func(n int, z, x, scale *%s, sums, columns *int32, by %s, least int32)",
		"computes z = x + (sums - least*columns)*(scale*by) of n elements.")
	r, z, x, scale, sums, columns := k.rowOf(), k.Arg("z"), k.Arg("x"), k.Arg("scale"), k.Arg("sums"), k.Arg("columns")
	by, least := k.scalar("by"), k.scalar("least")
	r.over(2, func(p place) {
		s, c := p.load(sums), p.load(columns)
		k.C.VPMULLD(least, c, c)
		k.C.VPSUBD(c, s, s)
		k.C.VCVTDQ2PS(s, s)
		f := p.load(scale)
		k.Mul(by, f, f)
		k.Mul(f, s, s)
		k.Add(p.load(x), s, s)
		p.store(s, z)
	})
	k.End()
}

func (k *kit) stepsCell() {
	k.begin("cell", "func(n int, to, copied, forget, before, in, fresh *%s)",
		"computes forget*before + in*fresh of n elements, twice.")
	r, to, copied := k.rowOf(), k.Arg("to"), k.Arg("copied")
	forget, before, in, fresh := k.Arg("forget"), k.Arg("before"), k.Arg("in"), k.Arg("fresh")
	r.over(2, func(p place) {
		a, b := p.load(forget), p.load(in)
		k.Mul(p.load(before), a, a)
		k.Mul(p.load(fresh), b, b)
		k.Add(b, a, a)
		p.store(a, to)
		p.store(a, copied)
	})
	k.End()
}

func (k *kit) stepsProduct() {
	k.begin("product", "func(n int, to, a, b *%s)", "computes a*b of n elements.")
	r, to, a, b := k.rowOf(), k.Arg("to"), k.Arg("a"), k.Arg("b")
	r.over(2, func(p place) {
		v := p.load(a)
		k.Mul(p.load(b), v, v)
		p.store(v, to)
	})
	k.End()
}
