package optim_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

type maker func([]*nn.Parameter) (optim.Optimizer, error)

func sgd(rate float64, opts ...optim.Option) maker {
	return func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, rate, opts...) }
}

func adam(rate float64, opts ...optim.Option) maker {
	return func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdam(p, rate, opts...) }
}

func adamW(rate float64, opts ...optim.Option) maker {
	return func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdamW(p, rate, opts...) }
}

// makers are the optimizers of the vectors' trajectories.
var makers = map[string]maker{
	"sgd":              sgd(0.1),
	"sgd weight decay": sgd(0.1, optim.WeightDecay(0.05)),
	"sgd momentum":     sgd(0.05, optim.Momentum(0.9)),
	"sgd dampening":    sgd(0.05, optim.Momentum(0.8), optim.Dampening(0.3), optim.WeightDecay(0.01)),
	"sgd nesterov":     sgd(0.05, optim.Momentum(0.9), optim.Nesterov(), optim.WeightDecay(0.02)),
	"adam":             adam(0.02),
	"adam options":     adam(0.02, optim.Betas(0.8, 0.95), tensor.Eps(1e-4), optim.WeightDecay(0.1)),
	"adamw":            adamW(0.02, optim.WeightDecay(0.1)),
	"adamw options":    adamW(0.01, optim.Betas(0.7, 0.9), tensor.Eps(1e-3), optim.WeightDecay(0.3)),
}

// TestTrajectories follows ten steps, in which one parameter has no gradient now
// and then, beside PyTorch's numbers.
func TestTrajectories(t *testing.T) {
	trajectories(t, device.CPU, tensor.Float64, 1e-13)
	trajectories(t, device.CPU, tensor.Float32, 3e-6)
	trajectories(t, device.Sim(1), tensor.Float64, 1e-13)
}

// TestTrajectoriesOnGPU follows them where there is a GPU.
func TestTrajectoriesOnGPU(t *testing.T) {
	if _, _, err := device.Find(device.CUDA(0)); err != nil {
		t.Skip("needs a GPU: ", err)
	}
	trajectories(t, device.CUDA(0), tensor.Float64, 1e-13)
	trajectories(t, device.CUDA(0), tensor.Float32, 3e-6)
}

func trajectories(t *testing.T, d device.Device, dt tensor.DType, tolerance float64) {
	v := load(t).Optimizers
	if len(v.After) != len(makers) {
		t.Errorf("%d trajectories for %d optimizers", len(v.After), len(makers))
	}
	for name, make := range makers {
		params := parameters(v.Start, dt, d)
		opt, err := make(params)
		must(t, err)
		for i, grads := range v.Grads {
			setGradients(t, params, grads)
			if i == 4 { // on another optimizer, with the first one's state
				opt = resumed(t, opt, params, make)
			}
			before := params[1].Version()
			must(t, opt.Step())
			if grads[1] == nil && params[1].Version() != before {
				t.Errorf("%s: step %d changed a parameter without a gradient", name, i)
			}
			must(t, opt.ZeroGrad())
			for k, p := range params {
				if !near(t, fmt.Sprintf("%s in %s on %s: parameter %d after step %d", name, dt, d, k, i), p.Tensor, v.After[name][i][k], tolerance) {
					return
				}
			}
		}
	}
}

func setGradients(t testing.TB, params []*nn.Parameter, grads []*array) {
	t.Helper()
	for k, g := range grads {
		if g != nil {
			must(t, params[k].SetGrad(g.tensor(params[k].DType(), params[k].Device())))
		} else if _, ok := params[k].Grad(); ok {
			t.Fatal("ZeroGrad left a gradient")
		}
	}
}

// resumed returns a new optimizer over params in the state of opt.
func resumed(t testing.TB, opt optim.Optimizer, params []*nn.Parameter, make maker) optim.Optimizer {
	t.Helper()
	state, err := opt.State()
	must(t, err)
	again, err := make(params)
	must(t, err)
	again.SetLearningRate(99)
	must(t, again.SetState(state))
	for name, s := range state {
		if s.Device() != device.CPU {
			t.Errorf("the state's %s is on %s", name, s.Device())
		}
		s.Release() // the optimizer has its own
	}
	return again
}

