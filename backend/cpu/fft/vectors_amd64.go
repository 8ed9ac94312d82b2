package fft

import "github.com/sinter-go/sinter/backend/cpu/simd"

var (
	passesF32AVX2   = vectorPasses{32, [6]func(y, x, w *byte, width, apart, span, count int){2: radix2F32AVX2, 3: radix3F32AVX2, 4: radix4F32AVX2, 5: radix5F32AVX2}}
	passesF64AVX2   = vectorPasses{32, [6]func(y, x, w *byte, width, apart, span, count int){2: radix2F64AVX2, 3: radix3F64AVX2, 4: radix4F64AVX2, 5: radix5F64AVX2}}
	passesF32AVX512 = vectorPasses{64, [6]func(y, x, w *byte, width, apart, span, count int){2: radix2F32AVX512, 3: radix3F32AVX512, 4: radix4F32AVX512, 5: radix5F32AVX512}}
	passesF64AVX512 = vectorPasses{64, [6]func(y, x, w *byte, width, apart, span, count int){2: radix2F64AVX512, 3: radix3F64AVX512, 4: radix4F64AVX512, 5: radix5F64AVX512}}

	vectorsF32 = map[simd.Level]*vectors[float32]{
		simd.AVX2:   {[]vectorPasses{passesF32AVX2}, first4F32AVX2, 4, scaleF32AVX2, exchangeF32AVX2, splitF32AVX2, joinF32AVX2, 4},
		simd.AVX512: {[]vectorPasses{passesF32AVX512, passesF32AVX2}, first4F32AVX2, 4, scaleF32AVX512, exchangeF32AVX512, splitF32AVX2, joinF32AVX2, 4},
	}
	vectorsF64 = map[simd.Level]*vectors[float64]{
		simd.AVX2:   {[]vectorPasses{passesF64AVX2}, first4F64AVX2, 2, scaleF64AVX2, exchangeF64AVX2, splitF64AVX2, joinF64AVX2, 2},
		simd.AVX512: {[]vectorPasses{passesF64AVX512, passesF64AVX2}, first4F64AVX2, 2, scaleF64AVX512, exchangeF64AVX512, splitF64AVX2, joinF64AVX2, 2},
	}
)

// vectorsOf returns what a level has.
func vectorsOf[F float](level simd.Level) *vectors[F] {
	level = min(level, simd.AVX512)
	for _, list := range []any{vectorsF32, vectorsF64} {
		if of, ok := list.(map[simd.Level]*vectors[F]); ok && of[level] != nil {
			return of[level]
		}
	}
	return &vectors[F]{}
}
