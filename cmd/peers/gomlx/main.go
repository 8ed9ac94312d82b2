// Command gomlx is GoMLX's side, on its backend in pure Go. It compiles a graph for each
// row; what is compiled is reused.
package main

import (
	"github.com/gomlx/gomlx/backends"
	_ "github.com/gomlx/gomlx/backends/simplego"
	"github.com/gomlx/gomlx/pkg/core/graph"
	"github.com/gomlx/gomlx/pkg/core/tensors"
	"github.com/gomlx/gomlx/pkg/ml/layers/activations"

	"github.com/sinter-go/sinter/cmd/peers/side"
)

type node = graph.Node

var backend = backends.MustNew()

func main() {
	side.Serve(map[string]func() side.Work{"add": add, "matmul": matmul, "softmax": softmax, "conv2d": conv2d, "step": step})
}

// filled returns a tensor of side's numbers.
func filled(seed uint32, scale float32, shape ...int) *tensors.Tensor {
	n := 1
	for _, extent := range shape {
		n *= extent
	}
	return tensors.FromFlatDataAndDimensions(side.Fill(n, seed, scale), shape...)
}

// work is a row that makes one tensor a call.
func work(f func() *tensors.Tensor) side.Work {
	return side.Work{
		Call: func() { f().MustFinalizeAll() },
		Check: func() (mean float64) {
			f().MustConstFlatData(func(flat any) { mean = side.Mean(flat.([]float32)) })
			return mean
		},
	}
}

func add() side.Work {
	x, y := filled(1, 1, side.Elements), filled(2, 1, side.Elements)
	exec := graph.MustNewExec(backend, func(x, y *node) *node { return graph.Add(x, y) })
	return work(func() *tensors.Tensor { return exec.MustExec1(x, y) })
}

func matmul() side.Work {
	x, y := filled(1, 1, side.Side, side.Side), filled(2, 1, side.Side, side.Side)
	exec := graph.MustNewExec(backend, func(x, y *node) *node { return graph.MatMul(x, y) })
	return work(func() *tensors.Tensor { return exec.MustExec1(x, y) })
}

func softmax() side.Work {
	x := filled(1, 8, side.Rows, side.Rows)
	exec := graph.MustNewExec(backend, func(x *node) *node { return graph.Softmax(x, 1) })
	return work(func() *tensors.Tensor { return exec.MustExec1(x) })
}

// conv2d has channels last, which is what GoMLX prefers.
func conv2d() side.Work {
	order := func(x *tensors.Tensor, axes ...int) *tensors.Tensor {
		return graph.MustNewExec(backend, func(x *node) *node { return graph.TransposeAllAxes(x, axes...) }).MustExec1(x)
	}
	x := order(filled(1, 1, side.Images, side.Channels, side.Extent, side.Extent), 0, 2, 3, 1)
	weight := order(filled(2, 1, side.Filters, side.Channels, 3, 3), 2, 3, 1, 0)
	exec := graph.MustNewExec(backend, func(x, weight *node) *node {
		return graph.Convolve(x, weight).Strides(1).PadSame().Done()
	})
	return work(func() *tensors.Tensor { return exec.MustExec1(x, weight) })
}

func step() side.Work {
	x := filled(1, 1, side.Batch, side.Inputs)
	labels := tensors.FromFlatDataAndDimensions(side.OneHot(), side.Batch, side.Classes)
	weights := []*tensors.Tensor{
		filled(2, 0.1, side.Hidden, side.Inputs), filled(3, 0.1, side.Hidden),
		filled(4, 0.1, side.Classes, side.Hidden), filled(5, 0.1, side.Classes),
	}
	exec := graph.MustNewExec(backend, func(in []*node) []*node {
		x, labels, weights := in[0], in[1], in[2:]
		layer := func(x, weight, bias *node) *node {
			return graph.Add(graph.Einsum("bi,oi->bo", x, weight), graph.ExpandLeftToRank(bias, 2))
		}
		scores := layer(activations.Relu(layer(x, weights[0], weights[1])), weights[2], weights[3])
		loss := graph.Neg(graph.ReduceAllMean(graph.ReduceSum(graph.Mul(graph.LogSoftmax(scores, 1), labels), 1)))
		out := []*node{loss}
		for i, g := range graph.Gradient(loss, weights...) {
			out = append(out, graph.Sub(weights[i], graph.MulScalar(g, side.Rate)))
		}
		return out
	})
	var loss *tensors.Tensor
	train := func() {
		out := exec.MustExec(x, labels, weights[0], weights[1], weights[2], weights[3])
		for _, old := range weights {
			old.MustFinalizeAll()
		}
		if loss != nil {
			loss.MustFinalizeAll()
		}
		loss, weights = out[0], out[1:]
	}
	return side.Work{Call: train, Check: func() float64 {
		for range side.CheckSteps {
			train()
		}
		return float64(tensors.ToScalar[float32](loss))
	}}
}
