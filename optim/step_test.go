package optim_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/allocations"
)

// withGradients gives every parameter a gradient of ones.
func withGradients(t testing.TB, params []*nn.Parameter) {
	t.Helper()
	for _, p := range params {
		must(t, p.SetGrad(tensor.OnesLike(p.Detach())))
	}
}

// perceptron returns the parameters of a network of three layers, with gradients.
func perceptron(t testing.TB, d device.Device) []*nn.Parameter {
	t.Helper()
	m := nn.NewSequential(nn.NewLinear(6, 5), nn.ReLU(), nn.NewLinear(5, 4), nn.ReLU(), nn.NewLinear(4, 3))
	must(t, nn.To(m, d))
	params := nn.Parameters(m)
	withGradients(t, params)
	return params
}

// TestLaunches counts what a step gives a device to do, after the first, which
// makes what is kept: launches, and no copies or memory.
func TestLaunches(t *testing.T) {
	d := device.Sim(0)
	type work struct{ Launches, Allocs, Copies, Zeroed int64 }
	measure := func(opt optim.Optimizer) work {
		before := simulated.Counters(0)
		must(t, opt.Step())
		after := simulated.Counters(0)
		copies := func(c sim.Counters) int64 { return c.FromHost.Copies + c.ToHost.Copies + c.OnDevice.Copies }
		return work{after.Launches - before.Launches, after.Allocs - before.Allocs, copies(after) - copies(before), after.Zeroed.Copies - before.Zeroed.Copies}
	}
	for name, make := range makers {
		params := perceptron(t, d)
		if len(params) != 6 {
			t.Fatalf("%d parameters, want 6", len(params))
		}
		opt, err := make(params)
		must(t, err)
		must(t, opt.Step())
		for step := 2; step < 4; step++ {
			if diff := cmp.Diff(work{Launches: 1}, measure(opt)); diff != "" {
				t.Errorf("%s, step %d (-want +got):\n%s", name, step, diff)
			}
		}

		// A group for each dtype, and for steps that have different numbers.
		half := nn.NewParameter(tensor.Ones([]int{3}, tensor.On(d), tensor.OfType(tensor.Float16)))
		late := nn.NewParameter(tensor.Ones([]int{2}, tensor.On(d)))
		opt, err = make(append(slices.Clone(params), half, late))
		must(t, err)
		withGradients(t, []*nn.Parameter{half})
		must(t, opt.Step())
		withGradients(t, []*nn.Parameter{late})
		must(t, opt.Step())
		want := work{Launches: 2}
		if strings.HasPrefix(name, "adam") {
			want.Launches = 3
		}
		if diff := cmp.Diff(want, measure(opt)); diff != "" {
			t.Errorf("%s with groups (-want +got):\n%s", name, diff)
		}
	}
}

// TestStepAllocations bounds what a step over six parameters asks of Go's memory:
// a handle on each gradient, and a few lists. Where asking for the goroutine costs
// memory there is no bound.
func TestStepAllocations(t *testing.T) {
	if runtime.GOARCH != "amd64" && runtime.GOARCH != "arm64" {
		t.Skip("goroutines are told apart by their stack traces here")
	}
	for _, name := range []string{"sgd", "sgd momentum", "adamw"} {
		opt, err := makers[name](perceptron(t, device.CPU))
		must(t, err)
		t.Run(name, func(t *testing.T) { allocations.AtMost(t, 20, func() { must(t, opt.Step()) }) })
	}
}

// TestLayouts compares steps of parameters and gradients with gaps with those of
// dense ones.
func TestLayouts(t *testing.T) {
	start := array{[]int{2, 3}, []float64{1, -2, 3, -4, 5, -6}}
	grad := array{[]int{2, 3}, []float64{0.5, 0.25, -1, 2, 0, 1}}
	// turned returns the same elements with its axes exchanged in memory.
	turned := func(x tensor.Tensor) tensor.Tensor { return x.T().Clone().Contiguous().T() }
	for name, make := range makers {
		for _, d := range []device.Device{device.CPU, device.Sim(0)} {
			run := func(change func(tensor.Tensor) tensor.Tensor) []float64 {
				p := nn.NewParameter(change(start.tensor(tensor.Float64, d)))
				opt, err := make([]*nn.Parameter{p})
				must(t, err)
				for range 3 {
					must(t, p.SetGrad(change(grad.tensor(tensor.Float64, d))))
					must(t, opt.Step())
				}
				return values(t, p.Tensor)
			}
			want := run(func(x tensor.Tensor) tensor.Tensor { return x })
			if diff := cmp.Diff(want, run(turned)); diff != "" {
				t.Errorf("%s on %s (-dense +turned):\n%s", name, d, diff)
			}
		}
	}
}

// TestSharedElements makes steps of parameters that overlap, which happen one after
// the other.
func TestSharedElements(t *testing.T) {
	all := tensor.From([]float64{1, 2, 3})
	params := []*nn.Parameter{nn.NewParameter(all.Narrow(0, 0, 2)), nn.NewParameter(all.Narrow(0, 1, 2))}
	opt, err := optim.NewSGD(params, 0.5)
	must(t, err)
	withGradients(t, params)
	must(t, opt.Step())
	if diff := cmp.Diff([]float64{0.5, 1, 2.5}, values(t, all)); diff != "" {
		t.Errorf("after a step (-want +got):\n%s", diff)
	}
}

