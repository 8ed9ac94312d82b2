//go:build !amd64

package rows

import "github.com/sinter-go/sinter/backend/cpu/simd"

func vectorAt[T Float](simd.Level) vector[T] { return vector[T]{} }
