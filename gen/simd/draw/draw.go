// Package draw writes the vector function that draws random numbers, which package
// backend/cpu/draw calls. It knows nothing of what they are drawn for.
package draw

import (
	"math"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
)

// Of Philox 4x32-10 (Salmon et al., 2011): how many rounds there are, the two factors, and what is
// added to the two words of the key after each round.
const (
	rounds     = 10
	firstM     = 0xD2511F53
	secondM    = 0xCD9E8D57
	firstStep  = 0x9E3779B9
	secondStep = 0xBB67AE85
)

const (
	lanes  = 4             // blocks of a vector, each in 64 bits, of which words take the low 32
	copies = 2             // vectors of blocks that are computed beside each other
	vector = 8 * lanes     // bytes
	some   = 2 * vector    // bytes of the numbers of a vector's blocks
	keys   = 2 * vector    // bytes of a round's key
	table  = rounds * keys // bytes of all
)

// Files returns the function as assembly.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/draw", Pkg: "draw", Name: "uniform", By: by}
	return u.Build(uniform)
}

// A drawer emits the function.
type drawer struct {
	c       *build.Context
	factors [2]reg.VecVirtual
	key     operand.Mem // by round and word
}

func uniform(c *build.Context) {
	const name = "uniformAVX2"
	c.Function(name)
	c.SignatureExpr("func(dst *float32, groups int, seed, offset, block int64)")
	c.Pragma("noescape")
	c.Doc(name + " writes the numbers of groups of 8 blocks, 32 of each group, from block on; there is one group at least.")
	d := drawer{c: c, key: c.AllocLocal(table)}
	d.keys()
	d.factors = [2]reg.VecVirtual{d.wide(firstM), d.wide(secondM)}
	dst, groups := c.Load(c.Param("dst"), c.GP64()), c.Load(c.Param("groups"), c.GP64())
	low, high := d.param("offset"), c.YMM()
	c.VPSRLQ(operand.U8(32), low, high)
	half := [2]operand.Mem{d.kept(low), d.kept(high)} // of the counter, the second one
	next := d.param("block")
	c.VPADDQ(order(c), next, next)
	scale := d.kept(d.wide(uint64(math.Float32bits(0x1p-24)) * (1<<32 + 1)))
	step := d.kept(d.wide(lanes))

	c.Label("groups")
	var state [copies][4]reg.VecVirtual
	for k := range state {
		for i := range state[k] {
			state[k][i] = c.YMM()
		}
		c.VMOVDQA(next, state[k][0])
		c.VPSRLQ(operand.U8(32), next, state[k][1])
		c.VMOVDQU(half[0], state[k][2])
		c.VMOVDQU(half[1], state[k][3])
		c.VPADDQ(step, next, next)
	}
	for round := range rounds {
		for k := range state {
			state[k] = d.round(state[k], round)
		}
	}
	for k := range state {
		d.store(state[k], scale, operand.Mem{Base: dst, Disp: k * some})
	}
	c.ADDQ(operand.U32(copies*some), dst)
	c.DECQ(groups)
	c.JNZ(operand.LabelRef("groups"))
	c.VZEROUPPER()
	c.RET()
}

// order is which block each lane has, as store takes them.
func order(c *build.Context) operand.Mem {
	m := c.StaticGlobal("order")
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for lane, block := range []uint64{0, 2, 1, 3} {
		c.AddDatum(8*lane, operand.U64(block))
	}
	return m
}

// wide returns a vector with a number in every lane.
func (d *drawer) wide(n uint64) reg.VecVirtual {
	word := d.c.GP64()
	d.c.MOVQ(operand.U64(n), word)
	return d.spread(word)
}

// param returns a vector with a parameter in every lane.
func (d *drawer) param(name string) reg.VecVirtual {
	return d.spread(d.c.Load(d.c.Param(name), d.c.GP64()))
}

// kept returns where a vector is kept, so that a register is free.
func (d *drawer) kept(v reg.VecVirtual) operand.Mem {
	m := d.c.AllocLocal(vector)
	d.c.VMOVDQU(v, m)
	return m
}

func (d *drawer) spread(word reg.Register) reg.VecVirtual {
	x, y := d.c.XMM(), d.c.YMM()
	d.c.VMOVQ(word, x)
	d.c.VPBROADCASTQ(x, y)
	return y
}

// keys stores the keys of all rounds. What is in the high halves does not matter.
func (d *drawer) keys() {
	first, second := d.param("seed"), d.c.YMM()
	d.c.VPSRLQ(operand.U8(32), first, second)
	steps := [2]reg.VecVirtual{d.wide(firstStep), d.wide(secondStep)}
	for round := range rounds {
		d.c.VMOVDQU(first, d.key.Offset(round*keys))
		d.c.VMOVDQU(second, d.key.Offset(round*keys+vector))
		d.c.VPADDQ(steps[0], first, first)
		d.c.VPADDQ(steps[1], second, second)
	}
}

// round returns the words after a round.
func (d *drawer) round(w [4]reg.VecVirtual, round int) [4]reg.VecVirtual {
	for k, word := range []int{0, 2} { // whose product goes to its place, and then to the word behind it
		high, other := d.c.YMM(), w[3-word]
		d.c.VPMULUDQ(d.factors[k], w[word], w[word])
		d.c.VPXOR(d.key.Offset(round*keys+(1-k)*vector), other, other)
		d.c.VPSRLQ(operand.U8(32), w[word], high)
		d.c.VPXOR(high, other, other)
	}
	return [4]reg.VecVirtual{w[1], w[2], w[3], w[0]}
}

// store writes the numbers of a vector's blocks: the high 24 bits of each word.
func (d *drawer) store(w [4]reg.VecVirtual, scale, to operand.Mem) {
	const odd = 0b10101010
	for i := 0; i < 4; i += 2 { // two words of a block in a lane
		d.c.VPSLLQ(operand.U8(32), w[i+1], w[i+1])
		d.c.VPBLENDD(operand.U8(odd), w[i+1], w[i], w[i])
	}
	first, second := d.c.YMM(), d.c.YMM()
	d.c.VPUNPCKLQDQ(w[2], w[0], first)
	d.c.VPUNPCKHQDQ(w[2], w[0], second)
	for i, v := range []reg.VecVirtual{first, second} {
		d.c.VPSRLD(operand.U8(8), v, v)
		d.c.VCVTDQ2PS(v, v)
		d.c.VMULPS(scale, v, v)
		d.c.VMOVUPS(v, to.Offset(i*vector))
	}
}
