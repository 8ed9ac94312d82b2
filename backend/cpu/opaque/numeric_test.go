package opaque

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

var floatDTypes = []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64}

// product computes z from x and y by the definition of matmul.
func product(x, y, z ir.View) []complex128 {
	xs, ys, zs := x, y, z
	if len(x.Shape) == 1 {
		xs.Shape, xs.Strides = []int{1, x.Shape[0]}, []int{0, x.Strides[0]}
	}
	if len(y.Shape) == 1 {
		ys.Shape, ys.Strides = []int{y.Shape[0], 1}, []int{y.Strides[0], 0}
	}
	batch := z.Shape[:len(z.Shape)-min(1, len(x.Shape)-1)-min(1, len(y.Shape)-1)]
	m, k, n := xs.Shape[len(xs.Shape)-2], xs.Shape[len(xs.Shape)-1], ys.Shape[len(ys.Shape)-1]
	zs.Shape = append(append([]int(nil), batch...), m, n)
	want := make([]complex128, zs.NumElements())
	place := func(v ir.View, c []int, i, j int) int {
		lead := len(v.Shape) - 2
		p := append([]int(nil), c[len(c)-lead:]...)
		for a := range p {
			if v.Shape[a] == 1 {
				p[a] = 0
			}
		}
		return at(v.Shape, append(p, i, j)...)
	}
	for o := range want {
		c := coords(zs.Shape, o)
		i, j, c := c[len(c)-2], c[len(c)-1], c[:len(c)-2]
		for p := range k {
			want[o] += cputest.Get(xs, place(xs, c, i, p)) * cputest.Get(ys, place(ys, c, p, j))
		}
	}
	return want
}

func TestMatMul(t *testing.T) {
	rng := newRand()
	for d, dtype := range ir.ClassNum.List() {
		for i, c := range []struct{ x, y, z []int }{
			{[]int{3}, []int{3}, nil}, {[]int{2, 3}, []int{3}, []int{2}}, {[]int{3}, []int{3, 4}, []int{4}}, {[]int{2, 3}, []int{3, 4}, []int{2, 4}},
			{[]int{3}, []int{2, 3, 4}, []int{2, 4}}, {[]int{5, 2, 3}, []int{3, 4}, []int{5, 2, 4}}, {[]int{5, 1, 2, 3}, []int{6, 3, 4}, []int{5, 6, 2, 4}},
			{[]int{2, 0}, []int{0, 3}, []int{2, 3}}, {[]int{0, 3}, []int{3, 2}, []int{0, 2}}, {[]int{33, 65}, []int{65, 17}, []int{33, 17}},
			{[]int{2, 9, 5}, []int{5}, []int{2, 9}}, {[]int{1, 300}, []int{300, 20}, []int{1, 20}}, {[]int{3, 20, 30}, []int{1, 30, 20}, []int{3, 20, 20}},
		} {
			if brief.Skip(d, i) {
				continue
			}
			for _, lx := range someLayouts(rng) {
				high := 3
				if dtype.Size() == 1 {
					high = 1
				}
				x := cputest.Fill(cputest.NewView(dtype, lx, c.x...), rng, 0, high)
				y := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.y...), rng, 0, 1)
				z := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.z...)
				must(t, MatMul, call(dtype, nil, []ir.View{z}, x, y))
				want := product(x, y, z)
				for i := range want {
					want[i] = wrapped(dtype, want[i])
					if dtype == ir.BFloat16 {
						want[i] = complex(float64(ir.BF16From(float32(real(want[i]))).Float32()), 0)
					}
				}
				checkExact(t, fmt.Sprint(dtype, lx, c.x, c.y), z, want)
			}
		}
	}
}

