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
		begin(c, "copyRows", "func(dst, src *byte, rows, n, to, from, aheadTo, aheadFrom int)",
			"copies rows rows, 1 or more, of n bytes, 64 or more, that begin to and from bytes apart, and asks for what is aheadTo and aheadFrom bytes after them, which need not be mapped. The two must not overlap.", wide, copyRows)
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
				"writes rows of n elements, a vector of them or more, each of the element that is step bytes after the row before's.", wide,
				func(f function) { spread(f, size) })
		}
	}
	for _, size := range []int{1, 2, 4, 8} {
		begin(c, fmt.Sprintf("spreadShort%d", size), "func(dst, src *byte, step, rows, bytes int)",
			"is spread for rows, 1 or more, of less than 32 bytes, of which each is written as 32: what is after a row is to be written later.", false,
			func(f function) { spreadShort(f, size) })
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
		"orders what was written past the caches before everything after it.", false, func(f function) { f.c.SFENCE() })
}

func pastCaches(f function) {
	dst, src, n := f.arg("dst"), f.arg("src"), f.arg("n")
	first, second, ahead := f.arg("first"), f.arg("second"), f.arg("ahead")
	f.c.ADDQ(ahead, first)
	f.c.ADDQ(ahead, second)
	f.c.Label("loop")
	f.c.PREFETCHT0(at(first, 0))
	f.c.PREFETCHT0(at(second, 0))
	width := 32
	if f.wide {
		width = 64
	}
	var v []reg.VecVirtual
	for i := 0; i < line; i += width {
		r := f.vector()
		f.c.VMOVUPS(at(src, i), r)
		v = append(v, r)
	}
	for i, r := range v {
		f.c.VMOVNTPS(r, at(dst, i*width))
	}
	for _, p := range []reg.Register{src, dst, first, second} {
		f.c.ADDQ(operand.Imm(line), p)
	}
	f.c.SUBQ(operand.Imm(line), n)
	f.c.JNE(operand.LabelRef("loop"))
}

// copyRows ends each row with a vector that overlaps those before.
func copyRows(f function) {
	dst, src, rows, n := f.arg("dst"), f.arg("src"), f.arg("rows"), f.arg("n")
	to, from := f.arg("to"), f.arg("from")
	aheadTo, aheadFrom := f.arg("aheadTo"), f.arg("aheadFrom")
	width, several := 32, 8
	if f.wide {
		width, several = 64, 4
	}
	f.c.Label("row")
	d, s, end, last := f.c.GP64(), f.c.GP64(), f.c.GP64(), f.c.GP64()
	f.c.MOVQ(dst, d)
	f.c.MOVQ(src, s)
	f.c.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -width}, end)
	f.c.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -several * width}, last)
	f.c.CMPQ(n, operand.U32(uint32(several*width)))
	f.c.JCS(operand.LabelRef("few"))
	f.c.Label("several")
	var v []reg.VecVirtual
	for i := range several {
		r := f.vector()
		f.c.VMOVUPS(at(s, i*width), r)
		v = append(v, r)
	}
	for i := 0; i < several*width; i += line {
		f.c.PREFETCHT0(operand.Mem{Base: s, Index: aheadFrom, Scale: 1, Disp: i})
		f.c.PREFETCHT0(operand.Mem{Base: d, Index: aheadTo, Scale: 1, Disp: i})
	}
	for i, r := range v {
		f.c.VMOVUPS(r, at(d, i*width))
	}
	f.c.ADDQ(operand.U32(uint32(several*width)), s)
	f.c.ADDQ(operand.U32(uint32(several*width)), d)
	f.c.CMPQ(d, last)
	f.c.JLS(operand.LabelRef("several"))
	f.c.Label("few")
	f.c.CMPQ(d, end)
	f.c.JCC(operand.LabelRef("last"))
	f.c.VMOVUPS(at(s, 0), v[0])
	f.c.VMOVUPS(v[0], at(d, 0))
	f.c.ADDQ(operand.Imm(uint64(width)), s)
	f.c.ADDQ(operand.Imm(uint64(width)), d)
	f.c.JMP(operand.LabelRef("few"))
	f.c.Label("last")
	f.c.VMOVUPS(operand.Mem{Base: src, Index: n, Scale: 1, Disp: -width}, v[0])
	f.c.VMOVUPS(v[0], at(end, 0))
	f.c.ADDQ(to, dst)
	f.c.ADDQ(from, src)
	f.c.DECQ(rows)
	f.c.JNE(operand.LabelRef("row"))
}

