//go:build !amd64

package draw

import "github.com/sinter-go/sinter/backend/cpu/simd"

// uniformAt returns none: there is no vector code.
func uniformAt(simd.Level) func(dst *float32, groups int, seed, offset, block int64) { return nil }
