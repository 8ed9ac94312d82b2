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
			k := kit{c: c, counts: counts, float: float}
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
	c           *build.Context // named, as in wide.Kit
	counts      operand.Mem    // 0 to 7
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
	k.c.Function(name)
	k.c.Attributes(attr.NOSPLIT)
	k.c.SignatureExpr(signature)
	k.c.Pragma("noescape")
	k.c.Doc(name + " " + doc)
}

// all returns a vector whose lanes are the value of a register.
func (k kit) all(r reg.Register) reg.VecVirtual {
	x, y := k.c.XMM(), k.c.YMM()
	if k.long {
		k.c.VMOVQ(r, x)
		k.c.VPBROADCASTQ(x, y)
		return y
	}
	k.c.VMOVD(r, x)
	k.c.VPBROADCASTD(x, y)
	return y
}

func (k kit) constant(v uint32) reg.VecVirtual {
	r := k.c.GP32()
	k.c.MOVL(operand.U32(v), r)
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
	v := o.c.YMM()
	o.c.VMOVDQU(m, v)
	if !o.float {
		return v
	}
	nan, zero, s := o.c.YMM(), o.c.YMM(), o.c.YMM()
	o.c.VCMPPS(operand.U8(3), v, v, nan)
	o.c.VPCMPEQD(o.sign, v, zero) // -0
	o.c.VPSRAD(operand.U8(31), v, s)
	o.c.VPSRLD(operand.U8(1), s, s)
	o.c.VPXOR(v, s, s)
	o.c.VPANDN(s, zero, s)
	o.c.VBLENDVPS(nan, o.most, s, s)
	return s
}

// words writes words of n elements, n a multiple of lanes.
func (k kit) words() {
	k.begin("words", "func(out *uint64, p *uint32, n int, first, flip uint32)",
		"writes the words of n elements, a multiple of 8, whose first has the place first; key bits of flip are inverted.")
	out, p, n := k.c.Load(k.c.Param("out"), k.c.GP64()), k.c.Load(k.c.Param("p"), k.c.GP64()), k.c.Load(k.c.Param("n"), k.c.GP64())
	o := k.ordering()
	place := k.c.YMM()
	k.c.VPADDD(k.counts, k.all(k.c.Load(k.c.Param("first"), k.c.GP32())), place)
	flip := k.c.Load(k.c.Param("flip"), k.c.GP32())
	k.c.XORL(operand.U32(1<<31), flip)
	change, step := k.all(flip), k.constant(lanes)
	at := k.c.GP64()
	k.c.XORQ(at, at)
	k.c.Label("loop")
	s := o.load(operand.Mem{Base: p, Index: at, Scale: 4})
	key, lo, hi, a, b := k.c.YMM(), k.c.YMM(), k.c.YMM(), k.c.YMM(), k.c.YMM()
	k.c.VPXOR(s, change, key)
	k.c.VPUNPCKLDQ(key, place, lo)
	k.c.VPUNPCKHDQ(key, place, hi)
	k.c.VPERM2I128(operand.U8(0x20), hi, lo, a)
	k.c.VPERM2I128(operand.U8(0x31), hi, lo, b)
	k.c.VMOVDQU(a, operand.Mem{Base: out, Index: at, Scale: 8})
	k.c.VMOVDQU(b, operand.Mem{Base: out, Index: at, Scale: 8, Disp: 32})
	k.c.VPADDD(place, step, place)
	k.c.ADDQ(operand.U8(lanes), at)
	k.c.CMPQ(at, n)
	k.c.JLT(operand.LabelRef("loop"))
	k.c.VZEROUPPER()
	k.c.RET()
}

// find looks for a key below a limit.
func (k kit) find() {
	k.begin("find", "func(p *uint32, n int, limit, flip uint32) int",
		"returns the first multiple of 8 from which on one of 8 elements has a key below limit, or n, a multiple of 8.")
	p, n := k.c.Load(k.c.Param("p"), k.c.GP64()), k.c.Load(k.c.Param("n"), k.c.GP64())
	o := k.ordering()
	bound := k.c.Load(k.c.Param("limit"), k.c.GP32())
	k.c.XORL(operand.U32(1<<31), bound)
	limit, flip := k.all(bound), k.all(k.c.Load(k.c.Param("flip"), k.c.GP32()))
	k.search(p, n, func(at operand.Mem) reg.VecVirtual {
		s := o.load(at)
		below := k.c.YMM()
		k.c.VPXOR(s, flip, below)
		k.c.VPCMPGTD(below, limit, below)
		return below
	})
}

// search writes a loop over n elements at p that ends before those of which below
// says that one is found, by its sign.
func (k kit) search(p, n reg.Register, below func(at operand.Mem) reg.VecVirtual) {
	scale, mask := uint8(4), k.c.VMOVMSKPS
	if k.long {
		scale, mask = 8, k.c.VMOVMSKPD
	}
	at, found := k.c.GP64(), k.c.GP32()
	k.c.XORQ(at, at)
	k.c.Label("loop")
	mask(below(operand.Mem{Base: p, Index: at, Scale: scale}), found)
	k.c.TESTL(found, found)
	k.c.JNZ(operand.LabelRef("end"))
	k.c.ADDQ(operand.U8(lanes), at)
	k.c.CMPQ(at, n)
	k.c.JLT(operand.LabelRef("loop"))
	k.c.Label("end")
	k.c.Store(at, k.c.ReturnIndex(0))
	k.c.VZEROUPPER()
	k.c.RET()
}

