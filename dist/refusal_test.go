package dist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
)

// A picky model refuses the gradient of what its first part makes while picks is true: that of the second part has
// gone to the group by then.
type picky struct {
	First, Second nn.Module
	picks         *bool
}

var errPicky = errors.New("not this gradient")

func (m *picky) Forward(x T) T {
	h := m.First.Forward(x).Tanh()
	if *m.picks {
		if _, err := h.RegisterHook(func(T) T { return tensor.Wrap(core.Failed(errPicky)) }); err != nil {
			return tensor.Wrap(core.Failed(err))
		}
	}
	return m.Second.Forward(h)
}

// newPicky returns a model in training by a group, and its optimizer.
type newPicky func(g *dist.Group, m *picky) (nn.Module, optim.Optimizer, error)

var picks = map[string]newPicky{
	"replicas": func(g *dist.Group, m *picky) (nn.Module, optim.Optimizer, error) {
		d, err := dist.NewDistributedDataParallel(g, m, dist.BucketBytes(1))
		if err != nil {
			return nil, nil, err
		}
		o, err := dist.NewShardedOptimizer(g, nn.Parameters(d), builders["adam"])
		return d, o, err
	},
	"fully sharded": func(g *dist.Group, m *picky) (nn.Module, optim.Optimizer, error) {
		second, err := dist.NewFullyShardedDataParallel(g, m.Second)
		if err != nil {
			return nil, nil, err
		}
		m.Second = second
		d, err := dist.NewFullyShardedDataParallel(g, m)
		if err != nil {
			return nil, nil, err
		}
		o, err := d.Optimizer(builders["adam"])
		return d, o, err
	},
}

// pass makes a pass and a step.
func pass(g *dist.Group, m nn.Module, o optim.Optimizer, step int) error {
	x, y := share(g, step)
	err := errors.Join(o.ZeroGrad(), loss(m, x, y).Backward())
	if err != nil {
		return err
	}
	return o.Step()
}

// pickySteps makes steps, before some of which all ranks are refused, and returns the parameters.
func pickySteps(t testing.TB, g *dist.Group, make newPicky, refused bool) (map[string][]float64, error) {
	n, err := newNet(g.Device(), false)
	if err != nil {
		return nil, err
	}
	no := false
	m := &picky{First: n.First, Second: n.Second, picks: &no}
	d, o, err := make(g, m)
	if err != nil {
		return nil, err
	}
	for step := range steps {
		if no = refused && step != 1; no {
			if err := pass(g, d, o, step); !errors.Is(err, errPicky) {
				return nil, fmt.Errorf("a pass that is refused: %w", err)
			}
			no = false
		}
		if err := pass(g, d, o, step); err != nil {
			return nil, err
		}
	}
	var out map[string][]float64
	all := func() error { out = parameters(t, m); return nil }
	if f, is := d.(*dist.FullyShardedDataParallel); is {
		return out, errors.Join(f.Gathered(all), f.Close(), g.Err())
	}
	return out, errors.Join(all(), g.Err())
}

// TestRefusedAlike has a pass fail on all ranks alike, in its midst: the next ones are as if there had been none.
func TestRefusedAlike(t *testing.T) {
	for name, make := range picks {
		each(t, 2, func(t *testing.T, devices []device.Device) {
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
				got, err := pickySteps(t, g, make, true)
				if err != nil {
					return err
				}
				want, err := pickySteps(t, g, make, false)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("%s, rank %d (-want +got):\n%s", name, g.Rank(), diff)
				}
				return err
			})...))
		})
	}
}

// TestRefusedApart has a pass fail on one rank: the others, which go on, are told which one and why.
func TestRefusedApart(t *testing.T) {
	for name, make := range picks {
		each(t, 3, func(t *testing.T, devices []device.Device) {
			errs := together(t, devices, func(g *dist.Group) error {
				n, err := newNet(g.Device(), false)
				if err != nil {
					return err
				}
				refused := g.Rank() == 1
				d, o, err := make(g, &picky{First: n.First, Second: n.Second, picks: &refused})
				if err != nil {
					return err
				}
				err = pass(g, d, o, 0)
				return errors.Join(err, g.Barrier().Synchronize(context.Background()), g.Err())
			})
			for rank, err := range errs {
				if !errors.Is(err, errPicky) || !errors.Is(err, dist.ErrMismatch) {
					t.Errorf("%s, rank %d: %v", name, rank, err)
				}
				contains(t, err, "rank 1 gave up")
			}
		})
	}
}

