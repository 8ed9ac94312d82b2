package draw

import "github.com/sinter-go/sinter/backend/cpu/simd"

// uniformAt returns the function of a level, nil where there is none: 256 bits serve all.
func uniformAt(level simd.Level) func(dst *float32, groups int, seed, offset, block int64) {
	if level.Vectors() >= simd.AVX2 {
		return uniformAVX2
	}
	return nil
}
