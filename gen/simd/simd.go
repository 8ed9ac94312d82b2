// Package simd collects the assembly of the CPU backend that comes from programs
// rather than from a schema: mathematical functions, and the kernels written by
// hand. It knows nothing of what they compute.
package simd

import (
	"fmt"

	"github.com/sinter-go/sinter/gen/simd/affine"
	"github.com/sinter-go/sinter/gen/simd/asm"
	"github.com/sinter-go/sinter/gen/simd/cofactor"
	"github.com/sinter-go/sinter/gen/simd/conv"
	"github.com/sinter-go/sinter/gen/simd/draw"
	"github.com/sinter-go/sinter/gen/simd/extremes"
	"github.com/sinter-go/sinter/gen/simd/fft"
	"github.com/sinter-go/sinter/gen/simd/float8"
	"github.com/sinter-go/sinter/gen/simd/gemm"
	"github.com/sinter-go/sinter/gen/simd/keys"
	"github.com/sinter-go/sinter/gen/simd/move"
	"github.com/sinter-go/sinter/gen/simd/ranks"
	"github.com/sinter-go/sinter/gen/simd/rows"
	"github.com/sinter-go/sinter/gen/simd/softmaxgrad"
	"github.com/sinter-go/sinter/gen/simd/vmath"
)

// By is what the files name as their generator.
const By = "github.com/sinter-go/sinter/gen/simd"

// programs make the files, each those of its own packages.
var programs = []func(by string) ([]asm.File, error){
	affine.Files,
	cofactor.Files,
	conv.Files,
	draw.Files,
	extremes.Files,
	fft.Files,
	float8.Files,
	gemm.Files,
	keys.Files,
	move.Files,
	ranks.Files,
	rows.Files,
	softmaxgrad.Files,
	vmath.Files,
}

// Files returns all files, with paths below the module's root.
func Files() ([]asm.File, error) {
	var all []asm.File
	for _, p := range programs {
		files, err := p(By)
		if err != nil {
			return nil, fmt.Errorf("gen/simd: %w", err)
		}
		all = append(all, files...)
	}
	return all, nil
}
