package dist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// TestMinimize compares steps that change the parameters of each bucket as its average arrives
// with steps that change all in the end: parameters are the same to the bit. One parameter of the
// optimizer is no part of the model.
func TestMinimize(t *testing.T) {
	for i, c := range []struct {
		name string
		opts []dist.Option
		make func(p []*nn.Parameter) (optim.Optimizer, error)
	}{
		{"SGD", []dist.Option{dist.BucketBytes(100)}, func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 0.1) }},
		{"momentum", []dist.Option{dist.BucketBytes(1)}, func(p []*nn.Parameter) (optim.Optimizer, error) {
			return optim.NewSGD(p, 0.1, optim.Momentum(0.9))
		}},
		{"Adam", []dist.Option{dist.BucketBytes(100)}, func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdam(p, 0.01) }},
		{"a step of its own", []dist.Option{dist.BucketBytes(100)}, func(p []*nn.Parameter) (optim.Optimizer, error) {
			o, err := optim.NewSGD(p, 0.1)
			return clipping{o}, err
		}},
		{"finding unused", []dist.Option{dist.FindUnused()}, func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 0.1) }},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, n := range []int{1, 2, 3} {
				if testing.Short() && n != 1+i%3 {
					continue
				}
				each(t, n, func(t *testing.T, devices []device.Device) {
					got, want := make([]map[string][]float64, n), make([]map[string][]float64, n)
					must(t, errors.Join(together(t, devices, func(g *dist.Group) (err error) {
						if got[g.Rank()], err = minimized(t, g, c.name, true, c.make, c.opts); err != nil {
							return err
						}
						want[g.Rank()], err = minimized(t, g, c.name, false, c.make, c.opts)
						return err
					})...))
					for r := range got {
						equal(t, fmt.Sprint("rank ", r), got[r], want[r])
					}
				})
			}
		})
	}
}

// clipping clips gradients in its step, which it does not make in parts as what it embeds can.
type clipping struct{ *optim.SGD }

func (c clipping) Step() error {
	if _, err := optim.ClipGradNorm(c.Parameters(), 1e-3); err != nil {
		return err
	}
	return c.SGD.Step()
}

// minimized returns the parameters after steps of training, by the model's Minimize or by that of
// package optim.
func minimized(t testing.TB, g *dist.Group, c string, own bool, make func(p []*nn.Parameter) (optim.Optimizer, error), opts []dist.Option) (map[string][]float64, error) {
	m, err := newNet(g.Device(), true)
	if err != nil {
		return nil, err
	}
	aside, err := newNet(g.Device(), false)
	if err != nil {
		return nil, err
	}
	d, err := dist.NewDistributedDataParallel(g, m, opts...)
	if err != nil {
		return nil, err
	}
	o, err := make(append(nn.Parameters(aside.Side), nn.Parameters(d)...))
	if err != nil {
		return nil, err
	}
	minimize := optim.Minimize
	if own {
		minimize = d.Minimize
	}
	for step := range steps {
		x, y := share(g, step)
		if _, err := minimize(o, func() T { return loss(d, x, y).Add(loss(aside.Side, x, y)) }); err != nil {
			return nil, err
		}
		if early := own && c != "finding unused" && c != "a step of its own"; dist.Changed(d) != early {
			return nil, fmt.Errorf("parameters changed with their buckets: %v, want %v", !early, early)
		}
	}
	out := parameters(t, m)
	for name, v := range parameters(t, aside.Side) {
		out["aside."+name] = v
	}
	return out, d.Close()
}

// TestMinimizeReleases has optimizers that make their steps in parts, and one that does not, minimize what layers
// compute: what a pass goes back over is given back on the way. So of the products and of what ReLU makes of them,
// which is as much, no more than half is there once gradients are, beside the parameters and what the optimizer keeps.
func TestMinimizeReleases(t *testing.T) {
	onSimulated(t)
	const ranks, layers, batch = 2, 8, 16
	width := 64
	if testing.Short() {
		width = 32
	}
	was := dist.SetApartBytes(4 * width * width)
	defer dist.SetApartBytes(was)
	model := int64(layers * (width*width + width) * 4) // bytes of float32
	products := int64(layers * batch * width * 4)
	adam := func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdam(p, 0.01) }
	for name, c := range map[string]struct {
		make func(g *dist.Group, p []*nn.Parameter) (optim.Optimizer, error)
		kept int64
	}{
		"whole": {func(_ *dist.Group, p []*nn.Parameter) (optim.Optimizer, error) { return adam(p) }, 2 * model},
		"divided state": {func(g *dist.Group, p []*nn.Parameter) (optim.Optimizer, error) {
			return dist.NewShardedOptimizer(g, p, adam)
		}, 2 * model / ranks},
	} {
		t.Run(name, func(t *testing.T) {
			freshly(t, ranks) // what other tests left is collected at any time
			must(t, errors.Join(together(t, accelerators(t, ranks), func(g *dist.Group) error {
				before := memory.Allocated(g.Device())
				on := tensor.On(g.Device())
				var list []nn.Module
				for range layers {
					list = append(list, nn.NewLinear(width, width, on), nn.ReLU())
				}
				d, err := dist.NewDistributedDataParallel(g, nn.NewSequential(list...))
				if err != nil {
					return err
				}
				o, err := c.make(g, nn.Parameters(d))
				if err != nil {
					return err
				}
				x := tensor.Ones([]int{batch, width}, on)
				for range 3 {
					if g.Rank() == 0 { // whose memory is looked at
						settle(t, g.Device())
						memory.ResetPeak(g.Device())
					}
					if _, err := d.Minimize(o, func() T { return d.Forward(x).Square().Mean() }); err != nil {
						return err
					}
				}
				if most, want := memory.MaxAllocated(g.Device())-before, 2*model+c.kept+products; g.Rank() == 0 && most > want {
					t.Errorf("%d bytes at most, want %d", most, want)
				}
				return errors.Join(g.Barrier().Synchronize(context.Background()), d.Close())
			})...))
		})
	}
}
