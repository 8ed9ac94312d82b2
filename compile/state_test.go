package compile_test

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// TestOptimizers: compiled steps of every optimizer, with a schedule and with each way of
// clipping, leave what eager steps leave.
func TestOptimizers(t *testing.T) {
	optimizers := map[string]func(p []*nn.Parameter) (optim.Optimizer, error){
		"sgd":      func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 0.1, optim.WeightDecay(0.1)) },
		"momentum": func(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewSGD(p, 0.1, optim.Momentum(0.9)) },
		"dampened": func(p []*nn.Parameter) (optim.Optimizer, error) {
			return optim.NewSGD(p, 0.1, optim.Momentum(0.9), optim.Dampening(0.3), optim.Maximize())
		},
		"nesterov": func(p []*nn.Parameter) (optim.Optimizer, error) {
			return optim.NewSGD(p, 0.1, optim.Momentum(0.9), optim.Nesterov())
		},
		"adam": func(p []*nn.Parameter) (optim.Optimizer, error) {
			return optim.NewAdam(p, 0.01, optim.WeightDecay(0.1))
		},
		"adamw": func(p []*nn.Parameter) (optim.Optimizer, error) {
			return optim.NewAdamW(p, 0.01, optim.WeightDecay(0.1))
		},
	}
	clips := map[string]func(p []*nn.Parameter) error{
		"none":  func([]*nn.Parameter) error { return nil },
		"norm":  func(p []*nn.Parameter) error { _, err := optim.ClipNorm(p, 0.01); return err },
		"value": func(p []*nn.Parameter) error { return optim.ClipGradValue(p, 0.001) },
	}
	x := tensor.Randn([]int{6, 3})
	train := func(t *testing.T, make func(p []*nn.Parameter) (optim.Optimizer, error), clip func(p []*nn.Parameter) error, compiled bool) map[string]string {
		model := nn.NewSequential(nn.NewLinear(3, 5), nn.Tanh(), nn.NewLinear(5, 1))
		for i, p := range nn.Parameters(model) {
			must(t, tensor.NoGrad(func() error {
				return p.CopyFrom(tensor.Linspace(-0.5, 0.5+float64(i), p.NumElements()).Reshape(p.Shape()...))
			}))
		}
		opt, err := make(nn.Parameters(model))
		must(t, err)
		schedule := optim.NewScheduler(opt, optim.Cosine(5, 0.1))
		call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return tensor.ScopeValue(func() (tensor.Tensor, error) {
				if err := opt.ZeroGrad(); err != nil {
					return tensor.Tensor{}, err
				}
				loss := model.Forward(x[0]).Square().Mean()
				if err := loss.Backward(); err != nil {
					return loss, err
				}
				if err := clip(opt.Parameters()); err != nil {
					return loss, err
				}
				err := opt.Step()
				schedule.Step()
				return loss.Detach(), err
			})
		}
		step := compile.Step(call, compile.State(model, opt, schedule))
		if compiled {
			call = step.Call
		}
		left := map[string]string{}
		for i := range 4 {
			loss, err := call(x)
			must(t, err)
			left[fmt.Sprint("loss ", i)] = fmt.Sprint(values(t, loss))
		}
		if s := step.Stats(); compiled && s.Traces != 1 {
			t.Errorf("recorded %d times, for %s", s.Traces, s.Retraced)
		}
		for name, p := range nn.Named(model) {
			g, _ := p.Grad()
			left[name] = fmt.Sprint(values(t, p.Tensor), p.Version(), values(t, g), g.Version())
		}
		state, err := opt.State()
		must(t, err)
		for name, s := range state {
			raw, err := s.Bytes()
			must(t, err)
			left["optimizer "+name] = fmt.Sprint(raw)
		}
		left["schedule"] = schedule.String()
		return left
	}
	for kind, opt := range optimizers {
		for how, clip := range clips {
			t.Run(kind+" clip "+how, func(t *testing.T) {
				if d := cmp.Diff(train(t, opt, clip, false), train(t, opt, clip, true)); d != "" {
					t.Error(d)
				}
			})
		}
	}
}

// TestClipNorm compares with ClipGradNorm.
func TestClipNorm(t *testing.T) {
	var norms [2]float64
	var grads [2][]float32
	for i := range 2 {
		p := nn.NewParameter(tensor.Ones([]int{4}))
		must(t, p.SetGrad(tensor.From([]float32{3, 0, -4, 12})))
		var err error
		if i == 0 {
			norms[i], err = optim.ClipGradNorm([]*nn.Parameter{p}, 2)
		} else {
			var n tensor.Tensor
			n, err = optim.ClipNorm([]*nn.Parameter{p}, 2)
			must(t, err)
			norms[i], err = n.Item()
		}
		must(t, err)
		g, _ := p.Grad()
		grads[i] = values(t, g)
	}
	if norms[0] != norms[1] || cmp.Diff(grads[0], grads[1]) != "" {
		t.Errorf("norms %v, gradients %v", norms, grads)
	}
}

// TestReplaced: where a declared tensor is another one, the function is recorded again.
func TestReplaced(t *testing.T) {
	other := tensor.Ones([]int{2})
	p := nn.NewParameter(tensor.Ones([]int{2}))
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Mul(p.Tensor).Detach(), nil }, compile.State(p))
	_, err := f.Call(other)
	must(t, err)
	p.Tensor = tensor.From([]float32{5, 6}).RequireGrad()
	y, err := f.Call(other)
	must(t, err)
	if d := cmp.Diff([]float32{5, 6}, values(t, y)); d != "" || f.Stats().Traces != 2 {
		t.Errorf("%s, %+v", d, f.Stats())
	}
	p.Release()
	if _, err := f.Call(other); !errors.Is(err, tensor.ErrReleased) || !strings.Contains(fmt.Sprint(err), "state_test.go:") {
		t.Errorf("released: %v", err)
	}
}

// TestPlans: programs are kept by shape, no more than allowed, and any number of
// goroutines run them.
func TestPlans(t *testing.T) {
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].AddScalar(1).Mul(x[0]).Neg(), nil }, compile.Plans(3))
	var all sync.WaitGroup
	for g := range 8 {
		all.Go(func() {
			for i := range 40 {
				n := (g+i)%7 + 1
				y, err := f.Call(tensor.Full([]int{n}, float32(2)))
				if err != nil {
					t.Error(err)
					return
				}
				for _, v := range values(t, y) {
					if v != -6 {
						t.Errorf("%v", v)
					}
				}
			}
		})
	}
	all.Wait()
	if s := f.Stats(); s.Plans > 3 || s.Evicted == 0 || s.Calls != 320 {
		t.Errorf("%+v", s)
	}
}

// TestNested: a compiled function in another is a part of its program.
func TestNested(t *testing.T) {
	inner := compile.Func(func(x ...tensor.Tensor) ([]tensor.Tensor, error) { return []tensor.Tensor{x[0].Neg(), x[0]}, nil })
	outer := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		list, err := inner.Call(x[0])
		if err != nil {
			return tensor.Tensor{}, err
		}
		return list[0].Add(list[1]).AddScalar(2), nil
	})
	y, err := outer.Call(tensor.Ones([]int{2}))
	must(t, err)
	if d := cmp.Diff([]float32{2, 2}, values(t, y)); d != "" || inner.Stats().Traces != 0 {
		t.Error(d)
	}
	if text := outer.Program().String() + outer.Program().DOT() + outer.Explain(); !strings.Contains(text, "neg") || !strings.Contains(text, "digraph") {
		t.Error(text)
	}
}