// TestTraining trains a small network beside PyTorch: convolution, batch
// normalization, cross entropy, clipping, AdamW and a schedule.
func TestTraining(t *testing.T) {
	v := load(t).Training
	for _, d := range []device.Device{device.CPU, device.Sim(1)} {
		m := nn.NewSequential(nn.NewConv2d(1, 2, 3, tensor.Padding(1)), nn.NewBatchNorm(2), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.NewLinear(8, 3))
		must(t, nn.ToType(m, tensor.Float64))
		must(t, nn.To(m, d))
		state := map[string]tensor.Tensor{}
		for name, a := range v.State {
			state[name] = a.tensor(tensor.Float64, device.CPU)
		}
		must(t, nn.LoadStateDict(m, state))
		opt, err := optim.NewAdamW(nn.Parameters(m), 0.05, optim.WeightDecay(0.1))
		must(t, err)
		schedule := optim.NewScheduler(opt, optim.Cosine(6, 0.1))
		for i, b := range v.Batches {
			loss := m.Forward(b.X.tensor(tensor.Float64, d)).CrossEntropy(b.Y.tensor(tensor.Int64, d))
			if got, err := loss.Item(); err != nil || math.Abs(got-b.Loss) > 1e-10 {
				t.Errorf("loss of batch %d on %s is %v, %v, want %v", i, d, got, err, b.Loss)
			}
			must(t, opt.ZeroGrad())
			must(t, loss.Backward())
			_, err := optim.ClipGradNorm(opt.Parameters(), 1)
			must(t, err)
			must(t, opt.Step())
			schedule.Step()
		}
		for name, s := range nn.StateDict(m) {
			near(t, name+" after training on "+d.String(), s, v.After[name], 1e-9)
		}
	}
}

func TestOptions(t *testing.T) {
	p := []*nn.Parameter{nn.NewParameter(tensor.Ones([]int{2}))}
	for _, c := range []struct {
		name string
		make maker
		p    []*nn.Parameter
		text string
	}{
		{"negative rate", sgd(-1), p, "learning rate -1"},
		{"rate that is no number", adam(math.NaN()), p, "learning rate NaN"},
		{"infinite rate", adam(math.Inf(1)), p, "learning rate +Inf"},
		{"negative momentum", sgd(1, optim.Momentum(-0.1)), p, "momentum -0.1"},
		{"negative decay", sgd(1, optim.WeightDecay(-2)), p, "weight decay -2"},
		{"dampening that is no number", sgd(1, optim.Momentum(1), optim.Dampening(math.NaN())), p, "dampening NaN"},
		{"Nesterov without momentum", sgd(1, optim.Nesterov()), p, "Nesterov needs momentum"},
		{"Nesterov with dampening", sgd(1, optim.Nesterov(), optim.Momentum(0.5), optim.Dampening(0.1)), p, "(has 0.1)"},
		{"another's option", sgd(1, tensor.Eps(1)), p, "sgd: no option Eps here; want Momentum, Dampening, Nesterov, WeightDecay or Maximize"},
		{"the momentum of a batch norm", sgd(1, nn.Momentum(0.1)), p, "sgd: no option nn.Momentum here; want Momentum, "},
		{"another's option of adamw", adamW(1, optim.Momentum(1)), p, "adamw: no option Momentum here; want Betas, Eps, WeightDecay or Maximize"},
		{"beta of 1", adam(1, optim.Betas(1, 0.999)), p, "betas 1 and 0.999"},
		{"negative beta", adamW(1, optim.Betas(0.9, -0.5)), p, "-0.5"},
		{"negative eps", adamW(1, tensor.Eps(-1)), p, "eps -1"},
		{"decay that is no number", adam(1, optim.WeightDecay(math.NaN())), p, "weight decay NaN"},
		{"no parameters", sgd(1), nil, "no parameters"},
		{"nil parameter", sgd(1), []*nn.Parameter{p[0], nil}, "parameter 1 is nil"},
		{"parameter twice", sgd(1), []*nn.Parameter{p[0], p[0]}, "parameter 1 is parameter 0 again"},
		{"parameter with an error", adam(1), []*nn.Parameter{nn.NewLinear(-1, 2).Weight}, "parameter 0: "},
		{"complex parameter", adam(1), []*nn.Parameter{nn.NewParameter(tensor.Ones([]int{1}, tensor.OfType(tensor.Complex64)))}, "complex64"},
	} {
		if _, err := c.make(c.p); err == nil || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.text)
		}
	}
}

