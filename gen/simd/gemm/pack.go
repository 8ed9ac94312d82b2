package gemm

import (
	"fmt"

	"github.com/mmcloughlin/avo/attr"
	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// packers emits what copies and transposes panels.
func packers(c *build.Context) {
	for _, bytes := range []int{64, 128} {
		copyRows(c, bytes, 1)
		copyRows(c, bytes, 4)
	}
	copyBlock(c)
	transpose32(c)
	transpose64(c)
	packQuads(c)
}

// packQuads emits the packing of 16 columns of bytes, quads of rows of which become four bytes
// side by side, after the bits of flip changed. Each column's sum is added to sums.
func packQuads(c *build.Context) {
	begin(c, "packQuadsAVX2", "func(dst *byte, dstRow int, src *byte, srcRow int, quads int, sums *int32, flip uint32)")
	dst, dstRow := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("dstRow"), reg.RDX)
	src, srcRow := c.Load(c.Param("src"), reg.RSI), c.Load(c.Param("srcRow"), reg.RBX)
	quads, sums := c.Load(c.Param("quads"), reg.RCX), c.Load(c.Param("sums"), reg.R8)
	flip, ones, wide := reg.X15, reg.X12, reg.X13
	c.Load(c.Param("flip"), reg.EAX)
	c.VMOVD(reg.EAX, flip)
	c.VPSHUFD(operand.U8(0), flip, flip)
	c.VPCMPEQB(ones, ones, ones)
	c.VPABSB(ones, ones)
	c.VPCMPEQW(wide, wide, wide)
	c.VPABSW(wide, wide)
	acc := []reg.VecPhysical{reg.X2, reg.X3, reg.X9, reg.X10}
	for _, v := range acc {
		c.VPXOR(v, v, v)
	}
	c.LEAQ(indexed(srcRow, srcRow, 2), reg.R9)
	c.Label("loop")
	rows := []operand.Mem{at(src, 0), indexed(src, srcRow, 1), indexed(src, srcRow, 2), indexed(src, reg.R9, 1)}
	pairs := []reg.VecPhysical{reg.X4, reg.X5, reg.X6, reg.X7} // of the first two rows, low and high columns, and of the others
	for i := 0; i < 4; i += 2 {
		c.VPXOR(rows[i], flip, reg.X0)
		c.VPXOR(rows[i+1], flip, reg.X1)
		c.VPUNPCKLBW(reg.X1, reg.X0, pairs[i])
		c.VPUNPCKHBW(reg.X1, reg.X0, pairs[i+1])
	}
	for i := range 4 {
		v := reg.X8
		if low := pairs[i/2]; i%2 == 0 {
			c.VPUNPCKLWD(pairs[i/2+2], low, v)
		} else {
			c.VPUNPCKHWD(pairs[i/2+2], low, v)
		}
		c.VMOVDQU(v, at(dst, 16*i))
		c.VPMADDUBSW(v, ones, v)
		c.VPMADDWD(v, wide, v)
		c.VPADDD(v, acc[i], acc[i])
	}
	c.LEAQ(indexed(src, srcRow, 4), src)
	c.ADDQ(dstRow, dst)
	c.DECQ(quads)
	c.JNZ(operand.LabelRef("loop"))
	for i, v := range acc {
		c.VPADDD(at(sums, 16*i), v, v)
		c.VMOVDQU(v, at(sums, 16*i))
	}
	end(c)
}

func begin(c *build.Context, name, signature string) {
	c.Function(name)
	c.Attributes(attr.NOSPLIT)
	c.Pragma("noescape")
	c.SignatureExpr(signature)
}

func end(c *build.Context) {
	c.VZEROUPPER()
	c.RET()
}

// ahead is how many rows before they are copied rows are asked for.
const ahead = 6

