package gemm

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of halfGroups, the structure in
// backend/cpu/gemm/half_vectors_amd64.go.
const (
	vecA = 8 * iota
	vecARow
	vecAStep
	vecAGroup
	vecB
	vecBGroup
	vecPairs
	vecSrc
	vecSrcRow
	vecSrcGroup
	vecC
	vecCRow
	vecCGroup
	vecOut
	vecOutRow
	vecOutGroup
	vecColumns
	vecGroups
	vecAheadFrom
	vecAheadBy
)

// mostRows is the rows of a group, at most: with two vectors of sums each there are
// registers left for a row of a panel and for elements of A.
const mostRows = 14

// Registers of the kernels. The rows of a group are reached from the first and the
// eighth with 1, 3 and 5 times their distance as indices.
var (
	vecTask          = reg.RDI
	vecA0, vecA7     = reg.R8, reg.R9
	vecRow, vecRow3  = reg.R10, reg.R11
	vecRow5, vecStep = reg.R12, reg.R13
	vecPanel         = reg.RSI
	vecCount         = reg.RCX
	vecAt, vecBy     = reg.RAX, reg.RBX // a row of sums or of the result, and the next
	// What is asked for meanwhile, and by how much that moves on with each pair.
	vecAhead, vecAheadStep = reg.RDX, reg.R15
)

// A vectors emits the kernel for bfloat16 on vectors: groups of rows of A, one after
// the other, are multiplied with a panel of pairs of terms. VDPBF16PS adds the
// products of a pair to each sum.
type vectors struct {
	c             *build.Context
	rows, vectors int
	now           [5]operand.Mem // pointers of the group, in the frame, as advances has them
	left          operand.Mem    // groups
}

// advances are the fields that go on from group to group, and by how much.
var advances = [...][2]int{{vecA, vecAGroup}, {vecB, vecBGroup}, {vecSrc, vecSrcGroup}, {vecC, vecCGroup}, {vecOut, vecOutGroup}}

// Indices of now.
const (
	vecNowA = iota
	vecNowB
	vecNowSrc
	vecNowC
	vecNowOut
)

func halfName(rows, vectors int) string {
	return fmt.Sprintf("halfVectors%dx%dAVX512BF16", rows, vectors)
}

// octets emits an instruction that the assembler does not know.
func octets(c *build.Context, code ...byte) {
	for _, b := range code {
		c.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
	}
}

// evex emits an instruction of opcode 0F38 on three 512-bit registers, by their
// numbers: first and second are the sources as the assembler would have them.
func evex(c *build.Context, prefix, opcode byte, first, second, dst int) {
	low := func(n, bit int) byte { return byte(^n>>bit) & 1 }
	octets(c, 0x62,
		low(dst, 3)<<7|low(first, 4)<<6|low(first, 3)<<5|low(dst, 4)<<4|2,
		byte(^second&15)<<3|4|prefix,
		0x40|low(second, 4)<<3,
		opcode, 0xc0|byte(dst&7)<<3|byte(first&7))
}

// roundPair rounds two vectors of float32 to one of bfloat16, first the low one.
// Numbers too small for a normal one become zero.
func roundPair(c *build.Context, low, high, dst int) { evex(c, prefixF2, 0x72, low, high, dst) }

// sum is the number of the register with vector v of row r; behind them are those
// for the row of a panel and for elements of A.
func (x *vectors) sum(r, v int) int { return r*x.vectors + v }

func (x *vectors) panel(v int) int { return 28 + v }

func (x *vectors) element(r int) int { return 30 + r%2 }

