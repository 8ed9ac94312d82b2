package behaviour_test

import (
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// divisions cut a tensor of shape [5, 2] into parts.
var divisions = map[string]func(x T) []T{
	"split":       func(x T) []T { return x.Split(2, 0) },
	"split_sizes": func(x T) []T { return x.SplitSizes([]int{2, 0, 3}, 0) },
	"chunk":       func(x T) []T { return x.Chunk(2, 0) },
	"unbind":      func(x T) []T { return x.Unbind(0) },
	"columns":     func(x T) []T { return x.Unbind(-1) },
	"one part":    func(x T) []T { return x.Chunk(1, 0) },
}

// TestGradientsOfParts: whichever of the parts of a tensor are used, the tensor's gradient
// has theirs in their places and zeros elsewhere; so has its derivative.
func TestGradientsOfParts(t *testing.T) {
	data := make([]float64, 10)
	for i := range data {
		data[i] = float64(i + 1)
	}
	for name, cut := range divisions {
		n := len(cut(leafOf(data, 5, 2)))
		for used := 1; used < 1<<n; used++ {
			x, mask := leafOf(data, 5, 2), leafOf(make([]float64, 10), 5, 2).Detach()
			sum := x.MulScalar(0).Sum()
			for i, p := range cut(x) {
				if used>>i&1 != 0 {
					sum = sum.Add(p.Mul(p).Sum())
					must(t, cut(mask)[i].AddScalarInPlace(2))
				}
			}
			what := fmt.Sprintf("%s, parts %b", name, used)
			first, err := tensor.Gradients([]T{sum}, []T{x}, tensor.CreateGraph())
			must(t, err)
			wantValues(t, what, first[0], values(t, mask.Mul(x))...)
			second, err := tensor.Gradients([]T{first[0].Sum()}, []T{x})
			must(t, err)
			wantValues(t, what+", second", second[0], values(t, mask)...)
		}
	}
}

// TestGradientsOfPartsOnce: the gradient of parts is written once, in as many launches
// whatever their number.
func TestGradientsOfPartsOnce(t *testing.T) {
	d := withSimulated(t, sim.Config{Devices: 1})
	for name, cut := range divisions {
		x := tensor.Ones([]int{5, 2}, tensor.On(device.Sim(0))).RequireGrad()
		parts := slices.DeleteFunc(cut(x), func(p T) bool { return p.NumElements() == 0 })
		given := make([]T, len(parts))
		for i, p := range parts {
			given[i] = tensor.OnesLike(p)
		}
		before := d.Counters(0).Launches
		_, err := tensor.Gradients(parts, []T{x}, tensor.WithGradient(given...))
		must(t, err)
		if n := d.Counters(0).Launches - before; n > 1 {
			t.Errorf("%s: %d launches for the gradient of %d parts, want 1", name, n, len(parts))
		}
	}
}

// TestGradientsOfPartsMemory: gradients of parts that do not make up a tensor, or that overlap,
// are padded one after another, and many need no more memory than some.
func TestGradientsOfPartsMemory(t *testing.T) {
	withSimulated(t, sim.Config{Devices: 1})
	const rows, columns, size = 40, 100, 40 * 100 * 4
	dev := device.Sim(0)
	for name, part := range map[string]func(x T, i int) T{
		"rows":    func(x T, i int) T { return x.Select(0, i) },
		"windows": func(x T, i int) T { return x.Narrow(0, i, rows/2) },
	} {
		x := tensor.Ones([]int{rows, columns}, tensor.On(dev)).RequireGrad()
		whole := x.MulScalar(2)
		var parts, given []T
		for i := range rows / 2 {
			p := part(whole, i).MulScalar(float64(i))
			parts, given = append(parts, p), append(given, tensor.OnesLike(p))
		}
		before := allocated(dev)
		memory.ResetPeak(dev)
		_, err := tensor.Gradients(parts, []T{x}, tensor.WithGradient(given...))
		must(t, err)
		if most := memory.StatsOf(dev).RequestedBytes.All.Peak - before; most > 5*size {
			t.Errorf("%s: the pass needed %d bytes, of a tensor of %d", name, most, size)
		}
	}
}

// TestEpochsOfCompositions: a composition with a gradient of its own refuses a view from
// before a recorded change, as every operator does.
func TestEpochsOfCompositions(t *testing.T) {
	for name, call := range map[string]func(x T) T{
		"chunk":      func(x T) T { return x.Chunk(2, 0)[0] },
		"roll":       func(x T) T { return x.Roll([]int{1}) },
		"batch norm": func(x T) T { out, _, _ := tensor.BatchNormTrain(x.Reshape(1, 2, 4, 4)); return out },
		"slice":      func(x T) T { return x.Slice(0, 0, 8, 2) },
		"logsumexp":  func(x T) T { return x.Logsumexp([]int{0}) },
	} {
		y := leafOf(make([]float64, 64)).MulScalar(1)
		view := y.Narrow(0, 0, 32)
		must(t, y.MulScalarInPlace(5))
		if err := call(view).Err(); !errors.Is(err, core.ErrChanged) {
			t.Errorf("%s of a view from before a recorded change: %v", name, err)
		}
	}
}
