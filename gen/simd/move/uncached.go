package move

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// line is the bytes of a cache line.
const line = 64

// uncached writes the functions for arrays that no cache holds.
func uncached(c *build.Context) {
	for _, wide := range []bool{false, true} {
		begin(c, "uncached", "func(dst, src *byte, n int, first, second *byte, ahead int)",
			"copies n bytes, a multiple of 64, past the caches to dst, which is aligned to 64, and asks for as many that are ahead bytes after first and second. They need not be mapped. Fence must follow.", wide, pastCaches)
	}
	for _, wide := range []bool{false, true} {
		begin(c, "copyRows", "func(dst, src *byte, rows, n, to, from int)",
			"copies rows rows, 1 or more, of n bytes, 64 or more, that begin to and from bytes apart. The two must not overlap.", wide, copyRows)
	}
	begin(c, "prefetch", "func(p *byte, ahead, n int)",
		"asks for the n bytes, at least 1, that are ahead bytes after p. They need not be mapped.", false, prefetch)
	for _, wide := range []bool{false, true} {
		begin(c, "fill", "func(dst *byte, bits uint64, n int)",
			"repeats 8 bytes; n is at least 64. The last repetition is cut where n ends.", wide, fill)
	}
	for _, wide := range []bool{false, true} {
		for _, size := range []int{4, 8} {
			begin(c, fmt.Sprintf("spread%d", size), "func(dst, src *byte, step, rows, n int)",
				"writes rows of n elements, 16 or more, each of the element that is step bytes after the row before's.", wide,
				func(f function) { spread(f, size) })
		}
	}
	for _, size := range []int{1, 2, 4, 8} {
		begin(c, fmt.Sprintf("reverse%d", size), "func(dst, src *byte, n int)",
			"copies n bytes, 32 or more, in reverse order of their elements.", false, func(f function) { reverse(f, size) })
	}
	for _, wide := range []bool{false, true} {
		for _, size := range []int{4, 8} {
			begin(c, fmt.Sprintf("evens%d", size), "func(dst, src *byte, n int)",
				"copies n bytes, 64 or more, of the elements of src with even numbers.", wide, func(f function) { evens(f, size) })
		}
	}
	begin(c, "fence", "func()",
		"orders what was written past the caches before everything after it.", false, func(f function) { f.SFENCE() })
}

func pastCaches(f function) {
	dst, src, n := f.arg("dst"), f.arg("src"), f.arg("n")
	first, second, ahead := f.arg("first"), f.arg("second"), f.arg("ahead")
	f.ADDQ(ahead, first)
	f.ADDQ(ahead, second)
	f.Label("loop")
	f.PREFETCHT0(at(first, 0))
	f.PREFETCHT0(at(second, 0))
	width := 32
	if f.wide {
		width = 64
	}
	var v []reg.VecVirtual
	for i := 0; i < line; i += width {
		r := f.vector()
		f.VMOVUPS(at(src, i), r)
		v = append(v, r)
	}
	for i, r := range v {
		f.VMOVNTPS(r, at(dst, i*width))
	}
	for _, p := range []reg.Register{src, dst, first, second} {
		f.ADDQ(operand.Imm(line), p)
	}
	f.SUBQ(operand.Imm(line), n)
	f.JNE(operand.LabelRef("loop"))
}

// aheadBytes is how many bytes before they are copied memory is asked for: processors do
// so of themselves only up to the end of a page.
const aheadBytes = 2048

