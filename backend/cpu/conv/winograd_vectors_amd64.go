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

func lineSpread(level simd.Level, v, d *[4]unsafe.Pointer, bytes int) {
	f := lineSpreadF32AVX2
	if level >= simd.AVX512 {
		f = lineSpreadF32AVX512
	}
	f((*byte)(v[0]), (*byte)(v[1]), (*byte)(v[2]), (*byte)(v[3]), (*byte)(d[0]), (*byte)(d[1]), (*byte)(d[2]), (*byte)(d[3]), bytes)
}

func lineGather(level simd.Level, dst, src unsafe.Pointer, plane, units int) int {
	f := lineGatherF32AVX2
	if level >= simd.AVX512 {
		f = lineGatherF32AVX512
	}
	return f((*byte)(dst), (*byte)(src), plane, units)
}
