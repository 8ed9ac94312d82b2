// Command gorgonia is Gorgonia's side: gorgonia.org/tensor where it has the operator,
// graphs on a tape machine elsewhere.
package main

import (
	"slices"

	G "gorgonia.org/gorgonia"
	"gorgonia.org/tensor"

	"github.com/sinter-go/sinter/cmd/peers/side"
)

func main() {
	side.Serve(map[string]func() side.Work{"add": add, "matmul": matmul, "softmax": softmax, "conv2d": conv2d, "step": step})
}

// filled returns a tensor of side's numbers.
func filled(seed uint32, scale float32, shape ...int) *tensor.Dense {
	return tensor.New(tensor.WithShape(shape...), tensor.WithBacking(side.Fill(tensor.Shape(shape).TotalSize(), seed, scale)))
}

// must returns a value that comes with an error.
func must[T any](v T, err error) T {
	side.Must(err)
	return v
}

// work is a row that makes one tensor a call.
func work(f func() tensor.Tensor) side.Work {
	return side.Work{
		Call:  func() { f() },
		Check: func() float64 { return side.Mean(f().Data().([]float32)) },
	}
}

func add() side.Work {
	x, y := filled(1, 1, side.Elements), filled(2, 1, side.Elements)
	return work(func() tensor.Tensor { return must(tensor.Add(x, y)) })
}

func matmul() side.Work {
	x, y := filled(1, 1, side.Side, side.Side), filled(2, 1, side.Side, side.Side)
	return work(func() tensor.Tensor { return must(tensor.MatMul(x, y)) })
}

func softmax() side.Work {
	x := filled(1, 8, side.Rows, side.Rows)
	return work(func() tensor.Tensor { return must(tensor.SoftMax(x, 1)) })
}

func conv2d() side.Work {
	g := G.NewGraph()
	x := G.NodeFromAny(g, filled(1, 1, side.Images, side.Channels, side.Extent, side.Extent), G.WithName("x"))
	weight := G.NodeFromAny(g, filled(2, 1, side.Filters, side.Channels, 3, 3), G.WithName("weight"))
	y := must(G.Conv2d(x, weight, tensor.Shape{3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}))
	machine := G.NewTapeMachine(g)
	run := func() {
		side.Must(machine.RunAll())
		machine.Reset()
	}
	return side.Work{Call: run, Check: func() float64 {
		run()
		return side.Mean(slices.Clone(y.Value().Data().([]float32)))
	}}
}

func step() side.Work {
	g := G.NewGraph()
	node := func(name string, t *tensor.Dense) *G.Node { return G.NodeFromAny(g, t, G.WithName(name)) }
	x := node("x", filled(1, 1, side.Batch, side.Inputs))
	labels := node("labels", tensor.New(tensor.WithShape(side.Batch, side.Classes), tensor.WithBacking(side.OneHot())))
	// Weights are kept transposed, so that the product needs no transposition.
	first := node("first", transposed(filled(2, 0.1, side.Hidden, side.Inputs)))
	second := node("second", transposed(filled(4, 0.1, side.Classes, side.Hidden)))
	bias1, bias2 := node("bias1", filled(3, 0.1, 1, side.Hidden)), node("bias2", filled(5, 0.1, 1, side.Classes))

	layer := func(x, weight, bias *G.Node) *G.Node {
		return must(G.BroadcastAdd(must(G.Mul(x, weight)), bias, nil, []byte{0}))
	}
	scores := layer(must(G.Rectify(layer(x, first, bias1))), second, bias2)
	picked := must(G.HadamardProd(must(G.LogSoftMax(scores)), labels))
	loss := must(G.Mul(must(G.Mean(picked)), G.NewConstant(float32(-side.Classes))))
	weights := G.Nodes{first, bias1, second, bias2}
	must(G.Grad(loss, weights...))

	machine := G.NewTapeMachine(g, G.BindDualValues(weights...))
	sgd := G.NewVanillaSolver(G.WithLearnRate(side.Rate))
	train := func() {
		side.Must(machine.RunAll())
		side.Must(sgd.Step(G.NodesToValueGrads(weights)))
		machine.Reset()
	}
	return side.Work{Call: train, Check: func() float64 {
		for range side.CheckSteps {
			train()
		}
		return float64(loss.Value().Data().(float32))
	}}
}

// transposed returns a copy of a matrix with rows and columns exchanged.
func transposed(t *tensor.Dense) *tensor.Dense {
	side.Must(t.T())
	side.Must(t.Transpose())
	return t
}