// TestStepOf makes a step of parameters that are given twice, or in another order, or are not
// the optimizer's: each changes once.
func TestStepOf(t *testing.T) {
	of := func(v float64) *nn.Parameter { return nn.NewParameter(tensor.From([]float64{v})) }
	for _, order := range [][]int{{0, 0}, {1, 1}, {1, 0}, {0, 1, 0}, {3, 2, 1}} {
		params := []*nn.Parameter{of(1), of(2), of(3)}
		opt, err := optim.NewSGD(params[:2], 0.5)
		must(t, err)
		withGradients(t, params)
		want, some := []float64{1, 2, 3}, []*nn.Parameter{}
		for _, i := range order {
			if i < 2 {
				want[i] = float64(i) + 0.5
			}
			some = append(some, append(params, nil)[i])
		}
		must(t, opt.StepOf(some))
		var got []float64
		for _, p := range params {
			got = append(got, values(t, p.Tensor)...)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("a step of %v (-want +got):\n%s", order, diff)
		}
	}
}

// TestComplexStep makes a step of a parameter that has no operator for all.
func TestComplexStep(t *testing.T) {
	p := nn.NewParameter(tensor.From([]complex128{1 + 2i}))
	real := nn.NewParameter(tensor.From([]float64{4}))
	opt, err := optim.NewSGD([]*nn.Parameter{p, real}, 0.5, optim.Momentum(0.5))
	must(t, err)
	must(t, p.SetGrad(tensor.From([]complex128{2i})))
	must(t, real.SetGrad(tensor.From([]float64{1})))
	must(t, opt.Step())
	must(t, opt.Step()) // by 0.5*(1 + 1.5) of the gradient in all
	got, err := tensor.Data[complex128](p.Detach())
	must(t, err)
	if diff := cmp.Diff([]complex128{1 - 0.5i}, got); diff != "" {
		t.Errorf("complex (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]float64{2.75}, values(t, real.Tensor)); diff != "" {
		t.Errorf("real (-want +got):\n%s", diff)
	}
}

// TestStepFails has a device fail in a step: the error names the parameters, none
// changes, and the next step is as if that one had not been tried.
func TestStepFails(t *testing.T) {
	d := device.Sim(0)
	broken := errors.New("broken")
	for _, c := range []struct {
		fault sim.Fault
		k     int // operations of a step until the one that fails
		first bool
		text  string
	}{
		{sim.FaultLaunch, 1, false, "optim: parameters 0, 1, 2, 3, 4, 5: "},
		{sim.FaultAlloc, 4, true, "optim: parameter 1: "},
	} {
		for _, name := range []string{"adamw", "adam options"} {
			params := perceptron(t, d)
			opt, err := makers[name](params)
			must(t, err)
			twin := make([]*nn.Parameter, len(params))
			for i, p := range params {
				twin[i] = nn.NewParameter(p.Detach().Clone())
			}
			withGradients(t, twin)
			same, err := makers[name](twin)
			must(t, err)
			if !c.first {
				must(t, opt.Step())
				must(t, same.Step())
			}
			before := numbersOf(t, params)
			must(t, simulated.Fail(0, c.fault, c.k, broken))
			if err := opt.Step(); !errors.Is(err, broken) || !strings.HasPrefix(err.Error(), c.text) {
				t.Errorf("%s: error %v, want one that begins %q", name, err, c.text)
			}
			if diff := cmp.Diff(before, numbersOf(t, params)); diff != "" {
				t.Errorf("%s: a step that failed changed parameters: %s", name, diff)
			}
			must(t, opt.Step())
			must(t, same.Step())
			if diff := cmp.Diff(numbersOf(t, twin), numbersOf(t, params)); diff != "" {
				t.Errorf("%s: the step after one that failed (-want +got):\n%s", name, diff)
			}
		}
	}
}

func numbersOf(t testing.TB, params []*nn.Parameter) [][]float64 {
	t.Helper()
	var out [][]float64
	for _, p := range params {
		out = append(out, values(t, p.Tensor))
	}
	return out
}

// TestHalfPrecision takes steps of 16-bit parameters, beside the same in float64: the
// arithmetic is wider than what is stored.
func TestHalfPrecision(t *testing.T) {
	v := load(t).Optimizers
	for _, c := range []struct {
		dt        tensor.DType
		tolerance float64
	}{{tensor.Float16, 8e-3}, {tensor.BFloat16, 5e-2}} {
		for name, make := range makers {
			for _, d := range []device.Device{device.CPU, device.Sim(1)} {
				params := parameters(v.Start, c.dt, d)
				opt, err := make(params)
				must(t, err)
				for _, grads := range v.Grads[:3] {
					setGradients(t, params, grads)
					must(t, opt.Step())
					must(t, opt.ZeroGrad())
				}
				for k, p := range params {
					near(t, fmt.Sprintf("%s in %s on %s: parameter %d", name, c.dt, d, k), p.Tensor, v.After[name][2][k], c.tolerance)
				}
			}
		}
	}
}
