package compile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// whole returns few different numbers, so that the greatest of a window is there more than once, with
// all that is special. The first rows are infinite, so that a window has nothing else.
func whole(shape []int, d tensor.DType) tensor.Tensor {
	special := []float64{math.Copysign(0, -1), 0, math.Inf(1), math.Inf(-1), math.NaN()}
	rng, n := rand.New(rand.NewPCG(1, 2)), 1
	for _, s := range shape {
		n *= s
	}
	list := make([]float64, n)
	for i := range list {
		switch list[i] = float64(rng.IntN(7) - 2); {
		case i < n/16:
			list[i] = math.Inf(1)
		case rng.IntN(8) == 0:
			list[i] = special[rng.IntN(len(special))]
		}
	}
	return tensor.From(list, shape...).ToType(d)
}

// withSlope returns what f gives for the second operand with its sign changed, and the gradient of the
// first of that, of which the first operand is the gradient. All bits of numbers reach f and the result.
func withSlope(f func(x tensor.Tensor) []tensor.Tensor, in ...tensor.Tensor) ([]tensor.Tensor, error) {
	x := in[1].Neg().Detach().RequireGrad()
	y := f(x)
	d, err := tensor.Gradients(y[:1], []tensor.Tensor{x}, tensor.WithGradient(in[0]))
	if err != nil {
		return nil, err
	}
	return append(y, d[0].Neg()), nil
}

// TestPooled: a relu before a max pooling runs behind it, and its gradient before that of the pooling,
// where nobody else sees the difference; all bits are those of eager code.
func TestPooled(t *testing.T) {
	image, line := []int{2, 3, 9, 8}, []int{3, 40}
	square := func(x tensor.Tensor, o ...tensor.Option) []tensor.Tensor {
		return []tensor.Tensor{x.ReLU().MaxPool2d([]int{2}, o...)}
	}
	for _, tt := range []struct {
		name   string
		shape  []int
		dtype  tensor.DType
		pooled int
		f      func(x tensor.Tensor) []tensor.Tensor // of which the first is differentiated
	}{
		{"images", image, tensor.Float32, 1, func(x tensor.Tensor) []tensor.Tensor { return square(x) }},
		{"float64", image, tensor.Float64, 1, func(x tensor.Tensor) []tensor.Tensor { return square(x) }},
		{"float16", image, tensor.Float16, 0, func(x tensor.Tensor) []tensor.Tensor { return square(x) }},
		{"overlapping", image, tensor.Float32, 1, func(x tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{x.ReLU().MaxPool2d([]int{3, 2}, tensor.Stride(2, 1), tensor.Dilation(1, 3), tensor.CeilMode())}
		}},
		{"lines", line, tensor.Float32, 1, func(x tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{x.ReLU().MaxPool1d([]int{5}, tensor.Stride(4))}
		}},
		{"twice", image, tensor.Float32, 2, func(x tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{square(x)[0].AddScalar(-1).ReLU().MaxPool2d([]int{2})}
		}},
		{"of a pooling", image, tensor.Float32, 1, func(x tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{x.MaxPool2d([]int{2}).ReLU().MaxPool2d([]int{2})}
		}},
		{"padded", image, tensor.Float32, 0, func(x tensor.Tensor) []tensor.Tensor { return square(x, tensor.Padding(1)) }},
		{"windows of one", image, tensor.Float32, 0, func(x tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{x.ReLU().MaxPool2d([]int{1})}
		}},
		{"read elsewhere", image, tensor.Float32, 0, func(x tensor.Tensor) []tensor.Tensor {
			y := x.ReLU()
			return []tensor.Tensor{y.MaxPool2d([]int{2}), y.AddScalar(1)}
		}},
		{"places", image, tensor.Float32, 0, func(x tensor.Tensor) []tensor.Tensor {
			y, places := tensor.MaxPool2dWithIndices(x.ReLU(), []int{2})
			return []tensor.Tensor{y, places.ToType(tensor.Float32)}
		}},
		{"another function", image, tensor.Float32, 0, func(x tensor.Tensor) []tensor.Tensor {
			return []tensor.Tensor{x.ReLU6().MaxPool2d([]int{2})}
		}},
	} {
		each(t, func(t *testing.T, dev device.Device) {
			t.Run(tt.name, func(t *testing.T) {
				x := whole(tt.shape, tt.dtype)
				g := whole(tt.f(x)[0].Shape(), tt.dtype)
				f := func(in ...tensor.Tensor) ([]tensor.Tensor, error) {
					return withSlope(tt.f, in...)
				}
				fused := compile.Func(f)
				defer fused.Close()
				for range 2 {
					got, err := fused.Call(g, x)
					must(t, err)
					want, err := f(g, x)
					must(t, err)
					sameBits(t, got, want, fused.Program())
				}
				if n := strings.Count(fused.Explain(), "relu runs behind max_pool"); n != tt.pooled {
					t.Errorf("%d are behind poolings, want %d\n%s\n%s", n, tt.pooled, fused.Program(), fused.Explain())
				}
			})
		})
	}
}

// TestPooledBackground: calls run the recorded program while the one with steps that changed places is
// made of it.
func TestPooledBackground(t *testing.T) {
	f := func(in ...tensor.Tensor) ([]tensor.Tensor, error) {
		return withSlope(func(x tensor.Tensor) []tensor.Tensor {
			for range 3 {
				x = x.ReLU().MaxPool2d([]int{2})
			}
			return []tensor.Tensor{x}
		}, in...)
	}
	g, x := whole([]int{1, 1, 2, 2}, tensor.Float32), whole([]int{1, 1, 16, 16}, tensor.Float32)
	want, err := f(g, x)
	must(t, err)
	fused := compile.Func(f, compile.Background())
	defer fused.Close()
	must(t, fused.Prepare(g, x))
	made := make(chan error, 1)
	go func() { made <- fused.Wait(t.Context()) }()
	for waiting := true; waiting; {
		select {
		case err := <-made:
			must(t, err)
			waiting = false // one more call, of the program that was made
		default:
		}
		got, err := fused.Call(g, x)
		must(t, err)
		sameBits(t, got, want, fused.Program())
	}
	if n := strings.Count(fused.Explain(), "relu runs behind max_pool"); n != 3 {
		t.Errorf("%d are behind poolings, want 3\n%s", n, fused.Explain())
	}
}

// TestPooledSteps: what a step of training makes is cut where there is less of it.
func TestPooledSteps(t *testing.T) {
	f, state, x := training(t, models[1].make, models[1].x)
	step := compile.Step(f, compile.State(state...))
	defer step.Close()
	must(t, step.Prepare(x))
	for i, s := range step.Program().Steps {
		if name := s.Name(); strings.HasPrefix(name, "relu") && len(s.Call.Space) == 4 && s.Call.Space[3] == 8 {
			t.Errorf("step %d, %s, is of the whole image\n%s", i, name, fmt.Sprint(step.Program()))
		}
	}
}