func (x *vectors) emit() {
	c := x.c
	c.Function(halfName(x.rows, x.vectors))
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.SignatureExpr("func(t *byte)")
	c.Load(c.Param("t"), vecTask)
	for i, f := range advances {
		x.now[i] = c.AllocLocal(8)
		c.MOVQ(at(vecTask, f[0]), reg.RAX)
		c.MOVQ(reg.RAX, x.now[i])
	}
	x.left = c.AllocLocal(8)
	c.MOVQ(at(vecTask, vecGroups), reg.RAX)
	c.MOVQ(reg.RAX, x.left)
	c.MOVQ(at(vecTask, vecColumns), reg.RBX)
	maskOf(c, reg.RBX, reg.K1)
	c.KSHIFTRD(operand.U8(16), reg.K1, reg.K2)
	c.MOVQ(at(vecTask, vecARow), vecRow)
	c.MOVQ(at(vecTask, vecAStep), vecStep)
	c.LEAQ(indexed(vecRow, vecRow, 2), vecRow3)
	c.LEAQ(indexed(vecRow, vecRow, 4), vecRow5)
	c.MOVQ(at(vecTask, vecAheadFrom), vecAhead)
	c.MOVQ(at(vecTask, vecAheadBy), vecAheadStep)
	c.Label("group")
	x.begin()
	x.multiply()
	x.keep()
	for i, f := range advances {
		c.MOVQ(at(vecTask, f[1]), reg.RAX)
		c.ADDQ(reg.RAX, x.now[i])
	}
	c.DECQ(x.left)
	c.JNZ(operand.LabelRef("group"))
	c.VZEROUPPER()
	c.RET()
}

// each calls f for each row of sums or of the result, from one place on.
func (x *vectors) each(place, stride int, f func(r int)) {
	c := x.c
	c.MOVQ(x.now[place], vecAt)
	c.MOVQ(at(vecTask, stride), vecBy)
	for r := range x.rows {
		f(r)
		if r < x.rows-1 {
			c.ADDQ(vecBy, vecAt)
		}
	}
}

// begin sets the sums to zero or to what is added to them, and asks for the rows of
// the result.
func (x *vectors) begin() {
	c := x.c
	c.CMPQ(x.now[vecNowOut], operand.U8(0))
	c.JE(operand.LabelRef("asked"))
	x.each(vecNowOut, vecOutRow, func(int) { c.PREFETCHT0(at(vecAt, 0)) })
	c.Label("asked")
	c.CMPQ(x.now[vecNowSrc], operand.U8(0))
	c.JE(operand.LabelRef("zero"))
	x.each(vecNowSrc, vecSrcRow, func(r int) {
		for v := range x.vectors {
			c.VMOVUPS_Z(at(vecAt, 64*v), []reg.OpmaskPhysical{reg.K1, reg.K2}[v], zs[x.sum(r, v)])
		}
	})
	c.JMP(operand.LabelRef("begun"))
	c.Label("zero")
	for i := range x.rows * x.vectors {
		c.VPXORD(zs[i], zs[i], zs[i])
	}
	c.Label("begun")
}

// address returns where the pair of row r is.
func (x *vectors) address(r int) operand.Mem {
	base := vecA0
	if r == 7 || r == 9 || r == 11 || r == 13 {
		base, r = vecA7, r-7
	}
	switch {
	case r == 0:
		return at(base, 0)
	case r&(r-1) == 0:
		return indexed(base, vecRow, uint8(r))
	case r%3 == 0:
		return indexed(base, vecRow3, uint8(r/3))
	}
	return indexed(base, vecRow5, uint8(r/5))
}

// multiply adds the products of all pairs.
func (x *vectors) multiply() {
	c := x.c
	c.MOVQ(x.now[vecNowA], vecA0)
	if x.rows > 7 {
		c.LEAQ(indexed(vecA0, vecRow, 2), vecA7)
		c.ADDQ(vecRow5, vecA7)
	}
	c.MOVQ(x.now[vecNowB], vecPanel)
	c.MOVQ(at(vecTask, vecPairs), vecCount)
	c.Label("loop")
	for v := range x.vectors {
		c.VMOVUPS(at(vecPanel, 64*v), zs[x.panel(v)])
	}
	c.PREFETCHT1(at(vecAhead, 0))
	c.ADDQ(vecAheadStep, vecAhead)
	for r := range x.rows {
		c.VBROADCASTSS(x.address(r), zs[x.element(r)])
		for v := range x.vectors {
			evex(c, prefixF3, 0x52, x.panel(v), x.element(r), x.sum(r, v)) // VDPBF16PS
		}
	}
	c.ADDQ(vecStep, vecA0)
	if x.rows > 7 {
		c.ADDQ(vecStep, vecA7)
	}
	c.ADDQ(operand.U32(halfRow), vecPanel)
	c.DECQ(vecCount)
	c.JNZ(operand.LabelRef("loop"))
}

