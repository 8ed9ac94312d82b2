package compile_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestLost: a device that is lost in a run is an error with the program's line. What the run
// changed on the host is taken back: schedule, rate and random numbers; versions stay.
func TestLost(t *testing.T) {
	for _, c := range []struct {
		name string
		opts []compile.Option
		runs int // before the one that fails
	}{
		{"call by call", []compile.Option{compile.CallByCall()}, 3},
		{"first run", nil, 0},
		{"capture", nil, 1},
		{"graph", nil, 3},
	} {
		t.Run(c.name, func(t *testing.T) {
			drv := sim.New(sim.Config{Devices: 1})
			device.Install(drv)
			defer device.Install(simulated)
			var model nn.Module
			var schedule *optim.Scheduler
			var sgd optim.Optimizer
			var step *compile.Compiled[tensor.Tensor]
			x := tensor.Ones([]int{4, 3})
			must(t, tensor.WithDefaults(tensor.Defaults{Device: device.Sim(0)}, func() (err error) {
				x = x.To(device.Sim(0))
				model = nn.NewSequential(nn.NewDropout(0.5), nn.NewLinear(3, 2))
				if sgd, err = optim.NewSGD(nn.Parameters(model), 0.1); err != nil {
					return err
				}
				schedule = optim.NewScheduler(sgd, optim.Cosine(20, 0.1))
				step = compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
					schedule.Step()
					return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).Square().Mean() })
				}, append(c.opts, compile.State(model, sgd, schedule))...)
				must(t, step.Prepare(x))
				for range c.runs {
					if _, err := step.Call(x); err != nil {
						return err
					}
				}
				return nil
			}))
			host := func() string {
				text := fmt.Sprint(schedule, sgd.LearningRate(), random.Current().State())
				for _, p := range nn.Parameters(model) {
					text += fmt.Sprint(" ", p.Version())
				}
				return text
			}
			before := host()
			must(t, drv.Fail(0, sim.FaultLost, 3, errors.New("on purpose")))
			if c.runs > 0 && c.opts == nil { // a graph's kernels are not counted: it is lost before
				for range 3 {
					x.Neg()
				}
			}
			_, err := step.Call(x)
			if !errors.Is(err, device.ErrLost) || !strings.Contains(fmt.Sprint(err), "lost_test.go:") {
				t.Errorf("error %v", err)
			}
			if d := cmp.Diff(before, host()); d != "" {
				t.Error(d)
			}
			if d := cmp.Diff([]float32{2}, values(t, tensor.Ones([]int{1}).AddScalar(1))); d != "" {
				t.Error(d)
			}
		})
	}
}

// TestSnapshotName: the memory of a program that is one graph has the function's name in
// snapshots, until the program is dropped.
func TestSnapshotName(t *testing.T) {
	wholes(t, func(t *testing.T, dev device.Device) {
		f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Exp().Sum().Sqrt(), nil })
		x := tensor.Ones([]int{300})
		for range 3 {
			_, err := f.Call(x)
			must(t, err)
		}
		asGraph(t, f)
		named := func() (n int) {
			for _, s := range memory.SnapshotOf(dev.Kind).Segments {
				if strings.Contains(s.PoolName, "TestSnapshotName") {
					n++
				}
			}
			return n
		}
		if named() == 0 {
			t.Error("no segment has the function's name")
		}
		f.Close()
		must(t, memory.EmptyCache(dev))
		if n := named(); n != 0 {
			t.Errorf("%d segments are left", n)
		}
	})
}
