package softmaxgrad

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// vectorsAt returns the loops of a level, nothing where there are none.
func vectorsAt[T Float](level simd.Level) loops {
	single := unsafe.Sizeof(T(0)) == 4
	switch level = level.Vectors(); {
	case level >= simd.AVX512 && single:
		return loops{
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { add32AVX512(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { pull32AVX512(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, s *[1]uint64) { pullOf32AVX512(n, p, s, 0) },
		}
	case level >= simd.AVX512:
		return loops{
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { add64AVX512(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { pull64AVX512(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, s *[1]uint64) { pullOf64AVX512(n, p, s, 0) },
		}
	case level >= simd.AVX2 && single:
		return loops{
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { add32AVX2(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { pull32AVX2(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, s *[1]uint64) { pullOf32AVX2(n, p, s, 0) },
		}
	case level >= simd.AVX2:
		return loops{
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { add64AVX2(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, _ *[1]uint64) { pull64AVX2(n, p, nil, 0) },
			func(n int, p []unsafe.Pointer, s *[1]uint64) { pullOf64AVX2(n, p, s, 0) },
		}
	}
	return loops{}
}
