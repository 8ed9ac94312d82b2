package opaque

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// gradientScales are sizes of x and of gradients whose products, or those of their statistics, are out
// of the range of float32, where the results are not.
var gradientScales = []struct{ x, g float64 }{
	{1, 1}, {1e15, 1}, {1e19, 1}, {1e22, 1}, {1e25, 1}, {1e-15, 1}, {1e-20, 1}, {1e-20, 1e-22}, {1e30, 1e10},
}

// A gradientTrial is one row as a norm without eps has it, with exact statistics, and what the
// gradients by x and by weight are by their definition. The weight is 1 or one of each element.
type gradientTrial struct {
	x, g, weight, mean, rstd ir.View
	dx, dWeight              []float64
}

func newGradientTrial(dtype ir.DType, n int, scale, gradients float64, centred bool) *gradientTrial {
	t := &gradientTrial{dx: make([]float64, n), dWeight: make([]float64, n)}
	x, g, one := make([]float64, n), make([]float64, n), make([]float64, n)
	for i := range n {
		x[i], g[i], one[i] = scale*[]float64{1, -2, 3, 0.5}[i%4], gradients*[]float64{1, 2, -1, 0.5}[i%4], 1
	}
	t.x, t.g, t.weight = cputest.From(dtype, []int{1, n}, x...), cputest.From(dtype, []int{1, n}, g...), cputest.From(dtype, []int{n}, one...)
	for i := range n { // as they are rounded
		x[i], g[i] = real(cputest.Get(t.x, i)), real(cputest.Get(t.g, i))
	}
	mean, square, m, c := 0.0, 0.0, 0.0, 0.0
	for i := range n {
		if centred {
			mean, m = mean+x[i]/float64(n), m+g[i]/float64(n)
		}
	}
	for _, v := range x {
		square += (v - mean) * (v - mean) / float64(n)
	}
	rstd := 1 / math.Sqrt(square)
	for i, v := range x {
		t.dWeight[i] = g[i] * ((v - mean) * rstd)
		c += t.dWeight[i] / float64(n)
	}
	for i, v := range x {
		t.dx[i] = rstd * (g[i] - m - (v-mean)*rstd*c)
	}
	t.mean, t.rstd = cputest.From(ir.Float64, []int{1, 1}, mean), cputest.From(ir.Float64, []int{1, 1}, rstd)
	return t
}

// checkRelative compares a result with numbers, relative to the largest of them.
func checkRelative(t *testing.T, what string, got ir.View, want []float64) {
	t.Helper()
	largest := 0.0
	for _, w := range want {
		largest = max(largest, math.Abs(w))
	}
	for i, w := range want {
		if g := real(cputest.Get(got, i)); !near(g/largest, w/largest, 4*bounds[got.DType]) {
			t.Errorf("%s: element %d is %v, want %v", what, i, g, w)
		}
	}
}

// TestNormGradientScales: gradients of all norms are right for numbers of any size.
func TestNormGradientScales(t *testing.T) {
	for _, dtype := range []ir.DType{ir.Float32, ir.BFloat16, ir.Float64} {
		for _, by := range gradientScales {
			for _, n := range []int{4, 36} {
				name := fmt.Sprint(dtype, by, n)
				testRowGradients(t, name, dtype, n, by.x, by.g)
				testImageGradients(t, name, dtype, n, by.x, by.g)
			}
		}
	}
}

// testRowGradients has the row as one of LayerNorm and of RMSNorm.
func testRowGradients(t *testing.T, name string, dtype ir.DType, n int, scale, gradients float64) {
	t.Helper()
	for _, centred := range []bool{false, true} {
		c := newGradientTrial(dtype, n, scale, gradients, centred)
		in, dx, dWeight := []ir.View{c.g, c.x, c.weight}, cputest.NewView(dtype, "contiguous", 1, n), cputest.NewView(dtype, "contiguous", n)
		out := []ir.View{dx, dWeight}
		if centred {
			in, out = append(in, c.mean), append(out, cputest.NewView(dtype, "contiguous", n))
		}
		must(t, NormPullAffine, call(dtype.Compute(), []ir.Value{num(1), flag(true)}, out, append(in, c.rstd)...))
		checkRelative(t, fmt.Sprint("affine rows ", centred, name), dx, c.dx)
		checkRelative(t, fmt.Sprint("weights ", centred, name), dWeight, c.dWeight)
	}
	c := newGradientTrial(dtype, n, scale, gradients, true)
	zero, dx := cputest.From(ir.Float64, []int{1, 1}, 0), cputest.NewView(dtype, "contiguous", 1, n)
	must(t, NormPull, call(dtype.Compute(), []ir.Value{num(1), flag(false)}, []ir.View{dx}, c.g, c.x, c.mean, c.rstd, zero, zero))
	checkRelative(t, "rows "+name, dx, c.dx)
}

