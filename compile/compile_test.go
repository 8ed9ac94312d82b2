package compile_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
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

// TestStep: three compiled steps leave what three eager steps leave.
func TestStep(t *testing.T) {
	type run struct {
		Losses []float32
		State  map[string][]float32
	}
	train := func(compiled bool) run {
		random.Seed(3)
		model := nn.NewSequential(nn.NewLinear(8, 16), nn.NewBatchNorm(16), nn.ReLU(), nn.NewDropout(0.3), nn.NewLinear(16, 4))
		adam, err := optim.NewAdam(nn.Parameters(model), 1e-2)
		must(t, err)
		call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return optim.Minimize(adam, func() tensor.Tensor { return model.Forward(x[0]).CrossEntropy(x[1]) })
		}
		step := compile.Step(call, compile.State(model, adam))
		if compiled {
			call = step.Call
		}
		r := run{State: map[string][]float32{}}
		for range 3 {
			x, y := tensor.Randn([]int{5, 8}), tensor.Randint([]int{5}, 0, 4)
			loss, err := call(x, y)
			must(t, err)
			r.Losses = append(r.Losses, values(t, loss)...)
		}
		for name, p := range nn.Named(model) {
			r.State[name] = values(t, p.Tensor)
			g, ok := p.Grad()
			if !ok {
				t.Fatalf("%s has no gradient", name)
			}
			r.State[name+".grad"] = values(t, g)
		}
		for name, b := range nn.NamedBuffers(model) {
			r.State[name] = values(t, b.Tensor)
		}
		if compiled {
			if s := step.Stats(); s.Traces != 1 || s.Steps == 0 {
				t.Errorf("%+v", s)
			} else {
				t.Logf("%+v", s)
			}
		}
		return r
	}
	if d := cmp.Diff(train(false), train(true)); d != "" {
		t.Error(d)
	}
}

// TestHostRead: a value that is read is an error with the program's line.
func TestHostRead(t *testing.T) {
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		if v, err := x[0].Sum().Item(); err != nil || v > 0 {
			return x[0], err
		}
		return x[0].Neg(), nil
	})
	_, err := f.Call(tensor.Ones([]int{3}))
	if !errors.Is(err, compile.ErrHostRead) || !strings.Contains(err.Error(), "compile_test.go:") {
		t.Errorf("error %v", err)
	}
}