// fill ends with a store that overlaps those before: n is a multiple of the period of
// what the 8 bytes repeat.
func fill(f function) {
	dst, n := f.arg("dst"), f.arg("n")
	x, v := f.c.XMM(), f.vector()
	f.c.VMOVQ(f.arg("bits"), x)
	f.c.VPBROADCASTQ(x, v)
	width := 32
	if f.wide {
		width = 64
	}
	end := f.c.GP64()
	f.c.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -width}, end)
	f.c.Label("loop")
	f.c.VMOVUPS(v, at(dst, 0))
	f.c.ADDQ(operand.Imm(uint64(width)), dst)
	f.c.CMPQ(dst, end)
	f.c.JCS(operand.LabelRef("loop"))
	f.c.VMOVUPS(v, at(end, 0))
}

// spread ends each row with a store that overlaps those before.
func spread(f function, size int) {
	dst, src, step := f.arg("dst"), f.arg("src"), f.arg("step")
	rows, n := f.arg("rows"), f.arg("n")
	width := 32
	if f.wide {
		width = 64
	}
	v, end := f.vector(), f.c.GP64()
	f.c.LEAQ(operand.Mem{Base: dst, Index: n, Scale: uint8(size), Disp: -width}, end)
	f.c.SHLQ(operand.Imm(uint64(size/4+1)), n) // bytes of a row
	f.c.Label("row")
	if size == 4 {
		f.c.VBROADCASTSS(at(src, 0), v)
	} else {
		f.c.VBROADCASTSD(at(src, 0), v)
	}
	f.c.Label("loop")
	f.c.VMOVUPS(v, at(dst, 0))
	f.c.ADDQ(operand.Imm(uint64(width)), dst)
	f.c.CMPQ(dst, end)
	f.c.JCS(operand.LabelRef("loop"))
	f.c.VMOVUPS(v, at(end, 0))
	f.c.LEAQ(at(end, width), dst)
	f.c.ADDQ(n, end)
	f.c.ADDQ(step, src)
	f.c.DECQ(rows)
	f.c.JNE(operand.LabelRef("row"))
}

// spreadShort writes a vector for each row, which the next overlaps.
func spreadShort(f function, size int) {
	dst, src, step := f.arg("dst"), f.arg("src"), f.arg("step")
	rows, bytes, v := f.arg("rows"), f.arg("bytes"), f.c.YMM()
	f.c.Label("row")
	switch size {
	case 1:
		f.c.VPBROADCASTB(at(src, 0), v)
	case 2:
		f.c.VPBROADCASTW(at(src, 0), v)
	case 4:
		f.c.VBROADCASTSS(at(src, 0), v)
	default:
		f.c.VBROADCASTSD(at(src, 0), v)
	}
	f.c.VMOVUPS(v, at(dst, 0))
	f.c.ADDQ(bytes, dst)
	f.c.ADDQ(step, src)
	f.c.DECQ(rows)
	f.c.JNE(operand.LabelRef("row"))
}

