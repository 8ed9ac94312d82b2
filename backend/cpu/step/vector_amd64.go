package step

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](level simd.Level) vector[T] {
	return simd.Of[vector[T]](level, single, simd.By[vector[float64]]{})
}

var single = simd.By[vector[float32]]{
	AVX2:   vector[float32]{8, extentF32AVX2, quantizeF32AVX2, gatesF32AVX2, cellF32AVX2, productF32AVX2},
	AVX512: vector[float32]{16, extentF32AVX512, quantizeF32AVX512, gatesF32AVX512, cellF32AVX512, productF32AVX512},
}