// copyRows ends each row with a vector that overlaps those before.
func copyRows(f function) {
	dst, src, rows, n := f.arg("dst"), f.arg("src"), f.arg("rows"), f.arg("n")
	to, from := f.arg("to"), f.arg("from")
	width, several := 32, 8
	if f.wide {
		width, several = 64, 4
	}
	f.Label("row")
	d, s, end, last := f.GP64(), f.GP64(), f.GP64(), f.GP64()
	f.MOVQ(dst, d)
	f.MOVQ(src, s)
	f.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -width}, end)
	f.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -several * width}, last)
	f.CMPQ(n, operand.U32(uint32(several*width)))
	f.JCS(operand.LabelRef("few"))
	f.Label("several")
	var v []reg.VecVirtual
	for i := range several {
		r := f.vector()
		f.VMOVUPS(at(s, i*width), r)
		v = append(v, r)
	}
	for i := 0; i < several*width; i += line {
		f.PREFETCHT0(at(s, aheadBytes+i))
		f.PREFETCHT0(at(d, aheadBytes+i))
	}
	for i, r := range v {
		f.VMOVUPS(r, at(d, i*width))
	}
	f.ADDQ(operand.U32(uint32(several*width)), s)
	f.ADDQ(operand.U32(uint32(several*width)), d)
	f.CMPQ(d, last)
	f.JLS(operand.LabelRef("several"))
	f.Label("few")
	f.CMPQ(d, end)
	f.JCC(operand.LabelRef("last"))
	f.VMOVUPS(at(s, 0), v[0])
	f.VMOVUPS(v[0], at(d, 0))
	f.ADDQ(operand.Imm(uint64(width)), s)
	f.ADDQ(operand.Imm(uint64(width)), d)
	f.JMP(operand.LabelRef("few"))
	f.Label("last")
	f.VMOVUPS(operand.Mem{Base: src, Index: n, Scale: 1, Disp: -width}, v[0])
	f.VMOVUPS(v[0], at(end, 0))
	f.ADDQ(to, dst)
	f.ADDQ(from, src)
	f.DECQ(rows)
	f.JNE(operand.LabelRef("row"))
}

// fill ends with a store that overlaps those before: n is a multiple of the period of
// what the 8 bytes repeat.
func fill(f function) {
	dst, n := f.arg("dst"), f.arg("n")
	x, v := f.XMM(), f.vector()
	f.VMOVQ(f.arg("bits"), x)
	f.VPBROADCASTQ(x, v)
	width := 32
	if f.wide {
		width = 64
	}
	end := f.GP64()
	f.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -width}, end)
	f.Label("loop")
	f.VMOVUPS(v, at(dst, 0))
	f.ADDQ(operand.Imm(uint64(width)), dst)
	f.CMPQ(dst, end)
	f.JCS(operand.LabelRef("loop"))
	f.VMOVUPS(v, at(end, 0))
}

// spread ends each row with a store that overlaps those before.
func spread(f function, size int) {
	dst, src, step := f.arg("dst"), f.arg("src"), f.arg("step")
	rows, n := f.arg("rows"), f.arg("n")
	width := 32
	if f.wide {
		width = 64
	}
	v, end := f.vector(), f.GP64()
	f.LEAQ(operand.Mem{Base: dst, Index: n, Scale: uint8(size), Disp: -width}, end)
	f.SHLQ(operand.Imm(uint64(size/4+1)), n) // bytes of a row
	f.Label("row")
	if size == 4 {
		f.VBROADCASTSS(at(src, 0), v)
	} else {
		f.VBROADCASTSD(at(src, 0), v)
	}
	f.Label("loop")
	f.VMOVUPS(v, at(dst, 0))
	f.ADDQ(operand.Imm(uint64(width)), dst)
	f.CMPQ(dst, end)
	f.JCS(operand.LabelRef("loop"))
	f.VMOVUPS(v, at(end, 0))
	f.LEAQ(at(end, width), dst)
	f.ADDQ(n, end)
	f.ADDQ(step, src)
	f.DECQ(rows)
	f.JNE(operand.LabelRef("row"))
}

