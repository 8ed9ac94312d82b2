// Package keys writes the vector functions that make sort keys of 32 bits, look
// through them and turn them back, and those that look through keys of 64 bits. It knows nothing of sorting; package
// backend/cpu/keys calls them. AVX2 is enough for them at every level: they move
// more than they compute.
package keys

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
)

// lanes is how many elements the functions take at a time.
const lanes = 8

// Files returns the functions as assembly.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/keys", Pkg: "keys", Name: "vector", By: by}
	return u.Build(func(c *build.Context) {
		counts := c.StaticGlobal("counts")
		c.DataAttributes(attr.RODATA | attr.NOPTR)
		for i := range lanes {
			c.AddDatum(4*i, operand.U32(uint32(i)))
		}
		for _, float := range []bool{true, false} {
			k := kit{Context: c, counts: counts, float: float}
			k.words()
			k.find()
			k.values()
			k.long = true
			k.findLong()
		}
	})
}

// A kit writes the functions for float32, or for int32; or for 64 bits.
type kit struct {
	*build.Context
	counts      operand.Mem // 0 to 7
	float, long bool
}

func (k kit) begin(name, signature, doc string) {
	kind, bits := "I", "32"
	if k.float {
		kind = "F"
	}
	if k.long {
		bits = "64"
	}
	name += kind + bits + "AVX2"
	k.Function(name)
	k.Attributes(attr.NOSPLIT)
	k.SignatureExpr(signature)
	k.Pragma("noescape")
	k.Doc(name + " " + doc)
}

// all returns a vector whose lanes are the value of a register.
func (k kit) all(r reg.Register) reg.VecVirtual {
	x, y := k.XMM(), k.YMM()
	if k.long {
		k.VMOVQ(r, x)
		k.VPBROADCASTQ(x, y)
		return y
	}
	k.VMOVD(r, x)
	k.VPBROADCASTD(x, y)
	return y
}

func (k kit) constant(v uint32) reg.VecVirtual {
	r := k.GP32()
	k.MOVL(operand.U32(v), r)
	return k.all(r)
}

// An ordering makes of elements signed numbers that order as they do.
type ordering struct {
	kit
	sign, most reg.VecVirtual
}

func (k kit) ordering() *ordering {
	o := &ordering{kit: k}
	if k.float {
		o.sign, o.most = k.constant(1<<31), k.constant(1<<31-1)
	}
	return o
}

// load returns the numbers of the elements at m.
func (o *ordering) load(m operand.Mem) reg.VecVirtual {
	v := o.YMM()
	o.VMOVDQU(m, v)
	if !o.float {
		return v
	}
	nan, zero, s := o.YMM(), o.YMM(), o.YMM()
	o.VCMPPS(operand.U8(3), v, v, nan)
	o.VPCMPEQD(o.sign, v, zero) // -0
	o.VPSRAD(operand.U8(31), v, s)
	o.VPSRLD(operand.U8(1), s, s)
	o.VPXOR(v, s, s)
	o.VPANDN(s, zero, s)
	o.VBLENDVPS(nan, o.most, s, s)
	return s
}

// words writes words of n elements, n a multiple of lanes.
func (k kit) words() {
	k.begin("words", "func(out *uint64, p *uint32, n int, first, flip uint32)",
		"writes the words of n elements, a multiple of 8, whose first has the place first; key bits of flip are inverted.")
	out, p, n := k.Load(k.Param("out"), k.GP64()), k.Load(k.Param("p"), k.GP64()), k.Load(k.Param("n"), k.GP64())
	o := k.ordering()
	place := k.YMM()
	k.VPADDD(k.counts, k.all(k.Load(k.Param("first"), k.GP32())), place)
	flip := k.Load(k.Param("flip"), k.GP32())
	k.XORL(operand.U32(1<<31), flip)
	change, step := k.all(flip), k.constant(lanes)
	at := k.GP64()
	k.XORQ(at, at)
	k.Label("loop")
	s := o.load(operand.Mem{Base: p, Index: at, Scale: 4})
	key, lo, hi, a, b := k.YMM(), k.YMM(), k.YMM(), k.YMM(), k.YMM()
	k.VPXOR(s, change, key)
	k.VPUNPCKLDQ(key, place, lo)
	k.VPUNPCKHDQ(key, place, hi)
	k.VPERM2I128(operand.U8(0x20), hi, lo, a)
	k.VPERM2I128(operand.U8(0x31), hi, lo, b)
	k.VMOVDQU(a, operand.Mem{Base: out, Index: at, Scale: 8})
	k.VMOVDQU(b, operand.Mem{Base: out, Index: at, Scale: 8, Disp: 32})
	k.VPADDD(place, step, place)
	k.ADDQ(operand.U8(lanes), at)
	k.CMPQ(at, n)
	k.JLT(operand.LabelRef("loop"))
	k.VZEROUPPER()
	k.RET()
}

// find looks for a key below a limit.
func (k kit) find() {
	k.begin("find", "func(p *uint32, n int, limit, flip uint32) int",
		"returns the first multiple of 8 from which on one of 8 elements has a key below limit, or n, a multiple of 8.")
	p, n := k.Load(k.Param("p"), k.GP64()), k.Load(k.Param("n"), k.GP64())
	o := k.ordering()
	bound := k.Load(k.Param("limit"), k.GP32())
	k.XORL(operand.U32(1<<31), bound)
	limit, flip := k.all(bound), k.all(k.Load(k.Param("flip"), k.GP32()))
	k.search(p, n, func(at operand.Mem) reg.VecVirtual {
		s := o.load(at)
		below := k.YMM()
		k.VPXOR(s, flip, below)
		k.VPCMPGTD(below, limit, below)
		return below
	})
}

