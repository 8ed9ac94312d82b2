package vector

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// FoldLoops are the loops of a reduction or a scan that are worth assembly; nil
// where there is none.
type FoldLoops struct {
	Fold, Rows func(n int, acc, x unsafe.Pointer, s []ir.Scalar)
	Merge      func(n int, acc, b unsafe.Pointer, s []ir.Scalar) // Rows, where elements are accumulators as they are
}

// A Fold is the assembly of one entry of a reduction's table.
type Fold struct {
	Op      string // as in the schema
	Table   *[]*[ir.NumDTypes]*ir.ReduceLoops
	Variant int
	DType   ir.DType // the compute dtype
	AVX2    FoldLoops
	AVX512  FoldLoops

	portable *ir.ReduceLoops
}

// InstallFolds is Install for reductions and scans.
func InstallFolds(list []Fold) {
	level := simd.Active()
	for i := range list {
		f := &list[i]
		entry := &(*f.Table)[f.Variant][f.DType]
		f.portable = *entry
		*entry = f.At(level)
	}
}

// At returns the loops that run at a level. The list must be installed.
func (f *Fold) At(level simd.Level) *ir.ReduceLoops {
	loops := *f.portable
	for _, at := range []struct {
		level simd.Level
		own   FoldLoops
	}{{simd.AVX2, f.AVX2}, {simd.AVX512, f.AVX512}} {
		if level < at.level {
			continue
		}
		if at.own.Fold != nil {
			loops.Fold = at.own.Fold
		}
		if at.own.Rows != nil {
			loops.Rows = at.own.Rows
		}
		if at.own.Merge != nil {
			loops.Merge = at.own.Merge
		}
	}
	return &loops
}
