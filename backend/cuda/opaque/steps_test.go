package opaque_test

import (
	"testing"

	"github.com/sinter-go/sinter/generated/ops"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// TestSteps takes three steps over 70 tensors of all sizes and layouts on the GPU
// and on the CPU, whose bits must be the same.
func TestSteps(t *testing.T) {
	onGPU(t)
	steps := map[string]struct {
		lists int
		run   func(l [][]*core.Tensor) error
	}{
		"sgd": {2, func(l [][]*core.Tensor) error { return ops.SGDStep(l[0], l[1], 0.1, 0.01) }},
		"momentum": {3, func(l [][]*core.Tensor) error {
			return ops.SGDMomentumStep(l[0], l[1], l[2], 0.1, 0.9, 0.7, 0.01, false)
		}},
		"nesterov": {3, func(l [][]*core.Tensor) error { return ops.SGDMomentumStep(l[0], l[1], l[2], 0.1, 0.9, 1, 0, true) }},
		"adam": {4, func(l [][]*core.Tensor) error {
			return ops.AdamStep(l[0], l[1], l[2], l[3], 0.01, 0.1, 0.999, 0.001, 1e-8, 0.01, 1)
		}},
		"adamw": {4, func(l [][]*core.Tensor) error {
			return ops.AdamStep(l[0], l[1], l[2], l[3], 0.01, 0.8, 0.5, 0.5, 1e-3, 0, 0.99)
		}},
		"sgd of two": {3, func(l [][]*core.Tensor) error { return ops.SGDStepTwo(l[0], l[1], l[2], 0.1, 0.01) }},
		"momentum of two": {4, func(l [][]*core.Tensor) error {
			return ops.SGDMomentumStepTwo(l[0], l[1], l[2], l[3], 0.1, 0.9, 0.7, 0.01, false)
		}},
		"adam of two": {5, func(l [][]*core.Tensor) error {
			return ops.AdamStepTwo(l[0], l[1], l[2], l[3], l[4], 0.01, 0.1, 0.999, 0.001, 1e-8, 0.01, 1)
		}},
		"mean of two": {3, func(l [][]*core.Tensor) error { return ops.MeanOfTwo(l[0], l[1], l[2], true) }},
	}
	// By two lists of gradients, the last of which is this one.
	two := map[string]int{"sgd of two": 2, "momentum of two": 2, "adam of two": 2, "mean of two": 2}
	for name, step := range steps {
		dtypes := ir.ClassFloat
		if two[name] > 0 {
			dtypes = ir.SetOf(ir.Float32)
		}
		grads := ir.Invalid // of each dtype beside parameters in float32, or that of the parameters
		test := func(t *testing.T, s source, dt ir.DType) {
			cpu, gpu := make([][]*core.Tensor, step.lists), make([][]*core.Tensor, step.lists)
			for k := range 70 {
				shape := s.shape(s.IntN(4))
				if k == 5 {
					shape = []int{3*4096 + 7}
				}
				for i := range step.lists {
					layouts := []layout{dense, dense, transposed, sliced}
					next := func() float64 { return s.Float64() - 0.5 }
					if i == 3+max(0, two[name]-1) {
						next = s.Float64 // a mean of squares
					}
					of := dt
					if i > 0 && (i == 1 || i == two[name]) && grads != ir.Invalid {
						of = grads
					}
					p := s.tensor(of, shape, layouts[s.IntN(len(layouts))], next)
					cpu[i], gpu[i] = append(cpu[i], p.cpu), append(gpu[i], p.gpu)
				}
			}
			for range 3 {
				if err := step.run(cpu); err != nil {
					t.Fatal(name, err)
				}
				if err := step.run(gpu); err != nil {
					t.Fatal(name, err)
				}
			}
			for i := range cpu {
				for k := range cpu[i] {
					if err := same(gpu[i][k], cpu[i][k]); err != nil {
						t.Fatalf("%s: gradients in %s: list %d, tensor %d: %v", name, grads, i, k, err)
					}
				}
			}
		}
		trials(t, dtypes, 1, test)
		for _, grads = range ir.Narrow() {
			trials(t, ir.SetOf(ir.Float32), 1, test)
		}
	}
}
