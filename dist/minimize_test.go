package dist_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
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
