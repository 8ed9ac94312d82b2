package opaque

import (
	"fmt"
	"math"
	"math/cmplx"
	"os"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/cufft"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/fftplans"
)

// dftAlong is the transform of row-major numbers along an axis, by its definition.
func dftAlong(x []complex128, shape []int, axis int) []complex128 {
	n, strides := shape[axis], ir.ContiguousStrides(shape)
	out := make([]complex128, len(x))
	for i := range x {
		k := i / strides[axis] % n
		first := i - k*strides[axis]
		for j := range n {
			out[i] += x[first+j*strides[axis]] * cmplx.Exp(complex(0, -2*math.Pi*float64(j*k%n)/float64(n)))
		}
	}
	return out
}

// TestStageLayouts transforms along axes of operands and results in memory of every
// order, by the library's description of it or by copies. The operand stays.
func TestStageLayouts(t *testing.T) {
	source, err := os.ReadFile("../cufft/testdata/fakecufft.c")
	if err != nil {
		t.Fatal(err)
	}
	lib, err := cufft.Resolve(librarytest.Compile(t, source))
	if err != nil {
		t.Fatal(err)
	}
	shape := []int{2, 4, 3}
	x := make([]complex128, ir.NumElements(shape))
	for i := range x {
		x[i] = complex(float64(i*i%7), float64(i%5))
	}
	cache := fftplans.New(64)
	orders := [][]int{{0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0}}
	for _, from := range orders {
		for _, to := range orders {
			for axis := range shape {
				g := librarytest.NewOn(t, librarytest.Host(), 1<<17)
				f := fourier{g, cache, ir.Complex128}
				in, out := viewOf(g, shape, from), viewOf(g, shape, to)
				what := fmt.Sprintf("axis %d, operand in order %v, result %v", axis, from, to)
				if err := g.Store(in, g.Tensor(ir.Complex128, x, shape, ir.ContiguousStrides(shape))); err != nil {
					t.Fatal(err)
				}
				if err := f.stage(g, lib, cufft.C2C, in, out, []int{axis}, false); err != nil {
					t.Fatalf("%s: %v", what, err)
				}
				want := dftAlong(x, shape, axis)
				for i, v := range g.Values(out) {
					if !(cmplx.Abs(v-want[i]) <= 1e-9) {
						t.Fatalf("%s: number %d is %v, want %v", what, i, v, want[i])
					}
				}
				if diff := cmp.Diff(x, g.Values(in)); diff != "" {
					t.Errorf("%s: the operand (-want +got):\n%s", what, diff)
				}
			}
		}
	}
}

// viewOf returns a view without gaps whose axes lie in memory in an order, the slowest
// first.
func viewOf(g *librarytest.GPU, shape, order []int) ir.View {
	strides, step := make([]int, len(shape)), 1
	for _, a := range slices.Backward(order) {
		strides[a] = step
		step *= shape[a]
	}
	return g.Tensor(ir.Complex128, make([]complex128, step), shape, strides)
}

// TestScattered: lines that a multiprocessor holds are read where they are, longer ones
// only where their points are neighbours.
func TestScattered(t *testing.T) {
	const long = 16384 // points of complex64 that are held
	for _, c := range []struct {
		what  string
		dtype ir.DType
		x     []int // strides of [n, 256]
		out   []int
		n     int
		axes  []int
		want  bool
	}{
		{"short columns", ir.Complex64, []int{256, 1}, []int{1, long}, long, []int{0}, false},
		{"long columns", ir.Complex64, []int{256, 1}, []int{1, 2 * long}, 2 * long, []int{0}, true},
		{"short columns of larger numbers", ir.Complex128, []int{256, 1}, []int{1, long / 2}, long / 2, []int{0}, false},
		{"long columns of larger numbers", ir.Complex128, []int{256, 1}, []int{1, long}, long, []int{0}, true},
		{"long columns of the result", ir.Complex64, []int{1, 2 * long}, []int{256, 1}, 2 * long, []int{0}, true},
		{"long lines", ir.Complex64, []int{1, 2 * long}, []int{1, 2 * long}, 2 * long, []int{0}, false},
		{"both axes", ir.Complex64, []int{256, 1}, []int{256, 1}, 2 * long, []int{0, 1}, false},
	} {
		f := fourier{dtype: c.dtype}
		shape := []int{c.n, 256}
		p, ok := f.describe(cufft.C2C, ir.View{Shape: shape, Strides: c.x}, ir.View{Shape: shape, Strides: c.out}, c.axes)
		if !ok {
			t.Errorf("%s: the library knows the layout, and is not asked", c.what)
		}
		if got := f.scattered(&p); got != c.want {
			t.Errorf("%s: scattered is %t, want %t", c.what, got, c.want)
		}
	}
}
