//go:build !amd64

package cofactor

import "github.com/sinter-go/sinter/backend/cpu/simd"

var vectors simd.By[Loops]
