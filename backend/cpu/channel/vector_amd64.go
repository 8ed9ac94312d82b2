package channel

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](level simd.Level) vector[T] { return simd.Of[vector[T]](level, single, double) }

var (
	single = simd.By[vector[float32]]{
		AVX2:   vector[float32]{momentsF32AVX2, normalF32AVX2, sumsF32AVX2, gradF32AVX2, gradSumsF32AVX2},
		AVX512: vector[float32]{momentsF32AVX512, normalF32AVX512, sumsF32AVX512, gradF32AVX512, gradSumsF32AVX512},
	}
	double = simd.By[vector[float64]]{
		AVX2:   vector[float64]{momentsF64AVX2, normalF64AVX2, sumsF64AVX2, gradF64AVX2, gradSumsF64AVX2},
		AVX512: vector[float64]{momentsF64AVX512, normalF64AVX512, sumsF64AVX512, gradF64AVX512, gradSumsF64AVX512},
	}
)
