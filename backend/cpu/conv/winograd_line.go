package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Winograd's convolution of float32 along one axis, with a kernel of 3 places, takes tiles of 4
// elements, two apart, to 2 windows each: package gen/simd/conv says how. What it makes of tiles and
// of their products lies in 4 planes. A level that HasWinograd has these functions.

// WinogradUnit is how many tiles are computed together.
const WinogradUnit = 16

// SpreadLine sets v to what is made of n tiles, whole units of them, whose elements are d: each of n numbers.
func SpreadLine(level simd.Level, v, d *[4]unsafe.Pointer, n int) {
	if n > 0 {
		lineSpread(level, v, d, 4*n)
	}
}

// GatherLine sets dst to the windows of so many units of tiles, 64 at most, of which src has the sums in
// planes that are plane bytes apart. It returns bit i where a window of the i-th unit is infinite or not
// a number.
func GatherLine(level simd.Level, dst, src unsafe.Pointer, plane, units int) (bad uint64) {
	if units == 0 {
		return 0
	}
	return uint64(lineGather(level, dst, src, plane, units))
}
