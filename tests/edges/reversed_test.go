package edges_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/opcases"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/core"
)

// TestReversed: a reduction that keeps no order, as its combine shows or the entry says with
// order: any, makes the same of elements in reverse, but for rounding.
func TestReversed(t *testing.T) {
	const n = 1500
	seen := 0
	for i := range opcases.Cases {
		o := &opcases.Cases[i]
		if o.Op.Kind != ir.Reduction || o.Op.Ordered {
			continue
		}
		dt := o.Op.DTypes.List()[0]
		if o.Op.DTypes.Has(ir.Float64) {
			dt = ir.Float64
		}
		seen++
		forward, back := reversed(t, o, dt, n)
		for k := range forward {
			if x, y := forward[k], back[k]; x != y && !(math.IsNaN(x) && math.IsNaN(y)) && !(math.Abs(x-y) <= 1e-11*max(1, math.Abs(x))) {
				t.Errorf("%s of %s: result %d is %v, of the elements in reverse %v", o.Op.Name, dt, k, x, y)
			}
		}
	}
	if seen < 12 {
		t.Errorf("%d reductions keep no order", seen)
	}
}

// reversed applies a reduction to n elements, and to these in reverse.
func reversed(t *testing.T, o *optest.Operator, dt ir.DType, n int) (forward, back []float64) {
	rng := rand.New(rand.NewPCG(23, uint64(len(o.Op.Name))))
	lo, hi := o.Domain[0], o.Domain[1]
	if lo == hi {
		lo, hi = -2, 2
	}
	args := [2]optest.Args{{Attrs: o.Defaults}, {Attrs: o.Defaults}}
	for range o.Op.In {
		values := make([]float64, n)
		for k := range values {
			values[k] = lo + (hi-lo)*rng.Float64()
		}
		for k := range args {
			args[k].In = append(args[k].In, tensor.FromSlice(values, []int{n}, tensor.OfType(dt)).Handle())
			slices.Reverse(values)
		}
	}
	return reals(t, o, o.Call(args[0])), reals(t, o, o.Call(args[1]))
}

// reals returns the elements of results as float64.
func reals(t *testing.T, o *optest.Operator, list []*core.Tensor) (out []float64) {
	for _, x := range list {
		values, err := tensor.Data[float64](tensor.Wrap(x).ToType(tensor.Float64))
		if err != nil {
			t.Errorf("%s: %v", o.Op.Name, err)
		}
		out = append(out, values...)
	}
	return out
}
