package opaque

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A planeCase is a convolution over two axes, which are treated alike.
type planeCase struct {
	images, groups, channels, outs int // of a group
	height, width, kernel          int
	stride, padding, dilation      int
}

// planeCases take every way through the kernels: few and many rows, terms, windows
// and images, more than are laid out at once, each with ends that fill no vector.
var planeCases = []planeCase{
	{1, 1, 3, 16, 19, 37, 7, 2, 3, 1},
	{2, 1, 16, 40, 12, 11, 3, 1, 1, 1},
	{9, 1, 40, 48, 7, 7, 3, 1, 1, 1},
	{3, 1, 48, 210, 5, 6, 3, 1, 0, 1},
	{1, 1, 96, 112, 6, 6, 3, 1, 1, 1},
	{1, 1, 40, 30, 18, 17, 3, 2, 1, 1},
	{2, 1, 70, 170, 9, 10, 1, 2, 0, 1},
	{2, 1, 64, 96, 16, 18, 1, 1, 0, 1},
	{3, 1, 90, 130, 5, 5, 1, 1, 0, 1},
	{2, 1, 130, 70, 12, 12, 1, 1, 0, 1},
	{1, 1, 128, 64, 13, 7, 1, 1, 0, 1},
	{2, 1, 40, 50, 24, 25, 1, 1, 0, 1},
	{3, 2, 50, 21, 23, 24, 1, 1, 0, 1},
	{2, 3, 8, 10, 9, 20, 3, 1, 2, 2},
	{4, 13, 1, 1, 15, 15, 3, 1, 1, 1},
	{2, 5, 1, 2, 21, 34, 5, 2, 2, 1},
	{1, 1, 1, 1, 40, 70, 3, 3, 0, 2},
	{17, 1, 1, 16, 8, 8, 3, 1, 1, 1},
	{5, 1, 16, 32, 8, 8, 3, 1, 1, 1},
	{1, 2, 2, 3, 4, 5, 2, 3, 4, 2},
	{1, 1, 2, 2, 3, 3, 3, 1, 6, 3},
	{2, 1, 20, 70, 6, 15, 3, 1, 1, 1},
	{3, 1, 44, 70, 15, 31, 3, 1, 1, 1},
	{4, 1, 6, 14, 110, 130, 2, 1, 0, 1},
	{1, 1, 24, 10, 121, 140, 3, 1, 1, 1}, // in bands
	{2, 1, 20, 8, 171, 130, 3, 2, 1, 2},
	{1, 20, 1, 1, 160, 170, 5, 1, 2, 1},
	{1, 1, 30, 33, 1500, 7, 3, 1, 1, 1},
	{1, 1, 9, 20, 150, 300, 3, 1, 5, 1},
	{1, 1, 40, 50, 2, 2, 3, 1, 1, 1}, // of few windows
	{5, 1, 33, 70, 3, 3, 3, 1, 0, 1},
	{1, 2, 20, 60, 4, 5, 3, 2, 1, 1},
	{1, 1, 12, 30, 9, 7, 4, 3, 1, 2},
	{1, 1, 20, 16, 14, 15, 11, 5, 1, 1},
}

// precision is half the distance of 1 to the next number.
var precision = map[ir.DType]float64{ir.Float16: 0x1p-11, ir.BFloat16: 0x1p-8, ir.Float32: 0x1p-24, ir.Float64: 0x1p-53}

func (c planeCase) general() convCase {
	two := func(n int) []int { return []int{n, n} }
	return convCase{
		[]int{c.images, c.groups * c.channels, c.height, c.width}, []int{c.groups * c.outs, c.channels, c.kernel, c.kernel},
		two(c.stride), two(c.padding), two(c.dilation), c.groups,
	}
}

// expected returns what a convolution and its gradients are, and beside each number
// the sum of its terms' sizes.
func (c planeCase) expected(x, w, g []float64) (out, dx, dw [2][]float64) {
	for i := range 2 {
		dx[i], dw[i] = make([]float64, len(x)), make([]float64, len(w))
	}
	c.rows(func(i, j, o, n int) {
		for col := range n {
			z := i + col*c.stride
			back, weight := g[o+col]*w[j], g[o+col]*x[z]
			dx[0][z] += back
			dx[1][z] += math.Abs(back)
			dw[0][j] += weight
			dw[1][j] += math.Abs(weight)
		}
	})
	return c.forward(x, w), dx, dw
}

