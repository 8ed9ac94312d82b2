package gemm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of halfTile, the structure in backend/cpu/gemm/half.go.
const (
	halfConfig = 8 * iota
	halfA
	halfARow
	halfALow
	halfAStep
	halfAGroup
	halfB
	halfSteps
	halfBlock
	halfSrc
	halfSrcRow
	halfSrcGroup
	halfC
	halfCRow
	halfCGroup
	halfOut
	halfOutRow
	halfRows
	halfColumns
	halfGroups
)

// halfRow is the bytes of a row of a packed panel: pairs of terms of 32 columns.
const halfRow = 128

// Tile registers: results by rows and columns of 16, operands after them.
const (
	tmmA = 4
	tmmB = 6
)

// What changes from group to group, in the frame.
const (
	tileA = iota
	tileSrc
	tileC
	tileOut
	tileGroups
	tileSteps // of this block
	tileLocals
)

// A tiles emits a kernel: groups of rows of tiles by columns of them are held in tile
// registers. A row of an operand has 64 bytes: pairs of bfloat16, or quads of bytes, without
// a sign on the left and with one on the right.
type tiles struct {
	c          *build.Context
	rows, cols int  // tiles, one or two
	bytes      bool // whose sums, of int32, stay as they are
	now        [tileLocals]operand.Mem
}

func (x *tiles) code(code ...byte) { octets(x.c, code...) }

// Mandatory prefixes as VEX has them.
const (
	prefixNone = 0
	prefix66   = 1
	prefixF3   = 2
	prefixF2   = 3
)

// memory emits an instruction of opcode 0F38 with a tile register and an operand
// in memory, base + index + disp, where index may be nil.
func (x *tiles) memory(prefix, opcode byte, tmm int, base, index reg.GPPhysical, disp int8) {
	b := byte(base.ID().Index())
	second, sibIndex := byte(0xe2), byte(4)
	if b >= 8 {
		second &^= 0x20
	}
	if index != nil {
		i := byte(index.ID().Index())
		if i >= 8 {
			second &^= 0x40
		}
		sibIndex = i & 7
	}
	x.code(0xc4, second, 0x78|prefix, opcode, 0x44|byte(tmm)<<3, sibIndex<<3|b&7, byte(disp))
}

func (x *tiles) load(tmm int, base, stride reg.GPPhysical, disp int8) {
	x.memory(prefixF2, 0x4b, tmm, base, stride, disp)
}

// loadOnce is load for what is not soon read again: it does not stay in the first
// cache.
func (x *tiles) loadOnce(tmm int, base, stride reg.GPPhysical, disp int8) {
	x.memory(prefix66, 0x4b, tmm, base, stride, disp)
}

func (x *tiles) store(tmm int, base, stride reg.GPPhysical, disp int8) {
	x.memory(prefixF3, 0x4b, tmm, base, stride, disp)
}

func (x *tiles) zero(tmm int) { x.code(0xc4, 0xe2, 0x78|prefixF2, 0x49, 0xc0|byte(tmm)<<3) }

func (x *tiles) product(sum, a, b int) {
	prefix, opcode := byte(prefixF3), byte(0x5c) // TDPBF16PS
	if x.bytes {
		prefix, opcode = prefix66, 0x5e // TDPBUSD
	}
	x.code(0xc4, 0xe2, ^byte(b)&0xf<<3|prefix, opcode, 0xc0|byte(sum)<<3|byte(a))
}

// Registers of the kernels.
var (
	halfTile           = reg.RDI
	halfA0, halfA1     = reg.R8, reg.R9 // first row of a tile of A, and of the one below
	halfStrideA        = reg.R10
	halfB0, halfPairs  = reg.RSI, reg.RDX
	halfCount          = reg.RCX
	halfAdvance        = reg.R11
	halfSum0, halfSum1 = reg.RAX, reg.RBX // as halfA0 and halfA1
	halfStrideC        = reg.R12
	halfNext           = reg.R13 // what is asked for meanwhile
	halfNextRow        = reg.RBX
)

