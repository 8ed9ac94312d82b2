package main

import (
	"errors"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
)

// graphRows are graphs that were captured once: the training step of trainingRows,
// whose inputs are copied to where the graph reads them, and a hundred small kernels.
func (w *workload) graphRows() []row {
	step := row{
		name: "MLP SGD step replayed from a graph", ours: graphTrainer,
		in:    []operand{f32(128, 784), {Shape: []int{128}, DType: "int64", Below: 10}},
		torch: "step(a, b)", setup: "step = mlp(torch.optim.SGD, 0.01, how='graph')",
		targets: []target{atMost(1, byPyTorch)},
	}
	small := row{
		name: "100 small kernels replayed from a graph", in: []operand{f32(1000)}, ours: graphChain,
		torch:   "g.replay()",
		setup:   "x = torch.zeros(1000, device=device)\ng = torch.cuda.CUDAGraph()\nwith torch.cuda.graph(g):\n    for _ in range(100):\n        x.add_(1)",
		targets: []target{atMost(1.1, byPyTorch)},
	}
	return grouped("CUDA graphs", measured(wallTime, microseconds, []row{step, small}))
}

// replayer returns a call that replays a graph after before, and gives it up again.
func replayer(o *ourSide, g *graph.Graph, before func(x []T) error) call {
	o.after = append(o.after, g.Reset)
	return func(x []T) error {
		if err := before(x); err != nil {
			return err
		}
		return g.Replay()
	}
}

// graphTrainer makes steps of a perceptron by replays.
func graphTrainer(o *ourSide) (call, error) {
	model := nn.NewSequential(nn.NewLinear(784, 1024), nn.ReLU(), nn.NewLinear(1024, 1024), nn.ReLU(), nn.NewLinear(1024, 10))
	if err := nn.To(model, o.dev); err != nil {
		return nil, err
	}
	opt, err := optim.NewSGD(nn.Parameters(model), 0.01)
	if err != nil {
		return nil, err
	}
	images, labels := tensor.Zeros([]int{128, 784}, tensor.On(o.dev)), tensor.Zeros([]int{128}, tensor.On(o.dev), tensor.OfType(tensor.Int64))
	o.after = append(o.after, func() error {
		images.Release()
		labels.Release()
		return opt.ZeroGrad()
	})
	step := func() error {
		return tensor.Scope(func() error {
			if err := model.Forward(images).CrossEntropy(labels).Backward(); err != nil {
				return err
			}
			return opt.Step()
		})
	}
	for range 3 { // libraries choose their kernels
		if err := errors.Join(opt.ZeroGrad(), step()); err != nil {
			return nil, err
		}
	}
	g := graph.New(o.dev)
	if err := errors.Join(opt.ZeroGrad(), g.Capture(step, graph.CaptureStream(stream.New(o.dev, 0)))); err != nil {
		return nil, err
	}
	return replayer(o, g, func(x []T) error {
		return errors.Join(images.CopyFrom(x[0]), labels.CopyFrom(x[1]))
	}), nil
}

// graphChain is a hundred kernels of one graph.
func graphChain(o *ourSide) (call, error) {
	x, g := tensor.Zeros([]int{1000}, tensor.On(o.dev)), graph.New(o.dev)
	o.after = append(o.after, func() error { x.Release(); return nil })
	err := g.Capture(func() error {
		for range 100 {
			if err := x.AddScalarInPlace(1); err != nil {
				return err
			}
		}
		return nil
	})
	return replayer(o, g, func([]T) error { return nil }), err
}
