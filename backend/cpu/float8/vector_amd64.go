package float8

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// vectors returns the loop over floats of 4 or 8 bytes at a level, nil where there is none.
func vectors(level simd.Level, size int) func(n int, p []unsafe.Pointer, s *[8]uint64, index int64) {
	switch level = level.Vectors(); {
	case level >= simd.AVX512 && size == 8:
		return encodeF64AVX512
	case level >= simd.AVX512:
		return encodeF32AVX512
	case level >= simd.AVX2 && size == 8:
		return encodeF64AVX2
	case level >= simd.AVX2:
		return encodeF32AVX2
	}
	return nil
}
