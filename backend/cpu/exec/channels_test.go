package exec

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// channelCases are shapes of images, and how their channels come in parts: of so many images, of a
// window of so many elements each.
var channelCases = []struct {
	shape          []int
	images, window int
}{
	{[]int{1, 1, 64}, 1, 64}, {[]int{5, 3, 64}, 5, 64}, {[]int{3, 2, 8, 40}, 3, 320}, // a channel at once
	{[]int{40, 3, 64}, 16, 64}, {[]int{16, 2, 320}, 16, 320}, {[]int{9, 2, 512}, 2, 512}, {[]int{5, 2, 2048}, 1, 2048}, {[]int{37, 1, 320}, 16, 320}, // whole images
	{[]int{2, 3, 3072}, 1, 1024}, {[]int{3, 2, 4096}, 1, 2048}, {[]int{1, 2, 5120}, 1, 1024}, // windows
}

// byChannel folds the elements of each channel of images, in float64.
func byChannel(x ir.View, identity float64, combine func(a, b float64) float64) []float64 {
	out := make([]float64, x.Shape[1])
	for ch := range out {
		out[ch] = identity
	}
	size := ir.NumElements(x.Shape[2:])
	for i := range x.NumElements() {
		ch := i / size % len(out)
		out[ch] = combine(out[ch], real(cputest.Get(x, i)))
	}
	return out
}

// inParts folds x part by part, several at once and in any order.
func inParts(t *testing.T, call *ir.Call, images, window int, rng *rand.Rand) []float64 {
	t.Helper()
	x, size := call.In[0], ir.NumElements(call.Space[2:])
	step := images * window
	if window < size {
		step = window
	}
	f := NewChannels(call.Kernel, call.Space, step, nil)
	if f == nil {
		t.Fatalf("no Channels for %s of %v in parts of %d", call.Compute, call.Space, step)
	}
	defer f.Release()
	type part struct{ ch, image, window int }
	var parts []part
	for ch := range call.Space[1] {
		for i := 0; i < call.Space[0]; i += images {
			for w := 0; w < size; w += window {
				parts = append(parts, part{ch, i, w})
			}
		}
	}
	rng.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	var all sync.WaitGroup
	for _, p := range parts {
		all.Go(func() {
			stride := call.Space[1] * size
			at := p.image*stride + p.ch*size + p.window
			f.Part(p.ch, p.image, p.window, min(images, call.Space[0]-p.image), min(window, size-p.window), stride, unsafe.Add(x.Ptr, at*x.DType.Size()))
		})
	}
	all.Wait()
	out := cputest.NewView(call.Out[0].DType, "contiguous", call.Space[1])
	f.Finish(out.Ptr)
	return cputest.Reals(out)
}

// TestChannels compares with plain loops what parts of channels are folded to, of numbers whose sums
// are exact, and with the reduction as one call what others are, to the bit.
func TestChannels(t *testing.T) {
	rng := rand.New(rand.NewPCG(31, 32))
	for _, level := range simd.UsableVectors()[1:] { // plain loops have no grids
		for _, kind := range []struct {
			fold.Kind
			identity float64
			combine  func(a, b float64) float64
		}{
			{fold.Sum, 0, func(a, b float64) float64 { return a + b }},
			{fold.Max, -1, func(a, b float64) float64 { return max(a, b) }},
		} {
			op := usualOp(level, kind.Kind, ir.Reduction)
			for _, dtype := range []ir.DType{ir.Float32, ir.Float64} {
				for _, c := range channelCases {
					axes := []int{0}
					for a := 2; a < len(c.shape); a++ {
						axes = append(axes, a)
					}
					what := fmt.Sprintf("%v of %s %v in parts of %d images and %d elements, %s", kind.Kind, dtype, c.shape, c.images, c.window, level)
					x := cputest.Fill(cputest.NewView(dtype, "contiguous", c.shape...), rng, 0, 9)
					call := reduceCall(op, x, axes, dtype, dtype, "contiguous")
					if d := diff(byChannel(x, kind.identity, kind.combine), inParts(t, call, c.images, c.window, rng)); d != "" {
						t.Fatalf("%s: %s", what, d)
					}
					cputest.FillFloat(x, rng, -1, 1)
					if err := Run(call); err != nil {
						t.Fatal(err)
					}
					if d := diff(cputest.Reals(call.Out[0]), inParts(t, call, c.images, c.window, rng)); d != "" {
						t.Fatalf("%s, as one call (-want +got): %s", what, d)
					}
				}
			}
		}
	}
}

// TestFoldsChannels: parts that do not begin with a block, or rows that leave accumulators without an
// element, have none, nor has a processor without vectors.
func TestFoldsChannels(t *testing.T) {
	sums := usualOp(simd.Active(), fold.Sum, ir.Reduction).Kernel(0, ir.Float32)
	for _, c := range []struct {
		shape []int
		step  int
		want  bool
	}{
		{[]int{40, 3, 64}, 1024, true}, {[]int{40, 3, 64}, 64, false}, {[]int{2, 3, 64}, 128, true},
		{[]int{40, 3, 63}, 1024, false}, {[]int{0, 3, 64}, 1024, false}, {[]int{4, 3, 8, 8}, 1024, true},
	} {
		if got, want := FoldsChannels(sums, c.shape, c.step), c.want && simd.Active() > simd.Portable; got != want {
			t.Errorf("FoldsChannels(%v, %d) = %v, want %v", c.shape, c.step, got, want)
		}
	}
}