func field(offset int) operand.Mem { return at(halfTile, offset) }

func (x *tiles) emit(name string) {
	c := x.c
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.SignatureExpr("func(t *byte)")
	for i := range x.now {
		x.now[i] = c.AllocLocal(8)
	}
	c.Load(c.Param("t"), halfTile)
	c.MOVQ(field(halfConfig), reg.RAX)
	x.memory(prefixNone, 0x49, 0, reg.RAX, nil, 0) // LDTILECFG
	if !x.bytes {
		c.MOVQ(field(halfColumns), reg.RBX)
		maskOf(c, reg.RBX, reg.K1)
	}
	c.MOVQ(field(halfARow), halfStrideA)
	c.MOVQ(field(halfAStep), halfAdvance)
	c.MOVQ(operand.U32(halfRow), halfPairs)
	c.Label("block")
	for i, offset := range []int{tileA: halfA, tileSrc: halfSrc, tileC: halfC, tileOut: halfOut, tileGroups: halfGroups} {
		c.MOVQ(field(offset), reg.RAX)
		c.MOVQ(reg.RAX, x.now[i])
	}
	c.MOVQ(field(halfSteps), halfCount)
	c.MOVQ(field(halfBlock), reg.RAX)
	c.CMPQ(reg.RAX, halfCount)
	c.CMOVQLT(reg.RAX, halfCount)
	c.MOVQ(halfCount, x.now[tileSteps])
	c.Label("group")
	x.begin()
	x.multiply()
	x.keep()
	x.next()
	x.code(0xc4, 0xe2, 0x78, 0x49, 0xc0) // TILERELEASE
	c.VZEROUPPER()
	c.RET()
}

// each calls f for each tile of the result, with the register that has its first
// row.
func (x *tiles) each(f func(tmm int, row reg.GPPhysical, disp int8)) {
	for i := range x.rows {
		for j := range x.cols {
			f(2*i+j, [2]reg.GPPhysical{halfSum0, halfSum1}[i], int8(64*j))
		}
	}
}

// sums sets the registers for sums at a place.
func (x *tiles) sums(place operand.Mem, stride int) {
	c := x.c
	c.MOVQ(place, halfSum0)
	c.MOVQ(field(stride), halfStrideC)
	c.MOVQ(halfStrideC, halfSum1)
	c.SHLQ(operand.U8(4), halfSum1)
	c.ADDQ(halfSum0, halfSum1)
}

// begin sets the sums to zero or to what is added to them.
func (x *tiles) begin() {
	c := x.c
	c.CMPQ(x.now[tileSrc], operand.U8(0))
	c.JE(operand.LabelRef("zero"))
	x.sums(x.now[tileSrc], halfSrcRow)
	x.each(func(tmm int, row reg.GPPhysical, disp int8) { x.loadOnce(tmm, row, halfStrideC, disp) })
	c.JMP(operand.LabelRef("begun"))
	c.Label("zero")
	x.each(func(tmm int, _ reg.GPPhysical, _ int8) { x.zero(tmm) })
	c.Label("begun")
}

