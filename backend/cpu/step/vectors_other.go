//go:build !amd64

package step

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectors32(simd.Level) *Steps[float32] { return nil }

func vectors64(simd.Level) *Steps[float64] { return nil }