// testImageGradients has the row as a channel, and as a group of a channel for each four elements.
func testImageGradients(t *testing.T, name string, dtype ir.DType, n int, scale, gradients float64) {
	t.Helper()
	c := newGradientTrial(dtype, n, scale, gradients, true)
	rstd, total := real(cputest.Get(c.rstd, 0)), 0.0
	for _, v := range c.dWeight {
		total += v
	}
	as := func(v ir.View, shape ...int) ir.View {
		values := make([]float64, ir.NumElements(shape))
		for i := range values {
			values[i] = real(cputest.Get(v, i))
		}
		return cputest.From(v.DType, shape, values...)
	}
	blank := func(shape ...int) ir.View { return cputest.NewView(dtype, "contiguous", shape...) }
	variance := cputest.From(ir.Float64, []int{1}, 1/rstd/rstd)
	out := []ir.View{blank(1, 1, n), blank(1), blank(1)}
	one := cputest.From(dtype, []int{1}, 1)
	must(t, ChannelNormGrad, call(dtype.Compute(), []ir.Value{real64(0)}, out, as(c.g, 1, 1, n), as(c.x, 1, 1, n), one, as(c.mean, 1), variance))
	checkRelative(t, "channel "+name, out[0], c.dx)
	checkRelative(t, "channel's weight "+name, out[1], []float64{total})
	channels := n / 4
	out = []ir.View{blank(1, channels, 4), blank(channels), blank(channels)}
	must(t, GroupNormGrad, call(dtype.Compute(), []ir.Value{num(1)}, out, as(c.g, 1, channels, 4), as(c.x, 1, channels, 4), as(c.weight, channels), c.mean, c.rstd))
	checkRelative(t, "group "+name, out[0], c.dx)
}

// TestNormFoldScales: a channel that vectors cannot compute is folded as it is written.
func TestNormFoldScales(t *testing.T) {
	const n = 256
	for _, by := range gradientScales {
		c := newGradientTrial(ir.Float32, n, by.x, by.g, true)
		rstd := real(cputest.Get(c.rstd, 0))
		image := func(v ir.View) ir.View { v.Shape, v.Strides = []int{1, 1, n}, []int{n, n, 1}; return v }
		list := func(v ir.View) ir.View { v.Shape, v.Strides = []int{1}, []int{1}; return v }
		one, variance := cputest.From(ir.Float32, []int{1}, 1), cputest.From(ir.Float64, []int{1}, 1/rstd/rstd)
		out := func() []ir.View {
			return []ir.View{cputest.NewView(ir.Float32, "contiguous", 1, 1, n), cputest.NewView(ir.Float32, "contiguous", 1), cputest.NewView(ir.Float32, "contiguous", 1)}
		}
		gradient := func(out []ir.View) *ir.Call {
			return call(ir.Float32, []ir.Value{real64(0)}, out, image(c.g), image(c.x), one, list(c.mean), variance)
		}
		want, got, folded, written := out(), out(), 0, 0
		must(t, ChannelNormGrad, gradient(want))
		must(t, func(c *ir.Call) error {
			return NormWith(c, &NormFold{
				Block: func(b Block) { folded += b.Images * b.Windows },
				Write: func(b Block, add func(rows, n, first int, lanes unsafe.Pointer)) {
					var lanes [64]float32
					add(b.Images, b.Windows, 0, unsafe.Pointer(&lanes))
					written += b.Images * b.Windows
				},
			})
		}, gradient(got))
		if folded+written != n {
			t.Errorf("%v: %d elements are folded and %d written so, of %d", by, folded, written, n)
		}
		checkRelative(t, fmt.Sprint(by), got[0], c.dx)
		for i := range n {
			if a, b := cputest.Get(want[0], i), cputest.Get(got[0], i); a != b {
				t.Errorf("%v: element %d is %v where it is folded, and %v", by, i, b, a)
			}
		}
	}
}

// TestAffineBlock: blocks are few rows where rows are long, unless there are many.
func TestAffineBlock(t *testing.T) {
	for _, c := range []struct{ rows, n, want int }{
		{64, 1, 64}, {64, 1024, 64}, {64, 4096, 16}, {64, 1 << 20, 4}, {1, 1 << 20, 4}, {1000, 1 << 16, 32}, {100000, 1 << 16, 64}, {0, 5, 64},
	} {
		if got := affineBlock(c.rows, c.n); got != c.want {
			t.Errorf("blocks of %d rows of %d have %d, want %d", c.rows, c.n, got, c.want)
		}
	}
}