// multiply adds the products of a block's terms. In the last block it asks for the
// rows of the result that come next.
func (x *tiles) multiply() {
	c := x.c
	c.MOVQ(x.now[tileA], halfA0)
	c.MOVQ(field(halfALow), halfA1)
	c.ADDQ(halfA0, halfA1)
	c.MOVQ(field(halfB), halfB0)
	c.MOVQ(x.now[tileSteps], halfCount)
	c.MOVQ(halfB0, halfNext)
	c.XORQ(halfNextRow, halfNextRow)
	if !x.bytes {
		x.unlessComplete("loop")
		c.MOVQ(halfSum0, halfNext)
		c.MOVQ(field(halfOutRow), halfNextRow)
	}
	c.Label("loop")
	// A product comes as soon as its operands do. Loading all four tiles first was
	// measured slower, on quiet cores and beside busy ones.
	for i := range x.rows {
		x.loadOnce(tmmA+i, [2]reg.GPPhysical{halfA0, halfA1}[i], halfStrideA, 0)
		for j := range x.cols {
			if i == 0 {
				x.load(tmmB+j, halfB0, halfPairs, int8(64*j))
			}
			x.product(2*i+j, tmmA+i, tmmB+j)
		}
	}
	c.PREFETCHT0(at(halfNext, 0))
	c.PREFETCHT0(indexed(halfNext, halfNextRow, 1))
	c.LEAQ(indexed(halfNext, halfNextRow, 2), halfNext)
	c.ADDQ(halfAdvance, halfA0)
	c.ADDQ(halfAdvance, halfA1)
	c.ADDQ(operand.U32(16*halfRow), halfB0)
	c.DECQ(halfCount)
	c.JNZ(operand.LabelRef("loop"))
}

// unlessComplete jumps unless the sums of this block are complete and are wanted;
// halfCount has the block's steps, and halfSum0 gets the place of the result.
func (x *tiles) unlessComplete(label string) {
	c := x.c
	c.CMPQ(halfCount, field(halfSteps))
	c.JNE(operand.LabelRef(label))
	c.MOVQ(x.now[tileOut], halfSum0)
	c.TESTQ(halfSum0, halfSum0)
	c.JZ(operand.LabelRef(label))
}

// keep stores the sums and, where they are complete, rounds them to the result, to
// nearest even, as AVX512-BF16 does it: numbers too small for a normal one become
// zero.
func (x *tiles) keep() {
	c, sum, row := x.c, reg.RBX, reg.R13
	x.sums(x.now[tileC], halfCRow)
	x.each(func(tmm int, row reg.GPPhysical, disp int8) { x.store(tmm, row, halfStrideC, disp) })
	if x.bytes {
		return
	}
	c.MOVQ(halfSum0, sum)
	c.MOVQ(x.now[tileSteps], halfCount)
	x.unlessComplete("kept")
	c.MOVQ(field(halfOutRow), row)
	c.MOVQ(field(halfRows), halfCount)
	c.Label("round")
	c.VMOVUPS(at(sum, 0), reg.Z0)
	c.VMOVUPS(at(sum, 64), reg.Z1)
	roundPair(c, 0, 1, 2)
	c.VMOVDQU16(reg.Z2, reg.K1, at(halfSum0, 0))
	c.ADDQ(halfStrideC, sum)
	c.ADDQ(row, halfSum0)
	c.DECQ(halfCount)
	c.JNZ(operand.LabelRef("round"))
	c.MOVQ(halfSum0, x.now[tileOut])
	c.Label("kept")
}

// next goes on to the next group of rows and, after the last, to the next block.
func (x *tiles) next() {
	c := x.c
	advance := func(of operand.Mem, by int) {
		c.MOVQ(field(by), reg.RAX)
		c.ADDQ(reg.RAX, of)
	}
	advance(x.now[tileA], halfAGroup)
	advance(x.now[tileSrc], halfSrcGroup)
	advance(x.now[tileC], halfCGroup)
	c.DECQ(x.now[tileGroups])
	c.JNZ(operand.LabelRef("group"))
	c.MOVQ(x.now[tileSteps], halfCount)
	c.SUBQ(halfCount, field(halfSteps))
	c.JZ(operand.LabelRef("done"))
	c.MOVQ(halfAdvance, reg.RAX)
	c.IMULQ(halfCount, reg.RAX)
	c.ADDQ(reg.RAX, field(halfA))
	c.IMUL3Q(operand.U32(16*halfRow), halfCount, halfCount)
	c.ADDQ(halfCount, field(halfB))
	for i, offset := range []int{halfC, halfCRow, halfCGroup} {
		c.MOVQ(field(offset), reg.RAX)
		c.MOVQ(reg.RAX, field(halfSrc+8*i))
	}
	c.JMP(operand.LabelRef("block"))
	c.Label("done")
}
