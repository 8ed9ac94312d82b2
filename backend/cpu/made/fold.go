package made

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
)

// lateFold returns the loops of a reduction or a scan of which those that can be made are
// compiled by the first call of one; others are the portable ones.
func lateFold(op *ir.Op, variant int, d ir.DType, portable *ir.ReduceLoops) *ir.ReduceLoops {
	code := sync.OnceValue(func() vector.FoldLoops {
		own, _ := CompileFold(op, variant, d, simd.Active()) // empty where there is an error
		if own.Fold == nil {
			own.Fold = portable.Fold
		}
		if own.Rows == nil {
			own.Rows = portable.Rows
		}
		if own.Merge == nil {
			own.Merge = portable.Merge
		}
		return own
	})
	l := *portable
	l.Fold = func(n int, acc, x unsafe.Pointer, s []ir.Scalar) { code().Fold(n, acc, x, s) }
	l.Rows = func(n int, acc, x unsafe.Pointer, s []ir.Scalar) { code().Rows(n, acc, x, s) }
	l.Merge = func(n int, acc, b unsafe.Pointer, s []ir.Scalar) { code().Merge(n, acc, b, s) }
	return &l
}

// CompileFold makes what loops of a reduction or a scan there are for a compute dtype and
// a level of instructions. The error says what stands in the way.
func CompileFold(op *ir.Op, variant int, d ir.DType, level simd.Level) (vector.FoldLoops, error) {
	typed, err := body.Of(op, variant, d)
	if err != nil {
		return vector.FoldLoops{}, err
	}
	parts := loops.Fold{Init: typed.Init, Map: typed.Map, Combine: typed.Combine, Operand: op.In[0].Name, Inputs: lower.Inputs}
	err = fmt.Errorf("no vector code for level %s", level)
	for _, isa := range sets(level) {
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

// called returns a fold's function with the type of those in ir.ReduceLoops.
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
