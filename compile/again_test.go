package compile_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// wide is a perceptron of so many layers, whose activation is cheap to compute again.
func wide(layers, width int) *nn.Sequential {
	var list []nn.Module
	for range layers {
		list = append(list, nn.NewLinear(width, width), nn.Func(func(x tensor.Tensor) tensor.Tensor { return x.GELU() }))
	}
	return nn.NewSequential(list...)
}

// TestAgainPeak: what is computed again makes the peak of a step lower, by as much as most of
// the activations take, which a backward pass reads besides what they are made of.
func TestAgainPeak(t *testing.T) {
	if testing.Short() {
		t.Skip("records large models")
	}
	const layers, width, batch = 6, 512, 4096
	each(t, func(t *testing.T, dev device.Device) {
		f, state, x := training(t, func() nn.Module { return wide(layers, width) }, []int{batch, width})
		step := compile.Step(f, compile.State(state...), compile.Unfused(), compile.Recompute(), compile.Streams(1))
		must(t, step.Prepare(x))
		s := step.Stats()
		_, p, l := step.Recorded().Order(func(int) bool { return false })
		kept := p.Peak(l)
		t.Logf("%d values again: %d of %d bytes, %.3f", s.Again, s.Peak, kept, float64(s.Peak)/float64(kept))
		if s.Again < layers/2 || s.Peak > kept-(layers/2)*4*batch*width {
			t.Errorf("%d values are computed again, %d bytes; kept, they need %d", s.Again, s.Peak, kept)
		}
		if text := step.Explain(); !strings.Contains(text, "values are computed again and not kept") {
			t.Errorf("nothing of that in %s", text)
		}
		for streams := range 2 {
			fused := compile.Step(f, compile.State(state...), compile.Recompute(), compile.Streams(1+streams))
			must(t, fused.Prepare(x))
			if s := fused.Stats(); s.Again < layers/2 || s.Peak >= kept {
				t.Errorf("fused, %d streams: %d values are computed again, %d bytes of %d", 1+streams, s.Again, s.Peak, kept)
			}
		}
	})
}

// TestAgainSame: a step of which values are computed again leaves eager code's bits.
func TestAgainSame(t *testing.T) {
	each(t, func(t *testing.T, dev device.Device) {
		run := func(compiled bool) (list [][]float32) {
			random.Seed(3)
			model := wide(16, 24)
			sgd, err := optim.NewSGD(nn.Parameters(model), 1e-2)
			must(t, err)
			f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).Square().Mean() })
			}
			call := f
			if compiled {
				step := compile.Step(f, compile.State(model, sgd), compile.Recompute(), compile.Streams(1)) // on several, what is small is kept
				defer step.Close()
				call = step.Call
				defer func() {
					if s := step.Stats(); s.Again == 0 {
						t.Error("nothing is computed again")
					}
				}()
			}
			for range 4 {
				loss, err := call(tensor.Randn([]int{32, 24}))
				must(t, err)
				values, err := tensor.Data[float32](loss)
				must(t, err)
				list = append(list, values)
			}
			for _, p := range nn.Parameters(model) {
				values, err := tensor.Data[float32](p.Tensor)
				must(t, err)
				list = append(list, values)
			}
			return list
		}
		if d := cmp.Diff(run(false), run(true), alike(dev)); d != "" {
			t.Error(d)
		}
	})
}
