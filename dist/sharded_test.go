package dist_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/brief"
)

// builders make the optimizers that are divided in these tests.
var builders = map[string]func(part []*nn.Parameter) (optim.Optimizer, error){
	"adam": func(part []*nn.Parameter) (optim.Optimizer, error) {
		return optim.NewAdam(part, 0.05, optim.WeightDecay(0.01))
	},
	"sgd": func(part []*nn.Parameter) (optim.Optimizer, error) {
		return optim.NewSGD(part, 0.1, optim.Momentum(0.9))
	},
}

// A run is one rank's model in training.
type run struct {
	model     *net
	replica   *dist.DistributedDataParallel
	optimizer optim.Optimizer
}

// newRun returns a model in training by an optimizer that is divided, or whole.
func newRun(g *dist.Group, name string, divided bool) (r run, err error) {
	if r.model, err = newNet(g.Device(), true); err != nil {
		return r, err
	}
	if r.replica, err = dist.NewDistributedDataParallel(g, r.model); err != nil {
		return r, err
	}
	if params := nn.Parameters(r.replica); divided {
		r.optimizer, err = dist.NewShardedOptimizer(g, params, builders[name])
	} else {
		r.optimizer, err = builders[name](params)
	}
	return r, err
}

// steps makes some steps.
func (r *run) steps(g *dist.Group, from, to int) error {
	for step := from; step < to; step++ {
		if err := r.optimizer.ZeroGrad(); err != nil {
			return err
		}
		x, y := share(g, step)
		if err := loss(r.replica, x, y).Backward(); err != nil {
			return err
		}
		if err := r.optimizer.Step(); err != nil {
			return err
		}
	}
	return nil
}

// state returns the elements of an optimizer's state.
func state(t testing.TB, o optim.Optimizer) map[string][]float64 {
	s, err := o.State()
	must(t, err)
	out := map[string][]float64{}
	for name, x := range s {
		out[name] = data[float64](t, x.ToType(tensor.Float64).Reshape(-1))
	}
	return out
}

// TestShardedOptimizer compares, to the bit, parameters and state with those of an optimizer
// that every rank has whole, also where there are more ranks than some have elements for.
func TestShardedOptimizer(t *testing.T) {
	for b, name := range slices.Sorted(maps.Keys(builders)) {
		for i, n := range []int{1, 2, 3, 5} {
			if brief.Skip(b, i) {
				continue
			}
			each(t, n, func(t *testing.T, devices []device.Device) {
				must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
					whole, err := newRun(g, name, false)
					if err == nil {
						err = whole.steps(g, 0, steps)
					}
					if err != nil {
						return err
					}
					divided, err := newRun(g, name, true)
					if err == nil {
						err = divided.steps(g, 0, steps)
					}
					if err != nil {
						return err
					}
					equal(t, name+": parameters", parameters(t, divided.model), parameters(t, whole.model))
					equal(t, name+": state", state(t, divided.optimizer), state(t, whole.optimizer))
					return g.Barrier().Synchronize(context.Background())
				})...))
			})
		}
	}
}

// TestCheckpoint saves with three ranks, goes on with two and with one process that divides
// nothing, and compares with a run that was not interrupted.
func TestCheckpoint(t *testing.T) {
	const half = 2
	for name := range builders {
		path := filepath.Join(t.TempDir(), "run")
		checkpointed := func(r *run) checkpoint.State {
			return checkpoint.State{Model: r.model, Optimizer: r.optimizer, Metadata: map[string]string{"steps": fmt.Sprint(half)}}
		}
		must(t, errors.Join(together(t, accelerators(t, 3), func(g *dist.Group) error {
			r, err := newRun(g, name, true)
			if err == nil {
				err = r.steps(g, 0, half)
			}
			if err != nil {
				return err
			}
			return dist.SaveCheckpoint(g, path, checkpointed(&r))
		})...))

		m, err := newNet(device.CPU, true)
		must(t, err)
		o, err := builders[name](nn.Parameters(m))
		must(t, err)
		one := run{model: m, optimizer: o}
		metadata, err := checkpoint.Load(path, checkpointed(&one))
		must(t, err)
		equal(t, "metadata", metadata, map[string]string{"steps": "2"})
		for step := half; step < steps; step++ {
			x, y := batch(step, rows, device.CPU)
			must(t, o.ZeroGrad())
			must(t, loss(m, x, y).Backward())
			must(t, o.Step())
		}
		want := parameters(t, m)

		must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
			r, err := newRun(g, name, true)
			if err == nil {
				_, err = dist.LoadCheckpoint(g, path, checkpointed(&r))
			}
			if err == nil {
				err = r.steps(g, half, steps)
			}
			if err != nil {
				return err
			}
			near(t, name+" on two ranks", parameters(t, r.model), want, bound)
			return g.Barrier().Synchronize(context.Background())
		})...))

		uninterrupted, err := newNet(device.CPU, true)
		must(t, err)
		o, err = builders[name](nn.Parameters(uninterrupted))
		must(t, err)
		for step := range steps {
			x, y := batch(step, rows, device.CPU)
			must(t, o.ZeroGrad())
			must(t, loss(uninterrupted, x, y).Backward())
			must(t, o.Step())
		}
		near(t, name+" uninterrupted", parameters(t, uninterrupted), want, bound)
	}
}

