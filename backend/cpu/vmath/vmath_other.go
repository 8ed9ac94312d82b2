//go:build !amd64

package vmath

import (
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
)

func loop(key, simd.Level) vector.Func { return nil }
