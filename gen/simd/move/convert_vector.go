package move

import (
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Predicates of comparisons.
const (
	equal        = operand.U8(0) // ordered
	less         = operand.U8(1)
	unordered    = operand.U8(3)  // either is NaN
	notEqual     = operand.U8(4)  // or unordered
	ordered      = operand.U8(7)  // neither is NaN
	differ       = operand.U8(12) // ordered and not equal
	greaterEqual = operand.U8(13)
	greater      = operand.U8(14)
)

// half returns the register of half the width that r begins with.
func (f function) half(r reg.VecVirtual) reg.Register {
	if f.wide {
		return r.AsY()
	}
	return r.AsX()
}

// upper returns the upper half of r.
func (f function) upper(r reg.VecVirtual) reg.Register {
	if f.wide {
		h := f.c.YMM()
		f.c.VEXTRACTI64X4(operand.Imm(1), r, h)
		return h
	}
	h := f.c.XMM()
	f.c.VEXTRACTI128(operand.Imm(1), r, h)
	return h
}

// join puts upper above the lower half of r.
func (f function) join(upper reg.Register, r reg.VecVirtual) {
	if f.wide {
		f.c.VINSERTI64X4(operand.Imm(1), upper, r, r)
		return
	}
	f.c.VINSERTI128(operand.Imm(1), upper, r, r)
}

// widen doubles the width of the elements by an instruction that takes half a
// register.
func (k converter) widen(v []reg.VecVirtual, by func(...operand.Op)) []reg.VecVirtual {
	out := k.registers(2 * len(v))
	for i, r := range v {
		by(k.half(r), out[2*i])
		by(k.upper(r), out[2*i+1])
	}
	return out
}

// toF32 rounds float64, in the registers it is given.
func (k converter) toF32(v []reg.VecVirtual) []reg.VecVirtual {
	return k.halve(v, func(from, to reg.Register) {
		if k.wide {
			k.c.VCVTPD2PS(from, to)
		} else {
			k.c.VCVTPD2PSY(from, to)
		}
	})
}

// halve narrows pairs of registers by an instruction that leaves half a register,
// each pair to its first one.
func (k converter) halve(v []reg.VecVirtual, by func(from, to reg.Register)) []reg.VecVirtual {
	out := make([]reg.VecVirtual, len(v)/2)
	for i := range out {
		out[i] = v[2*i]
		by(v[2*i], k.half(v[2*i]))
		by(v[2*i+1], k.half(v[2*i+1]))
		k.join(k.half(v[2*i+1]), v[2*i])
	}
	return out
}

// odd rounds float64 to float32 so that rounding once more, to a 16-bit float, is
// as rounding once: toward zero, with the last bit set where that is not exact.
func (k converter) odd(v []reg.VecVirtual) []reg.VecVirtual {
	if k.wide {
		return k.oddWide(v)
	}
	out := k.registers(len(v) / 2)
	for i, r := range out {
		x := v[2*i : 2*i+2]
		inexact, back := k.registers(2), k.registers(2)
		upper := k.c.XMM()
		k.c.VCVTPD2PSY(x[0], r.AsX())
		k.c.VCVTPD2PSY(x[1], upper)
		k.c.VCVTPS2PD(r.AsX(), back[0])
		k.c.VCVTPS2PD(upper, back[1])
		k.join(upper, r)
		for j, b := range back {
			k.c.VCMPPD(differ, b, x[j], inexact[j])
			k.c.VANDPD(k.quad(abs64), b, b)
			k.c.VANDPD(k.quad(abs64), x[j], x[j])
			k.c.VCMPPD(greater, x[j], b, b) // rounded away from zero
		}
		k.c.VPADDD(k.low(back)[0], r, r)
		bit := k.low(inexact)[0]
		k.c.VPSRLD(operand.Imm(31), bit, bit)
		k.c.VPOR(bit, r, r)
	}
	return out
}

func (k converter) oddWide(v []reg.VecVirtual) []reg.VecVirtual {
	for _, x := range v {
		r, back, inexact := k.c.YMM(), k.c.ZMM(), k.c.K()
		k.c.VCVTPD2PS_RZ_SAE(x, r)
		k.c.VCVTPS2PD(r, back)
		k.c.VCMPPD(differ, back, x, inexact)
		k.c.VPORD(k.word(1).AsY(), r, inexact, r)
		k.c.VMOVDQA64(r, x.AsY())
	}
	k.join(v[1].AsY(), v[0])
	return v[:1]
}

// low cuts 64-bit elements to their low 32 bits, in the registers it is given.
func (k converter) low(v []reg.VecVirtual) []reg.VecVirtual {
	if k.wide {
		return k.halve(v, func(from, to reg.Register) { k.c.VPMOVQD(from, to) })
	}
	out := make([]reg.VecVirtual, len(v)/2)
	for i := range out {
		out[i] = v[2*i]
		k.c.VSHUFPS(operand.Imm(0x88), v[2*i+1], v[2*i], out[i])
		k.c.VPERMQ(operand.Imm(0xd8), out[i], out[i])
	}
	return out
}

// stick prepares int64 beyond 2^53 for rounding through float64: the bits that it
// has no room for only tell exact values from others, which the lowest bit it has room
// for does for them.
func (k converter) stick(v []reg.VecVirtual) {
	low, highest, lowest := k.quad(sticky[0]), k.quad(sticky[1]), k.quad(sticky[2])
	for _, r := range v {
		cut := k.vector()
		if k.wide {
			large, small := k.c.K(), k.c.K()
			k.c.VPCMPGTQ(highest, r, large)
			k.c.VPCMPGTQ(r, lowest, small)
			k.c.KORB(small, large, large)
			k.c.VPANDQ(low, r, cut)
			k.c.VPADDQ(low, cut, cut)
			k.c.VPORQ(r, cut, cut)
			k.c.VPANDNQ(cut, low, large, r)
			continue
		}
		large, small := k.c.YMM(), k.c.YMM()
		k.c.VPAND(low, r, cut)
		k.c.VPADDQ(low, cut, cut)
		k.c.VPOR(r, cut, cut)
		k.c.VPANDN(cut, low, cut)
		k.c.VPCMPGTQ(highest, r, large)
		k.c.VPCMPGTQ(r, lowest, small)
		k.c.VPOR(small, large, large)
		k.c.VBLENDVPD(large, cut, r, r)
	}
}

// quadsToFloat converts int64 to float64 with one rounding, or two that are as one
// where what comes of it is narrowed and stick is set.
func (k converter) quadsToFloat(v []reg.VecVirtual, stick bool) {
	if k.wide {
		if stick {
			k.stick(v)
		}
		k.quadsToF64(v)
		return
	}
	// Numbers of less than 52 bits, which most are, take their place in a float64's
	// fraction by an addition.
	any, bits := k.c.YMM(), k.c.YMM()
	for i, r := range v {
		k.c.VPADDQ(k.quad(shifter), r, bits)
		k.c.VPXOR(k.quad(shifter), bits, bits)
		if i == 0 {
			k.c.VMOVDQA(bits, any)
		} else {
			k.c.VPOR(bits, any, any)
		}
	}
	k.c.VPSRLQ(operand.Imm(52), any, any)
	k.c.VPTEST(any, any)
	k.c.JE(operand.LabelRef("few"))
	if stick {
		k.stick(v)
	}
	k.quadsToF64(v)
	k.c.JMP(operand.LabelRef("joined"))
	k.c.Label("few")
	for _, r := range v {
		k.c.VPADDQ(k.quad(shifter), r, r)
		k.c.VSUBPD(k.quad(shifter), r, r)
	}
	k.c.Label("joined")
}

// quadsToF64 converts int64 to float64 with one rounding.
func (k converter) quadsToF64(v []reg.VecVirtual) {
	for _, r := range v {
		if k.wide {
			k.c.VCVTQQ2PD(r, r)
			continue
		}
		high := k.c.YMM()
		k.c.VPSRLQ(operand.Imm(32), r, high)
		k.c.VPXOR(k.quad(split[1]), high, high) // 2^84 + 2^63 + the upper half times 2^32
		k.c.VPBLENDD(operand.Imm(0xaa), k.quad(split[0]), r, r)
		k.c.VSUBPD(k.quad(split[2]), high, high)
		k.c.VADDPD(r, high, r)
	}
}

// saturateF32 truncates float32 to int32; NaN gives 0.
func (k converter) saturateF32(v []reg.VecVirtual) {
	for _, r := range v {
		if k.wide {
			number, large := k.c.K(), k.c.K()
			k.c.VCMPPS(ordered, r, r, number)
			k.c.VCMPPS(greaterEqual, k.word(0x4f000000), r, large)
			k.c.VCVTTPS2DQ_Z(r, number, r)
			k.c.VMOVDQA32(k.word(0x7fffffff), large, r)
			continue
		}
		number, large := k.c.YMM(), k.c.YMM()
		k.c.VCMPPS(ordered, r, r, number)
		k.c.VCMPPS(greaterEqual, k.word(0x4f000000), r, large)
		k.c.VANDPS(number, r, r)
		k.c.VCVTTPS2DQ(r, r)
		k.c.VPXOR(large, r, r)
	}
}

// saturateF32I64 truncates float32 to int64; NaN gives 0.
func (k converter) saturateF32I64(v []reg.VecVirtual) []reg.VecVirtual {
	out := k.registers(2 * len(v))
	for i, r := range v {
		for j, h := range []reg.Register{k.half(r), k.upper(r)} {
			number, large, to := k.c.K(), k.c.K(), out[2*i+j]
			k.c.VCMPPS(ordered, h, h, number)
			k.c.VCMPPS(greaterEqual, k.word(0x5f000000).AsY(), h, large)
			k.c.VCVTTPS2QQ_Z(h, number, to)
			k.c.VMOVDQA64(k.quad(abs64), large, to)
		}
	}
	return out
}

// saturateF64I64 truncates float64 to int64; NaN gives 0.
func (k converter) saturateF64I64(v []reg.VecVirtual) {
	for _, r := range v {
		number, large := k.c.K(), k.c.K()
		k.c.VCMPPD(ordered, r, r, number)
		k.c.VCMPPD(greaterEqual, k.quad(0x43e0000000000000), r, large)
		k.c.VCVTTPD2QQ_Z(r, number, r)
		k.c.VMOVDQA64(k.quad(abs64), large, r)
	}
}

// shift truncates float64 to int64, or leaves the loop where one is too large for it,
// or NaN.
func (k converter) shift(v []reg.VecVirtual) []reg.VecVirtual {
	small, abs := k.c.YMM(), k.c.YMM()
	for i, r := range v {
		k.c.VANDPD(k.quad(abs64), r, abs)
		if i == 0 {
			k.c.VCMPPD(less, k.quad(shifted), abs, small)
			continue
		}
		k.c.VCMPPD(less, k.quad(shifted), abs, abs)
		k.c.VANDPD(abs, small, small)
	}
	all := k.c.GP32()
	k.c.VMOVMSKPD(small, all)
	k.c.CMPL(all, operand.U32(0xf))
	k.c.JNE(operand.LabelRef("done"))
	for _, r := range v {
		k.c.VROUNDPD(operand.Imm(3), r, r)
		k.c.VADDPD(k.quad(shifter), r, r)
		k.c.VPSUBQ(k.quad(shifter), r, r)
	}
	return v
}

// saturateF64 truncates float64 to int32; NaN gives 0.
func (k converter) saturateF64(v []reg.VecVirtual) []reg.VecVirtual {
	highest, lowest := k.quad(0x41dfffffffc00000), k.quad(0xc1e0000000000000)
	out := k.registers(len(v) / 2)
	for i, r := range out {
		var h [2]reg.Register
		h[0] = k.half(r)
		for j := range h {
			x := v[2*i+j]
			if k.wide {
				if j == 1 {
					h[j] = k.c.YMM()
				}
				number := k.c.K()
				k.c.VCMPPD(ordered, x, x, number)
				k.c.VMINPD(highest, x, x)
				k.c.VMAXPD(lowest, x, x)
				k.c.VCVTTPD2DQ_Z(x, number, h[j])
				continue
			}
			if j == 1 {
				h[j] = k.c.XMM()
			}
			number := k.c.YMM()
			k.c.VCMPPD(ordered, x, x, number)
			k.c.VANDPD(number, x, x)
			k.c.VMINPD(highest, x, x)
			k.c.VMAXPD(lowest, x, x)
			k.c.VCVTTPD2DQY(x, h[j])
		}
		k.join(h[1], r)
	}
	return out
}

// pack narrows int32 to 8 or 16 bits: the low ones, or the nearest value.
func (k converter) pack(to dtype, v []reg.VecVirtual, saturate bool) []reg.VecVirtual {
	if k.wide {
		if saturate && to.name == "U8" {
			for _, r := range v {
				k.c.VPMAXSD(k.word(0), r, r)
			}
		}
		return k.packWide(to, v, saturate)
	}
	if !saturate {
		mask := k.word(map[int]uint32{1: 0xff, 2: 0xffff}[to.size])
		for _, r := range v {
			k.c.VPAND(mask, r, r)
		}
		k.c.VPACKUSDW(v[1], v[0], v[0])
	} else {
		k.c.VPACKSSDW(v[1], v[0], v[0])
	}
	k.c.VPERMQ(operand.Imm(0xd8), v[0], v[0])
	if to.size == 2 {
		return v[:1]
	}
	h := k.upper(v[0])
	if saturate && to.name == "I8" {
		k.c.VPACKSSWB(h, v[0].AsX(), v[0].AsX())
	} else {
		k.c.VPACKUSWB(h, v[0].AsX(), v[0].AsX())
	}
	return v[:1]
}

// packWide leaves the elements at the beginning of the register.
func (k converter) packWide(to dtype, v []reg.VecVirtual, saturate bool) []reg.VecVirtual {
	for _, r := range v {
		switch {
		case to.size == 2 && saturate:
			k.c.VPMOVSDW(r, r.AsY())
		case to.size == 2:
			k.c.VPMOVDW(r, r.AsY())
		case saturate && to.name == "U8":
			k.c.VPMOVUSDB(r, r.AsX())
		case saturate:
			k.c.VPMOVSDB(r, r.AsX())
		default:
			k.c.VPMOVDB(r, r.AsX())
		}
	}
	return v
}

// zeros returns 16 bytes that are 1 where an element is not zero.
func (k converter) zeros(held kind, v []reg.VecVirtual) []reg.VecVirtual {
	zero := k.quad(0)
	if k.wide {
		masks := make([]reg.Register, len(v))
		for i, r := range v {
			m := k.c.K()
			switch held {
			case i32:
				k.c.VPTESTMD(r, r, m)
			case i64:
				k.c.VPTESTMQ(r, r, m)
			case f32:
				k.c.VCMPPS(notEqual, zero, r, m)
			case f64:
				k.c.VCMPPD(notEqual, zero, r, m)
			}
			masks[i] = m
		}
		if len(v) == 2 {
			k.c.KUNPCKBW(masks[0], masks[1], masks[0])
		}
		k.c.VMOVDQU8_Z(k.word(0x01010101).AsX(), masks[0], v[0].AsX())
		return v[:1]
	}
	for _, r := range v {
		switch held {
		case i32:
			k.c.VPCMPEQD(zero, r, r)
		case i64:
			k.c.VPCMPEQQ(zero, r, r)
		case f32:
			k.c.VCMPPS(equal, zero, r, r)
		case f64:
			k.c.VCMPPD(equal, zero, r, r)
		}
	}
	if len(v) == 4 {
		v = k.low(v)
	}
	k.c.VPACKSSDW(v[1], v[0], v[0])
	k.c.VPERMQ(operand.Imm(0xd8), v[0], v[0])
	k.c.VPACKSSWB(k.upper(v[0]), v[0].AsX(), v[0].AsX())
	k.c.VPANDN(k.word(0x01010101).AsX(), v[0].AsX(), v[0].AsX())
	return v[:1]
}

// store writes step elements, which are as change leaves them.
func (k converter) store(to dtype, dst reg.Register, v []reg.VecVirtual) {
	switch to.name {
	case "F16":
		for i, r := range v {
			k.c.VCVTPS2PH(operand.Imm(0), r, at(dst, i*k.width()/2))
		}
		return
	case "BF16":
		k.storeBF16(dst, v)
		return
	}
	for i, r := range v {
		m := at(dst, i*k.width())
		switch {
		case to.size == 1:
			k.c.VMOVDQU(r.AsX(), m)
		case to.size == 2:
			k.c.VMOVDQU(r.AsY(), m)
		default:
			k.c.VMOVUPS(r, m)
		}
	}
}

// storeBF16 rounds float32 to nearest even; NaN becomes quiet.
func (k converter) storeBF16(dst reg.Register, v []reg.VecVirtual) {
	for i, r := range v {
		up := k.vector()
		k.c.VPSRLD(operand.Imm(16), r, up)
		if k.wide {
			nan := k.c.K()
			k.c.VPANDD(k.word(1), up, up)
			k.c.VPADDD(k.word(0x7fff), up, up)
			k.c.VCMPPS(unordered, r, r, nan)
			k.c.VPADDD(up, r, up)
			k.c.VPORD(k.word(0x400000), r, nan, up)
			k.c.VPSRLD(operand.Imm(16), up, up)
			k.c.VPMOVDW(up, at(dst, i*32))
			continue
		}
		nan, quiet := k.c.YMM(), k.c.YMM()
		k.c.VPAND(k.word(1), up, up)
		k.c.VPADDD(k.word(0x7fff), up, up)
		k.c.VCMPPS(unordered, r, r, nan)
		k.c.VPADDD(up, r, up)
		k.c.VPOR(k.word(0x400000), r, quiet)
		k.c.VBLENDVPS(nan, quiet, up, up)
		k.c.VPSRLD(operand.Imm(16), up, r)
	}
	if !k.wide {
		k.c.VPACKUSDW(v[1], v[0], v[0])
		k.c.VPERMQ(operand.Imm(0xd8), v[0], v[0])
		k.c.VMOVDQU(v[0], at(dst, 0))
	}
}