// copyRows emits the copy of rows of a matrix to panels, each of a fixed number of
// bytes of every row; distances are in bytes. Panels of four at a time are what
// makes reads long enough for the memory.
func copyRows(c *build.Context, bytes, panels int) {
	begin(c, fmt.Sprintf("copyRows%dx%dAVX2", panels, bytes), "func(dst *byte, panel int, src *byte, srcRow int, rows int)")
	dst, panel := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("panel"), reg.RDX)
	src, srcRow := c.Load(c.Param("src"), reg.RSI), c.Load(c.Param("srcRow"), reg.RBX)
	rows := c.Load(c.Param("rows"), reg.RCX)
	to := []operand.Mem{at(dst, 0), indexed(dst, panel, 1), indexed(dst, panel, 2), indexed(dst, reg.R8, 1)}
	c.LEAQ(indexed(panel, panel, 2), reg.R8)
	c.IMUL3Q(operand.I32(ahead), srcRow, reg.R9)
	c.Label("loop")
	for i := 0; i < panels*bytes; i += 64 {
		m := indexed(src, reg.R9, 1)
		m.Disp = i
		c.PREFETCHT0(m)
	}
	for p := range panels {
		for i := range bytes / 32 {
			c.VMOVUPS(at(src, p*bytes+32*i), ys[i])
		}
		for i := range bytes / 32 {
			m := to[p]
			m.Disp = 32 * i
			c.VMOVUPS(ys[i], m)
		}
	}
	c.ADDQ(srcRow, src)
	c.ADDQ(operand.I32(bytes), dst)
	c.DECQ(rows)
	c.JNZ(operand.LabelRef("loop"))
	end(c)
}

// copyBlock emits the copy of rows of 64 bytes times a number to rows elsewhere.
func copyBlock(c *build.Context) {
	begin(c, "copyBlockAVX2", "func(dst *byte, dstRow int, src *byte, srcRow int, rows int, lines int)")
	dst, dstRow := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("dstRow"), reg.RDX)
	src, srcRow := c.Load(c.Param("src"), reg.RSI), c.Load(c.Param("srcRow"), reg.RBX)
	rows, lines := c.Load(c.Param("rows"), reg.RCX), c.Load(c.Param("lines"), reg.R8)
	c.Label("row")
	c.MOVQ(dst, reg.R9)
	c.MOVQ(src, reg.R10)
	c.MOVQ(lines, reg.R11)
	c.Label("loop")
	c.PREFETCHT0(indexed(reg.R10, srcRow, 1))
	for i := range 2 {
		c.VMOVUPS(at(reg.R10, 32*i), ys[i])
	}
	for i := range 2 {
		c.VMOVUPS(ys[i], at(reg.R9, 32*i))
	}
	c.ADDQ(operand.I32(64), reg.R9)
	c.ADDQ(operand.I32(64), reg.R10)
	c.DECQ(reg.R11)
	c.JNZ(operand.LabelRef("loop"))
	c.ADDQ(srcRow, src)
	c.ADDQ(dstRow, dst)
	c.DECQ(rows)
	c.JNZ(operand.LabelRef("row"))
	end(c)
}

// rowsFrom loads n vectors of a block whose rows begin at base.
func rowsFrom(base, row, row3, base4 reg.Register, n int) []operand.Mem {
	all := []operand.Mem{at(base, 0), indexed(base, row, 1), indexed(base, row, 2), indexed(base, row3, 1),
		at(base4, 0), indexed(base4, row, 1), indexed(base4, row, 2), indexed(base4, row3, 1)}
	return all[:n]
}

