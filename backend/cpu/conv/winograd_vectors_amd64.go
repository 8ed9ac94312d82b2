package conv

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

const hasWinograd = true

func spread(level simd.Level, dst unsafe.Pointer, plane, to int, src unsafe.Pointer, pitch, odd, rows, n int) {
	f := spreadF32AVX2
	if level >= simd.AVX512 {
		f = spreadF32AVX512
	}
	f((*byte)(dst), plane, to, (*byte)(src), pitch, odd, rows, n)
}

func gather(level simd.Level, dst unsafe.Pointer, pitch int, src unsafe.Pointer, plane, from, lines, pairs, low, high int) int {
	f := gatherF32AVX2
	if level >= simd.AVX512 {
		f = gatherF32AVX512
	}
	return f((*byte)(dst), pitch, (*byte)(src), plane, from, lines, pairs, low, high)
}
