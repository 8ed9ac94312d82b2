package compile_test

import (
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestSameSteps: a recording of the steps of one before has its program, whoever made that;
// one that differs in anything has its own. All compute what eager code does, to the bit.
func TestSameSteps(t *testing.T) {
	type made struct {
		factor, filled, added float64
		axis, width           int
		keys                  []compile.Option
		alone                 bool
	}
	base := made{factor: 2, filled: 3, axis: 0, width: 4}
	f := func(m made) func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := x[0].MulScalar(m.factor).Add(tensor.Full([]int{m.width}, m.filled).AddScalar(1)).MulScalar(0).AddScalar(m.added)
			if m.alone {
				return y, nil
			}
			return y.Div(x[0].Sum(tensor.Dim(m.axis), tensor.KeepDim())), nil
		}
	}
	each(t, func(t *testing.T, dev device.Device) {
		programs := map[string]*program.Program{}
		run := func(name string, m made) {
			t.Helper()
			x := tensor.Randn([]int{4, m.width})
			step := compile.Func(f(m), m.keys...)
			defer step.Close()
			want, _ := f(m)(x)
			got, err := step.Call(x)
			must(t, err)
			if diff := cmp.Diff(bits(t, want), bits(t, got)); diff != "" {
				t.Errorf("%s (-eager +compiled):\n%s", name, diff)
			}
			p := step.Program()
			for other, q := range programs {
				if (p == q) != (other == name) {
					t.Errorf("%s: the program of %s: %v", name, other, p == q)
				}
			}
			programs[name] = p
		}
		for range 2 { // those of the second round are known
			run("base", base)
			for name, change := range map[string]func(m *made){
				"a number":                         func(m *made) { m.factor = 3 },
				"a constant":                       func(m *made) { m.filled = 4 },
				"the sign of zero":                 func(m *made) { m.added = math.Copysign(0, -1) },
				"an axis":                          func(m *made) { m.axis = 1 },
				"a shape":                          func(m *made) { m.width = 5 },
				"fewer steps":                      func(m *made) { m.alone = true },
				"kernels that may round otherwise": func(m *made) { m.keys = []compile.Option{compile.Relaxed()} },
			} {
				m := base
				change(&m)
				run(name, m)
			}
		}
	})
}

// bits returns elements as they are.
func bits(t *testing.T, x tensor.Tensor) []uint32 {
	t.Helper()
	list, err := tensor.Data[float32](x)
	must(t, err)
	out := make([]uint32, len(list))
	for i, v := range list {
		out[i] = math.Float32bits(v)
	}
	return out
}

// TestSameStepsInTraining: a step that is recorded again midway goes on with the random numbers
// and the optimizer's numbers of then, and leaves what eager steps leave.
func TestSameStepsInTraining(t *testing.T) {
	each(t, func(t *testing.T, dev device.Device) {
		x := tensor.Randn([]int{6, 3})
		start := state()
		train := func(compiled bool) [][]float32 {
			restore(start)
			model := nn.NewSequential(nn.NewLinear(3, 5), nn.NewDropout(0.5), nn.Tanh(), nn.NewLinear(5, 1))
			adam, err := optim.NewAdam(nn.Parameters(model), 0.01)
			must(t, err)
			call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return optim.Minimize(adam, func() tensor.Tensor { return model.Forward(x[0]).Square().Mean() })
			}
			step := compile.Step(call, compile.State(model, adam))
			var before *program.Program
			for i := range 6 {
				if !compiled {
					_, err := call(x)
					must(t, err)
					continue
				}
				_, err := step.Call(x)
				must(t, err)
				if p := step.Program(); before != nil && p != before {
					t.Errorf("step %d: another program", i)
				} else {
					before = p
				}
				if i%2 == 1 {
					step.Close()
				}
			}
			var left [][]float32
			for _, p := range nn.Parameters(model) {
				left = append(left, values(t, p.Tensor))
			}
			return left
		}
		if diff := cmp.Diff(train(false), train(true), alike(dev)); diff != "" {
			t.Errorf("(-eager +compiled):\n%s", diff)
		}
	})
}

// TestSameStepsDrawn: what is drawn otherwise by the same steps, and with another seed, has gradients
// of gradients as eager code has.
func TestSameStepsDrawn(t *testing.T) {
	each(t, func(t *testing.T, dev device.Device) {
		x := []tensor.Tensor{tensor.Randn([]int{6, 3}).RequireGrad()}
		for i, p := range []float64{0.5, 0.25, 0.5} {
			f := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
				return []tensor.Tensor{x[0].Dropout(p).Square().Tanh()}, nil
			}
			random.Seed(int64(i))
			want, err := derivatives(f, 2, x...)
			must(t, err)
			random.Seed(int64(i))
			step := compile.Func(f)
			got, err := derivatives(step.Call, 2, x...)
			must(t, err)
			for k := range want {
				if diff := cmp.Diff(values(t, want[k]), values(t, got[k]), roughly); diff != "" {
					t.Errorf("p %g, value %d (-eager +compiled):\n%s", p, k, diff)
				}
			}
			step.Close()
		}
	})
}
