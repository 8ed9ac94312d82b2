package cudnn

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
)

// spread returns elements in row-major order as they lie with strides, without gaps.
func spread(elements []complex128, shape, strides []int) []complex128 {
	list, i := make([]complex128, len(elements)), 0
	librarytest.Each(shape, func(at []int) {
		list[librarytest.Offset(at, strides)] = elements[i]
		i++
	})
	return list
}

// TestGPUFused: a bias, an addend and relu in one call, in both layouts, over the addend, too.
func TestGPUFused(t *testing.T) {
	g := machine(t, 1<<30)
	list := append([]problem{
		{"many channels", []int{2, 64, 14, 14}, []int{128, 64, 3, 3}, []int{1, 1}, []int{1, 1}, []int{1, 1}, 1},
		{"many channels, pointwise", []int{2, 64, 14, 14}, []int{128, 64, 1, 1}, []int{1, 1}, []int{0, 0}, []int{1, 1}, 1},
		{"stem", []int{2, 3, 32, 32}, []int{16, 3, 7, 7}, []int{2, 2}, []int{3, 3}, []int{1, 1}, 1},
	}, problems...)
	for _, p := range list {
		for _, dt := range []ir.DType{ir.Float32, ir.Float16, ir.BFloat16} {
			for i := range 8 {
				addend, relu, last := i&1 != 0, i&2 != 0, i&4 != 0
				if last && len(p.stride) != 2 {
					continue
				}
				t.Run(fmt.Sprint(p.name, "/", dt, "/", addend, relu, last), func(t *testing.T) { testFused(t, g, p, dt, addend, relu, last) })
			}
		}
	}
}

func testFused(t *testing.T, g *librarytest.GPU, p problem, dt ir.DType, addend, relu, last bool) {
	g.Reset()
	rng := rand.New(rand.NewPCG(1, 2))
	v := p.convolution(dt)
	x, w, y, bias := small(v.X.NumElements(), rng), small(v.Weight.NumElements(), rng), small(v.Y.NumElements(), rng), small(v.Y.Shape[1], rng)
	place := func(e []complex128, shape []int) ir.View {
		strides := stridesOf(shape, last)
		return g.Tensor(dt, spread(e, shape, strides), shape, strides)
	}
	v.X, v.Weight, v.Y = place(x, v.X.Shape), place(w, v.Weight.Shape), place(y, v.Y.Shape)
	v.Bias, v.ReLU = g.Tensor(dt, bias, []int{len(bias)}, []int{1}), relu
	if addend {
		v.Addend = v.Y
	}
	want := make([]complex128, len(y))
	p.naive(func(i, j, k int) { want[k] += x[i] * w[j] })
	inner := len(y) / v.Y.Shape[0] / v.Y.Shape[1]
	for i := range want {
		if want[i] += bias[i/inner%len(bias)]; addend {
			want[i] += y[i]
		}
		if relu {
			want[i] = complex(max(real(want[i]), 0), 0)
		}
	}
	if err := Convolve(g, Forward, v); err != nil {
		t.Skip(err)
	}
	got := g.Values(v.Y)
	for i := range want {
		if !(cmplx.Abs(got[i]-want[i]) <= 1e-2*(1+cmplx.Abs(want[i]))) {
			t.Fatalf("element %d: %v, want %v", i, got[i], want[i])
		}
	}
	if relu {
		v.X = place(append([]complex128{complex(math.NaN(), 0)}, x[1:]...), v.X.Shape)
		must(t, Convolve(g, Forward, v))
		n := 0
		for _, e := range g.Values(v.Y) {
			if cmplx.IsNaN(e) {
				n++
			}
		}
		t.Logf("%d results are NaN of one element that is", n)
	}
}
