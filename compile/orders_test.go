package compile_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// A many is a function of several results.
type many = func(x ...tensor.Tensor) ([]tensor.Tensor, error)

// one is a function of one result.
func one(f func(x []tensor.Tensor) tensor.Tensor) many {
	return func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := f(x)
		return []tensor.Tensor{y}, y.Err()
	}
}

// differentiable are functions of two tensors of shape [4 4] for gradients of any order.
var differentiable = map[string]many{
	"product":   one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Mul(x[1]).Mul(x[0]) }),
	"sum":       one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Add(x[1]) }),
	"of one":    one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Tanh() }),
	"matrices":  one(func(x []tensor.Tensor) tensor.Tensor { return x[0].MatMul(x[1]).Sigmoid().MatMul(x[0]) }),
	"norm":      one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Square().Sum(tensor.Dim(1)).AddScalar(1).Sqrt() }),
	"layernorm": one(func(x []tensor.Tensor) tensor.Tensor { return x[0].LayerNorm([]int{4}).Mul(x[1]) }),
	"softmax":   one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Mul(x[1]).Softmax(1).Square() }),
	"views": one(func(x []tensor.Tensor) tensor.Tensor {
		parts := x[0].Transpose(0, 1).Chunk(2, 0)
		return parts[0].Mul(parts[1]).Mul(x[1].Narrow(0, 1, 2)).Exp()
	}),
	"in place": one(func(x []tensor.Tensor) tensor.Tensor {
		y := x[0].Sin()
		if err := y.MulInPlace(x[1]); err != nil {
			return tensor.Tensor{}
		}
		_ = y.Narrow(0, 0, 2).AddInPlace(x[1].Narrow(0, 1, 2).Square())
		return y.Cos()
	}),
	"several": func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[0].Mul(x[1])
		return []tensor.Tensor{y.Exp(), y.Detach().Argmax(tensor.Dim(1)), y.Tanh().Mul(x[1]), x[1].Square()}, nil
	},
	"random":       one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Mul(tensor.Randn([]int{4, 4})).Mul(x[1]).Tanh() }),
	"dropped":      one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Dropout(0.5).Mul(x[1]).Square() }),
	"other saved":  one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Exp().Log1p().Mul(x[1].Detach().Cos()).Tanh() }),
	"broadcast":    one(func(x []tensor.Tensor) tensor.Tensor { return x[0].Mul(x[1].Mean(tensor.Dim(0))).Sigmoid() }),
	"a function's": one(func(x []tensor.Tensor) tensor.Tensor { return x[0].GELU().Add(x[1].SiLU()) }),
}

// derivatives returns the values, and gradients up to an order, of what f gives.
func derivatives(f many, order int, x ...tensor.Tensor) (list []tensor.Tensor, err error) {
	outs, err := f(x...)
	if err != nil {
		return nil, err
	}
	list = append(list, outs...)
	for k := range order {
		var sum tensor.Tensor
		for i, y := range outs {
			if !y.RequiresGrad() {
				continue
			}
			if s := y.MulScalar(0.5 + float64(i)).Square().Mean(); sum == (tensor.Tensor{}) {
				sum = s
			} else {
				sum = sum.Add(s)
			}
		}
		outs, err = tensor.Gradients([]tensor.Tensor{sum}, x, tensor.CreateGraph(k+1 < order))
		if err != nil {
			return nil, fmt.Errorf("order %d: %w", k+1, err)
		}
		for i, g := range outs {
			if g == (tensor.Tensor{}) {
				outs[i] = tensor.ZerosLike(x[i])
			}
		}
		list = append(list, outs...)
	}
	return list, nil
}

// TestHigher: gradients of any order flow through a compiled function, and are eager code's.
func TestHigher(t *testing.T) {
	core.Poison.Store(true)
	defer core.Poison.Store(false)
	orders := []int{1, 2, 3, 4}
	if testing.Short() {
		orders = []int{2}
	}
	for n, name := range slices.Sorted(maps.Keys(differentiable)) {
		f := differentiable[name]
		for k, opts := range [][]compile.Option{nil, {compile.Recompute()}, {compile.Unfused()}} {
			if testing.Short() && (n+k)%3 != 0 { // each in one of them
				continue
			}
			t.Run(fmt.Sprint(name, len(opts)), func(t *testing.T) {
				each(t, func(t *testing.T, dev device.Device) {
					for _, order := range orders {
						compiled := compile.Func(f, opts...)
						higher(t, dev, order, f, compiled.Call)
						if s := compiled.Stats(); s.Traces != 1 {
							t.Errorf("recorded %d times: %s", s.Traces, s.Retraced)
						}
						compiled.Close()
					}
				})
			})
		}
	}
}