// TestCheckpointFails has one rank find no file: every rank says so.
func TestCheckpointFails(t *testing.T) {
	dir := t.TempDir()
	errs := together(t, cpus(2), func(g *dist.Group) error {
		r, err := newRun(g, "sgd", true)
		if err != nil {
			return err
		}
		path := filepath.Join(dir, "run")
		if err := dist.SaveCheckpoint(g, path, checkpoint.State{Model: r.model, Optimizer: r.optimizer}); err != nil {
			return err
		}
		if g.Rank() == 1 {
			path += " elsewhere"
		}
		_, err = dist.LoadCheckpoint(g, path, checkpoint.State{Model: r.model, Optimizer: r.optimizer})
		if err == nil {
			err = errors.New("no error")
		}
		contains(t, err, "run elsewhere: no such file")
		return nil
	})
	must(t, errors.Join(errs...))
}

// TestShardedMemory looks at what an optimizer's state takes on each of eight devices.
func TestShardedMemory(t *testing.T) {
	onSimulated(t)
	const n, elements = 8, 1 << 16
	freshly(t, n)
	took := make([]int64, n)
	must(t, errors.Join(together(t, accelerators(t, n), func(g *dist.Group) error {
		p := nn.NewParameter(tensor.Ones([]int{elements}, tensor.On(g.Device())))
		o, err := dist.NewShardedOptimizer(g, []*nn.Parameter{p}, builders["adam"])
		if err != nil {
			return err
		}
		if err := p.SetGrad(tensor.Ones([]int{elements}, tensor.On(g.Device()))); err != nil {
			return err
		}
		before := memory.Allocated(g.Device())
		if err := o.Step(); err != nil {
			return err
		}
		took[g.Rank()] = memory.Allocated(g.Device()) - before
		return g.Barrier().Synchronize(context.Background())
	})...))
	const whole = 2 * 4 * elements // two moments of float32
	for rank, bytes := range took {
		if bytes > whole/n+1024 {
			t.Errorf("rank %d keeps %d bytes, a share is %d", rank, bytes, whole/n)
		}
	}
}

// TestShardedRefuses makes divided optimizers of what does not serve.
func TestShardedRefuses(t *testing.T) {
	lost := errors.New("lost")
	for _, c := range []struct {
		name  string
		build func(part []*nn.Parameter) (optim.Optimizer, error)
		make  func(rank int) []*nn.Parameter
		want  error
		text  string
	}{
		{"no function", nil, func(int) []*nn.Parameter { return []*nn.Parameter{nn.NewParameter(tensor.Ones([]int{2}))} }, dist.ErrCall, "1 parameters"},
		{"no parameters", builders["sgd"], func(int) []*nn.Parameter { return nil }, dist.ErrCall, "0 parameters"},
		{"a nil parameter", builders["sgd"], func(int) []*nn.Parameter { return []*nn.Parameter{nil} }, dist.ErrCall, "parameter 0 is nil"},
		{"elsewhere", builders["sgd"], func(int) []*nn.Parameter {
			return []*nn.Parameter{nn.NewParameter(tensor.Ones([]int{2}, tensor.On(device.Sim(3))))}
		}, dist.ErrCall, "parameter 0 is on sim:3"},
		{"other shapes", builders["sgd"], func(rank int) []*nn.Parameter {
			return []*nn.Parameter{nn.NewParameter(tensor.Ones([]int{2 + rank}))}
		}, dist.ErrMismatch, "rank 1 has parameter 0 of float32 [3], rank 0 parameter 0 of float32 [2]"},
		{"a function that fails", func([]*nn.Parameter) (optim.Optimizer, error) { return nil, lost },
			func(int) []*nn.Parameter { return []*nn.Parameter{nn.NewParameter(tensor.Ones([]int{2}))} }, lost, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			errs := together(t, cpus(2), func(g *dist.Group) error {
				_, err := dist.NewShardedOptimizer(g, c.make(g.Rank()), c.build)
				return err
			})
			wantErrors(t, errs, c.want, c.text)
		})
	}
}

// TestShardedFailsTogether has one rank's step fail: the others do not wait for it.
func TestShardedFailsTogether(t *testing.T) {
	onSimulated(t)
	errs := together(t, accelerators(t, 3), func(g *dist.Group) error {
		r, err := newRun(g, "adam", true)
		if err != nil {
			return err
		}
		if g.Rank() == 1 {
			r.optimizer.SetLearningRate(-1)
		}
		return r.steps(g, 0, 2)
	})
	for rank, err := range errs {
		if err == nil {
			t.Errorf("rank %d: no error", rank)
		}
		contains(t, err, "learning rate -1")
	}
}