// forward is the first of what expected returns.
func (c planeCase) forward(x, w []float64) (out [2][]float64) {
	for i := range out {
		out[i] = make([]float64, ir.NumElements(c.general().result()))
	}
	c.rows(func(i, j, o, n int) {
		sums, sizes, weight := out[0][o:][:n], out[1][o:][:n], w[j]
		for col := range sums {
			term := x[i+col*c.stride] * weight
			sums[col] += term
			sizes[col] += math.Abs(term)
		}
	})
	return out
}

// rows calls f for each row of results and each weight that it is made of: n results from o take weight
// j of elements from i on, a stride apart.
func (c planeCase) rows(f func(i, j, o, n int)) {
	shape, taps := c.general().result(), c.channels*c.kernel*c.kernel
	for plane := range shape[0] * shape[1] { // of results
		channel, image := plane%shape[1], plane/shape[1]
		for k := range taps {
			in, shift := k/c.kernel/c.kernel+channel/c.outs*c.channels, k%c.kernel*c.dilation-c.padding
			first, end := max(0, (c.stride-1-shift)/c.stride), min(shape[3], (c.width-1-shift+c.stride)/c.stride)
			for row := range shape[2] {
				y := row*c.stride - c.padding + k/c.kernel%c.kernel*c.dilation
				if y < 0 || y >= c.height || first >= end {
					continue
				}
				i := ((image*c.groups*c.channels+in)*c.height+y)*c.width + first*c.stride + shift
				f(i, channel*taps+k, (plane*shape[2]+row)*shape[3]+first, end-first)
			}
		}
	}
}

func numbers(v ir.View) []float64 { return tile.Elements[float64](tile.Dense(v, ir.Float64)) }

// convolutions of c: itself and the gradients of input and weight.
func (c planeCase) run(t *testing.T, dtype ir.DType, x, w, g ir.View) [3]ir.View {
	k := c.general()
	var got [3]ir.View
	for i, shape := range [][]int{k.result(), k.x, k.weight} {
		got[i] = cputest.NewView(dtype, "contiguous", shape...)
	}
	must(t, Convolution, call(dtype, k.attrs(), got[:1], x, w))
	must(t, ConvolutionGradInput, call(dtype, k.attrs(ints(k.x...)), got[1:2], g, w))
	must(t, ConvolutionGradWeight, call(dtype, k.attrs(ints(k.weight...)), got[2:], g, x))
	return got
}

func TestConvolutionShapes(t *testing.T) {
	for at, dtype := range []ir.DType{ir.Float32, ir.Float64} {
		for n, c := range planeCases {
			rng, k := newRand(), c.general()
			if products := ir.NumElements(k.result()) * ir.NumElements(k.weight[1:]); testing.Short() && ((n+4*at)%8 != 0 || products > 10_000_000) { // the other dtype has some of those
				continue
			}
			var in [3]ir.View
			for i, shape := range [][]int{k.x, k.weight, k.result()} {
				in[i] = cputest.FillFloat(cputest.NewView(dtype, "contiguous", shape...), rng, -1, 1)
			}
			out, dx, dw := c.expected(numbers(in[0]), numbers(in[1]), numbers(in[2]))
			got := c.run(t, dtype, in[0], in[1], in[2])
			for i, want := range [][2][]float64{out, dx, dw} {
				for j, v := range numbers(got[i]) {
					// Sums of n terms err by less than n roundings of their size.
					if bound := want[1][j] * precision[dtype] * 64; math.Abs(v-want[0][j]) > bound {
						t.Fatalf("%s %+v, result %d: element %v is %v, want %v", dtype, c, i, coords(got[i].Shape, j), v, want[0][j])
					}
				}
			}
		}
	}
}