// higher compares derivatives of a compiled function with eager code, several times: values and
// first gradients to the bit. Later ones are sums of more, which eager code adds in another order:
// they are of float64, and compared with what float32 could not tell apart.
func higher(t *testing.T, dev device.Device, order int, f, compiled many) {
	t.Helper()
	for i := range 4 {
		leaf := func(from, to float64) tensor.Tensor {
			return tensor.Linspace(from, to+float64(i), 16, tensor.OfType(tensor.Float64)).Reshape(4, 4).Contiguous().RequireGrad()
		}
		x := []tensor.Tensor{leaf(-1, 1), leaf(2, -1)}
		before := state()
		want, err := derivatives(f, order, x...)
		must(t, err)
		after := state()
		restore(before)
		got, err := derivatives(compiled, order, x...)
		must(t, err)
		if state() != after {
			t.Errorf("random state %v, want %v", state(), after)
		}
		for k := range want {
			how := alike(dev)
			if k >= len(want)-2*(order-1) {
				how = finely
			}
			if d := diff(doubles(t, want[k]), doubles(t, got[k]), how); d != "" {
				t.Errorf("order %d, run %d, value %d: %s", order, i, k, d)
			}
		}
	}
}

// doubles returns the elements of x.
func doubles(t testing.TB, x tensor.Tensor) []float64 {
	t.Helper()
	list, err := tensor.Data[float64](x.Detach().ToType(tensor.Float64))
	must(t, err)
	return list
}

// TestHigherRandomly: random programs, too.
func TestHigherRandomly(t *testing.T) {
	programs := 25
	if testing.Short() {
		programs = 3
	}
	for i := range programs {
		code := make([]byte, 24)
		for k := range code {
			code[k] = byte(i*131 + k*k*17 + k*i*7 + 3 + int(*firstSeed)*(2*k+1))
		}
		each(t, func(t *testing.T, dev device.Device) {
			f := func(x ...tensor.Tensor) ([]tensor.Tensor, error) { return forward4(code, x...) }
			compiled := compile.Func(f)
			higher(t, dev, 3, f, compiled.Call)
			compiled.Close()
		})
	}
}

// TestPenalty: a training with a penalty on the gradient of a compiled model, which has every
// kind of state, leaves what eager code leaves.
func TestPenalty(t *testing.T) {
	each(t, func(t *testing.T, dev device.Device) {
		must(t, tensor.WithDefaults(tensor.Defaults{Device: dev, Float: tensor.Float64}, func() error { testPenalty(t); return nil }))
	})
}

func testPenalty(t *testing.T) {
	train := func(opts ...compile.Option) map[string][]float64 {
		random.Seed(5)
		model := nn.NewSequential(nn.NewLinear(6, 16), nn.NewBatchNorm(16), nn.Tanh(), nn.NewDropout(0.4), nn.NewLinear(16, 8), nn.NewLayerNorm([]int{8}), nn.NewLinear(8, 1))
		sgd, err := optim.NewSGD(nn.Parameters(model), 0.01, optim.Momentum(0.9))
		must(t, err)
		critic := func(x ...tensor.Tensor) (tensor.Tensor, error) { y := model.Forward(x[0]); return y, y.Err() }
		f := compile.Func(critic, append(opts, compile.State(model))...)
		if len(opts) > 0 {
			critic = f.Call
		}
		left := map[string][]float64{}
		for range 5 {
			real, made := tensor.Randn([]int{4, 6}), tensor.Randn([]int{4, 6}).RequireGrad()
			must(t, sgd.ZeroGrad())
			good, err := critic(real)
			must(t, err)
			bad, err := critic(made)
			must(t, err)
			grads, err := tensor.Gradients([]tensor.Tensor{bad.Sum()}, []tensor.Tensor{made}, tensor.CreateGraph())
			must(t, err)
			penalty := grads[0].Square().Sum(tensor.Dim(1)).AddScalar(1e-6).Sqrt().SubScalar(1).Square().Mean()
			loss := bad.Mean().Sub(good.Mean()).Add(penalty.MulScalar(10))
			must(t, loss.Backward())
			must(t, sgd.Step())
			left["loss"] = append(left["loss"], doubles(t, loss.Detach())...)
		}
		for name, p := range nn.Named(model) {
			left[name] = doubles(t, p.Detach())
			g, ok := p.Grad()
			if !ok {
				t.Fatalf("%s has no gradient", name)
			}
			left[name+".grad"] = doubles(t, g)
		}
		for name, b := range nn.NamedBuffers(model) {
			left[name] = doubles(t, b.Tensor)
		}
		s := random.Current().State()
		left["random"] = []float64{float64(s.Seed), float64(s.Offset)}
		f.Close()
		return left
	}
	want := train()
	for _, o := range []compile.Option{compile.Captures(), compile.Recompute(), compile.CallByCall(), compile.Background()} {
		if d := cmp.Diff(want, train(o), finely); d != "" {
			t.Error(d)
		}
	}
}

