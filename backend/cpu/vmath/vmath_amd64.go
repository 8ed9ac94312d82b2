package vmath

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
)

// loop returns the loop of a level counted from AVX2.
func loop(k key, above simd.Level) vector.Func { return table[k][above] }
