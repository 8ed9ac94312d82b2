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
	"github.com/sinter-go/sinter/runtime/core"
)

// A pair multiplies by the sum of two parameters, whose gradients are one tensor.
type pair struct {
	A, B *nn.Parameter
	C    *nn.Parameter // small
	D    *nn.Parameter // whose gradient nobody else has

	Seen tensor.Tensor `nn:"-"` // the first gradient of A, which a hook keeps
}

func (p *pair) Forward(x tensor.Tensor) tensor.Tensor {
	if p.Seen == (tensor.Tensor{}) {
		remove, err := p.A.RegisterHook(func(g tensor.Tensor) tensor.Tensor {
			if p.Seen == (tensor.Tensor{}) {
				p.Seen = g
			}
			return tensor.Tensor{}
		})
		if err != nil {
			return tensor.Wrap(core.Failed(err))
		}
		_ = remove // the model ends with the test
	}
	return x.MatMul(p.A.Add(p.B.Tensor)).Add(p.C.Tensor).Add(x.MatMul(p.D.Tensor))
}

// TestFullyShardedApart compares gradients of parameters that are units of their own, which are
// taken as they are, with those of one process: that of several parameters, one that a hook
// keeps, and one to which a later pass of the same graph adds.
func TestFullyShardedApart(t *testing.T) {
	was := dist.SetApartBytes(1)
	defer dist.SetApartBytes(was)
	const n = 64
	build := func(on tensor.Option) *pair {
		c := tensor.OfType(tensor.Float64)
		return &pair{A: nn.NewParameter(tensor.Full([]int{n, n}, 0.5, on, c)), B: nn.NewParameter(tensor.Full([]int{n, n}, 0.25, on, c)),
			C: nn.NewParameter(tensor.Full([]int{3, 1}, 1.0, on, c)), D: nn.NewParameter(tensor.Full([]int{n, n}, 0.125, on, c))}
	}
	for _, ranks := range []int{1, 2} {
		for _, noSync := range []bool{false, true} {
			t.Run(fmt.Sprintf("ranks=%d/nosync=%t", ranks, noSync), func(t *testing.T) {
				must(t, errors.Join(together(t, accelerators(t, ranks), func(g *dist.Group) error {
					on := tensor.On(g.Device())
					train := func(p *pair, m nn.Module, o optim.Optimizer, first func(f func() error) error) (kept []float64, err error) {
						x := tensor.Arange(0, 3*n, 1, on).ToType(tensor.Float64).View(3, n).DivScalar(100)
						pass := func() error { return m.Forward(x).Square().Sum().Backward() }
						for i := range 3 {
							run := pass
							if i < 2 {
								run = func() error { return first(pass) }
							}
							if err := run(); err != nil {
								return nil, err
							}
						}
						return data[float64](t, p.Seen), o.Step()
					}
					alone := build(on)
					sgd, err := optim.NewSGD(nn.Parameters(alone), 1e-4)
					if err != nil {
						return err
					}
					wantKept, err := train(alone, alone, sgd, func(f func() error) error { return f() })
					if err != nil {
						return err
					}
					sharded := build(on)
					d, err := dist.NewFullyShardedDataParallel(g, sharded)
					if err != nil {
						return err
					}
					o, err := d.Optimizer(func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 1e-4) })
					if err != nil {
						return err
					}
					first := func(f func() error) error { return f() }
					if noSync {
						first = d.NoSync
					}
					kept, err := train(sharded, d, o, first)
					if err != nil {
						return err
					}
					near(t, "the gradient that a hook kept", map[string][]float64{"g": kept}, map[string][]float64{"g": wantKept}, bound)
					if err := d.Gathered(func() error {
						near(t, "parameters", parameters(t, d), parameters(t, alone), bound)
						return nil
					}); err != nil {
						return err
					}
					return errors.Join(d.Close(), g.Barrier().Synchronize(context.Background()))
				})...))
			})
		}
	}
}

// TestMinimizeOfHooks: what loss makes is released when it returns, but for what it gives to
// Keep, which is there for hooks of the pass.
func TestMinimizeOfHooks(t *testing.T) {
	must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
		m, err := newNet(g.Device(), true)
		if err != nil {
			return err
		}
		d, err := dist.NewDistributedDataParallel(g, m)
		if err != nil {
			return err
		}
		o, err := optim.NewSGD(nn.Parameters(d), 0.1)
		if err != nil {
			return err
		}
		for _, keep := range []bool{true, false} {
			_, err = d.Minimize(o, func() T {
				x, y := share(g, 0)
				l := loss(d, x, y)
				weight := l.Detach().MulScalar(0).AddScalar(1)
				if keep {
					tensor.Keep(weight)
				}
				if _, err := l.RegisterHook(func(g T) T { return g.Mul(weight) }); err != nil {
					t.Error(err)
				}
				return l
			})
			if released := errors.Is(err, tensor.ErrReleased); released == keep || keep && err != nil {
				t.Errorf("kept: %t: %v", keep, err)
			}
		}
		return d.Close()
	})...))
}

// TestUnmade: what this package did not make says how it is made, by its own name.
func TestUnmade(t *testing.T) {
	var d dist.FullyShardedDataParallel
	_, want := d.Optimizer(nil)
	if y, err := d.Minimize(nil, nil); err == nil || err.Error() != want.Error() || y.Err() == nil {
		t.Errorf("%v, want %v", err, want)
	}
}
