// Package functions embeds the functions of the expression language, compiled ahead to
// PTX: functions.cu, which package codegen/ptx says what is in, and the generator writes.
//
//	python3 kernels/build.py --dir kernels/functions
package functions

import (
	"errors"

	"github.com/sinter-go/sinter/kernels"
)

// PTX returns the functions' code, for devices of compute capability 8.0 and up. Builds
// without CUDA have none.
func PTX() ([]byte, error) {
	if files == nil {
		return nil, errors.New("built without CUDA")
	}
	return kernels.Of(files, files).PTX("functions")
}
