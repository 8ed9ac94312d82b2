package compile_test

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func values(t testing.TB, x tensor.Tensor) []float32 {
	t.Helper()
	list, err := tensor.Data[float32](x)
	must(t, err)
	return list
}

// diff is cmp.Diff of lists of numbers, which takes a microsecond for each of them: lists that
// are the same are told at once.
func diff[T comparable](want, got []T, how ...cmp.Option) string {
	if len(want) > 0 && slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got, how...)
}

// TestStep: compiled steps leave what eager steps leave, on accelerators in one graph each
// from the second on.
func TestStep(t *testing.T) { each(t, testStep) }

func testStep(t *testing.T, dev device.Device) {
	const steps = 5
	type run struct {
		Losses []float32
		State  map[string][]float32
	}
	train := func(compiled bool) run {
		random.Seed(3)
		// A bias before a batch norm would have rounding errors for a gradient, and Adam takes whole steps by them.
		model := nn.NewSequential(nn.NewLinear(8, 16, nn.NoBias()), nn.NewBatchNorm(16), nn.ReLU(), nn.NewDropout(0.3), nn.NewLinear(16, 4))
		adam, err := optim.NewAdam(nn.Parameters(model), 1e-2)
		must(t, err)
		call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return optim.Minimize(adam, func() tensor.Tensor { return model.Forward(x[0]).CrossEntropy(x[1]) })
		}
		step := compile.Step(call, compile.State(model, adam))
		if compiled {
			call = step.Call
		}
		var losses []tensor.Tensor
		for range steps {
			loss, err := call(tensor.Randn([]int{5, 8}), tensor.Randint([]int{5}, 0, 4))
			must(t, err)
			losses = append(losses, loss)
		}
		r := run{State: map[string][]float32{}}
		for _, loss := range losses { // which later steps did not change
			r.Losses = append(r.Losses, values(t, loss)...)
		}
		for name, p := range nn.Named(model) {
			r.State[name] = values(t, p.Tensor)
			g, ok := p.Grad()
			if !ok {
				t.Fatalf("%s has no gradient", name)
			}
			r.State[name+".grad"] = values(t, g)
			r.State[name+".versions"] = []float32{float32(p.Version()), float32(g.Version())}
		}
		for name, b := range nn.NamedBuffers(model) {
			r.State[name] = values(t, b.Tensor)
		}
		state := random.Current().State()
		r.State["random"] = []float32{float32(state.Seed), float32(state.Offset)}
		if compiled {
			s := step.Stats()
			if whole := s.Nodes > 0 && s.OneByOne == ""; s.Traces != 1 || s.Steps == 0 || whole != dev.Accelerator() {
				t.Errorf("%+v", s)
			}
			step.Close()
		}
		return r
	}
	if d := cmp.Diff(train(false), train(true), alike(dev)); d != "" {
		t.Error(d)
	}
}
