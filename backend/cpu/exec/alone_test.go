package exec

import (
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// extremesOp is a reduction to the least and the greatest element, which is folded by
// itself; the loops of both together fail the test but for those that begin and finish.
func extremesOp[T int32 | float32 | float64](t *testing.T, dt ir.DType, low, high T) *ir.Op {
	op := stateOp(1, dt, false,
		func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			for i := range n {
				of[T](p[0], n)[i], of[T](p[1], n)[i] = high, low
			}
		},
		func(int, []unsafe.Pointer, []ir.Scalar, int64) { t.Error("states are folded together") },
		func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			for i := range n {
				of[T](p[0], n)[i] = min(of[T](p[2], n)[i], of[T](p[4], n)[i])
				of[T](p[1], n)[i] = max(of[T](p[3], n)[i], of[T](p[5], n)[i])
			}
		},
		func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			copy(of[T](p[0], n), of[T](p[2], n))
			copy(of[T](p[1], n), of[T](p[3], n))
		})
	op.Out[1].DType, op.Bodies[0].States[1].DType = ir.Invalid, ir.Invalid
	parts := op.Code[0].Of.(*vector.Code).Parts
	for _, kind := range []fold.Kind{fold.Min, fold.Max} {
		var table [ir.NumDTypes]*vector.FoldFuncs
		table[dt] = fold.Loops(kind, dt, dt, nil)
		parts.Alone = append(parts.Alone, &table)
	}
	return op
}

// TestAlone folds states by themselves, from rows and from columns in every layout, with
// and without NaN, and compares with plain loops.
func TestAlone(t *testing.T) {
	infinity := math.Inf(1)
	for _, c := range []struct {
		dtype ir.DType
		op    *ir.Op
	}{
		{ir.Int32, extremesOp[int32](t, ir.Int32, math.MinInt32, math.MaxInt32)},
		{ir.Float32, extremesOp(t, ir.Float32, float32(-infinity), float32(infinity))},
		{ir.Float64, extremesOp(t, ir.Float64, -infinity, infinity)},
	} {
		check := func(what string, call *ir.Call) {
			n := call.Out[0].NumElements()
			low, high := make([]float64, n), make([]float64, n)
			for k := range n {
				low[k], high[k] = infinity, -infinity
			}
			for i := range call.In[0].NumElements() {
				k, x := position(call.Space, call.Out[0].Shape, i), real(cputest.Get(call.In[0], i))
				low[k], high[k] = min(low[k], x), max(high[k], x)
			}
			if call.ReducedCount() == 0 {
				return // what starts them is no number of the dtype's test
			}
			for k, want := range [][]float64{low, high} {
				if d := diff(named(want), named(cputest.Reals(call.Out[k]))); d != "" {
					t.Fatalf("%s, result %d of %s: %s", c.dtype, k, what, d)
				}
			}
		}
		stateCalls(t, c.op, c.dtype, func(what string, call *ir.Call) {
			check(what, call)
			x := call.In[0]
			if !c.dtype.IsFloat() || x.NumElements() == 0 {
				return
			}
			at := x.NumElements() / 2 // of the view's elements, those of a repeated axis together
			cputest.Set(x, at, complex(math.NaN(), 0))
			if err := Run(call); err != nil {
				t.Fatal(err)
			}
			check(what+", with NaN", call)
			cputest.Set(x, at, 1)
		})
	}
}

// named returns numbers with another in the place of NaN, so that they can be compared.
func named(x []float64) []float64 {
	for i, v := range x {
		if v != v {
			x[i] = math.MaxFloat64
		}
	}
	return x
}