// TestMatMulWraps multiplies integers whose sums their dtype does not hold.
func TestMatMulWraps(t *testing.T) {
	rng := newRand()
	for _, dtype := range []ir.DType{ir.Uint8, ir.Int8, ir.Int16} {
		for _, c := range []struct{ x, y, z []int }{
			{[]int{9, 70}, []int{70, 20}, []int{9, 20}}, {[]int{70, 90}, []int{90}, []int{70}}, {[]int{5, 2, 30}, []int{5, 30, 40}, []int{5, 2, 40}},
		} {
			x := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.x...), rng, 0, 120)
			y := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.y...), rng, 0, 120)
			z := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.z...)
			must(t, MatMul, call(dtype, nil, []ir.View{z}, x, y))
			want := product(x, y, z)
			for i := range want {
				want[i] = wrapped(dtype, want[i])
			}
			checkExact(t, fmt.Sprint(dtype, c.x, c.y), z, want)
		}
	}
}

func TestSoftmax(t *testing.T) {
	rng := newRand()
	for _, dtype := range floatDTypes {
		for _, c := range []struct {
			shape []int
			axis  int
		}{{[]int{5}, 0}, {[]int{3, 17}, -1}, {[]int{4, 3, 2}, 1}, {[]int{}, 0}, {[]int{0, 4}, 0}, {[]int{0, 4}, 1}, {[]int{100, 7}, 0}, {[]int{3, 300}, 1}} {
			for _, layout := range someLayouts(rng) {
				x := cputest.FillFloat(cputest.NewView(dtype, layout, c.shape...), rng, -20, 20)
				axis, n := front(c.axis, c.shape), 1
				if len(c.shape) > 0 {
					n = c.shape[axis]
				}
				soft, logs := make([]float64, x.NumElements()), make([]float64, x.NumElements())
				for i := range soft {
					line, p := make([]float64, n), coords(c.shape, i)
					top := math.Inf(-1)
					for k := range line {
						if len(p) > 0 {
							p[axis] = k
						}
						line[k] = real(cputest.Get(x, at(c.shape, p...)))
						top = max(top, line[k])
					}
					sum := 0.0
					for _, v := range line {
						sum += math.Exp(v - top)
					}
					v := real(cputest.Get(x, i))
					soft[i], logs[i] = math.Exp(v-top)/sum, v-top-math.Log(sum)
				}
				for f, want := range map[*[]float64]ir.KernelFunc{&soft: Softmax, &logs: LogSoftmax} {
					dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.shape...)
					must(t, want, call(dtype, []ir.Value{num(c.axis)}, []ir.View{dst}, x))
					checkNear(t, fmt.Sprint(dtype, layout, c), dst, *f)
				}
			}
		}
	}
	inf := math.Inf(1)
	for _, c := range [][2][]float64{{{-inf, -inf}, {math.NaN(), math.NaN()}}, {{1, math.NaN()}, {math.NaN(), math.NaN()}}, {{1000, 1000}, {0.5, 0.5}}, {{-inf, 3}, {0, 1}}} {
		dst := cputest.NewView(ir.Float32, "contiguous", 2)
		must(t, Softmax, call(ir.Float32, []ir.Value{num(0)}, []ir.View{dst}, cputest.From(ir.Float32, []int{2}, c[0]...)))
		checkNear(t, fmt.Sprint(c[0]), dst, c[1])
	}
}

