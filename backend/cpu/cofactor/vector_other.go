//go:build !amd64

package cofactor

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectors(simd.Level) *Loops { return nil }