// A moody optimizer refuses steps, or has no state, while it is told to.
type moody struct {
	optim.Optimizer
	step, state *bool
}

var errMoody = errors.New("not today")

func (m moody) Step() error {
	if *m.step {
		return errMoody
	}
	return m.Optimizer.Step()
}

// State has a number for each parameter that is less than 0.
func (m moody) State() (map[string]T, error) {
	if *m.state {
		return nil, errMoody
	}
	all, err := m.Optimizer.State()
	if err == nil {
		debts := make([]float64, len(m.Parameters()))
		for i := range debts {
			debts[i] = -2
		}
		all["debts"] = tensor.From(debts)
	}
	return all, err
}

// TestShardedRefused has the parts of a divided optimizer refuse a step on all ranks, and the state on one: the group
// stays of use, and all ranks know why there is no state. One that steps alone fails, with who did not.
func TestShardedRefused(t *testing.T) {
	each(t, 3, func(t *testing.T, devices []device.Device) {
		errs := together(t, devices, func(g *dist.Group) error {
			n, err := newNet(g.Device(), false)
			if err != nil {
				return err
			}
			params := nn.Parameters(n.First)
			var step, none bool
			o, err := dist.NewShardedOptimizer(g, params, func(part []*nn.Parameter) (optim.Optimizer, error) {
				inner, err := optim.NewAdam(part, 0.1)
				return moody{inner, &step, &none}, err
			})
			if err != nil {
				return err
			}
			for _, p := range params {
				if err := p.SetGrad(tensor.OnesLike(p.Tensor)); err != nil {
					return err
				}
			}
			step = true
			if err := o.Step(); !errors.Is(err, errMoody) {
				t.Errorf("rank %d steps: %v", g.Rank(), err)
			}
			step, none = false, g.Rank() == 2
			if err := o.Step(); err != nil {
				return err
			}
			_, err = o.State()
			contains(t, err, "rank 2: ")
			contains(t, err, errMoody.Error())
			none = false
			state, err := o.State()
			if err != nil {
				return err
			}
			equal(t, "what each parameter has", data[float64](t, state["debts"]), []float64{-2, -2})
			if err := g.Err(); err != nil {
				return err
			}
			step = g.Rank() == 0
			return errors.Join(o.Step(), g.Barrier().Synchronize(context.Background()))
		})
		for rank, err := range errs {
			if !errors.Is(err, errMoody) || !errors.Is(err, dist.ErrMismatch) {
				t.Errorf("rank %d: %v", rank, err)
			}
			contains(t, err, "rank 0 gave up")
		}
	})
}

// TestWeightedRefused gives Backward losses that it does not take, before anybody counts on the rank: it may try again.
// One whose graph is used up is found behind that, and the other ranks are told.
func TestWeightedRefused(t *testing.T) {
	each(t, 2, func(t *testing.T, devices []device.Device) {
		errs := together(t, devices, func(g *dist.Group) error {
			n, err := newNet(g.Device(), false)
			if err != nil {
				return err
			}
			d, err := dist.NewDistributedDataParallel(g, n, dist.FindUnused())
			if err != nil {
				return err
			}
			x, y := share(g, 0)
			if g.Rank() == 1 { // the other waits for it
				for what, l := range map[string]T{
					"has shape":         d.Forward(x).Sub(y),
					"was not made from": tensor.Ones([]int{}, tensor.On(g.Device())),
					"zero Tensor":       {},
					"matmul":            x.MatMul(x).Sum(),
				} {
					err := d.Backward(l, 3)
					if err == nil {
						t.Errorf("a loss that %s is taken", what)
					}
					contains(t, err, what)
				}
			}
			l := loss(d, x, y)
			if err := d.Backward(l, 3); err != nil {
				return err
			}
			if g.Rank() == 0 {
				l = loss(d, x, y)
			}
			return errors.Join(d.Backward(l, 3), g.Barrier().Synchronize(context.Background()))
		})
		for rank, err := range errs {
			if !errors.Is(err, dist.ErrMismatch) {
				t.Errorf("rank %d: %v", rank, err)
			}
			contains(t, err, "rank 1 gave up")
		}
	})
}
