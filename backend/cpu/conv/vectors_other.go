//go:build !amd64

package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// No level above simd.Portable is available here, so that nothing calls gather,
// transpose and the like.

func gather(int, unsafe.Pointer, int, unsafe.Pointer, *int, int, *table, int) {}

func transpose(simd.Level, int, unsafe.Pointer, unsafe.Pointer, *int, *table, int) {}

func maxima(*Maxima, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, []int, int) bool { return false }

func divide(simd.Level, int, int, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) {}

func add(simd.Level, int, int, unsafe.Pointer, unsafe.Pointer) {}

func splits(int, int) bool { return false }

func split(int, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, int, int, int) {}

func merges(int, int) bool { return false }

func merge(int, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, int) {}

func copyRows(dst unsafe.Pointer, to int, src unsafe.Pointer, from, rows, bytes int) {
	copyRowsPortable(dst, to, src, from, rows, bytes)
}

func vectorsOf(simd.Level, int, int) *vectors { return nil }