// reverse ends with a block that overlaps those before.
func reverse(f function, size int) {
	dst, src, n := f.arg("dst"), f.arg("src"), f.arg("n")
	var order [2]uint64 // of the bytes in 16
	for i := range 16 {
		order[i/8] |= uint64(16-size-i/size*size+i%size) << (i % 8 * 8)
	}
	x, mask, v := f.c.XMM(), f.c.YMM(), f.c.YMM()
	g := f.c.GP64()
	f.c.MOVQ(operand.U64(order[0]), g)
	f.c.VMOVQ(g, x)
	f.c.MOVQ(operand.U64(order[1]), g)
	f.c.VPINSRQ(operand.Imm(1), g, x, x)
	f.c.VPERM2I128(operand.Imm(0), x.AsY(), x.AsY(), mask)
	end := f.c.GP64()
	f.c.LEAQ(operand.Mem{Base: src, Index: n, Scale: 1, Disp: -32}, end)
	last := f.c.GP64()
	f.c.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -32}, last)
	block := func(from, to reg.Register) {
		f.c.VMOVDQU(at(from, 0), v)
		f.c.VPSHUFB(mask, v, v)
		f.c.VPERMQ(operand.Imm(0x4e), v, v)
		f.c.VMOVDQU(v, at(to, 0))
	}
	f.c.Label("loop")
	block(end, dst)
	f.c.SUBQ(operand.Imm(32), end)
	f.c.ADDQ(operand.Imm(32), dst)
	f.c.CMPQ(dst, last)
	f.c.JCS(operand.LabelRef("loop"))
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
	end, last := f.c.GP64(), f.c.GP64()
	f.c.LEAQ(operand.Mem{Base: dst, Index: n, Scale: 1, Disp: -width}, end)
	f.c.LEAQ(operand.Mem{Base: src, Index: n, Scale: 2, Disp: -2 * width}, last)
	f.c.Label("loop")
	block(src, dst)
	f.c.ADDQ(operand.Imm(uint64(2*width)), src)
	f.c.ADDQ(operand.Imm(uint64(width)), dst)
	f.c.CMPQ(dst, end)
	f.c.JCS(operand.LabelRef("loop"))
	block(last, end)
}

// evenBlock returns what writes the code for a register's elements.
func (f function) evenBlock(size, width int) func(from, to reg.Register) {
	v := f.vector()
	if !f.wide {
		return func(from, to reg.Register) {
			f.c.VMOVUPS(at(from, 0), v)
			if size == 4 {
				f.c.VSHUFPS(operand.Imm(0xd8), at(from, width-size), v, v)
			} else {
				f.c.VSHUFPD(operand.Imm(0xa), at(from, width-size), v, v)
			}
			f.c.VPERMQ(operand.Imm(0xd8), v, v)
			f.c.VMOVUPS(v, at(to, 0))
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
	g, x, order := f.c.GP64(), f.c.XMM(), f.c.ZMM()
	f.c.MOVQ(operand.U64(numbers[0]), g)
	f.c.VMOVQ(g, x)
	if size == 8 {
		f.c.VPMOVZXBQ(x, order)
		return func(from, to reg.Register) {
			f.c.VMOVUPD(at(from, 0), v)
			f.c.VPERMT2PD(at(from, width-size), order, v)
			f.c.VMOVUPD(v, at(to, 0))
		}
	}
	f.c.MOVQ(operand.U64(numbers[1]), g)
	f.c.VPINSRQ(operand.Imm(1), g, x, x)
	f.c.VPMOVZXBD(x, order)
	return func(from, to reg.Register) {
		f.c.VMOVUPS(at(from, 0), v)
		f.c.VPERMT2PS(at(from, width-size), order, v)
		f.c.VMOVUPS(v, at(to, 0))
	}
}

func prefetch(f function) {
	p, n := f.arg("p"), f.arg("n")
	f.c.ADDQ(f.arg("ahead"), p)
	f.c.Label("loop")
	f.c.PREFETCHT0(at(p, 0))
	f.c.ADDQ(operand.Imm(line), p)
	f.c.SUBQ(operand.Imm(line), n)
	f.c.JG(operand.LabelRef("loop"))
}
