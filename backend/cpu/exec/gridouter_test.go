package exec

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// outerOp is an operator of two operands, which says whether its loop was called.
func outerOp[T float32 | float64](dtype ir.DType, expr string, f func(x, y T) T, called *atomic.Bool) *ir.Op {
	loop := func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		called.Store(true)
		out, x, y := unsafe.Slice((*T)(p[0]), n), unsafe.Slice((*T)(p[1]), n), unsafe.Slice((*T)(p[2]), n)
		for i := range out {
			out[i] = f(x[i], y[i])
		}
	}
	var loops [ir.NumDTypes]vector.Func
	loops[dtype] = loop
	return &ir.Op{
		Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}}, Out: []ir.Result{{Name: "out"}}, Bodies: []ir.Body{{Exprs: []string{expr}}},
		Code: []ir.Code{{For: "cpu", Of: &vector.Code{Loops: []*[ir.NumDTypes]vector.Func{&loops}}}},
	}
}

func testOuter[T float32 | float64](t *testing.T, dtype ir.DType) {
	rng := rand.New(rand.NewPCG(9, 10))
	for i, c := range []struct {
		expr string
		own  bool // there is a function for it
		f    func(x, y T) T
	}{
		{"x + y", true, func(x, y T) T { return x + y }}, {"x - y", true, func(x, y T) T { return x - y }}, {"y - x", true, func(x, y T) T { return y - x }},
		{"x*y", true, func(x, y T) T { return x * y }}, {"x/y", true, func(x, y T) T { return x / y }}, {"y/x", true, func(x, y T) T { return y / x }},
		{"max(x, y)", false, func(x, y T) T { return max(x, y) }},
	} {
		for j, space := range [][]int{{40, 300}, {1000, 9}, {3, 5000}, {3, 50, 70}, {2, 3, 4, 33}, {5, 6}} {
			for k, layout := range []string{"contiguous", "sliced"} {
				for side := range 2 {
					if brief.Skip(i, j, k, side) {
						continue
					}
					column := slices.Clone(space)
					column[len(column)-1] = 1
					in := []ir.View{cputest.FillFloat(cputest.NewView(dtype, layout, space...), rng, 1, 9), cputest.Expand(cputest.FillFloat(cputest.NewView(dtype, "contiguous", column...), rng, 1, 9), space...)}
					if side == 1 {
						slices.Reverse(in)
					}
					out, called := cputest.NewView(dtype, "contiguous", space...), new(atomic.Bool)
					want := make([]float64, out.NumElements())
					for i := range want {
						want[i] = float64(c.f(T(real(cputest.Get(in[0], i))), T(real(cputest.Get(in[1], i)))))
					}
					what := fmt.Sprintf("%s of %v, %s, column %d", c.expr, space, layout, 1-side)
					if err := Run(&ir.Call{Kernel: outerOp(dtype, c.expr, c.f, called).Kernel(0, dtype), Space: space, Out: []ir.View{out}, In: in}); err != nil {
						t.Fatal(err)
					}
					if d := diff(want, cputest.Reals(out)); d != "" {
						t.Fatalf("%s: %s", what, d)
					}
					if own := c.own && layout == "contiguous" && simd.Active() >= simd.AVX2 && space[len(space)-1] >= shortestRow; called.Load() == own {
						t.Errorf("%s: its loop was called: %v", what, called.Load())
					}
				}
			}
		}
	}
}

// TestOuter computes with one element for each row, by functions of their own where
// there are some.
func TestOuter(t *testing.T) {
	t.Run("float32", func(t *testing.T) { testOuter[float32](t, ir.Float32) })
	t.Run("float64", func(t *testing.T) { testOuter[float64](t, ir.Float64) })
}