// reverse ends with a block that overlaps those before.
func reverse(f function, size int) {
	dst, src, n := f.arg("dst"), f.arg("src"), f.arg("n")
	var order [2]uint64 // of the bytes in 16
	for i := range 16 {
		order[i/8] |= uint64(16-size-i/size*size+i%size) << (i % 8 * 8)
	}
	x, mask, v := f.XMM(), f.YMM(), f.YMM()
	g := f.GP64()
	f.MOVQ(operand.U64(order[0]), g)
	f.VMOVQ(g, x)
	f.MOVQ(operand.U64(order[1]), g)
	f.VPINSRQ(operand.Imm(1), g, x, x)
	f.VPERM2I128(operand.Imm(0), x.AsY(), x.AsY(), mask)
	end := f.GP64()
	f.LEAQ(operand.Mem{Base: src, Index: n, Scale: 1, Disp: -32}, end)
	last := f.GP64()
	f.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -32}, last)
	block := func(from, to reg.Register) {
		f.VMOVDQU(at(from, 0), v)
		f.VPSHUFB(mask, v, v)
		f.VPERMQ(operand.Imm(0x4e), v, v)
		f.VMOVDQU(v, at(to, 0))
	}
	f.Label("loop")
	block(end, dst)
	f.SUBQ(operand.Imm(32), end)
	f.ADDQ(operand.Imm(32), dst)
	f.CMPQ(dst, last)
	f.JCS(operand.LabelRef("loop"))
	block(src, last)
}

// evens ends with a block that overlaps those before. A block's second half is of the
// elements with odd numbers from one before it on: nothing beyond the last that is
// copied is read.
func evens(f function, size int) {
	dst, src, n := f.arg("dst"), f.arg("src"), f.arg("n")
	width := 32
	if f.wide {
		width = 64
	}
	block := f.evenBlock(size, width)
	end, last := f.GP64(), f.GP64()
	f.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -width}, end)
	f.LEAQ(operand.Mem{Base: src, Index: n, Scale: 2, Disp: -2 * width}, last)
	f.Label("loop")
	block(src, dst)
	f.ADDQ(operand.Imm(uint64(2*width)), src)
	f.ADDQ(operand.Imm(uint64(width)), dst)
	f.CMPQ(dst, end)
	f.JCS(operand.LabelRef("loop"))
	block(last, end)
}

// evenBlock returns what writes the code for a register's elements.
func (f function) evenBlock(size, width int) func(from, to reg.Register) {
	v := f.vector()
	if !f.wide {
		return func(from, to reg.Register) {
			f.VMOVUPS(at(from, 0), v)
			if size == 4 {
				f.VSHUFPS(operand.Imm(0xd8), at(from, width-size), v, v)
			} else {
				f.VSHUFPD(operand.Imm(0xa), at(from, width-size), v, v)
			}
			f.VPERMQ(operand.Imm(0xd8), v, v)
			f.VMOVUPS(v, at(to, 0))
		}
	}
	lanes := width / size
	var numbers [2]uint64 // a byte each, those of the second register from lanes on
	for i := range lanes {
		from := 2 * i
		if i >= lanes/2 {
			from++
		}
		numbers[i/8] |= uint64(from) << (i % 8 * 8)
	}
	g, x, order := f.GP64(), f.XMM(), f.ZMM()
	f.MOVQ(operand.U64(numbers[0]), g)
	f.VMOVQ(g, x)
	if size == 8 {
		f.VPMOVZXBQ(x, order)
		return func(from, to reg.Register) {
			f.VMOVUPD(at(from, 0), v)
			f.VPERMT2PD(at(from, width-size), order, v)
			f.VMOVUPD(v, at(to, 0))
		}
	}
	f.MOVQ(operand.U64(numbers[1]), g)
	f.VPINSRQ(operand.Imm(1), g, x, x)
	f.VPMOVZXBD(x, order)
	return func(from, to reg.Register) {
		f.VMOVUPS(at(from, 0), v)
		f.VPERMT2PS(at(from, width-size), order, v)
		f.VMOVUPS(v, at(to, 0))
	}
}

func prefetch(f function) {
	p, n := f.arg("p"), f.arg("n")
	f.ADDQ(f.arg("ahead"), p)
	f.Label("loop")
	f.PREFETCHT0(at(p, 0))
	f.ADDQ(operand.Imm(line), p)
	f.SUBQ(operand.Imm(line), n)
	f.JG(operand.LabelRef("loop"))
}
