package move

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// The functions of this file take an index whose every entry has been checked.

// Take copies the elements of size bytes at src that index names to dst.
func Take(level simd.Level, size int, dst, src unsafe.Pointer, index []int64) {
	if f := taker(level, size); f != nil {
		for len(index) >= 4 {
			n := min(len(index), Chunk) &^ 3
			f(Bytes(dst), Bytes(src), &index[0], n)
			index = index[n:]
			if len(index) == 0 {
				return
			}
			dst = unsafe.Add(dst, n*size)
		}
	}
	switch size {
	case 1:
		take[uint8](dst, src, index)
	case 2:
		take[uint16](dst, src, index)
	case 4:
		take[uint32](dst, src, index)
	case 8:
		take[uint64](dst, src, index)
	default:
		take[[2]uint64](dst, src, index)
	}
}

func take[T any](dst, src unsafe.Pointer, index []int64) {
	size := int(unsafe.Sizeof(*new(T)))
	to := unsafe.Slice((*T)(dst), len(index))
	for j, i := range index {
		to[j] = *(*T)(unsafe.Add(src, int(i)*size))
	}
}

const (
	leastRow = 32   // bytes of the rows that vectors copy, at least
	mostRow  = 4096 // and at most: others are copied as memory is
)

// TakeRows copies the rows of size bytes at src that index names to dst.
func TakeRows(level simd.Level, dst, src unsafe.Pointer, index []int64, size int) {
	if f := rowTaker(level); f != nil && size >= leastRow && size <= mostRow {
		each(index, size, func(at int, part []int64) {
			f(Bytes(unsafe.Add(dst, at*size)), Bytes(src), &part[0], len(part), size)
		})
		return
	}
	to := unsafe.Slice((*byte)(dst), len(index)*size)
	for k, i := range index {
		copy(to[k*size:(k+1)*size], unsafe.Slice((*byte)(unsafe.Add(src, int(i)*size)), size))
	}
}

// AddRows adds rows of size bytes at src, one after the other, to the rows at dst that
// index names, in order. A row is at most a chunk. It reports false, and does nothing, where the level has no
// vectors for the dtype.
func AddRows(level simd.Level, dtype ir.DType, dst, src unsafe.Pointer, index []int64, size int) bool {
	f := rowAdder(level, dtype)
	if f == nil {
		return false
	}
	each(index, size, func(at int, part []int64) {
		f(Bytes(dst), Bytes(unsafe.Add(src, at*size)), &part[0], len(part), size)
	})
	return true
}

// each calls f for parts of the index whose rows are not more than a chunk, unless one
// alone is.
func each(index []int64, size int, f func(at int, part []int64)) {
	n := max(1, 4*Chunk/max(size, 1))
	for at := 0; at < len(index); at += n {
		f(at, index[at:min(at+n, len(index))])
	}
}