// TestHigherGraphs: gradients of gradients are given in one piece, and so they are where the
// program was made in the background.
func TestHigherGraphs(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 1})
	device.Install(drv)
	defer device.Install(simulated)
	for _, opts := range [][]compile.Option{nil, {compile.Background()}} {
		f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Square().Mul(x[0]).Tanh(), nil }, opts...)
		pass := func() {
			x := tensor.Full([]int{8}, 0.5, tensor.On(device.Sim(0))).RequireGrad()
			y, err := f.Call(x)
			must(t, err)
			g, err := tensor.Gradients([]tensor.Tensor{y.Sum()}, []tensor.Tensor{x}, tensor.CreateGraph())
			must(t, err)
			must(t, g[0].Sum().Backward())
		}
		pass()
		must(t, f.Wait(context.Background()))
		for range 4 {
			pass()
		}
		before := drv.Counters(0).GraphLaunches
		pass()
		if n := drv.Counters(0).GraphLaunches - before; n != 3 {
			t.Errorf("with %d options: %d graphs are launched for the function, its gradient and that of this", len(opts), n)
		}
		f.Close()
		if n := drv.Counters(0).LiveGraphs; n != 0 {
			t.Errorf("%d graphs are left", n)
		}
	}
}

// TestHigherRefused: what makes gradients of gradients impossible is an error that says so,
// and the pass without a graph goes on.
func TestHigherRefused(t *testing.T) {
	graph := func(y, x tensor.Tensor) error {
		_, err := tensor.Gradients([]tensor.Tensor{y.Sum()}, []tensor.Tensor{x}, tensor.CreateGraph())
		return err
	}
	scale, calls := 2.0, 0
	x := tensor.From([]float32{1, 2}).RequireGrad()
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		calls++
		return x[0].Square().MulScalar(scale), nil
	})
	y, err := f.Call(x)
	must(t, err)
	scale = 3
	if err := graph(y, x); !errors.Is(err, compile.ErrUnrecordable) || !strings.Contains(err.Error(), "something else") {
		t.Errorf("a function that does something else: %v", err)
	}
	scale = 2
	must(t, graph(y, x))
	must(t, graph(y, x))
	if calls != 3 {
		t.Errorf("the function was called %d times", calls)
	}
	must(t, y.Sum().Backward())
	g, _ := x.Grad()
	if d := cmp.Diff([]float32{4, 8}, values(t, g)); d != "" {
		t.Error(d)
	}
	z := tensor.From([]float32{3, 4})
	mul := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Square().Mul(x[1]), nil })
	y, err = mul.Call(x, z)
	must(t, err)
	must(t, z.AddScalarInPlace(1))
	if err := graph(y, x); !errors.Is(err, tensor.ErrChanged) {
		t.Errorf("changed: %v", err)
	}
	y, err = mul.Call(x, z)
	must(t, err)
	step := compile.Step(func(...tensor.Tensor) (tensor.Tensor, error) {
		g, err := tensor.Gradients([]tensor.Tensor{y.Sum()}, []tensor.Tensor{x})
		if err != nil {
			return tensor.Tensor{}, err
		}
		return g[0], nil
	}, compile.Captures())
	if _, err := step.Call(); !errors.Is(err, compile.ErrUnrecordable) {
		t.Errorf("a pass of another recording: %v", err)
	}
}
