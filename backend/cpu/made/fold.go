package made

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
)

// Folds is Code.MakeFold of package vector: the loops of a reduction or a scan, of which
// those that cannot be made, and those of package fold, are the portable ones.
func Folds(k *ir.Kernel, portable *vector.FoldFuncs) *vector.FoldFuncs {
	if fold.Ours(portable) {
		return portable
	}
	own, _ := CompileFold(k.Op, k.Variant, k.Compute, simd.Active()) // empty where there is an error
	l := *portable
	if own.Fold != nil {
		l.Fold = own.Fold
	}
	if own.Rows != nil {
		l.Rows = own.Rows
	}
	if own.Merge != nil {
		l.Merge = own.Merge
	}
	return &l
}

// CompileFold makes what loops of a reduction or a scan there are for a compute dtype and
// a level of instructions. The error says what stands in the way.
func CompileFold(op *ir.Op, variant int, d ir.DType, level simd.Level) (vector.FoldLoops, error) {
	typed, err := body.Of(op.Kernel(variant, d))
	if err != nil {
		return vector.FoldLoops{}, err
	}
	parts := loops.Fold{Init: typed.Init, Map: typed.Map, Combine: typed.Combine, Operand: op.In[0].Name, Inputs: lower.Inputs}
	err = fmt.Errorf("no vector code for level %s", level)
	for _, isa := range sets.At(level) {
		var set loops.FoldSet
		if set, err = parts.Loops(isa); err != nil {
			continue
		}
		var own vector.FoldLoops
		if own, err = foldLoops(&set); err == nil {
			return own, nil
		}
	}
	return vector.FoldLoops{}, fmt.Errorf("%s of %s: %w", op.Name, d, err)
}

// foldLoops makes the functions of a fold.
func foldLoops(set *loops.FoldSet) (own vector.FoldLoops, err error) {
	if len(set.Scalars) > mostScalars {
		return own, fmt.Errorf("%d scalars, more than %d: %w", len(set.Scalars), mostScalars, x86.ErrUnsupported)
	}
	subroutines, err := set.Functions()
	if err != nil {
		return own, err
	}
	rows, err := set.Rows("rows")
	if err != nil {
		return own, err
	}
	fns := []*x86.Func{rows}
	if set.Reorders {
		all, err := set.Fold("fold")
		if err != nil {
			return own, err
		}
		fns = append(fns, all)
	}
	list, err := load(subroutines, fns...)
	if err != nil {
		return own, err
	}
	own.Rows = called(list[0], set.Scalars)
	if set.Merges {
		own.Merge = own.Rows
	}
	if set.Reorders {
		own.Fold = called(list[1], set.Scalars)
	}
	return own, nil
}

// called returns a fold's function with the type of those in vector.FoldFuncs.
func called(f jit.Func, types []ir.DType) func(n int, acc, x unsafe.Pointer, s []ir.Scalar) {
	if len(types) == 0 {
		return func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) { f.Fold(n, acc, x, nil) }
	}
	read := make(scalars, len(types))
	for i, d := range types {
		if d != ir.Invalid {
			read[i] = scalarBits(d)
		}
	}
	return func(n int, acc, x unsafe.Pointer, s []ir.Scalar) {
		var bits [mostScalars]uint64
		read.into(&bits, s)
		f.Fold(n, acc, x, &bits[0])
	}
}
