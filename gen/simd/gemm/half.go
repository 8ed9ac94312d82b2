package gemm

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// halves emits what products of bfloat16 need: the kernels on tiles and packing in
// pairs of terms.
func halves(c *build.Context) {
	c.StaticGlobal("pairOrder") // how to make two rows one of pairs: the first half and the second
	c.DataAttributes(attr.RODATA | attr.NOPTR)
	for i := range 64 {
		c.AddDatum(2*i, operand.U16(i/2+i%2*32))
	}
	for rows := 1; rows <= 2; rows++ {
		for cols := 1; cols <= 2; cols++ {
			x := &tiles{c: c, rows: rows, cols: cols}
			x.emit(fmt.Sprintf("halfTile%dx%dAMX", rows, cols))
		}
	}
	pairRows(c, 1)
	pairRows(c, 4)
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
