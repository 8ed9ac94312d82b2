package radix

import "github.com/sinter-go/sinter/backend/cpu/simd"

// rankGroup is how many words the vector functions need at least.
const rankGroup = 16

// rankLength is the number of words up to which counting, for each, the words that
// are less takes less time than other ways; 0 where there are no vectors for it.
var rankLength = map[simd.Level]int{simd.AVX2: 160, simd.AVX512: 256}[simd.Active().Vectors()]

// wideRanks has the counting done by AVX-512.
var wideRanks = simd.Active() >= simd.AVX512

// few orders up to rankLength words and returns where they are.
func few(a, spare []Word) []Word {
	if len(a) >= rankGroup {
		rankSort(&spare[0], &a[0], len(a), wideRanks)
		return spare[:len(a)]
	}
	var from, to [rankGroup]Word
	for i := copy(from[:], a); i < rankGroup; i++ {
		from[i] = ^Word(0)
	}
	rankSort(&to[0], &from[0], rankGroup, wideRanks)
	copy(a, to[:])
	return a
}

func rankSort(dst, src *Word, n int, wide bool) {
	if wide {
		rankSortAVX512(dst, src, n)
	} else {
		rankSortAVX2(dst, src, n)
	}
}
