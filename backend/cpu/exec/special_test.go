package exec

import (
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// hundredLoop is 100 + x, which differs from axpy whatever its number is.
func hundredLoop[T arith](n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
	out, x := unsafe.Slice((*T)(p[0]), n), unsafe.Slice((*T)(p[1]), n)
	for i := range out {
		out[i] = 100 + x[i]
	}
}

// TestSpecial checks for which operands a call is that of another operator, in every
// layout, in place, and where the result is one element.
func TestSpecial(t *testing.T) {
	hundred := ir.Op{
		Name: "hundred", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}},
		CPU: ir.CPUKernels{Elementwise: []*[ir.NumDTypes]ir.Loop{{
			ir.Uint8: hundredLoop[uint8], ir.Float32: hundredLoop[float32], ir.Complex64: hundredLoop[complex64],
		}}},
	}
	op := axpy
	op.Special = []ir.Special{{Operand: 1, Value: 3, Op: &hundred}, {Operand: 1, Value: -1, Op: &hundred}, {Operand: 0, Value: 70, Op: &hundred}}
	rng := rand.New(rand.NewPCG(1, 2))
	for _, c := range []struct {
		name    string
		dtype   ir.DType // of x
		number  ir.DType // of y
		y       float64
		swap    bool // the number is the first operand
		special bool
	}{
		{"float", ir.Float32, ir.Float32, 3, false, true}, {"negative", ir.Float32, ir.Int64, -1, false, true},
		{"half", ir.Float16, ir.Float32, 3, false, true}, {"bfloat16", ir.BFloat16, ir.BFloat16, 3, false, true},
		{"integer", ir.Uint8, ir.Int64, 3, false, true}, {"another number", ir.Float32, ir.Float32, 2, false, false},
		{"near it", ir.Float32, ir.Float64, 3.0000001, false, false}, {"complex", ir.Complex64, ir.Float32, 3, false, false},
		{"no loop", ir.Int16, ir.Int64, 3, false, false}, {"first", ir.Float32, ir.Float32, 70, true, true},
	} {
		for _, space := range [][]int{{}, {1}, {7}, {0, 3}, {3, 5}, {130, 9}} {
			for _, layout := range cputest.Layouts {
				x := cputest.Fill(cputest.NewView(c.dtype, layout, space...), rng, 10, 19) // none of the numbers
				y := cputest.From(c.number, nil, c.y)
				y.Shape, y.Strides = space, make([]int, len(space))
				in := []ir.View{x, y}
				if c.swap {
					in = []ir.View{y, x}
				}
				want := make([]complex128, x.NumElements())
				for i := range want {
					v := cputest.Get(x, i)
					if want[i] = 2*v + complex(float64(float32(c.y)), 0); c.special {
						want[i] = 100 + v
					}
				}
				for _, out := range []ir.View{cputest.NewView(c.dtype, "contiguous", space...), cputest.NewView(c.dtype, "sliced", space...), x} {
					if err := Run(&ir.Call{Op: &op, Compute: c.dtype.Compute(), Space: space, Out: []ir.View{out}, In: in}); err != nil {
						t.Fatal(err)
					}
					if d := diff(want, cputest.Values(out)); d != "" && (layout != "expanded" || out.Ptr != x.Ptr) {
						t.Fatalf("%s %v %s: %s", c.name, space, layout, d)
					}
				}
			}
		}
	}
	// An operand of several elements is none, though they are alike.
	x, y := cputest.From(ir.Float32, []int{2}, 1, 2), cputest.From(ir.Float32, []int{2}, 3, 3)
	out := cputest.NewView(ir.Float32, "contiguous", 2)
	if err := Run(&ir.Call{Op: &op, Compute: ir.Float32, Space: []int{2}, Out: []ir.View{out}, In: []ir.View{x, y}}); err != nil {
		t.Fatal(err)
	}
	if d := diff([]complex128{5, 7}, cputest.Values(out)); d != "" {
		t.Error(d)
	}
}
