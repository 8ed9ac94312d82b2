package affine

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// vectorAt returns the loops of a level, none where there are none.
func vectorAt[T Float](level simd.Level) loops {
	single := unsafe.Sizeof(T(0)) == 4
	switch level = level.Vectors(); {
	case level >= simd.AVX512 && single:
		return loops{of(pull32AVX512), product(weigh32AVX512)}
	case level >= simd.AVX512:
		return loops{of(pull64AVX512), product(weigh64AVX512)}
	case level >= simd.AVX2 && single:
		return loops{of(pull32AVX2), product(weigh32AVX2)}
	case level >= simd.AVX2:
		return loops{of(pull64AVX2), product(weigh64AVX2)}
	}
	return loops{}
}

// of returns code as a loop: it has no places of its own.
func of(f func(n int, p []unsafe.Pointer, s *[2]uint64, index int64)) loop {
	return func(n int, p []unsafe.Pointer, s *[2]uint64) { f(n, p, s, 0) }
}

// product returns code that has no scalars as a loop.
func product(f func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64)) loop {
	return func(n int, p []unsafe.Pointer, _ *[2]uint64) { f(n, p, nil, 0) }
}