// findLong is find for keys of 64 bits.
func (k kit) findLong() {
	k.begin("find", "func(p *uint64, n int, limit, flip uint64) int",
		"returns the first multiple of 8 from which on one of 8 elements has a key below limit, or n, a multiple of 8.")
	p, n := k.c.Load(k.c.Param("p"), k.c.GP64()), k.c.Load(k.c.Param("n"), k.c.GP64())
	top := k.c.GP64()
	k.c.MOVQ(operand.U64(1<<63), top)
	sign := k.all(top)
	bound := k.c.Load(k.c.Param("limit"), k.c.GP64())
	k.c.XORQ(top, bound)
	limit, flip := k.all(bound), k.all(k.c.Load(k.c.Param("flip"), k.c.GP64()))
	most, zero := k.c.YMM(), k.c.YMM()
	k.c.VPXOR(zero, zero, zero)
	k.c.VPCMPEQD(most, most, most)
	k.c.VPSRLQ(operand.U8(1), most, most)
	k.search(p, n, func(at operand.Mem) reg.VecVirtual {
		var below [2]reg.VecVirtual
		for i := range below {
			v := k.c.YMM()
			k.c.VMOVDQU(at.Offset(32*i), v)
			if k.float {
				nan, negative, s := k.c.YMM(), k.c.YMM(), k.c.YMM()
				k.c.VCMPPD(operand.U8(3), v, v, nan)
				k.c.VPCMPEQQ(sign, v, s) // -0
				k.c.VPANDN(v, s, v)
				k.c.VPCMPGTQ(v, zero, negative)
				k.c.VPSRLQ(operand.U8(1), negative, negative)
				k.c.VPXOR(negative, v, v)
				k.c.VBLENDVPD(nan, most, v, v)
			}
			k.c.VPXOR(v, flip, v)
			k.c.VPCMPGTQ(v, limit, v)
			below[i] = v
		}
		k.c.VPOR(below[0], below[1], below[0])
		return below[0]
	})
}

// values turns words back.
func (k kit) values() {
	k.begin("values", "func(to *uint32, index *int64, words *uint64, n int, flip uint32) bool",
		"writes what n words, a multiple of 8, stand for and their places. It reports whether one is a zero or NaN, of which a key does not say which.")
	to, index, words := k.c.Load(k.c.Param("to"), k.c.GP64()), k.c.Load(k.c.Param("index"), k.c.GP64()), k.c.Load(k.c.Param("words"), k.c.GP64())
	n := k.c.Load(k.c.Param("n"), k.c.GP64())
	flip := k.c.Load(k.c.Param("flip"), k.c.GP32())
	k.c.XORL(operand.U32(1<<31), flip)
	change := k.all(flip)
	places, mask := k.c.YMM(), k.c.GP64()
	x := k.c.XMM()
	k.c.MOVQ(operand.U64(1<<32-1), mask)
	k.c.VMOVQ(mask, x)
	k.c.VPBROADCASTQ(x, places)
	special, zero, most := k.c.YMM(), k.c.YMM(), k.constant(1<<31-1)
	k.c.VPXOR(special, special, special)
	k.c.VPXOR(zero, zero, zero)
	at := k.c.GP64()
	k.c.XORQ(at, at)
	k.c.Label("loop")
	a, b, key, i := k.c.YMM(), k.c.YMM(), k.c.YMM(), k.c.YMM()
	k.c.VMOVDQU(operand.Mem{Base: words, Index: at, Scale: 8}, a)
	k.c.VMOVDQU(operand.Mem{Base: words, Index: at, Scale: 8, Disp: 32}, b)
	k.c.VSHUFPS(operand.U8(0xdd), b, a, key)
	k.c.VPAND(a, places, i)
	k.c.VMOVDQU(i, operand.Mem{Base: index, Index: at, Scale: 8})
	k.c.VPAND(b, places, i)
	k.c.VMOVDQU(i, operand.Mem{Base: index, Index: at, Scale: 8, Disp: 32})
	k.c.VPERMQ(operand.U8(0xd8), key, key)
	k.c.VPXOR(key, change, key)
	if k.float {
		t := k.c.YMM()
		k.c.VPCMPEQD(key, zero, t)
		k.c.VPOR(t, special, special)
		k.c.VPCMPEQD(key, most, t)
		k.c.VPOR(t, special, special)
		k.c.VPSRAD(operand.U8(31), key, t)
		k.c.VPSRLD(operand.U8(1), t, t)
		k.c.VPXOR(t, key, key)
	}
	k.c.VMOVDQU(key, operand.Mem{Base: to, Index: at, Scale: 4})
	k.c.ADDQ(operand.U8(lanes), at)
	k.c.CMPQ(at, n)
	k.c.JLT(operand.LabelRef("loop"))
	found := k.c.GP8()
	k.c.VPTEST(special, special)
	k.c.SETNE(found)
	k.c.Store(found, k.c.ReturnIndex(0))
	k.c.VZEROUPPER()
	k.c.RET()
}
