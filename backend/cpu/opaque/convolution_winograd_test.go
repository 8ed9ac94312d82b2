package opaque

import (
	"math"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// winogradCases are convolutions that Winograd's way is for: rows of tiles that fill no vector, of
// odd heights and widths, in several blocks, and several images in one.
var winogradCases = []planeCase{
	{1, 1, 12, 12, 9, 7, 3, 1, 1, 1},
	{2, 1, 30, 45, 33, 38, 3, 1, 1, 1},
	{1, 1, 96, 96, 26, 26, 3, 1, 1, 1},
	{7, 1, 24, 70, 10, 11, 3, 1, 1, 1},
	{1, 1, 16, 130, 13, 90, 3, 1, 0, 1},
	{1, 1, 13, 20, 300, 5, 3, 1, 2, 1},
	{1, 1, 560, 14, 11, 12, 3, 1, 1, 1}, // sums of several stretches
}

// TestWinogradIsChosen: the cases go that way where there are vectors for it, and what it is not
// for does not.
func TestWinogradIsChosen(t *testing.T) {
	of := func(c planeCase) *convolution {
		k := c.general()
		in := []ir.View{cputest.NewView(ir.Float32, "contiguous", k.x...), cputest.NewView(ir.Float32, "contiguous", k.weight...)}
		return keeping(call(ir.Float32, k.attrs(), []ir.View{cputest.NewView(ir.Float32, "contiguous", k.result()...)}, in...))
	}
	for _, c := range winogradCases {
		if got, want := of(c).winograd(ir.Float32), runtime.GOARCH == "amd64" && simd.Active() > simd.Portable; got != want {
			t.Errorf("%+v: %t at %s, want %t", c, got, simd.Active(), want)
		}
		if of(c).winograd(ir.Float64) {
			t.Errorf("%+v: chosen for float64", c)
		}
	}
	for _, c := range []planeCase{
		{1, 1, 40, 40, 20, 20, 5, 1, 2, 1}, {1, 1, 40, 40, 20, 20, 3, 2, 1, 1}, {1, 1, 40, 40, 20, 20, 3, 1, 2, 2}, {1, 2, 40, 40, 20, 20, 3, 1, 1, 1},
		{1, 1, 3, 40, 20, 20, 3, 1, 1, 1}, {1, 1, 40, 3, 20, 20, 3, 1, 1, 1}, {50, 1, 40, 40, 8, 8, 3, 1, 1, 1},
	} {
		if of(c).winograd(ir.Float32) {
			t.Errorf("%+v: chosen", c)
		}
	}
}

// exceptionalImages are what images have besides random numbers: so many elements each of which is
// one of these.
var exceptionalImages = map[string][]float64{
	"numbers":  nil,
	"outliers": {1e6, -3e5},
	"infinite": {math.Inf(1), math.Inf(-1)},
	"no":       {math.NaN()},
	"largest":  {math.MaxFloat32 / 2, -math.MaxFloat32 / 2, math.MaxFloat32}, // sums of a tile are infinite
}

// TestWinograd: a window errs by little more than the roundings of the sums that it is made of, and
// is infinite or no number where the sum of its terms is.
func TestWinograd(t *testing.T) {
	for n, c := range winogradCases {
		for name, some := range exceptionalImages {
			rng, k := newRand(), c.general()
			if testing.Short() && name != "numbers" && (c.channels*c.outs > 8000 || (n+len(name))%4 != 0) {
				continue // the large one has numbers
			}
			x := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.x...), rng, -1, 1)
			w := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.weight...), rng, -1, 1)
			for i := range 3 * len(some) {
				cputest.Set(x, rng.IntN(x.NumElements()), complex(some[i%len(some)], 0))
			}
			g := cputest.NewView(ir.Float32, "contiguous", k.result()...)
			want := c.forward(numbers(x), numbers(w))
			must(t, Convolution, call(ir.Float32, k.attrs(), []ir.View{g}, x, w))
			bound := c.winogradBound(numbers(x), numbers(w), k.result())
			for j, v := range numbers(g) {
				if math.IsNaN(want[0][j]) != math.IsNaN(v) && name != "largest" || math.IsInf(want[0][j], 0) && v != want[0][j] {
					t.Fatalf("%+v of %s: element %v is %v, want %v", c, name, coords(g.Shape, j), v, want[0][j])
				}
				if math.Abs(v-want[0][j]) > bound[j] && math.Abs(want[0][j]) < math.MaxFloat32 && want[1][j] < math.MaxFloat32 {
					t.Fatalf("%+v of %s: element %v is %v, want %v within %v", c, name, coords(g.Shape, j), v, want[0][j], bound[j])
				}
			}
		}
	}
}

