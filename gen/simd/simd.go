// Package simd collects the assembly of the CPU backend that comes from programs
// rather than from a schema: mathematical functions, and the kernels written by
// hand. It knows nothing of what they compute.
package simd

import (
	"fmt"

	"github.com/sinter-go/sinter/gen/simd/asm"
)

// By is what the files name as their generator.
const By = "github.com/sinter-go/sinter/gen/simd"

// programs make the files, each those of its own packages.
var programs = []func(by string) ([]asm.File, error){}

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
