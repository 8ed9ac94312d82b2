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

// TestStored runs the loop of an operator's own for 16-bit floats where all operands
// and the result have that dtype, in memory of any distance, and no other call.
func TestStored(t *testing.T) {
	if simd.Active() == simd.Portable {
		t.Skip("there are no such loops without vectors")
	}
	bypassFrom(t, 1<<16)
	var ran atomic.Int64
	half := func(n int, p []unsafe.Pointer, _ []ir.Scalar, _ int64) {
		ran.Add(int64(n))
		out, x, y := unsafe.Slice((*ir.Half)(p[0]), n), unsafe.Slice((*ir.Half)(p[1]), n), unsafe.Slice((*ir.Half)(p[2]), n)
		for i := range out {
			out[i] = ir.HalfFrom(2*x[i].Float32() + y[i].Float32())
		}
	}
	op := ir.Op{Kind: ir.Elementwise, In: axpy.In, Out: axpy.Out, Code: []ir.Code{{For: "cpu", Of: &vector.Code{
		Loops:   vector.Table{{ir.Float32: axpyLoop[float32]}},
		Vectors: []vector.Loop{{DType: ir.Float32, Float16: vector.Loops{AVX2: half, AVX512: half}}},
	}}}}
	rng := rand.New(rand.NewPCG(17, 18))
	for _, test := range []struct {
		out, x, y ir.DType
		layout    string
		stored    bool
	}{
		{ir.Float16, ir.Float16, ir.Float16, "contiguous", true},
		{ir.Float16, ir.Float16, ir.Float16, "offset", true},
		{ir.Float16, ir.Float16, ir.Float16, "sliced", true},
		{ir.Float16, ir.Float16, ir.Float32, "contiguous", false},
		{ir.Float32, ir.Float16, ir.Float16, "contiguous", false},
		{ir.BFloat16, ir.BFloat16, ir.BFloat16, "contiguous", false},
	} {
		for _, n := range []int{1, 77, 3000, 40000} {
			x := cputest.Fill(cputest.NewView(test.x, test.layout, n), rng, 0, 9)
			y := cputest.Fill(cputest.NewView(test.y, "contiguous", n), rng, 0, 9)
			out := cputest.NewView(test.out, "contiguous", n)
			want := make([]float64, n)
			for i := range want {
				want[i] = real(2*cputest.Get(x, i) + cputest.Get(y, i))
			}
			ran.Store(0)
			if err := Run(&ir.Call{Kernel: op.Kernel(0, ir.PromotePair(test.x, test.y)), Space: []int{n}, Out: []ir.View{out}, In: []ir.View{x, y}}); err != nil {
				t.Fatal(err)
			}
			what := fmt.Sprintf("%d of %+v", n, test)
			if d := diff(want, cputest.Reals(out)); d != "" {
				t.Fatalf("%s: %s", what, d)
			}
			if got := ran.Load(); test.stored && got != int64(n) || !test.stored && got != 0 {
				t.Errorf("%s: the loop computed %d", what, got)
			}
		}
	}
}
