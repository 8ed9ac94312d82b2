package cofactor

import "github.com/sinter-go/sinter/backend/cpu/simd"

var vectors = simd.By[Loops]{AVX2: Loops{takeInAVX2, othersAVX2, othersOfAVX2}, AVX512: Loops{takeInAVX512, othersAVX512, othersOfAVX512}}
