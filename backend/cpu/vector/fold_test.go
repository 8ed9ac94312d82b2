package vector

import (
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

func TestInstallFolds(t *testing.T) {
	var ran int
	loop := func(number int) func(n int, acc, x unsafe.Pointer, s []ir.Scalar) {
		return func(n int, _, _ unsafe.Pointer, _ []ir.Scalar) { ran = 10*n + number }
	}
	loops := func(number int) FoldLoops { return FoldLoops{Fold: loop(number), Rows: loop(number)} }
	portable := func(number int) *ir.ReduceLoops {
		return &ir.ReduceLoops{Acc: ir.Int64, Fold: loop(number), Rows: loop(number), Merge: loop(9)}
	}
	table := []*[ir.NumDTypes]*ir.ReduceLoops{{ir.Float32: portable(1), ir.Int8: portable(4)}}
	list := []Fold{
		{Op: "both", Table: &table, DType: ir.Float32, AVX2: loops(2), AVX512: loops(3)},
		{Op: "less", Table: &table, DType: ir.Int8, AVX2: loops(5)},
	}
	InstallFolds(list)
	for i, want := range []map[simd.Level]int{
		{simd.Portable: 1, simd.AVX2: 2, simd.AVX512: 3},
		{simd.Portable: 4, simd.AVX2: 5, simd.AVX512: 5},
	} {
		check := func(what string, l *ir.ReduceLoops, number int) {
			for _, f := range []func(n int, acc, x unsafe.Pointer, s []ir.Scalar){l.Fold, l.Rows} {
				if f(7, nil, nil, nil); ran != 70+number {
					t.Errorf("%s of %s: loop %d ran, want %d", what, list[i].Op, ran-70, number)
				}
			}
			if l.Merge(7, nil, nil, nil); ran != 79 || l.Acc != ir.Int64 {
				t.Errorf("%s of %s: the other loops were not kept", what, list[i].Op)
			}
		}
		for _, level := range simd.Levels() {
			check(level.String(), list[i].At(level), want[level.Vectors()])
		}
		check("the table", table[0][list[i].DType], want[simd.Active().Vectors()])
	}
}
