package exec

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// TestShared computes with operands that have one element for each row, by a loop that reads no
// more of them, where there is one and rows are long enough.
func TestShared(t *testing.T) {
	called := new(atomic.Bool)
	at := func(p unsafe.Pointer, i int) float64 { return *(*float64)(unsafe.Add(p, 8*i)) }
	loop := func(step int) vector.Func {
		return func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
			if step == 0 {
				called.Store(true)
			}
			for i := range n {
				*(*float64)(unsafe.Add(p[0], 8*i)) = float64(at(p[1], i)*at(p[2], step*i)) + at(p[3], step*i)
			}
		}
	}
	all, one := loop(1), loop(0)
	var loops [ir.NumDTypes]vector.Func
	loops[ir.Float64] = all
	op := &ir.Op{
		Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}, {Name: "z"}}, Out: []ir.Result{{Name: "out"}}, Bodies: []ir.Body{{Exprs: []string{"x*y + z"}}},
		Code: []ir.Code{{For: "cpu", Of: &vector.Code{
			Loops:   []*[ir.NumDTypes]vector.Func{&loops},
			Vectors: []vector.Loop{{DType: ir.Float64, AVX2: all, AVX512: all, Shared: vector.Loops{AVX2: one, AVX512: one}}},
		}}},
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for _, space := range [][]int{{4, 5, 300}, {40, sharedCols}, {40, sharedCols - 1}, {3, 9000}, {2, 3, 5, 100}} {
		for _, layout := range []string{"contiguous", "sliced"} {
			for _, whole := range []bool{false, true} { // the last operand has an element for each of the result
				channels := make([]int, len(space))
				for a := range channels {
					channels[a] = 1
				}
				channels[len(space)-2] = space[len(space)-2]
				fill := func(layout string, shape []int) ir.View {
					return cputest.FillFloat(cputest.NewView(ir.Float64, layout, shape...), rng, 1, 9)
				}
				in := []ir.View{fill(layout, space), cputest.Expand(fill("contiguous", channels), space...), cputest.Expand(fill("contiguous", channels), space...)}
				if whole {
					in[2] = fill("contiguous", space)
				}
				out := cputest.NewView(ir.Float64, "contiguous", space...)
				want := make([]float64, out.NumElements())
				for i := range want {
					want[i] = float64(real(cputest.Get(in[0], i))*real(cputest.Get(in[1], i))) + real(cputest.Get(in[2], i))
				}
				what := fmt.Sprintf("%v, %s, whole %t", space, layout, whole)
				called.Store(false)
				if err := Run(&ir.Call{Kernel: op.Kernel(0, ir.Float64), Space: space, Out: []ir.View{out}, In: in}); err != nil {
					t.Fatal(err)
				}
				if d := diff(want, cputest.Reals(out)); d != "" {
					t.Fatalf("%s: %s", what, d)
				}
				if own := !whole && layout == "contiguous" && simd.Active() >= simd.AVX2 && space[len(space)-1] >= sharedCols; called.Load() != own {
					t.Errorf("%s: the loop for shared operands was called: %t", what, called.Load())
				}
			}
		}
	}
}
