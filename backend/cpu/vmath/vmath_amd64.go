package vmath

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// loop returns the loop of a level counted from AVX2.
func loop(k key, above simd.Level) ir.Loop { return table[k][above] }
