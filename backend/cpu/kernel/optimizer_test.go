package kernel

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// A stepCase is an optimizer's step with its definition for one element: x has the
// element of every result, then of every operand.
type stepCase struct {
	name    string
	run     ir.KernelFunc
	results int
	attrs   []ir.Value
	step    func(x []float64)
}

func reals(v ...float64) []ir.Value {
	var out []ir.Value
	for _, x := range v {
		out = append(out, real64(x))
	}
	return out
}

// stepCases have numbers that are exact in float32.
var stepCases = []stepCase{
	{"sgd", SGDStep, 1, reals(0.25, 0.5), func(x []float64) { x[0] -= 0.25 * (x[1] + 0.5*x[0]) }},
	{"momentum", SGDMomentumStep, 2, append(reals(0.25, 0.75, 0.5, 0.125), flag(false)), func(x []float64) {
		x[1] = 0.75*x[1] + 0.5*(x[2]+0.125*x[0])
		x[0] -= 0.25 * x[1]
	}},
	{"nesterov", SGDMomentumStep, 2, append(reals(0.25, 0.75, 1, 0.125), flag(true)), func(x []float64) {
		d := x[2] + 0.125*x[0]
		x[1] = 0.75*x[1] + d
		x[0] -= 0.25 * (d + 0.75*x[1])
	}},
	{"adam", AdamStep, 3, reals(0.5, 0.75, 0.875, 0.0625, 0.25, 0.9375), func(x []float64) {
		d := x[3] + 0.25*x[0]
		x[1] = 0.75*x[1] + 0.25*d
		x[2] = 0.875*x[2] + 0.125*d*d
		x[0] = 0.9375*x[0] - 0.5*x[1]/(math.Sqrt(x[2])+0.0625)
	}},
}

// precision is half the distance of 1 to the next number.
var precision = map[ir.DType]float64{ir.Float16: 0x1p-11, ir.BFloat16: 0x1p-8, ir.Float32: 0x1p-24, ir.Float64: 0x1p-53}

// TestSteps changes lists of tensors in every dtype and layout, one of them with
// many elements, one with none, and one whose operand has no axes.
func TestSteps(t *testing.T) {
	rng := newRand()
	shapes := [][]int{{3}, {5, 4}, {0, 2}, {2, 3, 4}, {}, {3 * stepWork / 2}, {6, 2}}
	const whole = 6 // whose operand has no axes
	for _, k := range stepCases {
		for _, dtype := range floatDTypes {
			lists := make([][]ir.View, k.results+1)
			for i := range lists {
				for j, shape := range shapes {
					layout := anyOf(rng, resultLayouts)
					if i == k.results {
						layout = anyOf(rng, cputest.Layouts)
						if j == whole {
							shape = nil
						}
					}
					low := -2.0
					if k.name == "adam" && i == 2 {
						low = 0 // a mean of squares
					}
					lists[i] = append(lists[i], cputest.FillFloat(cputest.NewView(dtype, layout, shape...), rng, low, 2))
				}
			}
			want := stepped(k, lists)
			c := call(dtype, k.attrs, nil)
			c.Op.Out = make([]ir.Result, k.results)
			c.Op.In = make([]ir.Operand, 1)
			for i, l := range lists {
				if i < k.results {
					c.Out = append(c.Out, l...)
				} else {
					c.In = append(c.In, l...)
				}
			}
			must(t, k.run, c)
			for i := range want {
				for j, w := range want[i] {
					checkWithin(t, fmt.Sprint(k.name, " ", dtype, " list ", i, " tensor ", j), lists[i][j], w, 40*precision[dtype.Compute()]+1.01*precision[dtype])
				}
			}
		}
	}
}

// stepped returns what the definition makes of the results.
func stepped(k stepCase, lists [][]ir.View) [][][]float64 {
	want := make([][][]float64, k.results)
	for j := range lists[0] {
		n := lists[0][j].NumElements()
		for i := range want {
			want[i] = append(want[i], make([]float64, n))
		}
		for e := range n {
			var x []float64
			for _, l := range lists {
				x = append(x, real(cputest.Get(l[j], e%l[j].NumElements())))
			}
			k.step(x)
			for i := range want {
				want[i][j][e] = x[i]
			}
		}
	}
	return want
}

func checkWithin(t *testing.T, what string, got ir.View, want []float64, tolerance float64) {
	t.Helper()
	for i, w := range want {
		if g := real(cputest.Get(got, i)); !(math.Abs(g-w) <= tolerance*max(1, math.Abs(w))) {
			t.Fatalf("%s: element %v of %v is %v, want %v", what, coords(got.Shape, i), got.Shape, g, w)
		}
	}
}

// TestStepAllocates checks that a step's allocations do not grow with its lists.
func TestStepAllocates(t *testing.T) {
	at := func(n int) float64 {
		c := call(ir.Float32, stepCases[0].attrs, nil)
		c.Op.Out, c.Op.In = make([]ir.Result, 1), make([]ir.Operand, 1)
		for range n {
			c.Out = append(c.Out, cputest.NewView(ir.Float32, "contiguous", 8))
			c.In = append(c.In, cputest.NewView(ir.Float32, "contiguous", 8))
		}
		return testing.AllocsPerRun(20, func() { must(t, SGDStep, c) })
	}
	if few, many := at(2), at(100); many > few+2 {
		t.Errorf("%v allocations for 100 tensors, %v for 2", many, few)
	}
}
