package gemm

import (
	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/ir"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Offsets of the fields of halfTile, the structure in backend/cpu/gemm/half.go.
const (
	halfConfig = 8 * iota
	halfA
	halfARow
	halfAStep
	halfB
	halfSteps
	halfC
	halfCRow
	halfSrc
	halfSrcRow
	halfGroups
	halfAhead
	halfAheadStep
)

// halfRow is the bytes of a row of a packed panel: pairs of terms of 32 columns.
const halfRow = 128

// Tile registers: results by rows and columns of 16, operands after them.
const (
	tmmA = 4
	tmmB = 6
)

// A tiles emits the kernel for bfloat16: groups of rows of tiles by columns of
// them are held in tile registers.
type tiles struct {
	c          *build.Context
	rows, cols int // tiles, one or two
	now        [4]operand.Mem
}

// bytes emits an instruction that the assembler does not know.
func (x *tiles) bytes(code ...byte) {
	for _, b := range code {
		x.c.Instruction(&ir.Instruction{Opcode: "BYTE", Operands: []operand.Op{operand.U8(b)}})
	}
}

// Mandatory prefixes as VEX has them.
const (
	prefixNone = 0
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
	x.bytes(0xc4, second, 0x78|prefix, opcode, 0x44|byte(tmm)<<3, sibIndex<<3|b&7, byte(disp))
}

func (x *tiles) load(tmm int, base, stride reg.GPPhysical, disp int8) {
	x.memory(prefixF2, 0x4b, tmm, base, stride, disp)
}

func (x *tiles) store(tmm int, base, stride reg.GPPhysical, disp int8) {
	x.memory(prefixF3, 0x4b, tmm, base, stride, disp)
}

func (x *tiles) zero(tmm int) { x.bytes(0xc4, 0xe2, 0x78|prefixF2, 0x49, 0xc0|byte(tmm)<<3) }

func (x *tiles) product(sum, a, b int) {
	x.bytes(0xc4, 0xe2, ^byte(b)&0xf<<3|prefixF3, 0x5c, 0xc0|byte(sum)<<3|byte(a))
}

// Registers.
var (
	halfTile          = reg.RDI
	halfA0, halfA1    = reg.R8, reg.R9 // first row of a tile of A, and of the one below
	halfStrideA       = reg.R10
	halfB0, halfPairs = reg.RSI, reg.RDX
	halfCount         = reg.RCX
	halfAdvance       = reg.R11
	halfOut0          = reg.RAX
	halfOut1          = reg.RBX
	halfStrideC       = reg.R12
	halfNext          = reg.R13 // what is asked for ahead of its use
)

func (x *tiles) emit(name string) {
	c := x.c
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.SignatureExpr("func(t *byte)")
	c.Load(c.Param("t"), halfTile)
	for i, off := range []int{halfA, halfC, halfSrc, halfGroups} {
		x.now[i] = c.AllocLocal(8)
		c.MOVQ(at(halfTile, off), reg.RAX)
		c.MOVQ(reg.RAX, x.now[i])
	}
	c.MOVQ(at(halfTile, halfConfig), reg.RAX)
	x.memory(prefixNone, 0x49, 0, reg.RAX, nil, 0) // LDTILECFG
	c.MOVQ(at(halfTile, halfARow), halfStrideA)
	c.MOVQ(at(halfTile, halfAStep), halfAdvance)
	c.MOVQ(operand.U32(halfRow), halfPairs)
	c.MOVQ(at(halfTile, halfAhead), halfNext)
	c.Label("group")
	x.begin()
	c.MOVQ(x.now[nowA], halfA0)
	x.below(halfA0, halfStrideA, halfA1)
	c.MOVQ(at(halfTile, halfB), halfB0)
	c.MOVQ(at(halfTile, halfSteps), halfCount)
	c.Label("loop")
	x.step()
	for d := 0; d < 256; d += 64 {
		c.PREFETCHT1(at(halfNext, d))
	}
	c.ADDQ(at(halfTile, halfAheadStep), halfNext)
	c.ADDQ(halfAdvance, halfA0)
	c.ADDQ(halfAdvance, halfA1)
	c.ADDQ(operand.U32(16*halfRow), halfB0)
	c.DECQ(halfCount)
	c.JNZ(operand.LabelRef("loop"))
	c.MOVQ(at(halfTile, halfCRow), halfStrideC)
	c.MOVQ(x.now[nowC], halfOut0)
	x.below(halfOut0, halfStrideC, halfOut1)
	x.each(func(i, j int) { x.store(2*i+j, [2]reg.GPPhysical{halfOut0, halfOut1}[i], halfStrideC, int8(64*j)) })
	x.next()
	x.bytes(0xc4, 0xe2, 0x78, 0x49, 0xc0) // TILERELEASE
	c.VZEROUPPER()
	c.RET()
}

// each calls f for each tile of the result.
func (x *tiles) each(f func(i, j int)) {
	for i := range x.rows {
		for j := range x.cols {
			f(i, j)
		}
	}
}

// below sets to to the address 16 rows below from.
func (x *tiles) below(from, stride, to reg.GPPhysical) {
	x.c.MOVQ(stride, to)
	x.c.SHLQ(operand.U8(4), to)
	x.c.ADDQ(from, to)
}

// begin sets the sums to zero or to what is added to them.
func (x *tiles) begin() {
	c := x.c
	c.MOVQ(x.now[nowSrc], halfOut0)
	c.TESTQ(halfOut0, halfOut0)
	c.JZ(operand.LabelRef("zero"))
	c.MOVQ(at(halfTile, halfSrcRow), halfStrideC)
	x.below(halfOut0, halfStrideC, halfOut1)
	x.each(func(i, j int) { x.load(2*i+j, [2]reg.GPPhysical{halfOut0, halfOut1}[i], halfStrideC, int8(64*j)) })
	c.JMP(operand.LabelRef("begun"))
	c.Label("zero")
	x.each(func(i, j int) { x.zero(2*i + j) })
	c.Label("begun")
}

// step adds the products of 32 terms.
func (x *tiles) step() {
	for j := range x.cols {
		x.load(tmmB+j, halfB0, halfPairs, int8(64*j))
	}
	for i := range x.rows {
		x.load(tmmA+i, [2]reg.GPPhysical{halfA0, halfA1}[i], halfStrideA, 0)
		for j := range x.cols {
			x.product(2*i+j, tmmA+i, tmmB+j)
		}
	}
}

// next goes on to the next group of rows.
func (x *tiles) next() {
	c := x.c
	rows := operand.I32(16 * x.rows)
	advance := func(stride reg.GPPhysical, of operand.Mem) {
		c.IMUL3Q(rows, stride, reg.RBX)
		c.ADDQ(reg.RBX, of)
	}
	advance(halfStrideC, x.now[nowC])
	advance(halfStrideA, x.now[nowA])
	c.CMPQ(x.now[nowSrc], operand.U8(0))
	c.JE(operand.LabelRef("advanced"))
	c.MOVQ(at(halfTile, halfSrcRow), halfStrideC)
	advance(halfStrideC, x.now[nowSrc])
	c.Label("advanced")
	c.DECQ(x.now[nowGroups])
	c.JNZ(operand.LabelRef("group"))
}
