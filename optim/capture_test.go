package optim_test

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
)

// TestCapturedSteps: a captured step is made by each replay, with the rate of then;
// what cannot be captured is refused and changes nothing.
func TestCapturedSteps(t *testing.T) {
	t.Setenv("SINTER_NO_MEMORY_CACHING", "0") // graphs need it
	device.Install(sim.New(sim.Config{Devices: 1, Async: true}))
	defer device.Install(simulated)
	d := device.Sim(0)
	ok := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	parameter := func(dt tensor.DType) []*nn.Parameter {
		p := nn.NewParameter(tensor.Ones([]int{2}, tensor.On(d), tensor.OfType(dt)))
		ok(p.SetGrad(tensor.OnesLike(p.Detach())))
		return []*nn.Parameter{p}
	}
	value := func(p *nn.Parameter) float64 {
		t.Helper()
		v, err := p.Detach().ToType(tensor.Float64).Min().Item()
		ok(err)
		return v
	}
	refused := func(what string, err, is error) {
		t.Helper()
		if !errors.Is(err, is) {
			t.Errorf("%s: %v, want %v", what, err, is)
		}
	}

	p := parameter(tensor.Float32)
	sgd, err := optim.NewSGD(p, 0.25)
	ok(err)
	g := graph.New(d)
	ok(g.Capture(sgd.Step))
	if got := value(p[0]); got != 1 {
		t.Errorf("the capture made the parameter %g", got)
	}
	ok(g.Replay())
	sgd.SetLearningRate(0.5)
	ok(g.Replay())
	if got := value(p[0]); got != 0.25 {
		t.Errorf("after steps of 0.25 and 0.5 the parameter is %g", got)
	}
	sgd.SetLearningRate(-1)
	if err := g.Replay(); err == nil {
		t.Error("a rate of -1: no error")
	}
	sgd.SetLearningRate(0.5)
	state, err := sgd.State()
	ok(err)
	if steps, err := tensor.Data[int64](state["sgd.steps"]); err != nil || steps[0] != 2 {
		t.Errorf("%v steps, %v", steps, err)
	}
	ok(sgd.SetState(state))
	refused("a replay after SetState", g.Replay(), optim.ErrState)
	ok(g.Reset())

	p = parameter(tensor.Float32)
	adam, err := optim.NewAdam(p, 0.1)
	ok(err)
	refused("a first step", g.Capture(adam.Step), optim.ErrCapture)
	if got := value(p[0]); got != 1 {
		t.Errorf("the refused step made the parameter %g", got)
	}
	ok(adam.Step())
	ok(g.Capture(adam.Step))
	ok(g.Reset())

	p = parameter(tensor.Complex64)
	sgd, err = optim.NewSGD(p, 0.25)
	ok(err)
	ok(g.Capture(sgd.Step))
	ok(g.Replay())
	if got, err := p[0].Detach().Abs().Max().Item(); err != nil || got != 0.75 {
		t.Errorf("after a step of 0.25 the complex parameter is %g, %v", got, err)
	}
	ok(g.Reset())
}
