package made_test

import (
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A folding is a reduction and its parts in Go. Numbers are small integers, so that no
// order of additions shows.
type folding struct {
	name     string
	kind     ir.BodyKind
	body     ir.Body
	identity float32
	mapped   func(x float32) float32
	combine  func(a, b float32) float32
	all      bool // into one accumulator: the elements' order does not matter
	merge    bool // elements are accumulators as they are
}

func same(x float32) float32 { return x }

var foldings = []folding{
	{"sum of squares", ir.Reduction, ir.Body{Init: "0", Map: "x*x", Combine: "a + b"}, 0,
		func(x float32) float32 { return x * x }, func(a, b float32) float32 { return a + b }, true, false},
	{"with an argument", ir.Reduction, ir.Body{Init: "0", Map: "x*c", Combine: "a + b"}, 0,
		func(x float32) float32 { return x * 3 }, func(a, b float32) float32 { return a + b }, true, false},
	{"an argument combines", ir.Scan, ir.Body{Init: "0", Combine: "where(c > 0, max(a, b), min(a, b))"}, 0,
		same, func(a, b float32) float32 { return max(a, b) }, true, true},
	{"the first large one", ir.Reduction, ir.Body{Init: "0", Map: "where(x > c, x, 0)", Combine: "where(a == 0, b, a)"}, 0,
		func(x float32) float32 {
			if x > 3 {
				return x
			}
			return 0
		}, func(a, b float32) float32 {
			if a == 0 {
				return b
			}
			return a
		}, false, false},
	{"the last", ir.Scan, ir.Body{Init: "0", Combine: "where(b == 0, a, b)"}, 0,
		same, func(a, b float32) float32 {
			if b == 0 {
				return a
			}
			return b
		}, false, true},
	{"a sum by cases", ir.Reduction, ir.Body{Init: "0", Combine: "where(a == b, a + a, max(a, b) + min(b, a))"}, 0,
		same, func(a, b float32) float32 { return a + b }, true, true},
}

// op is the operator; its portable loops count their calls.
func (f *folding) op(ran *atomic.Int64) *ir.Op {
	slice := func(n int, p unsafe.Pointer) []float32 { return unsafe.Slice((*float32)(p), n) }
	l := &vector.FoldFuncs{Acc: ir.Float32, Out: ir.Float32,
		Fold: func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
			ran.Add(1)
			for _, v := range slice(n, x) {
				slice(1, acc)[0] = f.combine(slice(1, acc)[0], f.mapped(v))
			}
		},
		Rows: func(n int, acc, x unsafe.Pointer, _ []ir.Scalar) {
			ran.Add(1)
			for i, v := range slice(n, x) {
				slice(n, acc)[i] = f.combine(slice(n, acc)[i], f.mapped(v))
			}
		},
		Merge: func(n int, acc, b unsafe.Pointer, _ []ir.Scalar) {
			ran.Add(1)
			for i, v := range slice(n, b) {
				slice(n, acc)[i] = f.combine(slice(n, acc)[i], v)
			}
		}}
	op := &ir.Op{Name: f.name, Kind: f.kind, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{}},
		Attrs: []ir.Attr{{Name: "dim", Kind: ir.AttrInts}, {Name: "c", Kind: ir.AttrFloat}}, Bodies: []ir.Body{f.body}, DTypes: ir.ClassFloat}
	table := []*[ir.NumDTypes]*vector.FoldFuncs{{ir.Float32: l}}
	op.Code = []ir.Code{{For: vector.Kind, Of: &vector.Code{Folds: table, MakeFold: made.Folds}}}
	return op
}

// loops are the loops of an operator at the active level.
func loops(op *ir.Op) *vector.FoldFuncs { return at(op, simd.Active()) }

func at(op *ir.Op, level simd.Level) *vector.FoldFuncs {
	return op.CodeFor(vector.Kind).(*vector.Code).Fold(op.Kernel(0, ir.Float32), level)
}

type foldFunc = func(n int, acc, x unsafe.Pointer, s []ir.Scalar)

// accumulate runs a function of a fold on accumulators and n elements, of which zero is
// every other one; there is one more of both.
func accumulate(f foldFunc, n, seed int) []float32 {
	acc, x := make([]float32, n+1), make([]float32, n+1)
	for i := range acc {
		acc[i], x[i] = float32((i*7+seed)%5), float32((i*11+seed*5)%13*(i%2))
	}
	f(n, unsafe.Pointer(&acc[0]), unsafe.Pointer(&x[0]), []ir.Scalar{ir.FloatScalar(3)})
	return acc
}

func compareFold(t *testing.T, name string, got, want foldFunc) {
	t.Helper()
	for n := 0; n < 1500; n += 1 + n/70*37 {
		for seed := range 3 {
			if g, w := accumulate(got, n, seed), accumulate(want, n, seed); !slices.Equal(g, w) {
				t.Fatalf("%s of %d elements differs", name, n)
			}
		}
	}
}

// TestFolds: what is made of a reduction gives what the portable loops do, and what would
// change the order of elements is made only where that does not show.
func TestFolds(t *testing.T) {
	for _, f := range foldings {
		var ran atomic.Int64
		op := f.op(&ran)
		portable := loops(op)
		for _, level := range levels(t) {
			name := f.name + " " + level.String() + ": "
			own, err := made.CompileFold(op, 0, ir.Float32, level)
			if err != nil {
				t.Fatal(err)
			}
			if (own.Fold != nil) != f.all || own.Rows == nil || (own.Merge != nil) != f.merge {
				t.Fatalf("%sinto one %t, rows %t, merge %t", name, own.Fold != nil, own.Rows != nil, own.Merge != nil)
			}
			compareFold(t, name+"rows", own.Rows, portable.Rows)
			if f.all {
				compareFold(t, name+"fold", own.Fold, portable.Fold)
			}
			if f.merge {
				compareFold(t, name+"merge", own.Merge, portable.Merge)
			}
		}
	}
}

// TestFoldsOfCode: loops are made where that is possible; others, and those of package fold,
// which have vector code, stay.
func TestFoldsOfCode(t *testing.T) {
	for _, f := range foldings {
		var ran atomic.Int64
		op := f.op(&ran)
		got, want := loops(op), at(f.op(new(atomic.Int64)), simd.Portable)
		compareFold(t, f.name+" rows", got.Rows, want.Rows)
		if compiles() != (ran.Load() == 0) {
			t.Errorf("%s: portable rows ran %d times; vector code can be made: %t", f.name, ran.Load(), compiles())
		}
		compareFold(t, f.name+" fold", got.Fold, want.Fold)
		compareFold(t, f.name+" merge", got.Merge, want.Merge)
	}
	op := &ir.Op{Name: "sum", Kind: ir.Reduction}
	for _, own := range []*vector.FoldFuncs{fold.Loops(fold.Sum, ir.Float32, ir.Float32, nil), fold.Scans(fold.Sum, ir.Int64)} {
		if made.Folds(op.Kernel(0, ir.Float32), own) != own {
			t.Error("loops of package fold were replaced")
		}
	}
}

// TestFoldRefused: a body that has no lanes keeps the portable loops.
func TestFoldRefused(t *testing.T) {
	var ran atomic.Int64
	f := foldings[0]
	f.body.Map = "nobody(x)"
	if got := accumulate(loops(f.op(&ran)).Fold, 9, 1); ran.Load() != 1 {
		t.Errorf("the portable loop ran %d times: %v", ran.Load(), got)
	}
}
