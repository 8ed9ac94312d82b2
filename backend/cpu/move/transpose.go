package move

import (
	"math/bits"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Turner copies rows rows of cols elements of some size at src to columns at dst:
// cols rows of rows elements. Strides are the bytes between rows of either side. The
// two must not overlap, and rows*cols is at most Chunk.
type Turner func(dst, src unsafe.Pointer, dstStride, srcStride, rows, cols int)

// A square is a function for blocks whose rows and columns are multiples of side.
type square struct {
	side int
	turn func(dst, src *byte, dstStride, srcStride, rows, cols int)
}

var turners = [...][5]Turner{
	simd.Portable: turnersOf(simd.Portable), simd.AVX2: turnersOf(simd.AVX2),
	simd.AVX512: turnersOf(simd.AVX512),
}

// Transpose returns a level's Turner for elements of 1, 2, 4, 8 or 16 bytes.
func Transpose(level simd.Level, size int) Turner {
	return turners[level.Vectors()][logarithm(size)]
}

// logarithm returns the place of an element's size in tables.
func logarithm(size int) int { return bits.TrailingZeros(uint(size)) }

func turnersOf(level simd.Level) [5]Turner {
	return [5]Turner{
		turner[uint8](squares(level, 1)), turner[uint16](squares(level, 2)), turner[uint32](squares(level, 4)),
		turner[uint64](squares(level, 8)), turner[[2]uint64](squares(level, 16)),
	}
}

// turner returns the Turner that uses the first of the squares that fits.
func turner[T any](list []square) Turner {
	return func(dst, src unsafe.Pointer, dstStride, srcStride, rows, cols int) {
		for _, s := range list {
			if rows >= s.side && cols >= s.side {
				s.cover(int(unsafe.Sizeof(*new(T))), dst, src, dstStride, srcStride, rows, cols)
				return
			}
		}
		turn[T](dst, src, dstStride, srcStride, rows, cols)
	}
}

// cover copies a block that is not smaller than the square. Where its sides are not
// multiples of the square's, the last squares overlap those before.
func (s square) cover(size int, dst, src unsafe.Pointer, dstStride, srcStride, rows, cols int) {
	r, c := rows&^(s.side-1), cols&^(s.side-1)
	part := func(row, col, rows, cols int) {
		s.turn(Bytes(unsafe.Add(dst, col*dstStride+row*size)), Bytes(unsafe.Add(src, row*srcStride+col*size)), dstStride, srcStride, rows, cols)
	}
	part(0, 0, r, c)
	if c < cols {
		part(0, cols-s.side, r, s.side)
	}
	if r < rows {
		part(rows-s.side, 0, s.side, c)
		if c < cols {
			part(rows-s.side, cols-s.side, s.side, s.side)
		}
	}
}

// turn is the portable Turner.
func turn[T any](dst, src unsafe.Pointer, dstStride, srcStride, rows, cols int) {
	for c := range cols {
		to := unsafe.Slice((*T)(unsafe.Add(dst, c*dstStride)), rows)
		from := unsafe.Add(src, c*int(unsafe.Sizeof(*new(T))))
		for r := range to {
			to[r] = *(*T)(from)
			if r+1 < rows { // no pointer beyond the last row
				from = unsafe.Add(from, srcStride)
			}
		}
	}
}
