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
			func(f function) { addRows(f, 4, f.VADDPS, f.VADDSS, f.VMOVSS) })
		begin(c, "addRowsF64", signature, "adds n rows of src, one after the other, to the rows of dst "+doc, wide,
			func(f function) { addRows(f, 8, f.VADDPD, f.VADDSD, f.VMOVSD) })
	}
}

func take(f function, size int) {
	dst, src, index, n := f.arg("dst"), f.arg("src"), f.arg("index"), f.arg("n")
	f.Label("loop")
	for i := range 4 {
		at0, v := f.GP64(), f.GP64()
		f.MOVQ(at(index, 8*i), at0)
		from := operand.Mem{Base: src, Index: at0, Scale: uint8(size)}
		if size == 4 {
			f.MOVL(from, v.As32())
			f.MOVL(v.As32(), at(dst, 4*i))
		} else {
			f.MOVQ(from, v)
			f.MOVQ(v, at(dst, 8*i))
		}
	}
	f.ADDQ(operand.Imm(32), index)
	f.ADDQ(operand.Imm(uint64(4*size)), dst)
	f.SUBQ(operand.Imm(4), n)
	f.JNE(operand.LabelRef("loop"))
}

// takeRows ends each row with a block that overlaps those before.
func takeRows(f function) {
	dst, src, index := f.arg("dst"), f.arg("src"), f.arg("index")
	n, size := f.arg("n"), f.arg("size")
	end := f.GP64()
	f.LEAQ(operand.Mem{Base: dst, Index: size, Scale: 1, Disp: -32}, end)
	f.Label("row")
	from, tail, v := f.GP64(), f.GP64(), f.YMM()
	f.MOVQ(at(index, 0), from)
	f.IMULQ(size, from)
	f.ADDQ(src, from)
	f.LEAQ(operand.Mem{Base: from, Index: size, Scale: 1, Disp: -32}, tail)
	f.Label("loop")
	f.VMOVDQU(at(from, 0), v)
	f.VMOVDQU(v, at(dst, 0))
	f.ADDQ(operand.Imm(32), from)
	f.ADDQ(operand.Imm(32), dst)
	f.CMPQ(dst, end)
	f.JCS(operand.LabelRef("loop"))
	f.VMOVDQU(at(tail, 0), v)
	f.VMOVDQU(v, at(end, 0))
	f.LEAQ(at(end, 32), dst)
	f.ADDQ(size, end)
	f.ADDQ(operand.Imm(8), index)
	f.DECQ(n)
	f.JNE(operand.LabelRef("row"))
}

// addRows adds whole vectors, then single elements.
func addRows(f function, size int, add, addOne, move func(...operand.Op)) {
	dst, src, index := f.arg("dst"), f.arg("src"), f.arg("index")
	n, bytes := f.arg("n"), f.arg("size")
	width := 32
	if f.wide {
		width = 64
	}
	f.Label("row")
	to, left := f.GP64(), f.GP64()
	f.MOVQ(at(index, 0), to)
	f.IMULQ(bytes, to)
	f.ADDQ(dst, to)
	f.MOVQ(bytes, left)
	step := func(width int) {
		f.ADDQ(operand.Imm(uint64(width)), src)
		f.ADDQ(operand.Imm(uint64(width)), to)
		f.SUBQ(operand.Imm(uint64(width)), left)
	}
	f.SUBQ(operand.Imm(uint64(width)), left)
	f.JCS(operand.LabelRef("rest"))
	f.Label("loop")
	v := f.vector()
	f.VMOVUPS(at(to, 0), v)
	add(at(src, 0), v, v)
	f.VMOVUPS(v, at(to, 0))
	step(width)
	f.JCC(operand.LabelRef("loop"))
	f.Label("rest")
	f.ADDQ(operand.Imm(uint64(width)), left)
	f.JE(operand.LabelRef("done"))
	f.Label("one")
	x := f.XMM()
	move(at(to, 0), x)
	addOne(at(src, 0), x, x)
	move(x, at(to, 0))
	step(size)
	f.JNE(operand.LabelRef("one"))
	f.Label("done")
	f.ADDQ(operand.Imm(8), index)
	f.DECQ(n)
	f.JNE(operand.LabelRef("row"))
}
