package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A Reverser copies n elements of some size at src to dst, the last one first. The two
// must not overlap. There is no bound on n.
type Reverser func(dst, src unsafe.Pointer, n int)

var reversers = [...][5]Reverser{
	simd.Portable: reversersOf(simd.Portable), simd.AVX2: reversersOf(simd.AVX2),
	simd.AVX512: reversersOf(simd.AVX512),
}

// Reverse returns a level's Reverser for elements of 1, 2, 4, 8 or 16 bytes.
func Reverse(level simd.Level, size int) Reverser { return reversers[level.Vectors()][logarithm(size)] }

func reversersOf(level simd.Level) [5]Reverser {
	return [5]Reverser{
		reverse[uint8](reverser(level, 1)), reverse[uint16](reverser(level, 2)), reverse[uint32](reverser(level, 4)),
		reverse[uint64](reverser(level, 8)), reverse[[2]uint64](nil),
	}
}

// leastReverse is the bytes from which vectors reverse.
const leastReverse = 32

// reverse returns the Reverser by f, which may be nil.
func reverse[T any](f func(dst, src *byte, n int)) Reverser {
	size := int(unsafe.Sizeof(*new(T)))
	return func(dst, src unsafe.Pointer, n int) {
		if f == nil || n*size < leastReverse {
			to, from := unsafe.Slice((*T)(dst), n), unsafe.Slice((*T)(src), n)
			for i, v := range from {
				to[n-1-i] = v
			}
			return
		}
		for n > 2*Chunk {
			n -= Chunk
			f(Bytes(dst), Bytes(unsafe.Add(src, n*size)), Chunk*size)
			dst = unsafe.Add(dst, Chunk*size)
		}
		f(Bytes(dst), Bytes(src), n*size)
	}
}
