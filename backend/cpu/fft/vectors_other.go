//go:build !amd64

package fft

import "github.com/sinter-go/sinter/backend/cpu/simd"

// vectorsOf returns what a level has.
func vectorsOf[F float](simd.Level) *vectors[F] { return &vectors[F]{} }
