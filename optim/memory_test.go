package optim_test

import (
	"fmt"
	"runtime/debug"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
)

// learner is a training loop on a device.
type learner struct {
	m   *nn.Sequential
	opt optim.Optimizer
	x   tensor.Tensor
	y   tensor.Tensor
}

func newLearner(t testing.TB, d device.Device, width int, make maker) *learner {
	t.Helper()
	m := nn.NewSequential(nn.NewLinear(width, width), nn.NewBatchNorm(width), nn.ReLU(), nn.NewDropout(0.1), nn.NewLinear(width, 10))
	must(t, nn.To(m, d))
	opt, err := make(nn.Parameters(m))
	must(t, err)
	return &learner{m, opt, tensor.Rand([]int{8, width}, tensor.On(d)), tensor.Randint([]int{8}, 0, 10, tensor.On(d))}
}

func (l *learner) step() error {
	loss := l.m.Forward(l.x).CrossEntropy(l.y)
	if err := l.opt.ZeroGrad(); err != nil {
		return err
	}
	if err := loss.Backward(); err != nil {
		return err
	}
	if _, err := optim.ClipGradNorm(l.opt.Parameters(), 0.01); err != nil {
		return err
	}
	return l.opt.Step()
}

// TestScopeHoldsBytes checks that a step in a scope leaves exactly as many bytes
// on the device as the step before, without the collector's help.
func TestScopeHoldsBytes(t *testing.T) {
	for name, make := range makers {
		t.Run(name, func(t *testing.T) {
			own := sim.New(sim.Config{Devices: 1}) // to which nothing of other tests goes back
			device.Install(own)
			defer device.Install(simulated)
			defer debug.SetGCPercent(debug.SetGCPercent(-1))
			l := newLearner(t, device.Sim(0), 16, make)
			var held []string
			for range 6 {
				must(t, tensor.Scope(l.step))
				must(t, l.opt.ZeroGrad())
				c := own.Counters(0)
				held = append(held, fmt.Sprintf("%d bytes in %d blocks", c.LiveBytes, c.LiveAllocs))
			}
			// The first step makes what the optimizer keeps.
			for i := 2; i < len(held); i++ {
				if held[i] != held[1] {
					t.Fatalf("held after each step: %v", held)
				}
			}
		})
	}
}

// TestWithoutScope trains without a scope on a device that a few steps would
// fill if nothing went back.
func TestWithoutScope(t *testing.T) {
	l := newLearner(t, device.Sim(1), 64, makers["adamw"])
	before := simulated.Counters(1)
	for i := range 25 {
		if err := l.step(); err != nil {
			t.Fatalf("step %d, with %d blocks made: %v", i, simulated.Counters(1).Allocs-before.Allocs, err)
		}
	}
	after := simulated.Counters(1)
	t.Logf("%d blocks made, %d held", after.Allocs-before.Allocs, after.LiveAllocs)
}
