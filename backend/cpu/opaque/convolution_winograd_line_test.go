package opaque

import (
	"math"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// A lineCase is a convolution along one axis.
type lineCase struct{ images, channels, outs, width, places, padding int }

// lineCases are those that Winograd's way is for: kernels of all parts, tiles that fill no vector and no
// unit, several blocks and images, sums of several stretches.
var lineCases = []lineCase{
	{1, 32, 33, 48, 3, 1}, {2, 40, 32, 77, 5, 2}, {1, 256, 70, 320, 5, 0}, {3, 33, 64, 45, 4, 0},
	{1, 32, 40, 61, 6, 5}, {1, 36, 32, 90, 7, 3}, {1, 32, 32, 52, 8, 7}, {2, 300, 35, 47, 9, 4},
}

func (c lineCase) general() convCase {
	one := func(n int) []int { return []int{n} }
	return convCase{[]int{c.images, c.channels, c.width}, []int{c.outs, c.channels, c.places}, one(1), one(c.padding), one(1), 1}
}

// forward returns the windows, and how much each may err: by some roundings of the sum over channels of
// the largest element of a tile times the sum of the kernel's sizes.
func (c lineCase) forward(x, w []float64) (want, bound []float64) {
	windows := c.width + 2*c.padding - c.places + 1
	parts := (c.places + 2) / 3
	rounding := precision[ir.Float32] * 16 * float64(parts*c.channels+12)
	sizes := make([]float64, c.outs*c.channels) // of kernels
	for i := range sizes {
		for _, g := range w[i*c.places:][:c.places] {
			sizes[i] += math.Abs(g)
		}
	}
	largest := make([]float64, c.images*c.channels*windows) // of the tiles of windows
	for line := range c.images * c.channels {
		for i := range windows {
			for k := max(0, i&^1-c.padding); k < min(c.width, i&^1-c.padding+c.places+1); k++ {
				if v := math.Abs(x[line*c.width+k]); v <= math.MaxFloat32 {
					largest[line*windows+i] = max(largest[line*windows+i], v)
				}
			}
		}
	}
	for u := range c.images {
		for o := range c.outs {
			for i := range windows {
				sum, most, first := 0.0, 0.0, i-c.padding
				for ch := range c.channels {
					line := x[(u*c.channels+ch)*c.width:][:c.width]
					kernel := w[(o*c.channels+ch)*c.places:][:c.places]
					for j := max(0, -first); j < min(c.places, c.width-first); j++ {
						sum += kernel[j] * line[first+j]
					}
					most += sizes[o*c.channels+ch] * largest[(u*c.channels+ch)*windows+i]
				}
				want, bound = append(want, sum), append(bound, most*rounding)
			}
		}
	}
	return want, bound
}

// operands returns an image with some of the given elements, three times each, and a weight.
func (c lineCase) operands(some []float64) (x, w ir.View) {
	rng, k := newRand(), c.general()
	x = cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.x...), rng, -1, 1)
	w = cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.weight...), rng, -1, 1)
	for i := range 3 * len(some) {
		cputest.Set(x, rng.IntN(x.NumElements()), complex(some[i%len(some)], 0))
	}
	return x, w
}

// TestWinogradLineIsChosen: the cases go that way where there are vectors for it, and what it is not
// for does not.
func TestWinogradLineIsChosen(t *testing.T) {
	of := func(k convCase) *convolution {
		in := []ir.View{cputest.NewView(ir.Float32, "contiguous", k.x...), cputest.NewView(ir.Float32, "contiguous", k.weight...)}
		return keeping(call(ir.Float32, k.attrs(), []ir.View{cputest.NewView(ir.Float32, "contiguous", k.result()...)}, in...))
	}
	for _, c := range lineCases {
		if got, want := of(c.general()).winogradLine(ir.Float32), runtime.GOARCH == "amd64" && simd.Active() > simd.Portable; got != want {
			t.Errorf("%+v: %t at %s, want %t", c, got, simd.Active(), want)
		}
		if of(c.general()).winogradLine(ir.Float64) {
			t.Errorf("%+v: chosen for float64", c)
		}
	}
	for name, k := range map[string]convCase{
		"two places":   {[]int{1, 40, 99}, []int{40, 40, 2}, []int{1}, []int{0}, []int{1}, 1},
		"ten places":   {[]int{1, 40, 99}, []int{40, 40, 10}, []int{1}, []int{0}, []int{1}, 1},
		"strides":      {[]int{1, 40, 99}, []int{40, 40, 3}, []int{2}, []int{1}, []int{1}, 1},
		"dilation":     {[]int{1, 40, 99}, []int{40, 40, 3}, []int{1}, []int{1}, []int{2}, 1},
		"groups":       {[]int{1, 80, 99}, []int{80, 40, 3}, []int{1}, []int{1}, []int{1}, 2},
		"few channels": {[]int{1, 8, 99}, []int{40, 8, 3}, []int{1}, []int{1}, []int{1}, 1},
		"few results":  {[]int{1, 40, 99}, []int{8, 40, 3}, []int{1}, []int{1}, []int{1}, 1},
		"few windows":  {[]int{9, 40, 30}, []int{40, 40, 3}, []int{1}, []int{1}, []int{1}, 1},
	} {
		if of(k).winogradLine(ir.Float32) {
			t.Errorf("%s: chosen", name)
		}
	}
}

// TestWinogradLine: a window errs by little more than the roundings of the sums that it is made of, and
// is infinite or no number where the sum of its terms is.
func TestWinogradLine(t *testing.T) {
	for n, c := range lineCases {
		for name, some := range exceptionalImages {
			if testing.Short() && name != "numbers" && (c.channels >= 256 || (n+len(name))%4 != 0) {
				continue // the large ones have numbers
			}
			x, w := c.operands(some)
			k := c.general()
			g := cputest.NewView(ir.Float32, "contiguous", k.result()...)
			must(t, Convolution, call(ir.Float32, k.attrs(), []ir.View{g}, x, w))
			want, bound := c.forward(numbers(x), numbers(w))
			for j, v := range numbers(g) {
				if math.IsNaN(want[j]) != math.IsNaN(v) && name != "largest" || math.IsInf(want[j], 0) && v != want[j] {
					t.Fatalf("%+v of %s: element %v is %v, want %v", c, name, coords(g.Shape, j), v, want[j])
				}
				if math.Abs(v-want[j]) > bound[j] && bound[j] < math.MaxFloat32*precision[ir.Float32] {
					t.Fatalf("%+v of %s: element %v is %v, want %v within %v", c, name, coords(g.Shape, j), v, want[j], bound[j])
				}
			}
		}
	}
}

// TestWinogradLineProcessors: results do not depend on the number of processors, with infinite elements
// neither, nor on whether the weight is kept, and an image's not on the others.
func TestWinogradLineProcessors(t *testing.T) {
	for i, c := range lineCases {
		if testing.Short() && i%2 != 0 {
			continue
		}
		x, w := c.operands([]float64{math.Inf(1)})
		independent(t, c.general(), x, w)
	}
}
