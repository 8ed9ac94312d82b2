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
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/tests/patience"
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

// TestAcrossPeak: what the backward program of a function computes again is not saved for it,
// which makes the peak of a step lower than without, and than eager code's. The bits are the same.
// A simulated device would take minutes to compute it.
func TestAcrossPeak(t *testing.T) {
	const layers = 6
	each(t, func(t *testing.T, dev device.Device) {
		if dev.Kind == device.KindSim {
			t.Skip("it computes element by element")
		}
		width, batch := 512, 512
		if testing.Short() && !dev.Accelerator() { // whose peak is that of larger values only
			width, batch = 384, 384
		}
		random.Seed(3)
		model := wide(layers, width)
		x := tensor.Randn([]int{batch, width}).RequireGrad()
		forward := func(x ...tensor.Tensor) (tensor.Tensor, error) { y := model.Forward(x[0]); return y, y.Err() }
		train := func(call func(x ...tensor.Tensor) (tensor.Tensor, error)) (left [][]float32, peak int64) {
			step := func() {
				must(t, tensor.Scope(func() error {
					must(t, nn.ZeroGrad(model))
					must(t, x.ZeroGrad())
					y, err := call(x)
					must(t, err)
					must(t, y.Square().Mean().Backward())
					return nil
				}))
			}
			for range 3 { // which make graphs and keep gradients
				step()
			}
			patience.Collect(t) // what is counted from here on is not that of what ran before
			memory.ResetPeak(dev)
			step()
			peak = memory.StatsOf(dev).AllocatedBytes.All.Peak
			for _, p := range nn.Parameters(model) {
				g, _ := p.Grad()
				left = append(left, values(t, g))
			}
			g, _ := x.Grad()
			return append(left, values(t, g)), peak
		}
		want, eager := train(forward)
		kept := compile.Func(forward, compile.State(model), compile.CallByCall())
		saved, without := train(kept.Call)
		before := kept.Stats()
		kept.Close()
		f := compile.Func(forward, compile.State(model), compile.CallByCall(), compile.Recompute())
		defer f.Close()
		got, with := train(f.Call)
		s := f.Stats()
		t.Logf("peak %d, without %d, eager %d; saved %d, without %d; %d again", with, without, eager, s.Saved, before.Saved, s.Again)
		for _, list := range [][][]float32{saved, got} {
			for i := range want {
				if d := diff(want[i], list[i], alike(dev)); d != "" {
					t.Errorf("gradient %d: %s", i, d)
				}
			}
		}
		value := int64(4 * batch * width)
		if s.Again < layers/2 || s.Saved > before.Saved-(layers/2)*value {
			t.Errorf("%d values are computed again, %d bytes are saved, without %d", s.Again, s.Saved, before.Saved)
		}
		if dev.Accelerator() && (with > without-(layers/2)*value || with >= eager) {
			t.Errorf("%d values are computed again: %d bytes at most, without %d, in eager code %d", s.Again, with, without, eager)
		}
		if text := f.Explain(); !strings.Contains(text, "values are computed again and not kept") || !strings.Contains(text, "kept for the backward pass") {
			t.Errorf("nothing of that in %s", text)
		}
	})
}

// TestAcrossChanged: what the backward program computes again is of what the function read, where
// the pass changes this before the value is needed.
func TestAcrossChanged(t *testing.T) {
	const n = 1 << 9
	f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Mul(x[1].MulScalar(3))
		_, err := y.RegisterHook(func(g tensor.Tensor) tensor.Tensor {
			must(t, x[1].MulScalarInPlace(2))
			return g.MulScalar(1)
		})
		for range 6 { // beside which the product with a number is cheap
			y = y.MatMul(x[2])
		}
		return y.Sum(), err
	}
	again := compile.Func(f, compile.Recompute())
	defer again.Close()
	for name, call := range map[string]func(x ...tensor.Tensor) (tensor.Tensor, error){"eager": f, "again": again.Call} {
		x, w, unit := tensor.Ones([]int{n, n}).RequireGrad(), tensor.Full([]int{n, n}, 5.0), tensor.Eye(n, n)
		y, err := call(x, w, unit)
		must(t, err)
		must(t, y.Backward())
		g, _ := x.Grad()
		if got := []float32{values(t, g)[0], values(t, w)[0]}; !cmp.Equal([]float32{15, 10}, got) {
			t.Errorf("%s: the gradient and what was changed are %v", name, got)
		}
	}
	if s := again.Stats(); s.Again != 1 {
		t.Errorf("%d values are computed again", s.Again)
	}
}
