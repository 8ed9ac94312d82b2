//go:build unix

package lowering_test

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/jit"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestEncodedFolds holds what is made of the reductions and scans with loops of their own
// to the linked loops, to the bit.
func TestEncodedFolds(t *testing.T) {
	if err := jit.Available(); err != nil || simd.Active() == simd.Portable {
		t.Skip(simd.Active(), err)
	}
	ran := 0
	for _, op := range ops.Descriptors() {
		code, ok := op.CodeFor(vector.Kind).(*vector.Code)
		if !ok {
			continue
		}
		for variant, table := range code.Folds {
			for d := range table {
				k := op.Kernel(variant, ir.DType(d))
				linked := code.Fold(k, simd.Active())
				if linked == nil || fold.Ours(linked) || k.Compute.IsComplex() {
					continue // complex numbers have no lanes
				}
				own, err := made.CompileFold(op, variant, k.Compute, simd.Active())
				if err != nil {
					t.Error(err)
					continue
				}
				ran++
				name := op.Name + " of " + ir.DType(d).String()
				compareFolds(t, name+": rows", k.Compute, linked.Acc, own.Rows, linked.Rows)
				if own.Fold != nil {
					compareFolds(t, name+": fold", k.Compute, linked.Acc, own.Fold, linked.Fold)
				}
				if own.Merge != nil {
					compareFolds(t, name+": merge", linked.Acc, linked.Acc, own.Merge, linked.Merge)
				}
			}
		}
	}
	if ran < 15 {
		t.Errorf("%d folds were made", ran)
	}
}

// compareFolds runs two functions of a fold on accumulators of dtype a and elements of
// dtype x, the dtype that the loops read. The memory ends where theirs must.
func compareFolds(t *testing.T, name string, x, a ir.DType, got, want func(n int, acc, x unsafe.Pointer, s []ir.Scalar)) {
	t.Helper()
	for n := range 300 {
		if n > 40 && brief.Skip(n) {
			continue
		}
		rng := rand.New(rand.NewPCG(7, uint64(n)))
		atEnd := n%2 == 0
		in, acc := memory(t, 0, n*x.Size(), atEnd), memory(t, 1, n*a.Size(), atEnd)
		fill(in, x, n, func(int) uint64 { return random(rng, x) })
		fill(acc, a, n, func(int) uint64 { return random(rng, a) })
		before := bytes.Clone(acc)
		got(n, at(acc), at(in), nil)
		first := bytes.Clone(acc)
		copy(acc, before)
		want(n, at(acc), at(in), nil)
		if !bytes.Equal(first, acc) {
			t.Errorf("%s of %d elements differs from the linked loop", name, n)
			return
		}
		for k, size := range []int{n * x.Size(), n * a.Size()} {
			if !checkGuards(t, k, size, atEnd) {
				t.Errorf("%s of %d elements changed memory around operand %d", name, n, k)
				return
			}
		}
	}
}