func TestNorms(t *testing.T) {
	rng := newRand()
	const eps = 1e-5
	for _, dtype := range floatDTypes {
		for _, c := range []struct {
			shape []int
			axes  int
		}{{[]int{3, 8}, 1}, {[]int{2, 3, 4}, 2}, {[]int{5}, 1}, {[]int{70, 300}, 1}, {[]int{0, 4}, 1}} {
			for _, layout := range someLayouts(rng) {
				x := cputest.FillFloat(cputest.NewView(dtype, layout, c.shape...), rng, 2, 4)
				kept, row := append([]int(nil), c.shape...), 1
				for a := len(kept) - c.axes; a < len(kept); a++ {
					row *= kept[a]
					kept[a] = 1
				}
				n := x.NumElements() / row
				layer, rms := make([]float64, n*row), make([]float64, n*row)
				mean, rstd, rmsRstd := make([]float64, n), make([]float64, n), make([]float64, n)
				for r := range n {
					var squares, variance float64
					for i := range row {
						v := real(cputest.Get(x, r*row+i))
						mean[r] += v / float64(row)
						squares += v * v / float64(row)
					}
					for i := range row {
						d := real(cputest.Get(x, r*row+i)) - mean[r]
						variance += d * d / float64(row)
					}
					rstd[r], rmsRstd[r] = 1/math.Sqrt(variance+eps), 1/math.Sqrt(squares+eps)
					for i := range row {
						v := real(cputest.Get(x, r*row+i))
						layer[r*row+i], rms[r*row+i] = (v-mean[r])*rstd[r], v*rmsRstd[r]
					}
				}
				view := func(shape []int) ir.View { return cputest.NewView(dtype, anyOf(rng, resultLayouts), shape...) }
				attrs := []ir.Value{num(c.axes), real64(eps)}
				out := []ir.View{view(c.shape), view(kept), view(kept)}
				must(t, LayerNorm, call(dtype, attrs, out, x))
				for i, want := range [][]float64{layer, mean, rstd} {
					checkNear(t, fmt.Sprint("layer ", dtype, layout, c, i), out[i], want)
				}
				out = []ir.View{view(c.shape), view(kept)}
				must(t, RMSNorm, call(dtype, attrs, out, x))
				for i, want := range [][]float64{rms, rmsRstd} {
					checkNear(t, fmt.Sprint("rms ", dtype, layout, c, i), out[i], want)
				}
				checkAffine(t, rng, x, kept, attrs, layer, rms)
			}
		}
	}
}

// checkAffine checks the normalizations of x with weight and bias; layer and rms
// are those without, in row-major order.
func checkAffine(t *testing.T, rng *rand.Rand, x ir.View, kept []int, attrs []ir.Value, layer, rms []float64) {
	t.Helper()
	axes := x.Shape[len(x.Shape)-int(attrs[0].Int):]
	row := ir.NumElements(axes)
	fresh := func(shape []int) ir.View { return cputest.NewView(x.DType, anyOf(rng, resultLayouts), shape...) }
	weight, bias := cputest.FillFloat(fresh(axes), rng, -2, 2), cputest.FillFloat(fresh(axes), rng, -2, 2)
	for i := range layer {
		w := real(cputest.Get(weight, i%row))
		layer[i], rms[i] = layer[i]*w+real(cputest.Get(bias, i%row)), rms[i]*w
	}
	out := []ir.View{fresh(x.Shape), fresh(kept), fresh(kept)}
	must(t, LayerNorm, call(x.DType, attrs, out, x, weight, bias))
	checkNear(t, fmt.Sprint("layer affine ", x.DType, x.Shape), out[0], layer)
	out = []ir.View{fresh(x.Shape), fresh(kept)}
	must(t, RMSNorm, call(x.DType, attrs, out, x, weight))
	checkNear(t, fmt.Sprint("rms affine ", x.DType, x.Shape), out[0], rms)
}

func BenchmarkMatMul(b *testing.B) {
	for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.BFloat16, ir.Complex64, ir.Int8, ir.Int32, ir.Int64} {
		x := cputest.Fill(cputest.NewView(dtype, "contiguous", 256, 256), newRand(), -3, 3)
		y := cputest.Fill(cputest.NewView(dtype, "contiguous", 256, 256), newRand(), -3, 3)
		z := cputest.NewView(dtype, "contiguous", 256, 256)
		c := call(dtype, nil, []ir.View{z}, x, y)
		b.Run(dtype.String(), func(b *testing.B) {
			for b.Loop() {
				if err := MatMul(c); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.N)*2*256*256*256/float64(b.Elapsed().Nanoseconds()), "GF/s")
		})
	}
}
