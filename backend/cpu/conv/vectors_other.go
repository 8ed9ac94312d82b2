//go:build !amd64

package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// No level above simd.Portable is available here, so that nothing calls maxima,
// divide and the like.

func maxima(*Maxima, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, []int, int) bool { return false }

func quads(*Quads, int, int, int, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) {}

func divide(simd.Level, int, int, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer) {}

func add(simd.Level, int, int, unsafe.Pointer, unsafe.Pointer) {}

func splits(int, int) bool { return false }

func split(int, unsafe.Pointer, unsafe.Pointer, int, unsafe.Pointer, int, int, int) {}

func merges(int, int) bool { return false }

func merge(int, unsafe.Pointer, unsafe.Pointer, unsafe.Pointer, int) {}

func copyPlanes(dst unsafe.Pointer, toPlane, to int, src unsafe.Pointer, fromPlane, from, planes, rows, bytes int) {
	copyPlanesPortable(dst, toPlane, to, src, fromPlane, from, planes, rows, bytes)
}

func vectorsOf(simd.Level, int, int) *vectors { return nil }

func tilesOf(simd.Level, int, int) (tiles, pairs []tileFunc) { return nil, nil }

// Ask asks for rows of so many bytes that will be read, where that is known to help.
func Ask(level simd.Level, src unsafe.Pointer, step, rows, bytes int) {}

const hasWinograd = false

func spread(level simd.Level, dst unsafe.Pointer, plane, to int, src unsafe.Pointer, pitch, odd, rows, n int) {
}

func gather(level simd.Level, dst unsafe.Pointer, pitch int, src unsafe.Pointer, plane, from, lines, pairs, low, high int) int {
	return 0
}

func lineSpread(level simd.Level, v, d *[4]unsafe.Pointer, bytes int) {}

func lineGather(level simd.Level, dst, src unsafe.Pointer, plane, units int) int { return 0 }
