package move

import (
	"fmt"

	"github.com/mmcloughlin/avo/build"
	"github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// transpositions writes the transposing copies of blocks, by bytes of an element.
func transpositions(c *build.Context) {
	transpose(c, 1, 16, false, narrowSquare)
	transpose(c, 2, 8, false, narrowSquare)
	transpose(c, 4, 8, false, square)
	transpose(c, 8, 4, false, square)
	transpose(c, 4, 16, true, square)
	transpose(c, 8, 8, true, square)
}

// transpose writes the copy of rows x cols elements to cols x rows ones, in squares
// of side, which turn reads from the rows that next steps through and hands on to
// store in order.
func transpose(c *build.Context, size, side int, wide bool,
	turn func(f function, size, side int, next func() reg.Register, store func(r reg.VecVirtual, upper bool))) {
	begin(c, fmt.Sprintf("transpose%d", size), "func(dst, src *byte, dstStride, srcStride, rows, cols int)",
		fmt.Sprintf("copies rows of cols elements to columns. Strides are in bytes, both counts multiples of %d.", side), wide, func(f function) {
			dst, src := f.arg("dst"), f.arg("src")
			dstStride, srcStride := f.arg("dstStride"), f.arg("srcStride")
			rows, cols := f.arg("rows"), f.arg("cols")
			jump, from, to, q, left := f.c.GP64(), f.c.GP64(), f.c.GP64(), f.c.GP64(), f.c.GP64()
			f.c.IMUL3Q(operand.Imm(uint64(side)), dstStride, jump)
			f.c.Label("columns")
			f.c.MOVQ(src, from)
			f.c.MOVQ(dst, to)
			f.c.MOVQ(rows, left)
			f.c.Label("rows")
			f.c.MOVQ(to, q)
			started := false
			turn(f, size, side, func() reg.Register {
				if started {
					f.c.ADDQ(srcStride, from)
				}
				started = true
				return from
			}, func(r reg.VecVirtual, upper bool) {
				if upper {
					f.c.VEXTRACTI128(operand.Imm(1), r, at(q, 0))
				} else {
					f.storeRow(size*side, r, q)
				}
				f.c.ADDQ(dstStride, q)
			})
			f.c.ADDQ(srcStride, from)
			f.c.ADDQ(operand.Imm(uint64(size*side)), to)
			f.c.SUBQ(operand.Imm(uint64(side)), left)
			f.c.JNE(operand.LabelRef("rows"))
			f.c.ADDQ(operand.Imm(uint64(size*side)), src)
			f.c.ADDQ(jump, dst)
			f.c.SUBQ(operand.Imm(uint64(side)), cols)
			f.c.JNE(operand.LabelRef("columns"))
		})
}

// storeRow writes the first bytes of r.
func (f function) storeRow(bytes int, r reg.VecVirtual, to reg.Register) {
	switch bytes {
	case 16:
		f.c.VMOVDQU(r.AsX(), at(to, 0))
	case 32:
		f.c.VMOVDQU(r.AsY(), at(to, 0))
	default:
		f.c.VMOVUPS(r, at(to, 0))
	}
}

// square turns elements of 4 or 8 bytes. A register takes 16 bytes of each of
// several rows, as far apart as there are elements in 16 bytes, so that turning
// within these 16 bytes is enough.
func square(f function, size, side int, next func() reg.Register, store func(reg.VecVirtual, bool)) {
	group := 16 / size
	chunks := make([][]reg.VecVirtual, side/group) // by columns, then by row of a group
	for k := range chunks {
		for range group {
			chunks[k] = append(chunks[k], f.vector())
		}
	}
	for r := range side {
		row, lane := next(), operand.Imm(uint64(r/group))
		for k := range chunks {
			v, m := chunks[k][r%group], at(row, 16*k)
			switch {
			case r < group && f.wide: // of all that is read, the first lane stays
				f.c.VBROADCASTF32X4(m, v)
			case r < group:
				f.c.VBROADCASTF128(m, v)
			case f.wide:
				f.c.VINSERTF32X4(lane, m, v, v)
			default:
				f.c.VINSERTF128(lane, m, v, v)
			}
		}
	}
	for _, v := range chunks {
		for _, r := range f.turnLanes(v) {
			store(r, false)
		}
	}
}

// turnLanes turns the 2x2 or 4x4 elements in each 16 bytes of v.
func (f function) turnLanes(v []reg.VecVirtual) []reg.VecVirtual {
	if len(v) == 2 {
		return f.unpack(f.c.VUNPCKLPD, f.c.VUNPCKHPD, v[0], v[1])
	}
	a, b := f.unpack(f.c.VUNPCKLPS, f.c.VUNPCKHPS, v[0], v[1]), f.unpack(f.c.VUNPCKLPS, f.c.VUNPCKHPS, v[2], v[3])
	return append(f.unpack(f.c.VUNPCKLPD, f.c.VUNPCKHPD, a[0], b[0]), f.unpack(f.c.VUNPCKLPD, f.c.VUNPCKHPD, a[1], b[1])...)
}

// unpack interleaves the lower and the upper elements of two registers.
func (f function) unpack(low, high func(...operand.Op), a, b reg.VecVirtual) []reg.VecVirtual {
	l, h := f.vector(), f.vector()
	low(b, a, l)
	high(b, a, h)
	return []reg.VecVirtual{l, h}
}

// narrowSquare turns elements of 1 or 2 bytes, whose rows have 16 bytes. A register
// takes two rows, half the side apart.
func narrowSquare(f function, size, side int, next func() reg.Register, store func(reg.VecVirtual, bool)) {
	v := make([]reg.VecVirtual, side/2)
	for r := range side {
		row := next()
		if r < len(v) {
			v[r] = f.vector()
			f.c.VBROADCASTI128(at(row, 0), v[r])
			continue
		}
		f.c.VINSERTI128(operand.Imm(1), at(row, 0), v[r-len(v)], v[r-len(v)])
	}
	f.unpackAll(size, v, func(r reg.VecVirtual) {
		f.c.VPERMQ(operand.Imm(0xd8), r, r)
		store(r, false)
		store(r, true)
	})
}

// unpackAll interleaves rows of elements of the given size until each register
// holds two columns of each half.
func (f function) unpackAll(size int, v []reg.VecVirtual, done func(reg.VecVirtual)) {
	if len(v) == 1 {
		done(v[0])
		return
	}
	low, high := f.c.VPUNPCKLBW, f.c.VPUNPCKHBW
	switch size {
	case 2:
		low, high = f.c.VPUNPCKLWD, f.c.VPUNPCKHWD
	case 4:
		low, high = f.c.VPUNPCKLDQ, f.c.VPUNPCKHDQ
	}
	var lower, upper []reg.VecVirtual
	for i := 0; i < len(v); i += 2 {
		u := f.unpack(low, high, v[i], v[i+1])
		lower, upper = append(lower, u[0]), append(upper, u[1])
	}
	f.unpackAll(2*size, lower, done)
	f.unpackAll(2*size, upper, done)
}
