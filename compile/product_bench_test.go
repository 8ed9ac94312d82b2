package compile_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/compile"
	perceptrons "github.com/sinter-go/sinter/examples/compile/models"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// BenchmarkPerceptron measures a step of training of a perceptron in eager code, as programs
// unfused, fused and relaxed, and with Adam, on GPUs with TF32 too, and on the processor the step's matrix
// products alone.
func BenchmarkPerceptron(b *testing.B) {
	for _, dev := range devices() {
		switch dev.Kind {
		case device.KindCPU:
			benchmarkPerceptron(b, dev, dev.Kind.String())
			benchmarkProducts(b)
		case device.KindCUDA:
			was, err := cuda.MatmulAllowTF32()
			must(b, err)
			for _, tf32 := range []bool{false, true} {
				cuda.SetMatmulAllowTF32(tf32)
				benchmarkPerceptron(b, dev, fmt.Sprintf("%s/TF32=%v", dev.Kind, tf32))
			}
			cuda.SetMatmulAllowTF32(was)
		}
	}
}

func benchmarkPerceptron(b *testing.B, dev device.Device, name string) {
	for _, way := range []string{"eager", "unfused", "fused", "relaxed", "adam"} {
		model := perceptrons.Perceptron(784, 1024, 1024, 10)
		must(b, nn.To(model, dev))
		var update optim.Optimizer
		var err error
		if update, err = optim.NewSGD(nn.Parameters(model), 0.01); way == "adam" {
			update, err = optim.NewAdam(nn.Parameters(model), 0.001)
		}
		must(b, err)
		call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return optim.Minimize(update, func() tensor.Tensor { return model.Forward(x[0]).CrossEntropy(x[1]) })
		}
		if opts, compiled := map[string][]compile.Option{"unfused": {compile.Unfused()}, "fused": nil, "relaxed": {compile.Relaxed()}, "adam": nil}[way]; compiled {
			call = compile.Step(call, append(opts, compile.State(model, update))...).Call
		}
		x, y := tensor.Randn([]int{128, 784}, tensor.On(dev)), tensor.Randint([]int{128}, 0, 10, tensor.On(dev))
		b.Run(name+"/"+way, func(b *testing.B) {
			for range 5 { // records, captures
				_, err := call(x, y)
				must(b, err)
			}
			must(b, stream.Synchronize(context.Background(), dev))
			b.ResetTimer() // b.Loop would not count the wait
			for range b.N {
				loss, err := call(x, y)
				must(b, err)
				loss.Release()
			}
			must(b, stream.Synchronize(context.Background(), dev))
		})
	}
}

func benchmarkProducts(b *testing.B) {
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

// BenchmarkBlock measures a step of training of a transformer block of bfloat16, 768 wide with
// 12 heads, over 8 sequences of 1024, on a GPU.
func BenchmarkBlock(b *testing.B) {
	for _, dev := range devices() {
		if dev.Kind != device.KindCUDA {
			continue
		}
		for _, way := range []string{"eager", "unfused", "fused", "relaxed"} {
			block := perceptrons.NewBlock(768, 12)
			must(b, nn.To(block, dev))
			must(b, nn.ToType(block, tensor.BFloat16))
			sgd, err := optim.NewSGD(nn.Parameters(block), 1e-6)
			must(b, err)
			call := func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return optim.Minimize(sgd, func() tensor.Tensor { return block.Forward(x[0]).Square().Mean() })
			}
			if opts, compiled := map[string][]compile.Option{"unfused": {compile.Unfused()}, "fused": nil, "relaxed": {compile.Relaxed()}}[way]; compiled {
				step := compile.Step(call, append(opts, compile.State(block, sgd))...)
				defer step.Close()
				call = step.Call
				if testing.Verbose() {
					defer func() { b.Log(step.Explain()) }()
				}
			}
			x := tensor.Randn([]int{8, 1024, 768}, tensor.On(dev), tensor.OfType(tensor.BFloat16))
			b.Run(way, func(b *testing.B) {
				for range 5 {
					_, err := call(x)
					must(b, err)
				}
				must(b, stream.Synchronize(context.Background(), dev))
				b.ResetTimer()
				for range b.N {
					loss, err := call(x)
					must(b, err)
					loss.Release()
				}
				must(b, stream.Synchronize(context.Background(), dev))
			})
		}
	}
}

// BenchmarkResidual measures two layers of bfloat16, 768 wide and 3072, with gelu by tanh between
// them and what they are of added, and their gradients, over 8192 rows on a GPU.
func BenchmarkResidual(b *testing.B) {
	for _, dev := range devices() {
		if dev.Kind != device.KindCUDA {
			continue
		}
		x := residualOf(8192, 768, 3072, tensor.On(dev), tensor.OfType(tensor.BFloat16))
		for _, way := range []struct {
			name    string
			options []compile.Option
		}{{"unfused", []compile.Option{compile.Unfused()}}, {"fused", nil}, {"relaxed", []compile.Option{compile.Relaxed()}}} {
			b.Run(way.name, func(b *testing.B) {
				step := compile.Step(residual, way.options...)
				defer step.Close()
				if testing.Verbose() {
					defer func() { b.Log(step.Explain()) }()
				}
				for i := range b.N + 3 {
					if i == 3 { // recorded, captured, launched
						must(b, stream.Synchronize(context.Background(), dev))
						b.ResetTimer()
					}
					list, err := step.Call(x...)
					must(b, err)
					for _, y := range list {
						y.Release()
					}
				}
				must(b, stream.Synchronize(context.Background(), dev))
			})
		}
	}
}
