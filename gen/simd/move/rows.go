package move

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
)

// rows writes the functions that take elements and rows by an index.
func rows(c *build.Context) {
	for _, size := range []int{4, 8} {
		begin(c, fmt.Sprintf("take%d", size), "func(dst, src *byte, index *int64, n int)",
			"copies the n elements, a multiple of 4, that index names.", false, func(f function) { take(f, size) })
	}
	const signature, doc = "func(dst, src *byte, index *int64, n, size int)", "of size bytes, 32 or more, that index names."
	begin(c, "takeRows", signature, "copies the n rows "+doc, false, takeRows)
	for _, wide := range []bool{false, true} {
		begin(c, "addRowsF32", signature, "adds n rows of src, one after the other, to the rows of dst "+doc, wide,
			func(f function) { addRows(f, 4, f.c.VADDPS, f.c.VADDSS, f.c.VMOVSS) })
		begin(c, "addRowsF64", signature, "adds n rows of src, one after the other, to the rows of dst "+doc, wide,
			func(f function) { addRows(f, 8, f.c.VADDPD, f.c.VADDSD, f.c.VMOVSD) })
	}
}

func take(f function, size int) {
	dst, src, index, n := f.arg("dst"), f.arg("src"), f.arg("index"), f.arg("n")
	f.c.Label("loop")
	for i := range 4 {
		at0, v := f.c.GP64(), f.c.GP64()
		f.c.MOVQ(at(index, 8*i), at0)
		from := operand.Mem{Base: src, Index: at0, Scale: uint8(size)}
		if size == 4 {
			f.c.MOVL(from, v.As32())
			f.c.MOVL(v.As32(), at(dst, 4*i))
		} else {
			f.c.MOVQ(from, v)
			f.c.MOVQ(v, at(dst, 8*i))
		}
	}
	f.c.ADDQ(operand.Imm(32), index)
	f.c.ADDQ(operand.Imm(uint64(4*size)), dst)
	f.c.SUBQ(operand.Imm(4), n)
	f.c.JNE(operand.LabelRef("loop"))
}

// takeRows ends each row with a block that overlaps those before.
func takeRows(f function) {
	dst, src, index := f.arg("dst"), f.arg("src"), f.arg("index")
	n, size := f.arg("n"), f.arg("size")
	end := f.c.GP64()
	f.c.LEAQ(operand.Mem{Base: dst, Index: size, Scale: 1, Disp: -32}, end)
	f.c.Label("row")
	from, tail, v := f.c.GP64(), f.c.GP64(), f.c.YMM()
	f.c.MOVQ(at(index, 0), from)
	f.c.IMULQ(size, from)
	f.c.ADDQ(src, from)
	f.c.LEAQ(operand.Mem{Base: from, Index: size, Scale: 1, Disp: -32}, tail)
	f.c.Label("loop")
	f.c.VMOVDQU(at(from, 0), v)
	f.c.VMOVDQU(v, at(dst, 0))
	f.c.ADDQ(operand.Imm(32), from)
	f.c.ADDQ(operand.Imm(32), dst)
	f.c.CMPQ(dst, end)
	f.c.JCS(operand.LabelRef("loop"))
	f.c.VMOVDQU(at(tail, 0), v)
	f.c.VMOVDQU(v, at(end, 0))
	f.c.LEAQ(at(end, 32), dst)
	f.c.ADDQ(size, end)
	f.c.ADDQ(operand.Imm(8), index)
	f.c.DECQ(n)
	f.c.JNE(operand.LabelRef("row"))
}

// addRows adds whole vectors, then single elements.
func addRows(f function, size int, add, addOne, move func(...operand.Op)) {
	dst, src, index := f.arg("dst"), f.arg("src"), f.arg("index")
	n, bytes := f.arg("n"), f.arg("size")
	width := 32
	if f.wide {
		width = 64
	}
	f.c.Label("row")
	to, left := f.c.GP64(), f.c.GP64()
	f.c.MOVQ(at(index, 0), to)
	f.c.IMULQ(bytes, to)
	f.c.ADDQ(dst, to)
	f.c.MOVQ(bytes, left)
	step := func(width int) {
		f.c.ADDQ(operand.Imm(uint64(width)), src)
		f.c.ADDQ(operand.Imm(uint64(width)), to)
		f.c.SUBQ(operand.Imm(uint64(width)), left)
	}
	f.c.SUBQ(operand.Imm(uint64(width)), left)
	f.c.JCS(operand.LabelRef("rest"))
	f.c.Label("loop")
	v := f.vector()
	f.c.VMOVUPS(at(to, 0), v)
	add(at(src, 0), v, v)
	f.c.VMOVUPS(v, at(to, 0))
	step(width)
	f.c.JCC(operand.LabelRef("loop"))
	f.c.Label("rest")
	f.c.ADDQ(operand.Imm(uint64(width)), left)
	f.c.JE(operand.LabelRef("done"))
	f.c.Label("one")
	x := f.c.XMM()
	move(at(to, 0), x)
	addOne(at(src, 0), x, x)
	move(x, at(to, 0))
	step(size)
	f.c.JNE(operand.LabelRef("one"))
	f.c.Label("done")
	f.c.ADDQ(operand.Imm(8), index)
	f.c.DECQ(n)
	f.c.JNE(operand.LabelRef("row"))
}
