package compile_test

import (
	"context"
	"testing"
	"time"

	"github.com/sinter-go/sinter/compile"
	perceptrons "github.com/sinter-go/sinter/examples/compile/models"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// BenchmarkLatency measures how long it takes until a function can run, for the first time in
// a process and again for another shape: of one region, a step of training of a perceptron and
// one of a transformer block. Where the directory of compiled kernels is empty
// (SINTER_KERNEL_CACHE_PATH) that is with compiling, otherwise from disk. It tells for one
// iteration (-benchtime 1x) in a process of its own.
func BenchmarkLatency(b *testing.B) {
	for _, dev := range devices() {
		if dev.Kind == device.KindSim {
			continue
		}
		must(b, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
			warm := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Neg().Abs().Neg(), nil })
			_, err := warm.Call(tensor.Ones([]int{8})) // finds the device and the compiler
			must(b, err)
			chained := compile.Func(chain)
			latency(b, dev, "region", chained.Prepare, func(n int) []tensor.Tensor {
				x := tensor.Ones([]int{n, 64})
				return []tensor.Tensor{x, x, tensor.Ones([]int{n, 64})}
			})
			mlp := trainingOf(b, perceptrons.Perceptron(784, 1024, 1024, 10), dev)
			latency(b, dev, "perceptron", mlp.Prepare, func(n int) []tensor.Tensor {
				return []tensor.Tensor{tensor.Ones([]int{n, 784}), tensor.Zeros([]int{n}, tensor.OfType(tensor.Int64))}
			})
			block := &blockMean{perceptrons.NewBlock(768, 12)}
			latency(b, dev, "transformer block", trainingOf(b, block, dev).Prepare, func(n int) []tensor.Tensor {
				return []tensor.Tensor{tensor.Ones([]int{2, n, 768}), tensor.Zeros([]int{2}, tensor.OfType(tensor.Int64))}
			})
			return nil
		}))
	}
}

// A blockMean is a transformer block whose mean vector has the scores of classes.
type blockMean struct{ Block *perceptrons.Block }

func (m *blockMean) Forward(x tensor.Tensor) tensor.Tensor {
	return m.Block.Forward(x).Mean(tensor.Dim(1))
}

func trainingOf(b *testing.B, model nn.Module, dev device.Device) *compile.Compiled[tensor.Tensor] {
	must(b, nn.To(model, dev))
	sgd, err := optim.NewSGD(nn.Parameters(model), 0.01)
	must(b, err)
	return compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).CrossEntropy(x[1]) })
	}, compile.State(model, sgd))
}

func latency(b *testing.B, dev device.Device, name string, prepare func(x ...tensor.Tensor) error, of func(n int) []tensor.Tensor) {
	for _, way := range []struct {
		name string
		n    int
	}{{"first", 128}, {"another shape", 96}} {
		x := of(way.n)
		must(b, stream.Synchronize(context.Background(), dev))
		began := time.Now()
		must(b, prepare(x...))
		took := time.Since(began)
		b.Run(dev.Kind.String()+"/"+name+"/"+way.name, func(b *testing.B) {
			for b.Loop() {
			}
			b.ReportMetric(float64(took.Microseconds())/1e3, "ms")
		})
	}
}
