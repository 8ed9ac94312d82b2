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

// A Fold is the assembly for one entry of Code.Folds.
type Fold struct {
	Variant int
	DType   ir.DType // the compute dtype
	AVX2    FoldLoops
	AVX512  FoldLoops
}

// Fold returns the loops of a reduction or a scan at a level, nil where it is not supported.
func (c *Code) Fold(k *ir.Kernel, level simd.Level) *FoldFuncs {
	portable := entry(c.Folds, k)
	if portable == nil {
		return nil
	}
	if c.MakeFold != nil && level > simd.Portable {
		return c.MakeFold(k.Op.Kernel(k.Variant, k.Compute), portable)
	}
	for i := range c.FoldVectors {
		if f := &c.FoldVectors[i]; f.Variant == k.Variant && f.DType == k.Compute {
			return f.At(level, portable)
		}
	}
	return portable
}

// At returns the loops that run at a level, portable ones where there are no others.
func (f *Fold) At(level simd.Level, portable *FoldFuncs) *FoldFuncs {
	loops := *portable
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
