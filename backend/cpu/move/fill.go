package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Filler sets n elements of some size at dst to the one at src, which may be the
// first of them. There is no bound on n.
type Filler func(dst, src unsafe.Pointer, n int)

var fillers = [...][5]Filler{
	simd.Portable: fillersOf(nil), simd.AVX2: fillersOf(filler(simd.AVX2)),
	simd.AVX512: fillersOf(filler(simd.AVX512)),
}

// Fill returns a level's Filler for elements of 1, 2, 4, 8 or 16 bytes.
func Fill(level simd.Level, size int) Filler { return fillers[level.Vectors()][logarithm(size)] }

func fillersOf(f func(dst *byte, bits uint64, n int)) [5]Filler {
	if f == nil {
		return [5]Filler{fill[uint8], fill[uint16], fill[uint32], fill[uint64], fill[[2]uint64]}
	}
	return [5]Filler{
		vectorFill[uint8](f, 0x0101010101010101), vectorFill[uint16](f, 0x0001000100010001),
		vectorFill[uint32](f, 0x0000000100000001), vectorFill[uint64](f, 1), fill[[2]uint64],
	}
}

// leastFill is the bytes from which vectors fill.
const leastFill = 64

// vectorFill returns the Filler by f: a value times ones is the value repeated in 8
// bytes.
func vectorFill[T uint8 | uint16 | uint32 | uint64](f func(dst *byte, bits uint64, n int), ones uint64) Filler {
	size := int(unsafe.Sizeof(T(0)))
	return func(dst, src unsafe.Pointer, n int) {
		if n*size < leastFill {
			fill[T](dst, src, n)
			return
		}
		bits := uint64(*(*T)(src)) * ones
		for ; n > 2*Chunk; n -= Chunk {
			f(Bytes(dst), bits, Chunk*size)
			dst = unsafe.Add(dst, Chunk*size)
		}
		f(Bytes(dst), bits, n*size)
	}
}

// fill is the portable Filler.
func fill[T any](dst, src unsafe.Pointer, n int) {
	v, out := *(*T)(src), unsafe.Slice((*T)(dst), n)
	for i := range out {
		out[i] = v
	}
}

// A Spreader sets each of rows rows of n elements at dst, which follow each other, to
// one element: the first at src, the others step elements apart. There are at most
// Chunk in all.
type Spreader func(dst, src unsafe.Pointer, step, rows, n int)

var spreaders = [...][5]Spreader{
	simd.Portable: spreadersOf(simd.Portable), simd.AVX2: spreadersOf(simd.AVX2),
	simd.AVX512: spreadersOf(simd.AVX512),
}

// Spread returns a level's Spreader for elements of 1, 2, 4, 8 or 16 bytes.
func Spread(level simd.Level, size int) Spreader { return spreaders[level.Vectors()][logarithm(size)] }

// shortSpread is the bytes of the rows from which spreader's functions fill them: of shorter
// ones each is written as so many bytes, and the next over what is too many.
const shortSpread = 32

func spreadersOf(level simd.Level) (list [5]Spreader) {
	for i := range list {
		size, short := 1<<i, shortSpreader(level, 1<<i)
		fill := Fill(level, size)
		each := func(dst, src unsafe.Pointer, step, rows, n int) {
			for r := range rows {
				fill(unsafe.Add(dst, r*n*size), unsafe.Add(src, r*step*size), n)
			}
		}
		list[i] = func(dst, src unsafe.Pointer, step, rows, n int) {
			bytes := n * size
			switch f := spreader(level, size, bytes); {
			case rows == 0 || n == 0:
			case f != nil:
				f(Bytes(dst), Bytes(src), step*size, rows, n)
			case short != nil && bytes < shortSpread && rows*bytes >= shortSpread:
				some := (rows*bytes-shortSpread)/bytes + 1
				short(Bytes(dst), Bytes(src), step*size, some, bytes)
				each(unsafe.Add(dst, some*bytes), unsafe.Add(src, some*step*size), step, rows-some, n)
			default:
				each(dst, src, step, rows, n)
			}
		}
	}
	return list
}
