package kernel

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/ir"
)

// TestSteps takes steps worked out by hand, of two tensors each.
func TestSteps(t *testing.T) {
	numbers := func(v ...float64) (out []ir.Value) {
		for _, x := range v {
			out = append(out, ir.FloatValue(x))
		}
		return out
	}
	for _, k := range []struct {
		name  string
		run   ir.KernelFunc
		attrs []ir.Value
		out   [][]complex128 // of two elements and one, by result
		in    [][]complex128
		want  [][]float64
	}{
		{
			"sgd: p -= 0.5*(g + 2p)", SGDStep, numbers(0.5, 2),
			[][]complex128{{1, -3}, {4}}, [][]complex128{{2, 8}, {-6}},
			[][]float64{{-1, -4}, {3}},
		},
		{
			"momentum: v = 0.5v + 0.25*(g + p), p -= 2v", SGDMomentumStep, append(numbers(2, 0.5, 0.25, 1), ir.BoolValue(false)),
			[][]complex128{{1, 2}, {3}, {4, -2}, {6}}, [][]complex128{{3, 6}, {1}},
			[][]float64{{-5, 0}, {-5}, {3, 1}, {4}},
		},
		{
			"nesterov: v = 0.5v + g, p -= g + 0.5v", SGDMomentumStep, append(numbers(1, 0.5, 1, 0), ir.BoolValue(true)),
			[][]complex128{{1, 2}, {3}, {4, -2}, {6}}, [][]complex128{{2, 3}, {1}},
			[][]float64{{-3, -2}, {0}, {4, 2}, {4}},
		},
		{
			// d = g + 2p; m = 0.5m + 0.5d, v = 0.75v + 0.25d*d, p = 0.5p - 3m/(sqrt(v) + 1)
			"adam", AdamStep, numbers(3, 0.5, 0.75, 1, 2, 0.5),
			[][]complex128{{1, 0}, {2}, {0, 2}, {4}, {0, 12}, {16}}, [][]complex128{{2, 0}, {-4}},
			[][]float64{{-1.5, -0.75}, {1 - 6/(math.Sqrt(12)+1)}, {2, 1}, {2}, {4, 9}, {12}},
		},
	} {
		for _, d := range ir.ClassFloat.List() {
			shapes := [][]int{{2, 1}, {1}}
			c := &ir.Call{Op: &ir.Op{Name: k.name}, Compute: d.Compute(), Attrs: k.attrs}
			c.Op.Out, c.Op.In = make([]ir.Result, len(k.out)/2), make([]ir.Operand, 1)
			for i, x := range k.out {
				c.Out = append(c.Out, transposed(view(d, shapes[i%2], x...)))
			}
			for i, x := range k.in {
				c.In = append(c.In, transposed(view(d, shapes[i%2], x...)))
			}
			if err := k.run(c); err != nil {
				t.Errorf("%s %s: %v", k.name, d, err)
				continue
			}
			for i, w := range k.want {
				var got []float64
				for _, x := range values(c.Out[i]) {
					got = append(got, x[0])
				}
				tolerance := map[ir.DType]float64{ir.Float16: 0x1p-10, ir.BFloat16: 0x1p-7, ir.Float32: 0x1p-23, ir.Float64: 1e-15}[d]
				if diff := cmp.Diff(w, got, cmpopts.EquateApprox(tolerance, 0)); diff != "" {
					t.Errorf("%s %s, result %d (-want +got):\n%s", k.name, d, i, diff)
				}
			}
		}
	}
}
