package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// An Evener copies n elements, Step or more, that are two apart at src, to dst without
// gaps. The two must not overlap. There is no bound on n, and nothing is read beyond the
// last element.
type Evener func(dst, src unsafe.Pointer, n int)

// Evens returns a level's Evener for elements of a size, or nil.
func Evens(level simd.Level, size int) Evener {
	f := evener(level, size)
	if f == nil {
		return nil
	}
	return func(dst, src unsafe.Pointer, n int) {
		for ; n > Chunk+Step; n -= Chunk {
			f(Bytes(dst), Bytes(src), Chunk*size)
			dst, src = unsafe.Add(dst, Chunk*size), unsafe.Add(src, 2*Chunk*size)
		}
		f(Bytes(dst), Bytes(src), n*size)
	}
}
