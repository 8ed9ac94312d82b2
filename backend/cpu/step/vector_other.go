//go:build !amd64

package step

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](simd.Level) (v vector[T]) { return v }
