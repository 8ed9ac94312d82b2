package gemm

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// tileKernels emits products on tiles, of bytes or of bfloat16.
func tileKernels(c *build.Context, name string, bytes bool) {
	for rows := 1; rows <= 2; rows++ {
		for cols := 1; cols <= 2; cols++ {
			x := &tiles{c: c, rows: rows, cols: cols, bytes: bytes}
			x.emit(fmt.Sprintf("%s%dx%dAMX", name, rows, cols))
		}
	}
}

// halfTiles emits products of bfloat16 on tiles.
func halfTiles(c *build.Context) { tileKernels(c, "halfTile", false) }

// byteTiles emits products of bytes on tiles.
func byteTiles(c *build.Context) { tileKernels(c, "byteTile", true) }

// vectorKernels emits them on vectors.
func vectorKernels(c *build.Context) {
	for n := 1; n <= 2; n++ {
		for rows := 1; rows <= mostRows; rows++ {
			x := &vectors{c: c, rows: rows, vectors: n}
			x.emit()
		}
	}
	pairDots(c, 1)
	pairDots(c, 4)
}

// pairPackers emits packing in pairs of terms.
func pairPackers(c *build.Context) {
	c.StaticGlobal("pairOrder") // how to make two rows one of pairs: the first half and the second
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 {
		c.AddDatum(2*i, operand.U16(i/2+i%2*32))
	}
	pairRows(c, 1)
	pairRows(c, 4)
	pairColumns(c)
}

// maskOf sets a mask to the first n of 32 lanes.
func maskOf(c *build.Context, n reg.Register, mask reg.OpmaskPhysical) {
	c.MOVQ(operand.I32(-1), reg.RAX)
	c.BZHIQ(n, reg.RAX, reg.RAX)
	c.KMOVD(reg.EAX, mask)
}

// pairRows emits the packing of pairs of rows of at most 32 elements of two bytes,
// or of panels of 32: the first elements of both, then the second ones, and so on.
func pairRows(c *build.Context, panels int) {
	begin(c, fmt.Sprintf("pairRows%dAVX512", panels), "func(dst *byte, panel int, src *byte, srcRow int, pairs int, columns int)")
	dst, src := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("src"), reg.RSI)
	row, pairs := c.Load(c.Param("srcRow"), reg.RDX), c.Load(c.Param("pairs"), reg.RCX)
	maskOf(c, c.Load(c.Param("columns"), reg.RBX), reg.K1)
	c.LEAQ(table("pairOrder"), reg.R8)
	c.VMOVDQU64(at(reg.R8, 0), reg.Z4)
	c.VMOVDQU64(at(reg.R8, 64), reg.Z5)
	panel := c.Load(c.Param("panel"), reg.R8)
	c.LEAQ(indexed(panel, panel, 2), reg.R9)
	to := []operand.Mem{at(dst, 0), indexed(dst, panel, 1), indexed(dst, panel, 2), indexed(dst, reg.R9, 1)}
	c.IMUL3Q(operand.I32(ahead), row, reg.R10)
	c.LEAQ(indexed(row, reg.R10, 1), reg.R11)
	c.Label("loop")
	for p := range panels {
		for _, by := range []reg.Register{reg.R10, reg.R11} {
			m := indexed(src, by, 1)
			m.Disp = 64 * p
			c.PREFETCHT0(m)
		}
	}
	for p := range panels {
		first, second := at(src, 64*p), indexed(src, row, 1)
		second.Disp = 64 * p
		c.VMOVDQU16_Z(first, reg.K1, reg.Z0)
		c.VMOVDQU16_Z(second, reg.K1, reg.Z1)
		c.VMOVDQA64(reg.Z0, reg.Z2)
		c.VPERMT2W(reg.Z1, reg.Z4, reg.Z0)
		c.VPERMT2W(reg.Z1, reg.Z5, reg.Z2)
		low, high := to[p], to[p]
		high.Disp = 64
		c.VMOVDQU64(reg.Z0, low)
		c.VMOVDQU64(reg.Z2, high)
	}
	c.LEAQ(indexed(src, row, 2), src)
	c.ADDQ(operand.I32(halfRow), dst)
	c.DECQ(pairs)
	c.JNZ(operand.LabelRef("loop"))
	end(c)
}

// columnsAhead is how far ahead columns are fetched, in bytes.
const columnsAhead = 512

// pairColumns emits the packing of 16 columns whose pairs are contiguous, 16 pairs
// of each in a round: a block is transposed by elements, by pairs of them, and by
// quarters of registers twice.
func pairColumns(c *build.Context) {
	begin(c, "pairColumnsAVX512", "func(dst *byte, src *byte, srcCol int, blocks int)")
	dst, src := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("src"), reg.RSI)
	col, blocks := c.Load(c.Param("srcCol"), reg.RDX), c.Load(c.Param("blocks"), reg.RCX)
	c.LEAQ(indexed(col, col, 2), reg.RBX)
	bases := []reg.Register{src, reg.R8, reg.R9, reg.R10} // of four columns each
	for i := range 3 {
		c.LEAQ(indexed(bases[i], col, 4), bases[i+1])
	}
	c.Label("loop")
	for i := range 16 {
		m := at(bases[i/4], 0)
		switch i % 4 {
		case 1, 2:
			m = indexed(bases[i/4], col, uint8(i%4))
		case 3:
			m = indexed(bases[i/4], reg.RBX, 1)
		}
		c.VMOVDQU64(m, zs[i])
		m.Disp = columnsAhead
		c.PREFETCHT1(m)
	}
	for i := 0; i < 16; i += 2 {
		c.VPUNPCKLDQ(zs[i+1], zs[i], zs[16+i])
		c.VPUNPCKHDQ(zs[i+1], zs[i], zs[17+i])
	}
	for i := 0; i < 16; i += 4 {
		c.VPUNPCKLQDQ(zs[18+i], zs[16+i], zs[i])
		c.VPUNPCKHQDQ(zs[18+i], zs[16+i], zs[i+1])
		c.VPUNPCKLQDQ(zs[19+i], zs[17+i], zs[i+2])
		c.VPUNPCKHQDQ(zs[19+i], zs[17+i], zs[i+3])
	}
	const even, odd = 0x88, 0xdd // quarters of the first and of the second source
	for i := range 4 {
		for j, quarters := range []uint8{even, odd} {
			low, high := zs[16+2*j], zs[17+2*j]
			c.VSHUFI32X4(operand.U8(quarters), zs[4+i], zs[i], low)
			c.VSHUFI32X4(operand.U8(quarters), zs[12+i], zs[8+i], high)
			for k, quarters := range []uint8{even, odd} {
				c.VSHUFI32X4(operand.U8(quarters), high, low, zs[20+2*j+k])
				c.VMOVDQU64(zs[20+2*j+k], at(dst, (4*(j+2*k)+i)*halfRow))
			}
		}
	}
	for _, b := range bases {
		c.ADDQ(operand.U8(64), b)
	}
	c.ADDQ(operand.I32(16*halfRow), dst)
	c.DECQ(blocks)
	c.JNZ(operand.LabelRef("loop"))
	end(c)
}