func TestStepErrors(t *testing.T) {
	p := nn.NewParameter(tensor.Ones([]int{2}))
	opt, err := optim.NewSGD([]*nn.Parameter{p}, 1)
	must(t, err)
	must(t, p.SetGrad(tensor.Ones([]int{2})))
	opt.SetLearningRate(math.NaN())
	if err := opt.Step(); err == nil || !strings.Contains(err.Error(), "learning rate NaN") {
		t.Errorf("a step with a rate that is no number: %v", err)
	}
	if got := values(t, p.Tensor); got[0] != 1 {
		t.Errorf("a step that failed made the parameter %v", got)
	}
	must(t, p.SetRequireGrad(false)) // frozen
	opt.SetLearningRate(1)
	must(t, opt.Step())
	must(t, opt.ZeroGrad())
	if got := values(t, p.Tensor); got[0] != 1 {
		t.Errorf("a step made a frozen parameter %v", got)
	}
}

// stepped returns an optimizer over a parameter of two and one of three elements
// that has made a step.
func stepped(t testing.TB, make maker) (optim.Optimizer, []*nn.Parameter) {
	t.Helper()
	params := []*nn.Parameter{nn.NewParameter(tensor.Ones([]int{2})), nn.NewParameter(tensor.Ones([]int{3}))}
	opt, err := make(params)
	must(t, err)
	for _, p := range params {
		must(t, p.SetGrad(tensor.OnesLike(p.Detach())))
	}
	must(t, opt.Step())
	return opt, params
}

func TestStateErrors(t *testing.T) {
	fine := adamW(0.1)
	steps := func(n ...int64) tensor.Tensor { return tensor.From(n) }
	for _, c := range []struct {
		name  string
		spoil func(s map[string]tensor.Tensor)
		text  string
	}{
		{"nothing", func(s map[string]tensor.Tensor) { clear(s) }, `"adamw.learning_rate" is missing`},
		{"no steps", func(s map[string]tensor.Tensor) { delete(s, "adamw.steps") }, `"adamw.steps" is missing`},
		{"no moment", func(s map[string]tensor.Tensor) { delete(s, "adamw.second_moment.1") }, `"adamw.second_moment.1" is missing`},
		{"more", func(s map[string]tensor.Tensor) { s["adamw.third.0"] = steps(1) }, `named ["adamw.third.0"]`},
		{"moment of no step", func(s map[string]tensor.Tensor) { s["adamw.steps"] = steps(0, 1) }, "adamw.first_moment.0"},
		{"other parameters", func(s map[string]tensor.Tensor) { s["adamw.steps"] = steps(1, 1, 1) }, "it is of 3 parameters, the optimizer has 2"},
		{"negative steps", func(s map[string]tensor.Tensor) { s["adamw.steps"] = steps(1, -1) }, "[1 -1]"},
		{"steps of floats", func(s map[string]tensor.Tensor) { s["adamw.steps"] = tensor.Ones([]int{2}) }, "float32"},
		{"shape", func(s map[string]tensor.Tensor) { s["adamw.first_moment.1"] = tensor.Ones([]int{2}) }, "it is float32 [2], the parameter float32 [3]"},
		{"dtype", func(s map[string]tensor.Tensor) {
			s["adamw.first_moment.1"] = tensor.Ones([]int{3}, tensor.OfType(tensor.Float64))
		}, "it is float64 [3]"},
		{"rate", func(s map[string]tensor.Tensor) { s["adamw.learning_rate"] = tensor.FromScalar(-1.0) }, "learning rate -1"},
		{"rates", func(s map[string]tensor.Tensor) { s["adamw.learning_rate"] = tensor.Ones([]int{2}) }, "adamw.learning_rate"},
		{"error", func(s map[string]tensor.Tensor) { s["adamw.first_moment.0"] = tensor.Tensor{} }, "zero Tensor"},
	} {
		opt, _ := stepped(t, fine)
		before, err := opt.State()
		must(t, err)
		spoiled, err := opt.State()
		must(t, err)
		c.spoil(spoiled)
		opt.SetLearningRate(0.7)
		if err := opt.SetState(spoiled); !errors.Is(err, optim.ErrState) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: error %v, want one with %q", c.name, err, c.text)
		}
		if opt.LearningRate() != 0.7 {
			t.Errorf("%s: a state that does not fit changed the rate to %g", c.name, opt.LearningRate())
		}
		after, err := opt.State()
		must(t, err)
		delete(before, "adamw.learning_rate")
		delete(after, "adamw.learning_rate")
		if diff := cmp.Diff(numbers(t, before), numbers(t, after)); diff != "" {
			t.Errorf("%s: a state that does not fit changed the optimizer: %s", c.name, diff)
		}
	}
	other, _ := stepped(t, sgd(0.1, optim.Momentum(0.5)))
	state, err := other.State()
	must(t, err)
	opt, _ := stepped(t, fine)
	if err := opt.SetState(state); !errors.Is(err, optim.ErrState) {
		t.Errorf("SGD's state in AdamW: %v", err)
	}
}