// winogradBound returns how much windows may err: by 16 (channels + 12) roundings of the sum over
// channels of the largest element of a tile times the sum of the kernel's sizes, of which a tile is
// what may be read with the window.
func (c planeCase) winogradBound(x, w []float64, shape []int) []float64 {
	bound := make([]float64, ir.NumElements(shape))
	rounding := precision[ir.Float32] * 16 * float64(c.channels+12)
	sizes := make([]float64, len(w)/9)
	for i, v := range w {
		sizes[i/9] += math.Abs(v)
	}
	largest := make([]float64, c.channels)
	for i := range shape[0] {
		for row := range shape[2] {
			for col := range shape[3] {
				for ch := range largest {
					largest[ch] = 0
					for y := max(0, row&^1-c.padding); y < min(c.height, row&^1-c.padding+4); y++ {
						for z := max(0, col&^1-c.padding); z < min(c.width, col&^1-c.padding+4); z++ {
							if v := math.Abs(x[((i*c.channels+ch)*c.height+y)*c.width+z]); v <= math.MaxFloat32 {
								largest[ch] = max(largest[ch], v)
							}
						}
					}
				}
				for k := range c.outs {
					sum := 0.0
					for ch, v := range largest {
						sum += v * sizes[k*c.channels+ch]
					}
					bound[((i*shape[1]+k)*shape[2]+row)*shape[3]+col] = sum * rounding
				}
			}
		}
	}
	return bound
}

// TestWinogradProcessors: results do not depend on the number of processors, with infinite elements
// neither, nor on whether the weight is kept, and an image's not on the others.
func TestWinogradProcessors(t *testing.T) {
	for i, c := range winogradCases {
		if testing.Short() && i%2 != 0 {
			continue
		}
		rng, k := newRand(), c.general()
		x := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.x...), rng, -1, 1)
		w := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.weight...), rng, -1, 1)
		for range 3 {
			cputest.Set(x, rng.IntN(x.NumElements()), complex(math.Inf(1), 0))
		}
		independent(t, k, x, w)
	}
}

// independent checks that the result of a convolution does not depend on the number of processors, nor on
// whether the weight is kept, and its last image not on the others.
func independent(t *testing.T, k convCase, x, w ir.View) {
	t.Helper()
	run := func(x ir.View, kept *ir.Kept) []uint32 {
		shape := k.result()
		shape[0] = x.Shape[0]
		out := cputest.NewView(ir.Float32, "contiguous", shape...)
		call := call(ir.Float32, k.attrs(), []ir.View{out}, x, w)
		call.Kept = []*ir.Kept{nil, kept}
		must(t, Convolution, call)
		var bits []uint32
		for _, v := range tile.Elements[float32](out) {
			bits = append(bits, math.Float32bits(v))
		}
		return bits
	}
	want, kept := run(x, nil), &ir.Kept{}
	for _, procs := range []int{1, 2, 5, 16} {
		old := runtime.GOMAXPROCS(procs)
		got := run(x, kept)
		runtime.GOMAXPROCS(old)
		if !slices.Equal(got, want) {
			t.Errorf("%+v: the result differs with %d processors", k, procs)
		}
	}
	last := x
	last.Shape = slices.Clone(x.Shape)
	last.Shape[0] = 1
	last.Ptr = unsafe.Add(x.Ptr, (x.Shape[0]-1)*x.Strides[0]*4)
	if got := run(last, nil); !slices.Equal(got, want[(x.Shape[0]-1)*len(got):]) {
		t.Errorf("%+v: the last image differs without the others", k)
	}
}
