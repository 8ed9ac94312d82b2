// Command sinter is this module's side.
package main

import (
	"github.com/sinter-go/sinter/cmd/peers/side"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

func main() {
	side.Serve(map[string]func() side.Work{"add": add, "matmul": matmul, "softmax": softmax, "conv2d": conv2d, "step": step})
}

// filled returns a tensor of side's numbers.
func filled(seed uint32, scale float32, shape ...int) tensor.Tensor {
	n := 1
	for _, extent := range shape {
		n *= extent
	}
	return tensor.From(side.Fill(n, seed, scale), shape...)
}

// work is a row that makes one tensor a call.
func work(f func() tensor.Tensor) side.Work {
	return side.Work{
		Call: func() {
			y := f()
			side.Must(y.Err())
			y.Release()
		},
		Check: func() float64 {
			list, err := tensor.Data[float32](f())
			side.Must(err)
			return side.Mean(list)
		},
	}
}

func add() side.Work {
	x, y := filled(1, 1, side.Elements), filled(2, 1, side.Elements)
	return work(func() tensor.Tensor { return x.Add(y) })
}

func matmul() side.Work {
	x, y := filled(1, 1, side.Side, side.Side), filled(2, 1, side.Side, side.Side)
	return work(func() tensor.Tensor { return x.MatMul(y) })
}

func softmax() side.Work {
	x := filled(1, 8, side.Rows, side.Rows)
	return work(func() tensor.Tensor { return x.Softmax(1) })
}

func conv2d() side.Work {
	x := filled(1, 1, side.Images, side.Channels, side.Extent, side.Extent)
	weight := filled(2, 1, side.Filters, side.Channels, 3, 3)
	return work(func() tensor.Tensor { return x.Conv2d(weight, tensor.Padding(1)) })
}

// mlp is the network of the training step.
type mlp struct{ First, Second *nn.Linear }

func (m *mlp) Forward(x tensor.Tensor) tensor.Tensor {
	return m.Second.Forward(m.First.Forward(x).ReLU())
}

func step() side.Work {
	x, labels := filled(1, 1, side.Batch, side.Inputs), tensor.From(side.Labels())
	m := &mlp{nn.NewLinear(side.Inputs, side.Hidden), nn.NewLinear(side.Hidden, side.Classes)}
	side.Must(nn.LoadStateDict(m, map[string]tensor.Tensor{
		"first.weight": filled(2, 0.1, side.Hidden, side.Inputs), "first.bias": filled(3, 0.1, side.Hidden),
		"second.weight": filled(4, 0.1, side.Classes, side.Hidden), "second.bias": filled(5, 0.1, side.Classes),
	}))
	sgd, err := optim.NewSGD(nn.Parameters(m), side.Rate)
	side.Must(err)
	train := func() tensor.Tensor {
		loss, err := optim.Minimize(sgd, func() tensor.Tensor { return m.Forward(x).CrossEntropy(labels) })
		side.Must(err)
		return loss
	}
	return side.Work{
		Call: func() { train().Release() },
		Check: func() (value float64) {
			for range side.CheckSteps {
				value, err = train().Item()
				side.Must(err)
			}
			return value
		},
	}
}