// search writes a loop over n elements at p that ends before those of which below
// says that one is found, by its sign.
func (k kit) search(p, n reg.Register, below func(at operand.Mem) reg.VecVirtual) {
	scale, mask := uint8(4), k.VMOVMSKPS
	if k.long {
		scale, mask = 8, k.VMOVMSKPD
	}
	at, found := k.GP64(), k.GP32()
	k.XORQ(at, at)
	k.Label("loop")
	mask(below(operand.Mem{Base: p, Index: at, Scale: scale}), found)
	k.TESTL(found, found)
	k.JNZ(operand.LabelRef("end"))
	k.ADDQ(operand.U8(lanes), at)
	k.CMPQ(at, n)
	k.JLT(operand.LabelRef("loop"))
	k.Label("end")
	k.Store(at, k.ReturnIndex(0))
	k.VZEROUPPER()
	k.RET()
}

// findLong is find for keys of 64 bits.
func (k kit) findLong() {
	k.begin("find", "func(p *uint64, n int, limit, flip uint64) int",
		"returns the first multiple of 8 from which on one of 8 elements has a key below limit, or n, a multiple of 8.")
	p, n := k.Load(k.Param("p"), k.GP64()), k.Load(k.Param("n"), k.GP64())
	top := k.GP64()
	k.MOVQ(operand.U64(1<<63), top)
	sign := k.all(top)
	bound := k.Load(k.Param("limit"), k.GP64())
	k.XORQ(top, bound)
	limit, flip := k.all(bound), k.all(k.Load(k.Param("flip"), k.GP64()))
	most, zero := k.YMM(), k.YMM()
	k.VPXOR(zero, zero, zero)
	k.VPCMPEQD(most, most, most)
	k.VPSRLQ(operand.U8(1), most, most)
	k.search(p, n, func(at operand.Mem) reg.VecVirtual {
		var below [2]reg.VecVirtual
		for i := range below {
			v := k.YMM()
			k.VMOVDQU(at.Offset(32*i), v)
			if k.float {
				nan, negative, s := k.YMM(), k.YMM(), k.YMM()
				k.VCMPPD(operand.U8(3), v, v, nan)
				k.VPCMPEQQ(sign, v, s) // -0
				k.VPANDN(v, s, v)
				k.VPCMPGTQ(v, zero, negative)
				k.VPSRLQ(operand.U8(1), negative, negative)
				k.VPXOR(negative, v, v)
				k.VBLENDVPD(nan, most, v, v)
			}
			k.VPXOR(v, flip, v)
			k.VPCMPGTQ(v, limit, v)
			below[i] = v
		}
		k.VPOR(below[0], below[1], below[0])
		return below[0]
	})
}

// values turns words back.
func (k kit) values() {
	k.begin("values", "func(to *uint32, index *int64, words *uint64, n int, flip uint32) bool",
		"writes what n words, a multiple of 8, stand for and their places. It reports whether one is a zero or NaN, of which a key does not say which.")
	to, index, words := k.Load(k.Param("to"), k.GP64()), k.Load(k.Param("index"), k.GP64()), k.Load(k.Param("words"), k.GP64())
	n := k.Load(k.Param("n"), k.GP64())
	flip := k.Load(k.Param("flip"), k.GP32())
	k.XORL(operand.U32(1<<31), flip)
	change := k.all(flip)
	places, mask := k.YMM(), k.GP64()
	x := k.XMM()
	k.MOVQ(operand.U64(1<<32-1), mask)
	k.VMOVQ(mask, x)
	k.VPBROADCASTQ(x, places)
	special, zero, most := k.YMM(), k.YMM(), k.constant(1<<31-1)
	k.VPXOR(special, special, special)
	k.VPXOR(zero, zero, zero)
	at := k.GP64()
	k.XORQ(at, at)
	k.Label("loop")
	a, b, key, i := k.YMM(), k.YMM(), k.YMM(), k.YMM()
	k.VMOVDQU(operand.Mem{Base: words, Index: at, Scale: 8}, a)
	k.VMOVDQU(operand.Mem{Base: words, Index: at, Scale: 8, Disp: 32}, b)
	k.VSHUFPS(operand.U8(0xdd), b, a, key)
	k.VPAND(a, places, i)
	k.VMOVDQU(i, operand.Mem{Base: index, Index: at, Scale: 8})
	k.VPAND(b, places, i)
	k.VMOVDQU(i, operand.Mem{Base: index, Index: at, Scale: 8, Disp: 32})
	k.VPERMQ(operand.U8(0xd8), key, key)
	k.VPXOR(key, change, key)
	if k.float {
		t := k.YMM()
		k.VPCMPEQD(key, zero, t)
		k.VPOR(t, special, special)
		k.VPCMPEQD(key, most, t)
		k.VPOR(t, special, special)
		k.VPSRAD(operand.U8(31), key, t)
		k.VPSRLD(operand.U8(1), t, t)
		k.VPXOR(t, key, key)
	}
	k.VMOVDQU(key, operand.Mem{Base: to, Index: at, Scale: 4})
	k.ADDQ(operand.U8(lanes), at)
	k.CMPQ(at, n)
	k.JLT(operand.LabelRef("loop"))
	found := k.GP8()
	k.VPTEST(special, special)
	k.SETNE(found)
	k.Store(found, k.ReturnIndex(0))
	k.VZEROUPPER()
	k.RET()
}
