package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Divide sets to to x/y, n elements of elem bytes each.
func Divide(level simd.Level, elem, n int, x, y, to unsafe.Pointer) {
	for lo := 0; lo < n; lo += mostProducts {
		m, at := min(n-lo, mostProducts), lo*elem
		x, y, to := unsafe.Add(x, at), unsafe.Add(y, at), unsafe.Add(to, at)
		switch {
		case level != simd.Portable:
			divide(level, elem, m, x, y, to)
		case elem == 4:
			dividePortable[float32](m, x, y, to)
		default:
			dividePortable[float64](m, x, y, to)
		}
	}
}

func dividePortable[T Float](n int, x, y, to unsafe.Pointer) {
	ys, tos := unsafe.Slice((*T)(y), n), unsafe.Slice((*T)(to), n)
	for i, e := range unsafe.Slice((*T)(x), n) {
		tos[i] = e / ys[i]
	}
}

// Add adds the elements of x to those of to, of which there are as many.
func Add[T Float](level simd.Level, x, to []T) {
	if level == simd.Portable {
		for i, e := range x {
			to[i] += e
		}
		return
	}
	for len(x) > 0 {
		n := min(len(x), mostProducts)
		add(level, int(unsafe.Sizeof(x[0])), n, unsafe.Pointer(&x[0]), unsafe.Pointer(&to[0]))
		x, to = x[n:], to[n:]
	}
}