// TestConvolutionProcessors checks that results do not depend on the number of
// processors.
func TestConvolutionProcessors(t *testing.T) {
	deep := planeCase{1, 1, 1100, 60, 24, 24, 1, 1, 0, 1} // sums of several stretches
	// Products of so few windows have kernels that sum rows up in groups.
	thin := []planeCase{{1, 1, 70, 70, 1, 1, 1, 1, 0, 1}, {1, 1, 70, 203, 1, 3, 1, 1, 0, 1}, {1, 2, 3, 70, 1, 2, 1, 1, 0, 1}, {1, 1, 3, 500, 1, 2, 1, 1, 0, 1}}
	for i, c := range slices.Concat(planeCases, thin, []planeCase{deep}) {
		if testing.Short() && i < len(planeCases) && i%6 != 0 {
			continue
		}
		rng, k := newRand(), c.general()
		var in [3]ir.View
		for i, shape := range [][]int{k.x, k.weight, k.result()} {
			in[i] = cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", shape...), rng, -1, 1)
		}
		want := c.run(t, ir.Float32, in[0], in[1], in[2])
		for _, procs := range []int{1, 3, 8} {
			old := runtime.GOMAXPROCS(procs)
			got := c.run(t, ir.Float32, in[0], in[1], in[2])
			runtime.GOMAXPROCS(old)
			for i := range got {
				if !slices.Equal(tile.Elements[float32](want[i]), tile.Elements[float32](got[i])) {
					t.Errorf("%+v: result %d differs with %d processors", c, i, procs)
				}
			}
		}
	}
}

// TestConvolutionSpares checks that numbers outside of windows, which vectors may
// read with those inside, change nothing.
func TestConvolutionSpares(t *testing.T) {
	for _, c := range []planeCase{{1, 3, 1, 1, 9, 9, 2, 3, 0, 1}, {2, 1, 4, 3, 7, 7, 2, 5, 0, 1}, {1, 1, 40, 40, 10, 10, 2, 4, 0, 1}} {
		rng, k := newRand(), c.general()
		x := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.x...), rng, -1, 1)
		w := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.weight...), rng, -1, 1)
		g := cputest.FillFloat(cputest.NewView(ir.Float32, "contiguous", k.result()...), rng, -1, 1)
		read := make([]bool, x.NumElements())
		k.each(func(i, _, _ int) { read[i] = true })
		for i, r := range read {
			if !r {
				tile.Elements[float32](x)[i] = float32(math.Inf(1))
			}
		}
		for i, v := range c.run(t, ir.Float32, x, w, g) {
			for j, e := range tile.Elements[float32](v) {
				if math.IsNaN(float64(e)) || math.IsInf(float64(e), 0) {
					t.Fatal(fmt.Sprintf("%+v, result %d:", c, i), "element", coords(v.Shape, j), "is", e)
				}
			}
		}
	}
}

// TestEvenly: processors have as many pieces of a small image as one another, where it has them.
func TestEvenly(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(2))
	for _, c := range []struct{ n, most, procs, want int }{
		{1, 1, 2, 1}, {1, 2, 2, 2}, {3, 4, 2, 4}, {3, 3, 2, 2}, {5, 5, 2, 4}, {6, 9, 2, 6}, {7, 3, 4, 7}, {9, 7, 4, 4}, {0, 0, 2, 0},
	} {
		if got := evenly(c.n, c.most, c.procs); got != c.want {
			t.Errorf("%d of at most %d pieces for %d processors become %d, want %d", c.n, c.most, c.procs, got, c.want)
		}
	}
	for _, c := range []struct{ rows, depth, windows int }{{192, 384, 169}, {96, 384, 169}, {96, 192, 676}, {384, 768, 169}} {
		m := multiplication[float32]{correlation: &correlation{rows: c.rows, groups: 1, depth: c.depth}, size: c.windows}
		if m.cut(1); m.across*m.down%2 != 0 {
			t.Errorf("%d rows of %d terms with %d windows: %d by %d pieces for two processors", c.rows, c.depth, c.windows, m.down, m.across)
		}
	}
}
