package lines

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](level simd.Level) vector[T] { return simd.Of[vector[T]](level, single, double) }

var (
	single = simd.By[vector[float32]]{
		AVX2:   vector[float32]{mixF32AVX2, spreadF32AVX2, dotsF32AVX2},
		AVX512: vector[float32]{mixF32AVX512, spreadF32AVX512, dotsF32AVX512},
	}
	double = simd.By[vector[float64]]{
		AVX2:   vector[float64]{mixF64AVX2, spreadF64AVX2, dotsF64AVX2},
		AVX512: vector[float64]{mixF64AVX512, spreadF64AVX512, dotsF64AVX512},
	}
)
