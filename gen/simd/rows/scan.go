package rows

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

func scans(k *kit) {
	for _, f := range k.foldings() {
		if f.element == "" {
			continue // of floats scans carry more digits than these accumulators have
		}
		k.next(f)
		if !k.AVX512 {
			k.prefix(f)
		}
	}
	if k.Double && !k.AVX512 {
		k.widePrefix()
	}
	if k.Double {
		k.wideNext("wideSumNext", "sums", k.Add)
		k.wideNext("wideProdNext", "products", k.Mul)
	}
}

// wideNext is next of float32 in float64. Every column goes from row to row.
func (k *kit) wideNext(name, what string, combine func(a operand.Op, b, to reg.Register)) {
	k.begin(name, "func(rows, vectors, outStride, stride int, out *float32, acc *float64, x *float32)",
		"scans rows, stride bytes apart, of so many vectors of accumulators in columns: the "+what+" in these, as they are after each row, go to rows of out.")
	rows, vectors, outStride, stride := k.Arg("rows"), k.Arg("vectors"), k.Arg("outStride"), k.Arg("stride")
	out, acc, x := k.Arg("out"), k.Arg("acc"), k.Arg("x")
	half := k.Bytes() / 2
	for _, u := range []int{4, 1} {
		loop, done := k.label("columns"), k.label("columnsDone")
		k.C.CMPQ(vectors, imm(u))
		k.C.JLT(ref(done))
		k.C.Label(loop)
		a := make([]reg.VecVirtual, u)
		for i := range a {
			a[i] = k.Vec()
			k.Move(operand.Mem{Base: acc, Disp: i * k.Bytes()}, a[i])
		}
		k.down(rows, []reg.Register{stride, outStride}, []reg.Register{x, out}, func(at []reg.Register) {
			for i := range a {
				v := k.Vec()
				k.C.VCVTPS2PD(operand.Mem{Base: at[0], Disp: i * half}, v)
				combine(v, a[i], a[i])
				to := operand.Mem{Base: at[1], Disp: i * half}
				if k.AVX512 {
					k.C.VCVTPD2PS(a[i], v.AsY())
					k.C.VMOVUPS(v.AsY(), to)
				} else {
					k.C.VCVTPD2PSY(a[i], v.AsX())
					k.C.VMOVUPS(v.AsX(), to)
				}
			}
		})
		for i := range a {
			k.Move(a[i], operand.Mem{Base: acc, Disp: i * k.Bytes()})
		}
		k.C.ADDQ(imm(u*k.Bytes()), acc)
		k.C.ADDQ(imm(u*half), x)
		k.C.ADDQ(imm(u*half), out)
		k.C.SUBQ(imm(u), vectors)
		k.C.CMPQ(vectors, imm(u))
		k.C.JGE(ref(loop))
		k.C.Label(done)
	}
	k.End()
}

// widePrefix is the scan of float32 in float64, four at a time, by the sums of the portable
// loop: those inside four elements first, of which one waits for the four before.
func (k *kit) widePrefix() {
	k.begin("wideSumPrefix", "func(fours int, out *float32, acc *float64, x *float32)",
		"writes the sums of acc and the elements up to each of so many times four, and the last to acc.")
	n, out, acc, x := k.Arg("fours"), k.Arg("out"), k.Arg("acc"), k.Arg("x")
	zero, carry := k.Vec(), k.Vec()
	k.C.VXORPD(zero, zero, zero)
	k.Broadcast(mem(acc), carry)
	k.times(n, func() {
		v, before, whole, sum := k.Vec(), k.Vec(), k.Vec(), k.Vec()
		k.C.VCVTPS2PD(mem(x), v)
		k.C.VPALIGNR(operand.U8(8), zero, v, before)
		k.C.VADDPD(before, v, v)
		k.C.VPERM2F128(operand.U8(0x08), v, v, before)
		k.C.VPERMILPD(operand.U8(0x0f), before, before)
		k.C.VADDPD(before, v, v)
		k.C.VPERMPD(operand.U8(0xff), v, whole)
		k.C.VADDPD(carry, v, sum)
		k.C.VADDPD(whole, carry, carry)
		k.C.VCVTPD2PSY(sum, sum.AsX())
		k.C.VMOVUPS(sum.AsX(), mem(out))
		k.C.ADDQ(imm(16), x)
		k.C.ADDQ(imm(16), out)
	})
	k.first(carry, mem(acc))
	k.End()
}

// next is grid that keeps what accumulators are after each row.
func (k *kit) next(f folding) {
	k.begin(f.name+"Next", "func(rows, n, outStride, stride int, out, acc, x "+f.pointer(k)+")",
		"folds rows of n elements, stride bytes apart, into n accumulators, and writes these after each to rows of out.")
	rows, r, outStride, stride := k.Arg("rows"), k.rowOf(), k.Arg("outStride"), k.Arg("stride")
	out, acc, x := k.Arg("out"), k.Arg("acc"), k.Arg("x")
	r.steps(4, func(all []place) {
		a := each(all, func(p place) reg.VecVirtual { return p.load(acc) })
		k.down(rows, []reg.Register{stride, outStride}, []reg.Register{x, out}, func(at []reg.Register) {
			for i, p := range all {
				f.to(p.load(at[0]), a[i])
				p.store(a[i], at[1])
			}
		})
		for i, p := range all {
			p.store(a[i], acc)
		}
	})
	k.End()
}

// prefix scans one line, 32 bytes at a time: the prefixes inside a vector come from
// two or three combinations of all lanes, and only one waits for the vector before.
func (k *kit) prefix(f folding) {
	k.begin(f.name+"Prefix", "func(vectors int, out, acc, x "+f.pointer(k)+")",
		"writes the folds of acc and the elements up to each of so many vectors of 32 bytes, and the last to acc.")
	n, out, acc, x := k.Arg("vectors"), k.Arg("out"), k.Arg("acc"), k.Arg("x")
	k.holdIdentity(f)
	identity, carry, last := k.Vec(), k.Vec(), k.Vec()
	k.identity(f, identity)
	k.Broadcast(mem(acc), carry)
	k.C.VPCMPEQD(last, last, last)
	k.C.VPSRLD(operand.U8(29), last, last) // 7, the last of the lanes
	k.times(n, func() {
		v := k.Vec()
		k.Move(mem(x), v)
		for shift := k.Elem(); shift < 16; shift *= 2 {
			before := k.Vec()
			k.C.VPALIGNR(operand.U8(16-shift), identity, v, before)
			f.to(before, v)
		}
		low := k.Vec()
		k.C.VPERM2F128(operand.U8(0x08), v, v, low)
		if k.Double {
			k.C.VPERMILPD(operand.U8(0x0f), low, low)
		} else {
			k.C.VPERMILPS(operand.U8(0xff), low, low)
		}
		if f.identity != "zero" {
			k.C.VBLENDPS(operand.U8(0x0f), identity, low, low)
		}
		f.to(low, v)
		whole, sum := k.Vec(), k.Vec()
		if k.Double {
			k.C.VPERMPD(operand.U8(0xff), v, whole)
		} else {
			k.C.VPERMPS(v, last, whole)
		}
		k.C.VMOVAPS(carry, sum)
		f.to(v, sum)
		f.to(whole, carry)
		k.Move(sum, mem(out))
		k.C.ADDQ(imm(32), x)
		k.C.ADDQ(imm(32), out)
	})
	k.first(carry, mem(acc))
	k.End()
}
