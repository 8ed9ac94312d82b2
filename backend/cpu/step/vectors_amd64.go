package step

import "github.com/sinter-go/sinter/backend/cpu/simd"

// vectors32 returns a level's vector functions, nil where it has none.
func vectors32(level simd.Level) *Steps[float32] {
	switch {
	case level >= simd.AVX512:
		return &Steps[float32]{sgdF32AVX512, momentumF32AVX512, nesterovF32AVX512, adamF32AVX512}
	case level == simd.AVX2:
		return &Steps[float32]{sgdF32AVX2, momentumF32AVX2, nesterovF32AVX2, adamF32AVX2}
	}
	return nil
}

// vectors64 returns a level's vector functions, nil where it has none.
func vectors64(level simd.Level) *Steps[float64] {
	switch {
	case level >= simd.AVX512:
		return &Steps[float64]{sgdF64AVX512, momentumF64AVX512, nesterovF64AVX512, adamF64AVX512}
	case level == simd.AVX2:
		return &Steps[float64]{sgdF64AVX2, momentumF64AVX2, nesterovF64AVX2, adamF64AVX2}
	}
	return nil
}
