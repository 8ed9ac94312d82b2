//go:build !amd64

package affine

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](simd.Level) loops { return loops{} }
