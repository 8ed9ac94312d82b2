package cofactor

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// vectors returns the loops of a level, nil where there are none.
func vectors(level simd.Level) *Loops {
	switch level = level.Vectors(); {
	case level >= simd.AVX512:
		return &Loops{
			func(n int, p []unsafe.Pointer) { takeInAVX512(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer) { othersAVX512(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, s *[2]uint64) { othersOfAVX512(n, p, s, 0) },
		}
	case level >= simd.AVX2:
		return &Loops{
			func(n int, p []unsafe.Pointer) { takeInAVX2(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer) { othersAVX2(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, s *[2]uint64) { othersOfAVX2(n, p, s, 0) },
		}
	}
	return nil
}
