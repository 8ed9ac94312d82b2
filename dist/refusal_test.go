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

// A picky model refuses a gradient while picks says so.
type picky struct {
	First, Second nn.Module
	picks         *which
}

// Which gradient it is that a picky model refuses.
type which int

const (
	none  which = iota
	last        // of what it returns: nothing has gone to the group
	inner       // of what its first part makes: the gradient of the second has gone to the group
)

var errPicky = errors.New("not this gradient")

func (m *picky) Forward(x T) T {
	h := m.seen(m.First.Forward(x).Tanh(), inner)
	return m.seen(m.Second.Forward(h), last)
}

// seen returns x, whose gradient is refused if it is the one.
func (m *picky) seen(x T, is which) T {
	if *m.picks == is {
		if _, err := x.RegisterHook(func(T) T { return tensor.Wrap(core.Failed(errPicky)) }); err != nil {
			return tensor.Wrap(core.Failed(err))
		}
	}
	return x
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

// pass makes a pass and a step, between which others does what it likes.
func pass(g *dist.Group, m nn.Module, o optim.Optimizer, step int, others func() error) error {
	x, y := share(g, step)
	err := errors.Join(o.ZeroGrad(), loss(m, x, y).Backward())
	if err == nil {
		err = others()
	}
	if err != nil {
		return err
	}
	return o.Step()
}

func nothing() error { return nil }

// pickySteps makes steps, before and within all but one of which all ranks are refused a pass before anything went to the
// group, and returns the parameters.
func pickySteps(t testing.TB, g *dist.Group, make newPicky, refused bool) (map[string][]float64, error) {
	n, err := newNet(g.Device(), false)
	if err != nil {
		return nil, err
	}
	var no which
	m := &picky{First: n.First, Second: n.Second, picks: &no}
	d, o, err := make(g, m)
	if err != nil {
		return nil, err
	}
	for step := range steps {
		others := nothing
		if refused && step != 1 {
			others = func() error {
				no = last
				defer func() { no = none }()
				x, y := share(g, step)
				if err := loss(d, x, y).Backward(); !errors.Is(err, errPicky) {
					return fmt.Errorf("a pass that is refused: %w", err)
				}
				return nil
			}
		}
		if err := errors.Join(others(), pass(g, d, o, step, others)); err != nil {
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

// TestRefusedBefore has passes fail before anything went to the group: the next ones are as if there had been none.
func TestRefusedBefore(t *testing.T) {
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

// TestRefusedWithin has a pass fail on one rank in its midst: the others, which go on, are told which one and why.
func TestRefusedWithin(t *testing.T) {
	for name, make := range picks {
		each(t, 3, func(t *testing.T, devices []device.Device) {
			errs := together(t, devices, func(g *dist.Group) error {
				n, err := newNet(g.Device(), false)
				if err != nil {
					return err
				}
				refused := none
				if g.Rank() == 1 {
					refused = inner
				}
				d, o, err := make(g, &picky{First: n.First, Second: n.Second, picks: &refused})
				if err != nil {
					return err
				}
				err = pass(g, d, o, 0, nothing)
				return errors.Join(err, g.Barrier().Synchronize(context.Background()), g.Err())
			})
			for rank, err := range errs {
				if !errors.Is(err, errPicky) {
					t.Errorf("%s, rank %d: %v", name, rank, err)
				}
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

// TestShardedRefused has the part of a divided optimizer on one rank refuse its state: all ranks know why, and the group
// stays of use. Where it refuses a step the group fails, and all know why.
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
			none = g.Rank() == 2
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
			if !errors.Is(err, errMoody) {
				t.Errorf("rank %d: %v", rank, err)
			}
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
		for _, err := range errs {
			contains(t, err, "a second time")
		}
	})
}
