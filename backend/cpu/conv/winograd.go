package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// Winograd's convolution of float32 with a kernel of 3 x 3 takes tiles of 4 x 4 elements, two
// apart, to 2 x 2 windows each, with 16 products for each channel instead of 36: package
// gen/simd/conv says how. What it makes of tiles, kernels and their products lies in 16 planes.

// WinogradPlanes is how many planes there are.
const WinogradPlanes = 16

// HasWinograd reports whether a level has the functions that take tiles to planes and back.
func HasWinograd(level simd.Level) bool { return hasWinograd && level >= simd.AVX2 }

// WinogradFrame returns the frame of rows of tiles: of images with extents in, as Spread reads it.
func WinogradFrame(in, lead []int, rows, wide int) *Frame {
	four := []int{0, 1, 2, 3}
	return NewFrame(in, lead, []int{rows, wide}, []int{2, 2}, [][]int{four, four}, 4)
}

// Spread sets planes of dst, which are plane bytes apart, to what is made of rows of tiles over
// the frame at src, so many in each. Rows of dst follow one another, but the last one needs room
// for whole vectors.
func Spread(level simd.Level, dst unsafe.Pointer, plane int, f *Frame, src unsafe.Pointer, rows, wide int) {
	lanes := Lanes(level, 4) / 2
	spread(level, dst, plane, 4*wide, src, 4*f.Pitch[0], 4*f.Phase[1], rows, (wide+lanes-1)/lanes)
}

// Gather sets lines of width windows, which follow one another at dst, to what planes of src have
// of two of them in each row of tiles, which follow one another. It returns bit i where a window
// of the i-th pair of lines is infinite or not a number. There are at most 128 lines.
func Gather(level simd.Level, dst unsafe.Pointer, lines, width int, src unsafe.Pointer, plane int) (bad uint64) {
	lanes := Lanes(level, 4) / 2
	pairs := width / (2 * lanes)
	rest := width - 2*lanes*pairs
	return uint64(gather(level, dst, 4*width, src, plane, 4*((width+1)/2), lines, pairs, min(rest, lanes), max(rest-lanes, 0)))
}

// WinogradKernels sets planes at dst, each with n elements plane elements apart, to what is made of
// n kernels.
func WinogradKernels(dst []float32, plane int, kernels []float32) {
	half := func(a, b, c float32) (sum, difference float32) {
		return 0.5 * (a + c + b), 0.5 * (a + c - b)
	}
	for i := range len(kernels) / 9 {
		g := kernels[9*i : 9*i+9 : 9*i+9]
		var rows [4][3]float32
		for c := range 3 {
			rows[0][c], rows[3][c] = g[c], g[6+c]
			rows[1][c], rows[2][c] = half(g[c], g[3+c], g[6+c])
		}
		for r := range rows {
			at := 4*r*plane + i
			dst[at], dst[at+3*plane] = rows[r][0], rows[r][2]
			dst[at+plane], dst[at+2*plane] = half(rows[r][0], rows[r][1], rows[r][2])
		}
	}
}
