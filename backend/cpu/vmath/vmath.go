// Package vmath holds mathematical functions in assembly: subroutines over one
// vector of lanes, which assembly of other packages calls by their symbols, and
// element-wise loops that call them. Importing it links the subroutines. A
// subroutine's argument and result are in Y0 (Z0), a second argument in Y1 (Z1); it
// changes Y0 to Y9, or Z0 to Z15 and K1 to K4, and R12, R13 and the flags. The
// package knows nothing of operators.
package vmath

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A Function is one function of one dtype, Float32 or Float64.
type Function struct {
	Name  string
	DType ir.DType
	Arity int
	ULP   float64 // bounds the error, in units in the last place of the result
}

// Functions returns all functions, by name and dtype.
func Functions() []Function { return slices.Clone(functions) }

// key is what loops are found by.
type key struct {
	name  string
	dtype ir.DType
}

// Loop returns the element-wise loop of a function, whose pointers are those of the
// result and of the arguments. It is nil at level Portable, of unknown functions,
// and on architectures without assembly. The processor must have the level.
func Loop(name string, d ir.DType, l simd.Level) vector.Func {
	if l == simd.Portable {
		return nil
	}
	return loop(key{name, d}, min(l, simd.AVX512)-simd.AVX2)
}
