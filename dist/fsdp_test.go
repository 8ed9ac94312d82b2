package dist_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/optim/checkpoint"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/tests/brief"
	"github.com/sinter-go/sinter/tests/patience"
)

// tower returns the same model of layers each time; each passes through wrap, and so does
// the whole.
func tower(d device.Device, wrap func(m nn.Module) (nn.Module, error)) (m nn.Module, err error) {
	err = random.With(random.New(5), func() error {
		as := tensor.OfType(tensor.Float64)
		var layers []nn.Module
		for i, size := range [][2]int{{4, 8}, {8, 8}, {8, 3}} {
			layer := nn.NewLinear(size[0], size[1], as)
			if err := nn.To(layer, d); err != nil {
				return err
			}
			made := nn.Module(layer)
			if i > 0 { // what is not sharded by itself is the outer one's
				if made, err = wrap(layer); err != nil {
					return err
				}
			}
			layers = append(layers, made, nn.Tanh())
		}
		m, err = wrap(nn.NewSequential(layers...))
		return err
	})
	return m, err
}

// whole is tower that shards nothing.
func whole(m nn.Module) (nn.Module, error) { return m, nil }

// fully is tower that shards everything.
func fully(g *dist.Group) func(m nn.Module) (nn.Module, error) {
	return func(m nn.Module) (nn.Module, error) { return dist.NewFullyShardedDataParallel(g, m) }
}

// towerAlone trains a tower with whole batches, from a step on, by one process.
func towerAlone(t testing.TB, m nn.Module, o optim.Optimizer, from, to int) map[string][]float64 {
	t.Helper()
	for step := from; step < to; step++ {
		x, y := batch(step, rows, device.CPU)
		must(t, o.ZeroGrad())
		must(t, loss(m, x, y).Backward())
		must(t, o.Step())
	}
	return parameters(t, m)
}

// towerSteps trains a sharded tower with a rank's parts.
func towerSteps(g *dist.Group, m nn.Module, o optim.Optimizer, from, to int) error {
	for step := from; step < to; step++ {
		if err := o.ZeroGrad(); err != nil {
			return err
		}
		x, y := share(g, step)
		if err := loss(m, x, y).Backward(); err != nil {
			return err
		}
		if err := o.Step(); err != nil {
			return err
		}
	}
	return nil
}

// newTower returns a sharded tower and its optimizer.
func newTower(g *dist.Group, name string) (*dist.FullyShardedDataParallel, *dist.ShardedOptimizer, error) {
	m, err := tower(g.Device(), fully(g))
	if err != nil {
		return nil, nil, err
	}
	d := m.(*dist.FullyShardedDataParallel)
	o, err := d.Optimizer(builders[name])
	return d, o, err
}

// TestFullySharded compares parameters and optimizer state with those of one process that is
// given whole batches, also where a rank has a part of nothing but padding.
func TestFullySharded(t *testing.T) {
	for b, name := range slices.Sorted(maps.Keys(builders)) {
		m, err := tower(device.CPU, whole)
		must(t, err)
		o, err := builders[name](nn.Parameters(m))
		must(t, err)
		want := towerAlone(t, m, o, 0, steps)
		wantState := state(t, o)
		for i, n := range []int{1, 2, 3, 8} {
			if brief.Skip(b, i) {
				continue
			}
			each(t, n, func(t *testing.T, devices []device.Device) {
				must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
					d, o, err := newTower(g, name)
					if err == nil {
						err = towerSteps(g, d, o, 0, steps)
					}
					if err != nil {
						return err
					}
					for name, p := range nn.Named(d) {
						if err := p.Err(); !errors.Is(err, core.ErrAway) {
							t.Errorf("%s between passes: %v", name, err)
						}
					}
					near(t, name+": state", state(t, o), wantState, bound)
					err = d.Gathered(func() error {
						near(t, name, parameters(t, d), want, bound)
						return nil
					})
					if err != nil {
						return err
					}
					if err := d.Close(); err != nil {
						return err
					}
					near(t, name+" afterwards", parameters(t, d), want, bound)
					return g.Barrier().Synchronize(context.Background())
				})...))
			})
		}
	}
}