func numbers(t testing.TB, state map[string]tensor.Tensor) map[string][]float64 {
	t.Helper()
	out := map[string][]float64{}
	for name, s := range state {
		out[name] = values(t, s)
	}
	return out
}

// TestFollowsParameters moves a model after a step.
func TestFollowsParameters(t *testing.T) {
	m := nn.NewLinear(2, 2)
	opt, err := optim.NewAdam(nn.Parameters(m), 0.1)
	must(t, err)
	for _, d := range []device.Device{device.CPU, device.Sim(1), device.CPU} {
		must(t, nn.To(m, d))
		must(t, m.Forward(tensor.Ones([]int{1, 2}, tensor.On(d))).Sum().Backward())
		must(t, opt.Step())
		must(t, opt.ZeroGrad())
	}
	state, err := opt.State()
	must(t, err)
	if got := values(t, state["adam.steps"]); !slices.Equal(got, []float64{3, 3}) {
		t.Errorf("steps %v, want three of both", got)
	}
}

// TestMaximize holds that going up along a gradient is going down along its negative.
func TestMaximize(t *testing.T) {
	for name, both := range map[string][2]maker{
		"sgd":      {sgd(0.1, optim.WeightDecay(0.2), optim.Maximize()), sgd(0.1, optim.WeightDecay(0.2))},
		"nesterov": {sgd(0.1, optim.Momentum(0.5), optim.Nesterov(), optim.Maximize()), sgd(0.1, optim.Momentum(0.5), optim.Nesterov())},
		"adam":     {adam(0.1, optim.WeightDecay(0.2), optim.Maximize()), adam(0.1, optim.WeightDecay(0.2))},
		"adamw":    {adamW(0.1, optim.WeightDecay(0.2), optim.Maximize(true)), adamW(0.1, optim.WeightDecay(0.2), optim.Maximize(false))},
	} {
		t.Run(name, func(t *testing.T) {
			var ends [2][]float64
			for i, sign := range []float64{1, -1} {
				p := nn.NewParameter(tensor.From([]float64{1, -2, 3}))
				opt, err := both[i]([]*nn.Parameter{p})
				must(t, err)
				for range 5 {
					must(t, opt.ZeroGrad())
					must(t, p.Sin().Sum().MulScalar(sign).Backward())
					must(t, opt.Step())
				}
				ends[i], err = tensor.Data[float64](p.Tensor)
				must(t, err)
			}
			if diff := cmp.Diff(ends[1], ends[0]); diff != "" {
				t.Errorf("(-down along the negative +up):\n%s", diff)
			}
		})
	}
}

// TestDefaultDecay: AdamW shrinks parameters by default, as PyTorch's does, and Adam does not.
func TestDefaultDecay(t *testing.T) {
	for name, c := range map[string]struct {
		make maker
		want float64
	}{"adam": {adam(0.5), 2}, "adamw": {adamW(0.5), 2 - 0.5*0.01*2}} {
		p := nn.NewParameter(tensor.From([]float64{2}))
		opt, err := c.make([]*nn.Parameter{p})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.SetGrad(tensor.Zeros([]int{1}, tensor.OfType(tensor.Float64))); err != nil {
			t.Fatal(err)
		}
		if err := opt.Step(); err != nil {
			t.Fatal(err)
		}
		if got, err := p.Item(); err != nil || got != c.want {
			t.Errorf("%s: a step without a gradient gives %v, want %v (%v)", name, got, c.want, err)
		}
	}
}