// keep stores the sums or, where there is a place for the result, rounds them to it.
func (x *vectors) keep() {
	c := x.c
	c.CMPQ(x.now[vecNowOut], operand.U8(0))
	c.JE(operand.LabelRef("sums"))
	x.each(vecNowOut, vecOutRow, func(r int) {
		i := x.element(r)
		roundPair(c, x.sum(r, 0), x.sum(r, x.vectors-1), i)
		c.VMOVDQU16(zs[i], reg.K1, at(vecAt, 0))
	})
	c.JMP(operand.LabelRef("kept"))
	c.Label("sums")
	x.each(vecNowC, vecCRow, func(r int) {
		for v := range x.vectors {
			c.VMOVUPS(zs[x.sum(r, v)], at(vecAt, 64*v))
		}
	})
	c.Label("kept")
}

// pairDots emits sums of products of groups of rows, whose terms are contiguous, and
// one vector: a pair of terms goes to one of 16 sums, which are added up by halves.
func pairDots(c *build.Context, rows int) {
	begin(c, fmt.Sprintf("halfDots%dAVX512BF16", rows), "func(dst *byte, src *byte, srcRow int, x *byte, terms int, groups int)")
	dst, src := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("src"), reg.RSI)
	row, x := c.Load(c.Param("srcRow"), reg.RDX), c.Load(c.Param("x"), reg.R8)
	terms, groups := c.Load(c.Param("terms"), reg.R9), c.Load(c.Param("groups"), reg.R10)
	c.MOVQ(terms, reg.RBX)
	c.ANDQ(operand.U8(31), reg.RBX)
	maskOf(c, reg.RBX, reg.K1)
	c.SHRQ(operand.U8(5), terms)
	c.LEAQ(indexed(row, row, 2), reg.R11)
	places := []operand.Mem{at(reg.R12, 0), indexed(reg.R12, row, 1), indexed(reg.R12, row, 2), indexed(reg.R12, reg.R11, 1)}
	const vector, element = 8, 9 // registers; sums are in the first ones
	c.Label("group")
	c.MOVQ(src, reg.R12)
	c.MOVQ(x, reg.R13)
	c.MOVQ(terms, reg.RCX)
	for r := range rows {
		c.VPXORD(zs[r], zs[r], zs[r])
	}
	c.TESTQ(reg.RCX, reg.RCX)
	c.JZ(operand.LabelRef("last"))
	c.Label("loop")
	c.VMOVDQU16(at(reg.R13, 0), zs[vector])
	for r := range rows {
		c.VMOVDQU16(places[r], zs[element+r])
		evex(c, prefixF3, 0x52, vector, element+r, r)
	}
	c.ADDQ(operand.U8(64), reg.R12)
	c.ADDQ(operand.U8(64), reg.R13)
	c.DECQ(reg.RCX)
	c.JNZ(operand.LabelRef("loop"))
	c.Label("last")
	c.TESTQ(reg.RBX, reg.RBX)
	c.JZ(operand.LabelRef("sums"))
	c.VMOVDQU16_Z(at(reg.R13, 0), reg.K1, zs[vector])
	for r := range rows {
		c.VMOVDQU16_Z(places[r], reg.K1, zs[element+r])
		evex(c, prefixF3, 0x52, vector, element+r, r)
	}
	c.Label("sums")
	for r := range rows {
		c.VEXTRACTF64X4(operand.U8(1), zs[r], ys[vector])
		c.VADDPS(ys[vector], ys[r], ys[r])
		c.VEXTRACTF128(operand.U8(1), ys[r], xs[vector])
		c.VADDPS(xs[vector], xs[r], xs[r])
		c.VPERMILPS(operand.U8(0b1110), xs[r], xs[vector])
		c.VADDPS(xs[vector], xs[r], xs[r])
		c.VPERMILPS(operand.U8(0b01), xs[r], xs[vector])
		c.VADDPS(xs[vector], xs[r], xs[r])
		c.VMOVSS(xs[r], at(dst, 4*r))
	}
	c.ADDQ(operand.U8(4*rows), dst)
	for range rows {
		c.ADDQ(row, src)
	}
	c.DECQ(groups)
	c.JNZ(operand.LabelRef("group"))
	end(c)
}

var xs = []reg.VecPhysical{reg.X0, reg.X1, reg.X2, reg.X3, 8: reg.X8}
