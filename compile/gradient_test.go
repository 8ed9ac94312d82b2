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
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestGradients: a compiled function in the middle of an eager step of training leaves what
// eager code leaves.
func TestGradients(t *testing.T) { each(t, testGradients) }

func testGradients(t *testing.T, dev device.Device) {
	train := func(compiled bool) map[string][]float32 {
		random.Seed(5)
		before := nn.NewLinear(6, 8)
		inner := nn.NewSequential(nn.NewLinear(8, 16), nn.NewBatchNorm(16), nn.Tanh(), nn.NewDropout(0.4), nn.NewLinear(16, 8))
		after := nn.NewLinear(8, 3)
		model := nn.NewSequential(before, inner, after)
		sgd, err := optim.NewSGD(nn.Parameters(model), 0.1, optim.Momentum(0.9))
		must(t, err)
		middle := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
			y := inner.Forward(x[0])
			_ = x[1] // which requires gradients
			return []tensor.Tensor{y, y.Detach().Argmax(tensor.Dim(1)), x[0].MulScalar(2).Add(y)}, nil
		}
		f := compile.Func(middle, compile.State(inner))
		if compiled {
			middle = f.Call
		}
		left := map[string][]float32{}
		for range 5 {
			x, y := tensor.Randn([]int{4, 6}), tensor.Randint([]int{4}, 0, 3)
			must(t, sgd.ZeroGrad())
			list, err := middle(before.Forward(x), tensor.Ones([]int{2}, tensor.RequireGrad()))
			must(t, err)
			if list[1].RequiresGrad() || !list[0].RequiresGrad() {
				t.Error("gradients flow to the wrong results")
			}
			loss := after.Forward(list[0].Add(list[2].MulScalar(0.25))).CrossEntropy(y)
			must(t, loss.Backward())
			must(t, sgd.Step())
			left["loss"] = append(left["loss"], values(t, loss.Detach())...)
		}
		for name, p := range nn.Named(model) {
			left[name] = values(t, p.Detach())
			g, ok := p.Grad()
			if !ok {
				t.Fatalf("%s has no gradient", name)
			}
			left[name+".grad"] = values(t, g)
		}
		for name, b := range nn.NamedBuffers(model) {
			left[name] = values(t, b.Tensor)
		}
		s := random.Current().State()
		left["random"] = []float32{float32(s.Seed), float32(s.Offset)}
		if compiled {
			if s := f.Stats(); s.Traces != 1 || (s.Nodes > 0) != dev.Accelerator() {
				t.Errorf("%+v", s)
			}
			f.Close()
		}
		return left
	}
	if d := cmp.Diff(train(false), train(true), alike(dev)); d != "" {
		t.Error(d)
	}
}

// TestGradientsRefused: what is saved and changed is an error, as in eager code.
func TestGradientsRefused(t *testing.T) {
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Square().Mul(x[1]), nil })
	x, y := tensor.From([]float32{1, 2}).RequireGrad(), tensor.From([]float32{3, 4})
	for range 2 {
		z, err := f.Call(x, y)
		must(t, err)
		must(t, z.Sum().Backward())
	}
	g, _ := x.Grad()
	if d := cmp.Diff([]float32{12, 32}, values(t, g)); d != "" {
		t.Error(d)
	}
	z, err := f.Call(x, y)
	must(t, err)
	must(t, y.AddScalarInPlace(1))
	if err := z.Sum().Backward(); !errors.Is(err, tensor.ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	z, err = f.Call(x, y)
	must(t, err)
	must(t, z.Sum().Backward())
	if err := z.Sum().Backward(); err == nil || !strings.Contains(err.Error(), "second time") {
		t.Errorf("a second pass: %v", err)
	}
	view := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Transpose(0, 0), nil })
	if _, err := view.Call(x); !errors.Is(err, compile.ErrUnrecordable) {
		t.Errorf("an argument as the result: %v", err)
	}
}

// TestGradientsInside: gradients of gradients that a function takes itself are a part of its
// program, and so is what a backward pass makes of them.
func TestGradientsInside(t *testing.T) {
	each(t, func(t *testing.T, dev device.Device) {
		penalty := func(x ...tensor.Tensor) (tensor.Tensor, error) {
			one := []tensor.Tensor{x[0]}
			first, err := tensor.Gradients([]tensor.Tensor{x[0].Sin().Mul(x[1]).Sum()}, one, tensor.CreateGraph())
			if err != nil {
				return tensor.Tensor{}, err
			}
			second, err := tensor.Gradients([]tensor.Tensor{first[0].Square().Sum()}, one)
			if err != nil {
				return tensor.Tensor{}, err
			}
			return second[0].MulScalar(2), nil
		}
		f := compile.Step(penalty)
		for i := range 4 {
			x, y := tensor.From([]float32{1, 2, float32(i)}).RequireGrad(), tensor.From([]float32{3, 4, 5})
			want, err := penalty(x, y)
			must(t, err)
			got, err := f.Call(x, y)
			must(t, err)
			if d := diff(values(t, want), values(t, got), alike(dev)); d != "" {
				t.Errorf("call %d: %s", i, d)
			}
		}
		if s := f.Stats(); s.Traces != 1 {
			t.Errorf("recorded %d times: %s", s.Traces, s.Retraced)
		}
	})
}