// TestFullyShardedAccumulates makes passes of parts of a batch before a step, all of them
// averaged, or the last alone.
func TestFullyShardedAccumulates(t *testing.T) {
	must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
		grads := func(pieces int, noSync bool) (map[string][]float64, error) {
			d, o, err := newTower(g, "sgd")
			if err != nil {
				return nil, err
			}
			x, y := share(g, 1)
			n := x.Size(0) / pieces
			for i := range pieces {
				pass := func() error {
					return loss(d, x.Narrow(0, i*n, n), y.Narrow(0, i*n, n)).DivScalar(float64(pieces)).Backward()
				}
				run := pass
				if noSync && i < pieces-1 {
					run = func() error { return d.NoSync(pass) }
				}
				if err := run(); err != nil {
					return nil, err
				}
			}
			if err := o.Step(); err != nil {
				return nil, err
			}
			var out map[string][]float64
			return out, d.Gathered(func() error { out = parameters(t, d); return nil })
		}
		once, err := grads(1, false)
		if err != nil {
			return err
		}
		for _, noSync := range []bool{false, true} {
			twice, err := grads(2, noSync)
			if err != nil {
				return err
			}
			near(t, fmt.Sprintf("parameters, without averaging at first: %t", noSync), twice, once, bound)
		}
		return nil
	})...))
}

// A between calls functions in the midst of a model, forward and backward.
type between struct{ forward, backward func() }

func (b *between) Forward(x tensor.Tensor) tensor.Tensor {
	b.forward()
	y := x.MulScalar(1)
	if !y.RequiresGrad() {
		return y
	}
	_, err := y.RegisterHook(func(tensor.Tensor) tensor.Tensor { b.backward(); return tensor.Tensor{} })
	if err != nil {
		return tensor.Wrap(core.Failed(err))
	}
	return y
}

// TestFullyShardedAhead looks between two modules whether the parameters of the one that is
// next are on their way, forward and backward, and that none stay.
func TestFullyShardedAhead(t *testing.T) {
	each(t, 2, func(t *testing.T, devices []device.Device) {
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			var parts [3]*dist.FullyShardedDataParallel
			for i := range 2 {
				var err error
				if parts[i], err = dist.NewFullyShardedDataParallel(g, nn.NewLinear(4, 4, tensor.On(g.Device()))); err != nil {
					return err
				}
			}
			there := func() (out [2]bool) {
				for i := range out {
					out[i] = nn.Parameters(parts[i])[0].Err() == nil
				}
				return out
			}
			looked := map[string][2]bool{}
			middle := &between{func() { looked["forward"] = there() }, func() { looked["backward"] = there() }}
			whole, err := dist.NewFullyShardedDataParallel(g, nn.NewSequential(parts[0], middle, parts[1]))
			if err != nil {
				return err
			}
			y := whole.Forward(tensor.Ones([]int{2, 4}, tensor.On(g.Device()))).Sum()
			looked["between"] = there()
			if err := y.Backward(); err != nil {
				return err
			}
			looked["after"] = there()
			want := map[string][2]bool{"forward": {false, true}, "between": {}, "backward": {true, false}, "after": {}}
			if diff := cmp.Diff(want, looked); diff != "" {
				t.Errorf("parameters there (-want +got):\n%s", diff)
			}
			err = whole.NoSync(nil)
			return errors.Join(err, whole.Close(), g.Barrier().Synchronize(context.Background()))
		})...))
	})
}

// TestFullyShardedCheckpoint saves with three ranks and goes on with two, and with one
// process that shards nothing.
func TestFullyShardedCheckpoint(t *testing.T) {
	const half = 2
	path := filepath.Join(t.TempDir(), "run")
	must(t, errors.Join(together(t, accelerators(t, 3), func(g *dist.Group) error {
		d, o, err := newTower(g, "adam")
		if err == nil {
			err = towerSteps(g, d, o, 0, half)
		}
		if err != nil {
			return err
		}
		if err := dist.SaveCheckpoint(g, path, checkpoint.State{Model: d, Optimizer: o}); err != nil {
			return err
		}
		return towerSteps(g, d, o, half, steps) // which saving left as it was
	})...))
	m, err := tower(device.CPU, whole)
	must(t, err)
	o, err := builders["adam"](nn.Parameters(m))
	must(t, err)
	_, err = checkpoint.Load(path, checkpoint.State{Model: m, Optimizer: o})
	must(t, err)
	want := towerAlone(t, m, o, half, steps)
	must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
		d, o, err := newTower(g, "adam")
		if err == nil {
			_, err = dist.LoadCheckpoint(g, path, checkpoint.State{Model: d, Optimizer: o})
		}
		if err == nil {
			err = towerSteps(g, d, o, half, steps)
		}
		if err != nil {
			return err
		}
		return d.Gathered(func() error {
			near(t, "on two ranks", parameters(t, d), want, bound)
			return nil
		})
	})...))
}

