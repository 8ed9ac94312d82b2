package cublaslt

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
)

// TestFakeWide has factors of 16 bits and results of float32: the library reads the
// factors where they are, in every layout that it knows.
func TestFakeWide(t *testing.T) {
	f := newFake(t)
	for _, c := range layoutCases {
		t.Run(c.name, func(t *testing.T) {
			g := librarytest.NewOn(t, f.api, 1<<20)
			rng := rand.New(rand.NewPCG(3, 4))
			x, y, d := c.views(t)
			x.DType, y.DType, d.DType = ir.BFloat16, ir.BFloat16, ir.Float32
			mx, my := small(x, rng), small(y, rng)
			want := naive(x, y, d, mx, my)
			x, y = g.Tensor(x.DType, mx, x.Shape, x.Strides), g.Tensor(y.DType, my, y.Shape, y.Strides)
			d = g.Tensor(d.DType, small(d, rng), d.Shape, d.Strides)
			calls := f.count(t, "fake_products")
			must(t, f.multiply(g, x, y, d, ir.View{}, Identity, true, ir.Sums{}))
			if diff := cmp.Diff(want, g.Values(d)); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if got := f.count(t, "fake_products") - calls; got != c.calls {
				t.Errorf("%d calls of the library, want %d", got, c.calls)
			}
		})
	}
}

// TestFakeWideProblems: the dtype of the result is part of a problem.
func TestFakeWideProblems(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	tensor := func(dt ir.DType) ir.View { return g.Tensor(dt, make([]complex128, 16), []int{4, 4}, []int{4, 1}) }
	x := tensor(ir.BFloat16)
	for i, c := range []struct {
		result ir.DType
		asked  int
	}{{ir.Float32, 1}, {ir.BFloat16, 2}, {ir.Float32, 2}, {ir.BFloat16, 2}} {
		must(t, f.multiply(g, x, x, tensor(c.result), ir.View{}, Identity, true, ir.Sums{}))
		if got := f.count(t, "fake_heuristics"); got != c.asked {
			t.Errorf("product %d, to %v: the heuristics were asked %d times, want %d", i, c.result, got, c.asked)
		}
	}
}

func TestSupports(t *testing.T) {
	for _, x := range append(ir.ClassAll.List(), ir.Invalid) {
		for _, d := range ir.ClassAll.List() {
			wide := d == ir.Float32 && (x == ir.Float16 || x == ir.BFloat16)
			if want := wide || x == d && (x.IsFloat() || x.IsComplex()); Supports(x, d) != want {
				t.Errorf("%v to %v: %t, want %t", x, d, !want, want)
			}
		}
	}
}

// TestWideArithmetic: sums of float32 are not kept in float16, whatever the call allows.
func TestWideArithmetic(t *testing.T) {
	for result, want := range map[ir.DType]int32{ir.Float16: compute16F, ir.Float32: compute32F} {
		if got, _ := arithmetic(ir.Float16, result, true, ir.Sums{InFP16: true}); got != want {
			t.Errorf("to %v: compute type %d, want %d", result, got, want)
		}
	}
}

// TestGPUWide is TestFakeWide with the library itself.
func TestGPUWide(t *testing.T) {
	g := machine(t, 512<<20)
	for _, dt := range []ir.DType{ir.Float16, ir.BFloat16} {
		for _, c := range layoutCases {
			t.Run(fmt.Sprint(dt, "/", c.name), func(t *testing.T) {
				g.Reset()
				rng := rand.New(rand.NewPCG(1, 2))
				x, y, d := c.views(t)
				x.DType, y.DType, d.DType = dt, dt, ir.Float32
				mx, my := small(x, rng), small(y, rng)
				want := naive(x, y, d, mx, my)
				x, y = g.Tensor(dt, mx, x.Shape, x.Strides), g.Tensor(dt, my, y.Shape, y.Strides)
				d = g.Tensor(ir.Float32, small(d, rng), d.Shape, d.Strides)
				must(t, MatMul(g, x, y, d, false, ir.Sums{}))
				if diff := cmp.Diff(want, g.Values(d)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestFakeAdd adds a product to what is there, and which is a problem of its own.
func TestFakeAdd(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	x := g.Tensor(ir.Float32, []complex128{1, 2, 3, 4}, []int{2, 2}, []int{2, 1})
	d := g.Tensor(ir.Float32, []complex128{1, 1, 1, 1}, []int{2, 2}, []int{2, 1})
	for i, c := range []struct {
		add  bool
		want []complex128
	}{{true, []complex128{8, 11, 16, 23}}, {true, []complex128{15, 21, 31, 45}}, {false, []complex128{7, 10, 15, 22}}, {true, []complex128{14, 20, 30, 44}}} {
		must(t, f.enqueue(g, x, x, d, ir.View{}, kind{ir.Float32, ir.Float32, epilogueNone, false, ir.Sums{}, c.add, 1}))
		if diff := cmp.Diff(c.want, g.Values(d)); diff != "" {
			t.Errorf("product %d, add %t (-want +got):\n%s", i, c.add, diff)
		}
	}
	if got := f.count(t, "fake_heuristics"); got != 2 {
		t.Errorf("the heuristics were asked %d times, want 2", got)
	}
	gaps := g.Tensor(ir.Float32, make([]complex128, 8), []int{2, 2}, []int{4, 2})
	if err := f.enqueue(g, x, x, gaps, ir.View{}, kind{ir.Float32, ir.Float32, epilogueNone, false, ir.Sums{}, true, 1}); !errors.Is(err, ErrUnsupported) {
		t.Errorf("to a result that the library has no layout for: %v", err)
	}
}
