package lowering_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	irbody "github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

// A body is one lowered body for one compute dtype, and what it was lowered from.
type body struct {
	vector.Loop
	op       *ir.Op
	portable vector.Func
	graph    *expr.Graph
	in       []ir.DType // of the operands
	params   []expr.Param
	placed   bool // it reads the element's index
}

func (b *body) String() string { return fmt.Sprintf("%s/%d/%s", b.op.Name, b.Variant, b.DType) }

// bodies returns everything that has assembly.
func bodies(t testing.TB) []*body {
	t.Helper()
	var out []*body
	eachVector(func(op *ir.Op, l *vector.Loop, portable vector.Func) {
		if op.Kind == ir.Joint || len(op.Out) > 1 {
			return // TestJoint
		}
		b := &body{Loop: *l, op: op, portable: portable}
		for _, o := range op.In {
			d := l.DType
			if o.Fixed != ir.Invalid {
				d = o.Fixed.Compute()
			}
			b.in = append(b.in, d)
		}
		typed, err := irbody.Of(op.Kernel(l.Variant, l.DType))
		if err != nil {
			t.Fatalf("%s: %v", b, err)
		}
		b.graph, b.params, b.placed = typed.Expr, typed.Params, op.Bodies[l.Variant].Indexed
		out = append(out, b)
	})
	return out
}

// eachVector calls f for everything that has assembly, with what is portable beside it.
func eachVector(f func(op *ir.Op, l *vector.Loop, portable vector.Func)) {
	for _, op := range ops.Descriptors() {
		if code, ok := op.CodeFor(vector.Kind).(*vector.Code); ok {
			for i := range code.Vectors {
				l := &code.Vectors[i]
				f(op, l, code.Loops[l.Variant][l.DType])
			}
		}
	}
}

// at returns the loop that runs at a level.
func (b *body) at(level simd.Level) vector.Func { return b.Loop.At(level, b.portable) }

// calls counts the functions in b that are not computed to the last place.
func (b *body) calls() int {
	n := 0
	for _, v := range b.graph.Values {
		if v.Op == expr.OpCall && b.graph.KindDType(v.Kind).IsFloat() && (inexact[v.Name] || v.Name == "normal") {
			n++
		}
	}
	return n
}

// scalars returns sets of arguments to try.
func (b *body) scalars() [][]ir.Scalar {
	if len(b.params) == 0 {
		return [][]ir.Scalar{nil}
	}
	floats := []float64{1, 0.5, -2.25, 3, 0, 17}
	ints := []int64{3, 1, 7, 64, -5, 0}
	var sets [][]ir.Scalar
	for k := range 3 {
		var set []ir.Scalar
		for i, p := range b.params {
			at := (k + i*(k+1)) % len(floats)
			switch {
			case p.Kind == expr.BoolParam, b.DType == ir.Bool && p.Kind != expr.IntParam:
				set = append(set, ir.BoolScalar(at%2 == 0))
			case p.Kind == expr.IntParam, b.DType.IsInt():
				set = append(set, ir.IntScalar(ints[at]))
			default:
				set = append(set, ir.FloatScalar(floats[at]))
			}
		}
		sets = append(sets, set)
	}
	return sets
}