// settle has the collector give back what nobody uses any more, until that is nothing.
func settle(t testing.TB, d device.Device) {
	for before := int64(-1); before != memory.Allocated(d); {
		before = memory.Allocated(d)
		patience.Collect(t)
		tensor.Zeros([]int{1}, tensor.On(d)).Release()
	}
}

// TestFullyShardedMemory trains a model of many layers on four devices by each of the ways
// there are. What a device takes between steps is the share that is kept, and the most it ever
// takes is that and little else.
func TestFullyShardedMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("holds a large model")
	}
	onSimulated(t)
	const ranks, layers, width = 4, 4, 64
	was := dist.SetApartBytes(4 * width * width) // weights are units of their own
	defer dist.SetApartBytes(was)
	const model = layers * (width*width + width) * 4 // bytes of float32
	deep := func(g *dist.Group, wrap func(m nn.Module) (nn.Module, error)) (nn.Module, error) {
		var list []nn.Module
		for range layers {
			m, err := wrap(nn.NewLinear(width, width, tensor.On(g.Device())))
			if err != nil {
				return nil, err
			}
			list = append(list, m)
		}
		return nn.NewSequential(list...), nil
	}
	ways := map[string]func(g *dist.Group) (nn.Module, optim.Optimizer, error){
		"replicas": func(g *dist.Group) (nn.Module, optim.Optimizer, error) {
			m, err := deep(g, whole)
			if err != nil {
				return nil, nil, err
			}
			d, err := dist.NewDistributedDataParallel(g, m)
			if err != nil {
				return nil, nil, err
			}
			o, err := builders["adam"](nn.Parameters(m))
			return d, o, err
		},
		"divided state": func(g *dist.Group) (nn.Module, optim.Optimizer, error) {
			m, err := deep(g, whole)
			if err != nil {
				return nil, nil, err
			}
			d, err := dist.NewDistributedDataParallel(g, m)
			if err != nil {
				return nil, nil, err
			}
			o, err := dist.NewShardedOptimizer(g, nn.Parameters(m), builders["adam"])
			return d, o, err
		},
		"fully sharded": func(g *dist.Group) (nn.Module, optim.Optimizer, error) {
			m, err := deep(g, fully(g))
			if err != nil {
				return nil, nil, err
			}
			d, err := dist.NewFullyShardedDataParallel(g, m)
			if err != nil {
				return nil, nil, err
			}
			o, err := d.Optimizer(builders["adam"])
			return d, o, err
		},
	}
	kept, most := map[string]int64{}, map[string]int64{}
	for name, make := range ways {
		freshly(t, ranks) // what other tests left is collected at any time
		must(t, errors.Join(together(t, accelerators(t, ranks), func(g *dist.Group) error {
			before := memory.Allocated(g.Device())
			m, o, err := make(g)
			if err != nil {
				return err
			}
			x := tensor.Ones([]int{1, width}, tensor.On(g.Device()))
			for step := range 2 {
				if step == 1 {
					settle(t, g.Device())
					memory.ResetPeak(g.Device())
				}
				minimize := optim.Minimize
				if d, ok := m.(*dist.FullyShardedDataParallel); ok {
					minimize = d.Minimize
				}
				if _, err := minimize(o, func() tensor.Tensor { return m.Forward(x).Square().Mean() }); err != nil {
					return err
				}
			}
			if err := o.ZeroGrad(); err != nil {
				return err
			}
			peak := memory.MaxAllocated(g.Device())
			if g.Rank() == 0 {
				settle(t, g.Device())
				kept[name], most[name] = memory.Allocated(g.Device())-before, peak-before
			}
			return g.Barrier().Synchronize(context.Background())
		})...))
	}
	t.Logf("a model of %d bytes on %d ranks: kept between steps %v, most %v", model, ranks, kept, most)
	const layer, small = model / layers, model / 2 // small: rounding, the batch and results
	for what, c := range map[string][2]int64{
		// Parameters and two moments of each.
		"kept, fully sharded": {kept["fully sharded"], 3*model/ranks + small},
		// Their gradients, a layer, its gradients, and as much again that its streams are not done with.
		"most, fully sharded": {most["fully sharded"], 4*model/ranks + 4*layer + small},
		// Parameters and gradients whole, two moments of each.
		"most, divided state": {most["divided state"], 2*model + 2*model/ranks + small},
	} {
		if c[0] > c[1] {
			t.Errorf("%s: %d bytes, want at most %d", what, c[0], c[1])
		}
	}
}
