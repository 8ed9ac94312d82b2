package lines

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](level simd.Level) (v vector[T]) {
	switch to := any(&v).(type) {
	case *vector[float32]:
		if level >= simd.AVX512 {
			*to = vector[float32]{mixF32AVX512, spreadF32AVX512, dotsF32AVX512}
		} else if level == simd.AVX2 {
			*to = vector[float32]{mixF32AVX2, spreadF32AVX2, dotsF32AVX2}
		}
	case *vector[float64]:
		if level >= simd.AVX512 {
			*to = vector[float64]{mixF64AVX512, spreadF64AVX512, dotsF64AVX512}
		} else if level == simd.AVX2 {
			*to = vector[float64]{mixF64AVX2, spreadF64AVX2, dotsF64AVX2}
		}
	}
	return v
}