// transpose32 emits the transposition of 8 rows of 4-byte elements, 8 columns at a
// time, into rows of 8.
func transpose32(c *build.Context) {
	begin(c, "transpose32AVX2", "func(dst *byte, dstRow int, src *byte, srcRow int, blocks int)")
	dst, dstRow := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("dstRow"), reg.RDX)
	src, srcRow := c.Load(c.Param("src"), reg.RSI), c.Load(c.Param("srcRow"), reg.RBX)
	blocks := c.Load(c.Param("blocks"), reg.RCX)
	c.LEAQ(indexed(srcRow, srcRow, 2), reg.R8)
	c.LEAQ(indexed(dstRow, dstRow, 2), reg.R9)
	c.LEAQ(indexed(src, srcRow, 4), reg.R10)
	c.Label("loop")
	c.LEAQ(indexed(dst, dstRow, 4), reg.R11)
	from := rowsFrom(src, srcRow, reg.R8, reg.R10, 8)
	// Halves of rows r and r+4 side by side, then pairs, then quads.
	for r := range 4 {
		for half := range 2 {
			low, high := from[r], from[r+4]
			low.Disp, high.Disp = 16*half, 16*half
			y := ys[r+4*half]
			c.VMOVUPS(low, y.(reg.Vec).AsX())
			c.VINSERTF128(operand.U8(1), high, y, y)
		}
	}
	to := rowsFrom(dst, dstRow, reg.R9, reg.R11, 8)
	for half := range 2 {
		r := ys[4*half : 4*half+4]
		t := ys[8+4*half : 12+4*half]
		c.VUNPCKLPS(r[1], r[0], t[0])
		c.VUNPCKHPS(r[1], r[0], t[1])
		c.VUNPCKLPS(r[3], r[2], t[2])
		c.VUNPCKHPS(r[3], r[2], t[3])
		c.VUNPCKLPD(t[2], t[0], r[0])
		c.VUNPCKHPD(t[2], t[0], r[1])
		c.VUNPCKLPD(t[3], t[1], r[2])
		c.VUNPCKHPD(t[3], t[1], r[3])
		for i := range r {
			c.VMOVUPS(r[i], to[4*half+i])
		}
	}
	c.ADDQ(operand.U8(32), src)
	c.ADDQ(operand.U8(32), reg.R10)
	c.LEAQ(indexed(dst, dstRow, 8), dst)
	c.DECQ(blocks)
	c.JNZ(operand.LabelRef("loop"))
	end(c)
}

// transpose64 emits the transposition of 4 rows of 8-byte elements, 4 columns at a
// time, into rows of 4.
func transpose64(c *build.Context) {
	begin(c, "transpose64AVX2", "func(dst *byte, dstRow int, src *byte, srcRow int, blocks int)")
	dst, dstRow := c.Load(c.Param("dst"), reg.RDI), c.Load(c.Param("dstRow"), reg.RDX)
	src, srcRow := c.Load(c.Param("src"), reg.RSI), c.Load(c.Param("srcRow"), reg.RBX)
	blocks := c.Load(c.Param("blocks"), reg.RCX)
	c.LEAQ(indexed(srcRow, srcRow, 2), reg.R8)
	c.LEAQ(indexed(dstRow, dstRow, 2), reg.R9)
	c.Label("loop")
	from, to := rowsFrom(src, srcRow, reg.R8, src, 4), rowsFrom(dst, dstRow, reg.R9, dst, 4)
	for half := range 2 {
		for r := range 2 {
			low, high := from[r], from[r+2]
			low.Disp, high.Disp = 16*half, 16*half
			y := ys[r+2*half]
			c.VMOVUPS(low, y.(reg.Vec).AsX())
			c.VINSERTF128(operand.U8(1), high, y, y)
		}
		c.VUNPCKLPD(ys[1+2*half], ys[2*half], ys[4+2*half])
		c.VUNPCKHPD(ys[1+2*half], ys[2*half], ys[5+2*half])
		c.VMOVUPS(ys[4+2*half], to[2*half])
		c.VMOVUPS(ys[5+2*half], to[2*half+1])
	}
	c.ADDQ(operand.U8(32), src)
	c.LEAQ(indexed(dst, dstRow, 4), dst)
	c.DECQ(blocks)
	c.JNZ(operand.LabelRef("loop"))
	end(c)
}
