package compile_test

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

func state() random.State     { return random.Current().State() }
func restore(to random.State) { random.Current().SetState(to) }

// A block is a transformer's: attention and a perceptron, each after a norm.
type block struct {
	Norm1, Norm2  *nn.LayerNorm
	QKV, Out      *nn.Linear
	Widen, Shrink *nn.Linear
}

func newBlock(width int) *block {
	return &block{nn.NewLayerNorm([]int{width}), nn.NewLayerNorm([]int{width}), nn.NewLinear(width, 3*width), nn.NewLinear(width, width),
		nn.NewLinear(width, 4*width), nn.NewLinear(4*width, width)}
}

// Forward maps [batch, steps, width] to itself.
func (b *block) Forward(x tensor.Tensor) tensor.Tensor {
	const heads = 4
	n, steps, width := x.Size(0), x.Size(1), x.Size(2)
	parts := b.QKV.Forward(b.Norm1.Forward(x)).Chunk(3, 2)
	if len(parts) != 3 {
		return parts[0]
	}
	for i := range parts {
		parts[i] = parts[i].Reshape(n, steps, heads, width/heads).Transpose(1, 2)
	}
	weights := parts[0].MatMul(parts[1].Transpose(2, 3)).MulScalar(0.25).Softmax(3)
	mixed := weights.MatMul(parts[2]).Transpose(1, 2).Reshape(n, steps, width)
	x = x.Add(b.Out.Forward(mixed))
	return x.Add(b.Shrink.Forward(b.Widen.Forward(b.Norm2.Forward(x)).GELU()))
}

// models are what recording, replay and memory are measured with.
var models = []struct {
	name   string
	make   func() nn.Module
	x      []int
	most   float64 // memory, by that of eager code
	beside float64 // the same where steps run side by side
}{
	{"mlp", func() nn.Module {
		return nn.NewSequential(nn.NewLinear(784, 1024), nn.ReLU(), nn.NewLinear(1024, 1024), nn.ReLU(), nn.NewLinear(1024, 10))
	}, []int{128, 784}, 0.91, 1},
	{"digits", func() nn.Module {
		return nn.NewSequential(nn.NewConv2d(1, 16, 3, tensor.Padding(1)), nn.ReLU(), nn.MaxPool2d(2),
			nn.NewConv2d(16, 32, 3, tensor.Padding(1)), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.NewLinear(32*2*2, 10))
	}, []int{64, 1, 8, 8}, 0.62, 0.9},
	{"block", func() nn.Module { return newBlock(64) }, []int{8, 32, 64}, 0.63, 0.85},
}

// training returns a step of SGD of a model, and its argument.
func training(tb testing.TB, make func() nn.Module, shape []int) (f func(x ...tensor.Tensor) (tensor.Tensor, error), state []any, x tensor.Tensor) {
	model := make()
	sgd, err := optim.NewSGD(nn.Parameters(model), 1e-3)
	must(tb, err)
	return func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).Square().Mean() })
	}, []any{model, sgd}, tensor.Randn(shape)
}

// TestPeak: programs need less memory than eager code; those of graphs leave some to steps
// that run side by side.
func TestPeak(t *testing.T) {
	if testing.Short() {
		t.Skip("records large models")
	}
	each(t, func(t *testing.T, dev device.Device) {
		for _, m := range models {
			f, state, x := training(t, m.make, m.x)
			step := compile.Step(f, compile.State(state...))
			must(t, step.Prepare(x))
			s := step.Stats()
			t.Logf("%s: %d of %d bytes, %.3f; %d steps", m.name, s.Peak, s.Eager, float64(s.Peak)/float64(s.Eager), s.Steps)
			for i, s := range step.Program().Steps { // those of the backward pass, too
				if s.Action == program.Launch && !strings.Contains(s.Line, "bench_test.go:") {
					t.Errorf("%s: step %d, %s, is of line %q", m.name, i, s.Name(), s.Line)
				}
			}
			if text := step.Explain(); !strings.Contains(text, fmt.Sprintf("%d in eager code (0.", s.Eager)) {
				t.Errorf("%s: no ratio of memory in %s", m.name, text)
			}
			most := m.most
			if dev.Accelerator() {
				most = m.beside
			}
			if float64(s.Peak) > most*float64(s.Eager) {
				t.Errorf("%s: %d bytes, eager code needs %d; want %v of it", m.name, s.Peak, s.Eager, most)
			}
		}
	})
}

// BenchmarkSteps measures steps of training in eager code and as programs, and recording. On
// a GPU a step is what the host does until it returns.
func BenchmarkSteps(b *testing.B) {
	for _, dev := range devices() {
		if dev.Kind == device.KindSim {
			continue
		}
		for _, m := range models {
			must(b, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
				benchmarkSteps(b, dev.Kind.String()+"/"+m.name, m.make, m.x)
				return nil
			}))
		}
	}
}

func benchmarkSteps(b *testing.B, name string, make func() nn.Module, shape []int) {
	f, state, x := training(b, make, shape)
	step := compile.Step(f, compile.State(state...))
	defer step.Close()
	b.Run(name+"/eager", func(b *testing.B) {
		for b.Loop() {
			_, err := f(x)
			must(b, err)
		}
	})
	b.Run(name+"/compiled", func(b *testing.B) {
		for b.Loop() {
			_, err := step.Call(x)
			must(b, err)
		}
	})
	b.Run(name+"/record", func(b *testing.B) {
		b.ReportAllocs()
		least := time.Duration(math.MaxInt64) // other work of the machine only adds to it
		for b.Loop() {
			step.Close()
			began := time.Now()
			must(b, step.Prepare(x))
			least = min(least, time.Since(began))
		}
		b.ReportMetric(float64(least.Nanoseconds())/1e3, "min-us")
	})
}
