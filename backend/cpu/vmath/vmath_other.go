//go:build !amd64

package vmath

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

func loop(key, simd.Level) ir.Loop { return nil }
