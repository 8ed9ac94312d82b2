package affine

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// vectorAt returns the loop of a level, nil where there is none.
func vectorAt[T Float](level simd.Level) loop {
	single := unsafe.Sizeof(T(0)) == 4
	switch level = level.Vectors(); {
	case level >= simd.AVX512 && single:
		return func(n int, p []unsafe.Pointer, s *[2]uint64) { pull32AVX512(n, p, s, 0) }
	case level >= simd.AVX512:
		return func(n int, p []unsafe.Pointer, s *[2]uint64) { pull64AVX512(n, p, s, 0) }
	case level >= simd.AVX2 && single:
		return func(n int, p []unsafe.Pointer, s *[2]uint64) { pull32AVX2(n, p, s, 0) }
	case level >= simd.AVX2:
		return func(n int, p []unsafe.Pointer, s *[2]uint64) { pull64AVX2(n, p, s, 0) }
	}
	return nil
}
