package step

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](level simd.Level) (v vector[T]) {
	to, ok := any(&v).(*vector[float32])
	switch {
	case !ok:
	case level >= simd.AVX512:
		*to = vector[float32]{16, extentF32AVX512, quantizeF32AVX512, gatesF32AVX512, cellF32AVX512, productF32AVX512}
	case level == simd.AVX2:
		*to = vector[float32]{8, extentF32AVX2, quantizeF32AVX2, gatesF32AVX2, cellF32AVX2, productF32AVX2}
	}
	return v
}
