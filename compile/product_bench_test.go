package compile_test

import (
	"testing"

	"github.com/sinter-go/sinter/compile"
	perceptrons "github.com/sinter-go/sinter/examples/compile/models"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
)

// BenchmarkPerceptron measures a step of training of a perceptron on the processor in eager
// code, as programs unfused and fused, and the step's matrix products alone.
func BenchmarkPerceptron(b *testing.B) {
	for _, way := range []string{"eager", "unfused", "fused"} {
		model := perceptrons.Perceptron(784, 1024, 1024, 10)
		sgd, err := optim.NewSGD(nn.Parameters(model), 0.01)
		must(b, err)
		call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).CrossEntropy(x[1]) })
		}
		switch way {
		case "unfused":
			call = compile.Step(call, compile.State(model, sgd), compile.Unfused()).Call
		case "fused":
			call = compile.Step(call, compile.State(model, sgd)).Call
		}
		x, y := tensor.Randn([]int{128, 784}), tensor.Randint([]int{128}, 0, 10)
		b.Run(way, func(b *testing.B) {
			for b.Loop() {
				loss, err := call(x, y)
				must(b, err)
				loss.Release()
			}
		})
	}
	draw := func(rows, columns int) tensor.Tensor { return tensor.Randn([]int{rows, columns}) }
	x, h, g := draw(128, 784), draw(128, 1024), draw(128, 10)
	first, second, third := draw(784, 1024), draw(1024, 1024), draw(1024, 10)
	factors := [][2]tensor.Tensor{{x, first}, {h, second}, {h, third}, {g.Transpose(0, 1), h}, {g, third.Transpose(0, 1)},
		{h.Transpose(0, 1), h}, {h, second.Transpose(0, 1)}, {h.Transpose(0, 1), x}}
	b.Run("products", func(b *testing.B) {
		for b.Loop() {
			for _, f := range factors {
				y := f[0].MatMul(f[1])
				must(b, y.Err())
				y.Release()
			}
		}
	})
}
