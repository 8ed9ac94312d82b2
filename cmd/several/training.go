package main

import (
	"context"
	"errors"
	"math"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// how says how a step is made.
type how struct {
	compress bool // gradients travel in bfloat16
	capture  bool // the step is replayed from a graph
}

// A task is a model and its batch.
type task func(d device.Device) (model nn.Module, x tensor.Tensor, err error)

// perceptron is linear layers with ReLU between them.
func (s *settings) perceptron(d device.Device) (nn.Module, tensor.Tensor, error) {
	var layers []nn.Module
	for range s.size.Layers {
		layers = append(layers, nn.NewLinear(s.size.Width, s.size.Width, tensor.On(d)), nn.ReLU())
	}
	x := tensor.Randn([]int{s.size.Batch, s.size.Width}, tensor.On(d))
	return nn.NewSequential(layers...), x, x.Err()
}

// transformer is blocks in bfloat16, whose attention is made of its parts.
func (s *settings) transformer(d device.Device) (nn.Module, tensor.Tensor, error) {
	opts := []tensor.Option{tensor.On(d), tensor.OfType(tensor.BFloat16)}
	var blocks []nn.Module
	for range s.size.Blocks {
		n := s.size.Model
		blocks = append(blocks, &block{
			Before: nn.NewLayerNorm([]int{n}, opts...), Queries: nn.NewLinear(n, 3*n, opts...), Out: nn.NewLinear(n, n, opts...),
			Between: nn.NewLayerNorm([]int{n}, opts...), Up: nn.NewLinear(n, 4*n, opts...), Down: nn.NewLinear(4*n, n, opts...), heads: s.size.Heads})
	}
	x := tensor.Randn([]int{s.size.Sequences, s.size.Sequence, s.size.Model}, opts...)
	return nn.NewSequential(blocks...), x, x.Err()
}

// A block is attention and a perceptron, each on what a normalisation makes of the sum so far.
type block struct {
	Before, Between        *nn.LayerNorm
	Queries, Out, Up, Down *nn.Linear
	heads                  int
}

func (b *block) Forward(x tensor.Tensor) tensor.Tensor {
	n, t, c := x.Size(0), x.Size(1), x.Size(2)
	y := b.Queries.Forward(b.Before.Forward(x)).Reshape(n, t, 3, b.heads, c/b.heads).Permute(2, 0, 3, 1, 4)
	q, k, v := y.Select(0, 0), y.Select(0, 1), y.Select(0, 2)
	weights := q.MatMul(k.Transpose(-2, -1)).MulScalar(1 / math.Sqrt(float64(c/b.heads))).Softmax(-1)
	x = x.Add(b.Out.Forward(weights.MatMul(v).Transpose(1, 2).Reshape(n, t, c)))
	return x.Add(b.Down.Forward(b.Up.Forward(b.Between.Forward(x)).GELU()))
}

// training returns the seconds of a step on the first device alone, and on all.
func (s *settings) training(make task, h how) (one, all float64, err error) {
	err = device.With(s.devices[0], func() error {
		return tensor.Scope(func() error {
			model, x, err := make(s.devices[0])
			if err != nil {
				return err
			}
			one, err = s.step(nil, model, model, x, h)
			return err
		})
	})
	s.clear()
	if err != nil {
		return 0, 0, err
	}
	err = s.group(func(g *dist.Group) error {
		model, x, err := make(g.Device())
		if err != nil {
			return err
		}
		var opts []dist.Option
		if h.compress {
			opts = append(opts, dist.Compress(tensor.BFloat16))
		}
		d, err := dist.NewDistributedDataParallel(g, model, opts...)
		if err != nil {
			return err
		}
		t, err := s.step(g, d, model, x, h)
		if g.Rank() == 0 {
			all = t
		}
		return errors.Join(err, d.Close())
	}, dist.CapturedCopies(h.capture && s.copies))
	s.clear()
	return one, all, err
}

// minimizing returns the model's own Minimize, where it has one, and otherwise optim.Minimize.
func minimizing(model nn.Module) func(optim.Optimizer, func() tensor.Tensor) (tensor.Tensor, error) {
	if d, is := model.(interface {
		Minimize(optim.Optimizer, func() tensor.Tensor) (tensor.Tensor, error)
	}); is {
		return d.Minimize
	}
	return optim.Minimize
}

// step measures a step of gradient descent.
func (s *settings) step(g *dist.Group, forward, model nn.Module, x tensor.Tensor, h how) (float64, error) {
	sgd, err := optim.NewSGD(nn.Parameters(model), 1e-3)
	if err != nil {
		return 0, err
	}
	minimize := minimizing(forward)
	step := func() error {
		_, err := minimize(sgd, func() tensor.Tensor { return forward.Forward(x).ToType(tensor.Float32).Square().Mean() })
		return err
	}
	if !h.capture {
		return s.time(g, step)
	}
	for range 3 { // memory, workspaces and the order of buckets are decided
		if err := step(); err != nil {
			return 0, err
		}
	}
	recorded := graph.New(x.Device())
	defer recorded.Reset()
	if err := errors.Join(sgd.ZeroGrad(), recorded.Capture(step, graph.CaptureStream(stream.New(x.Device(), 0)))); err != nil {
		return 0, err
	}
	return s.time(g, recorded.Replay)
}

// A way is how several devices keep a model and Adam's state.
type way struct {
	name string
	make func(s *settings, g *dist.Group) (nn.Module, optim.Optimizer, tensor.Tensor, error)
}

var ways = []way{{"replicas", replicas}, {"divided state", divided}, {"fully sharded", sharded}}

func newAdam(p []*nn.Parameter) (optim.Optimizer, error) { return optim.NewAdam(p, 1e-4) }

func replicas(s *settings, g *dist.Group) (nn.Module, optim.Optimizer, tensor.Tensor, error) {
	m, x, err := s.perceptron(g.Device())
	if err != nil {
		return nil, nil, x, err
	}
	d, err := dist.NewDistributedDataParallel(g, m)
	if err != nil {
		return nil, nil, x, err
	}
	o, err := newAdam(nn.Parameters(m))
	return d, o, x, err
}

func divided(s *settings, g *dist.Group) (nn.Module, optim.Optimizer, tensor.Tensor, error) {
	m, x, err := s.perceptron(g.Device())
	if err != nil {
		return nil, nil, x, err
	}
	d, err := dist.NewDistributedDataParallel(g, m)
	if err != nil {
		return nil, nil, x, err
	}
	o, err := dist.NewShardedOptimizer(g, nn.Parameters(m), newAdam)
	return d, o, x, err
}

func sharded(s *settings, g *dist.Group) (nn.Module, optim.Optimizer, tensor.Tensor, error) {
	m, x, err := s.perceptron(g.Device())
	if err != nil {
		return nil, nil, x, err
	}
	layers := m.(*nn.Sequential).Modules
	for i, layer := range layers {
		if nn.NumParameters(layer) == 0 {
			continue
		}
		if layers[i], err = dist.NewFullyShardedDataParallel(g, layer); err != nil {
			return nil, nil, x, err
		}
	}
	d, err := dist.NewFullyShardedDataParallel(g, m)
	if err != nil {
		return nil, nil, x, err
	}
	o, err := d.Optimizer(newAdam)
	return d, o, x, err
}

// peak returns the most memory of rank 0's device during a step, in MiB.
func (s *settings) peak(make func(s *settings, g *dist.Group) (nn.Module, optim.Optimizer, tensor.Tensor, error)) (most float64, err error) {
	err = s.group(func(g *dist.Group) error {
		m, o, x, err := make(s, g)
		if err != nil {
			return err
		}
		for step := range 3 {
			if step == 2 {
				memory.ResetPeak(g.Device())
			}
			if _, err := minimizing(m)(o, func() tensor.Tensor { return m.Forward(x).Square().Mean() }); err != nil {
				return err
			}
		}
		if g.Rank() == 0 {
			most = float64(memory.MaxAllocated(g.Device())) / (1 << 20)
		}
		return stream.Current(g.Device()).Synchronize(context.Background())
	})
	s.clear()
	return most, err
}
