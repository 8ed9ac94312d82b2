// Package ranks writes the vector functions that sort few words by counting, for
// each, the words that are less. It knows nothing of what words are; package
// backend/cpu/radix calls them.
package ranks

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"

	"github.com/sinter-go/sinter/gen/simd/asm"
)

// group is how many words are compared with all others at a time. Words of the last
// group may be of the one before, too.
const group = 16

// Files returns the functions as assembly.
func Files(by string) ([]asm.File, error) {
	u := asm.Unit{Dir: "backend/cpu/radix", Pkg: "radix", Name: "ranks", By: by}
	return u.Build(func(c *build.Context) {
		sort(c, "rankSortAVX2", &avx2{c: c})
		sort(c, "rankSortAVX512", &avx512{c: c})
	})
}

// A level has the vectors of one instruction set. Words are compared as signed
// numbers, so the first bit is inverted before.
type level interface {
	// constants is called once, with 1<<63 in a register.
	constants(top reg.Register)
	// group loads a group of words and counts nothing yet.
	group(words reg.Register)
	// less adds one to the counts of those words that are greater than the one at m.
	less(m operand.Mem)
	// store writes the counts.
	store(counts operand.Mem)
}

func sort(c *build.Context, name string, l level) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.SignatureExpr("func(dst, src *uint64, n int)")
	c.Pragma("noescape")
	c.Doc(name + " writes n >= 16 different words in ascending order to dst.")
	dst, src, n := c.Load(c.Param("dst"), c.GP64()), c.Load(c.Param("src"), c.GP64()), c.Load(c.Param("n"), c.GP64())
	counts := c.AllocLocal(8 * group)
	top := c.GP64()
	c.MOVQ(operand.U64(1<<63), top)
	l.constants(top)
	at, last := c.GP64(), c.GP64()
	c.XORQ(at, at)
	c.LEAQ(operand.Mem{Base: n, Disp: -group}, last)

	c.Label("groups")
	words := c.GP64()
	c.LEAQ(operand.Mem{Base: src, Index: at, Scale: 8}, words)
	l.group(words)
	other := c.GP64()
	c.XORQ(other, other)
	c.Label("others")
	l.less(operand.Mem{Base: src, Index: other, Scale: 8})
	c.INCQ(other)
	c.CMPQ(other, n)
	c.JLT(operand.LabelRef("others"))
	l.store(counts)
	for i := range group {
		rank, word := c.GP64(), c.GP64()
		c.MOVQ(counts.Offset(8*i), rank)
		c.MOVQ(operand.Mem{Base: words, Disp: 8 * i}, word)
		c.MOVQ(word, operand.Mem{Base: dst, Index: rank, Scale: 8})
	}
	c.CMPQ(at, last)
	c.JGE(operand.LabelRef("end"))
	c.ADDQ(operand.U8(group), at)
	c.CMPQ(at, last)
	c.CMOVQGT(last, at)
	c.JMP(operand.LabelRef("groups"))
	c.Label("end")
	c.VZEROUPPER()
	c.RET()
}

type avx2 struct {
	c             *build.Context
	top           reg.VecVirtual
	words, counts [group / 4]reg.VecVirtual
}

func (l *avx2) constants(top reg.Register) {
	x := l.c.XMM()
	l.c.VMOVQ(top, x)
	l.top = l.c.YMM()
	l.c.VPBROADCASTQ(x, l.top)
	for i := range l.words {
		l.words[i], l.counts[i] = l.c.YMM(), l.c.YMM()
	}
}

func (l *avx2) group(words reg.Register) {
	for i, w := range l.words {
		l.c.VPXOR(operand.Mem{Base: words, Disp: 32 * i}, l.top, w)
		l.c.VPXOR(l.counts[i], l.counts[i], l.counts[i])
	}
}

func (l *avx2) less(m operand.Mem) {
	other := l.c.YMM()
	l.c.VPBROADCASTQ(m, other)
	l.c.VPXOR(other, l.top, other)
	for i, w := range l.words {
		greater := l.c.YMM()
		l.c.VPCMPGTQ(other, w, greater)
		l.c.VPSUBQ(greater, l.counts[i], l.counts[i])
	}
}

func (l *avx2) store(counts operand.Mem) {
	for i, v := range l.counts {
		l.c.VMOVDQU(v, counts.Offset(32*i))
	}
}

type avx512 struct {
	c             *build.Context
	top, one      reg.VecVirtual
	words, counts [group / 8]reg.VecVirtual
}

func (l *avx512) constants(top reg.Register) {
	one := l.c.GP64()
	l.c.MOVQ(operand.U64(1), one)
	l.top, l.one = l.c.ZMM(), l.c.ZMM()
	l.c.VPBROADCASTQ(top, l.top)
	l.c.VPBROADCASTQ(one, l.one)
	for i := range l.words {
		l.words[i], l.counts[i] = l.c.ZMM(), l.c.ZMM()
	}
}

func (l *avx512) group(words reg.Register) {
	for i, w := range l.words {
		l.c.VPXORQ(operand.Mem{Base: words, Disp: 64 * i}, l.top, w)
		l.c.VPXORQ(l.counts[i], l.counts[i], l.counts[i])
	}
}

func (l *avx512) less(m operand.Mem) {
	other := l.c.ZMM()
	l.c.VPXORQ_BCST(m, l.top, other)
	for i, w := range l.words {
		greater := l.c.K()
		l.c.VPCMPGTQ(other, w, greater)
		l.c.VPADDQ(l.one, l.counts[i], greater, l.counts[i])
	}
}

func (l *avx512) store(counts operand.Mem) {
	for i, v := range l.counts {
		l.c.VMOVDQU64(v, counts.Offset(64*i))
	}
}
