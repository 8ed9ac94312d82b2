package main

import (
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// trainingRows are steps of a perceptron: gradients cleared, forward, cross
// entropy, backward, the optimizer's step.
func (w *workload) trainingRows(compiled bool) []row {
	in := []operand{f32(128, 784), {Shape: []int{128}, DType: "int64", Below: 10}}
	sgd := row{name: "MLP 784-1024-1024-10, SGD", in: in, ours: trainer(newPerceptron, newSGD), torch: "step(a, b)", targets: []target{atMost(0.4, byPyTorch)}}
	adam := sgd
	adam.name, adam.ours = "MLP 784-1024-1024-10, Adam", trainer(newPerceptron, newAdam)
	sgd.setup, adam.setup = "step = mlp(torch.optim.SGD, 0.01)", "step = mlp(torch.optim.Adam, 1e-3)"
	rows := []row{sgd, adam}
	if compiled {
		for _, r := range []row{
			{name: sgd.name + ", torch.compile", setup: "step = mlp(torch.optim.SGD, 0.01, how='compile')"},
			{name: sgd.name + ", CUDA graph", setup: "step = mlp(torch.optim.SGD, 0.01, how='graph')"},
		} {
			r.in, r.ours, r.torch = in, sgd.ours, sgd.torch
			rows = append(rows, r)
		}
	}
	return grouped("A training step, batch 128, fp32", measured(wallTime, microseconds, rows))
}

func newSGD(p []*nn.Parameter) (optim.Optimizer, error) {
	return optim.NewSGD(p, 0.01)
}

func newAdam(p []*nn.Parameter) (optim.Optimizer, error) {
	return optim.NewAdam(p, 1e-3)
}

func newPerceptron() nn.Module {
	return nn.NewSequential(nn.NewLinear(784, 1024), nn.ReLU(), nn.NewLinear(1024, 1024), nn.ReLU(), nn.NewLinear(1024, 10))
}

// newDigits returns the network of the digits example.
func newDigits() nn.Module {
	return nn.NewSequential(
		nn.NewConv2d(1, 16, 3, tensor.Padding(1)), nn.NewBatchNorm(16), nn.ReLU(),
		nn.NewConv2d(16, 32, 3, tensor.Padding(1)), nn.NewBatchNorm(32), nn.ReLU(), nn.MaxPool2d(2),
		nn.Flatten(), nn.NewDropout(0.3), nn.NewLinear(512, 64), nn.ReLU(), nn.NewDropout(0.3), nn.NewLinear(64, 10),
	)
}

// trainer makes steps of a classifier on images and labels.
func trainer(network func() nn.Module, optimizer func([]*nn.Parameter) (optim.Optimizer, error)) maker {
	return training{network: network, optimizer: optimizer}.eager()
}
