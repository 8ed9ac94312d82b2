package vector

import (
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

func TestFold(t *testing.T) {
	var ran int
	loop := func(number int) func(n int, acc, x unsafe.Pointer, s []ir.Scalar) {
		return func(n int, _, _ unsafe.Pointer, _ []ir.Scalar) { ran = 10*n + number }
	}
	loops := func(number int) FoldLoops { return FoldLoops{Fold: loop(number), Rows: loop(number)} }
	portable := func(number int) *FoldFuncs {
		return &FoldFuncs{Acc: ir.Int64, Fold: loop(number), Rows: loop(number), Merge: loop(9)}
	}
	op, code := &ir.Op{Kind: ir.Reduction}, Code{
		Folds: []*[ir.NumDTypes]*FoldFuncs{{ir.Float32: portable(1), ir.Int8: portable(4), ir.Int16: portable(6)}},
		FoldVectors: []Fold{
			{DType: ir.Float32, AVX2: loops(2), AVX512: loops(3)},
			{DType: ir.Int8, AVX2: loops(5)},
		},
	}
	for dt, want := range map[ir.DType]map[simd.Level]int{
		ir.Float32: {simd.Portable: 1, simd.AVX2: 2, simd.AVX512: 3},
		ir.Float16: {simd.Portable: 1, simd.AVX2: 2, simd.AVX512: 3}, // computes in float32
		ir.Int8:    {simd.Portable: 4, simd.AVX2: 5, simd.AVX512: 5},
		ir.Int16:   {simd.Portable: 6, simd.AVX2: 6, simd.AVX512: 6},
	} {
		for level, number := range want {
			l := code.Fold(op.Kernel(0, dt), level)
			for _, f := range []func(n int, acc, x unsafe.Pointer, s []ir.Scalar){l.Fold, l.Rows} {
				if f(7, nil, nil, nil); ran != 70+number {
					t.Errorf("%s at %s: loop %d ran, want %d", dt, level, ran-70, number)
				}
			}
			if l.Merge(7, nil, nil, nil); ran != 79 || l.Acc != ir.Int64 {
				t.Errorf("%s at %s: the other loops were not kept", dt, level)
			}
		}
	}
	if code.Fold(op.Kernel(0, ir.Bool), simd.Portable) != nil || code.Fold(op.Kernel(1, ir.Float32), simd.Portable) != nil {
		t.Error("loops of what is not supported")
	}
}
