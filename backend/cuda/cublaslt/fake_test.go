package cublaslt

import (
	_ "embed"
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/allocations"
)

//go:embed testdata/fakecublaslt.c
var fakeSource []byte

// A fake is the binding over a library that computes on the host.
type fake struct {
	*device
	lib *dl.Library
	api driver.API
}

func newFake(t *testing.T) fake {
	t.Helper()
	lib := librarytest.Compile(t, fakeSource)
	f, err := resolve(lib)
	must(t, err)
	api := librarytest.Host()
	d, err := f.open(api, 0)
	must(t, err)
	return fake{d, lib, api}
}

// count returns one of the library's counters.
func (f fake) count(t *testing.T, name string) int {
	t.Helper()
	counter, err := f.lib.Func(name)
	must(t, err)
	c := dl.Get()
	defer c.Free()
	return int(int32(counter.Call(c)))
}

func TestFakeLayouts(t *testing.T) {
	f := newFake(t)
	for _, dt := range []ir.DType{ir.Float32, ir.Float64} {
		for _, c := range layoutCases {
			t.Run(dt.String()+"/"+c.name, func(t *testing.T) {
				g := librarytest.NewOn(t, f.api, 1<<20)
				rng := rand.New(rand.NewPCG(3, 4))
				x, y, d := c.views(t)
				x.DType, y.DType, d.DType = dt, dt, dt
				mx, my, md := small(x, rng), small(y, rng), small(d, rng)
				want := naive(x, y, d, mx, my)
				x, y = g.Tensor(dt, mx, x.Shape, x.Strides), g.Tensor(dt, my, y.Shape, y.Strides)
				d = g.Tensor(dt, md, d.Shape, d.Strides)
				calls := f.count(t, "fake_products")
				must(t, f.multiply(g, x, y, d, ir.View{}, Identity, true, ir.Sums{}))
				if diff := cmp.Diff(want, g.Values(d)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
				if got := f.count(t, "fake_products") - calls; got != c.calls {
					t.Errorf("%d calls of the library, want %d", got, c.calls)
				}
				if len(c.y) != 2 {
					return
				}
				bias := g.Tensor(dt, my[:c.y[1]], c.y[1:], []int{1})
				for i := range want {
					want[i] = complex(max(real(want[i]+my[i%c.y[1]]), 0), 0)
				}
				must(t, f.multiply(g, x, y, d, bias, ReLU, true, ir.Sums{}))
				if diff := cmp.Diff(want, g.Values(d)); diff != "" {
					t.Errorf("with bias (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestFakeProblems counts how often the heuristics are asked: once a problem, where
// the flags are part of a problem and addresses are not.
func TestFakeProblems(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	shape, strides := []int{4, 4}, []int{4, 1}
	tensor := func(dt ir.DType) ir.View { return g.Tensor(dt, make([]complex128, 16), shape, strides) }
	x, y, d := tensor(ir.Float32), tensor(ir.Float32), tensor(ir.Float32)
	bias := g.Tensor(ir.Float32, make([]complex128, 4), []int{4}, []int{1})
	asked := 0
	for _, c := range []struct {
		name string
		run  func() error
		asks int
	}{
		{"first", func() error { return f.multiply(g, x, y, d, ir.View{}, Identity, true, ir.Sums{}) }, 1},
		{"again", func() error { return f.multiply(g, x, y, d, ir.View{}, Identity, true, ir.Sums{}) }, 0},
		{"other memory", func() error { return f.multiply(g, y, x, tensor(ir.Float32), ir.View{}, Identity, true, ir.Sums{}) }, 0},
		{"transposed", func() error {
			return f.multiply(g, ir.View{Addr: x.Addr, DType: x.DType, Shape: shape, Strides: []int{1, 4}}, y, d, ir.View{}, Identity, true, ir.Sums{})
		}, 1},
		{"less aligned", func() error {
			return f.multiply(g, ir.View{Addr: x.Addr + 4, DType: x.DType, Shape: []int{2, 4}, Strides: strides}, y,
				ir.View{Addr: d.Addr, DType: d.DType, Shape: []int{2, 4}, Strides: strides}, ir.View{}, Identity, true, ir.Sums{})
		}, 1},
		{"bias", func() error { return f.multiply(g, x, y, d, bias, Identity, true, ir.Sums{}) }, 1},
		{"bias, other memory", func() error {
			return f.multiply(g, x, y, d, ir.View{Addr: d.Addr, DType: d.DType, Shape: []int{4}, Strides: []int{1}}, Identity, true, ir.Sums{})
		}, 0},
		{"float64", func() error {
			return f.multiply(g, tensor(ir.Float64), tensor(ir.Float64), tensor(ir.Float64), ir.View{}, Identity, true, ir.Sums{})
		}, 1},
		{"TF32 off", func() error { return f.multiply(g, x, y, d, ir.View{}, Identity, false, ir.Sums{}) }, 1},
		{"TF32 on again", func() error { return f.multiply(g, x, y, d, ir.View{}, Identity, true, ir.Sums{}) }, 0},
	} {
		must(t, c.run())
		asked += c.asks
		if got := f.count(t, "fake_heuristics"); got != asked {
			t.Fatalf("%s: the heuristics were asked %d times, want %d", c.name, got, asked)
		}
	}
}

// TestFakeUnsupported has the library know no algorithm.
func TestFakeUnsupported(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	v := g.Tensor(ir.Complex64, make([]complex128, 4), []int{2, 2}, []int{2, 1})
	for range 2 {
		if err := f.multiply(g, v, v, v, ir.View{}, Identity, true, ir.Sums{}); !errors.Is(err, ErrUnsupported) {
			t.Errorf("%v", err)
		}
	}
	if err := f.check("call", statusNotSupportedResult); err == nil || err.Error() != "cuBLASLt does not compute this: call: CUBLAS_STATUS_NOT_SUPPORTED (15)" {
		t.Errorf("check: %v", err)
	}
}

// barred is a driver whose device cannot be entered as long as err is set.
type barred struct {
	driver.API
	err error
}

func (b *barred) Enter(int) error { return b.err }

// TestFakeErrorsPass has a preparation fail for a reason that passes: the next call makes
// it again.
func TestFakeErrorsPass(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	v := g.Tensor(ir.Float32, []complex128{1, 2, 3, 4}, []int{2, 2}, []int{2, 1})
	d := g.Tensor(ir.Float32, make([]complex128, 4), []int{2, 2}, []int{2, 1})
	bar := &barred{f.api, driver.OutOfMemory}
	f.device.api = bar
	err := f.multiply(g, v, v, d, ir.View{}, Identity, true, ir.Sums{})
	if !errors.Is(err, driver.OutOfMemory) || err.Error() != "cuda:0: CUDA driver error 2" {
		t.Errorf("a device that cannot be entered: %v", err)
	}
	bar.err = nil
	must(t, f.multiply(g, v, v, d, ir.View{}, Identity, true, ir.Sums{}))
	if diff := cmp.Diff([]complex128{7, 10, 15, 22}, g.Values(d)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

const statusNotSupportedResult = uintptr(statusNotSupported)

// TestFakeManyGoroutines has goroutines multiply on one stream: no product reads
// what another left in the workspace, which is cleared all the while.
func TestFakeManyGoroutines(t *testing.T) {
	f := newFake(t)
	gpus := make([]*librarytest.GPU, 8)
	for i := range gpus {
		gpus[i] = librarytest.NewOn(t, f.api, 1<<20)
	}
	shape, strides := []int{2, 2}, []int{2, 1}
	var all sync.WaitGroup
	for i, g := range gpus {
		v := complex(float64(i+1), 0)
		x := g.Tensor(ir.Float32, []complex128{v, 2, 3, 4}, shape, strides)
		bias := g.Tensor(ir.Float32, []complex128{v, 0}, []int{2}, []int{1})
		d := g.Tensor(ir.Float32, make([]complex128, 4), shape, strides)
		want := []complex128{v*v + 6 + v, 2*v + 8, 3*v + 12 + v, 22}
		all.Go(func() {
			for n := range 100 {
				if err := f.multiply(g, x, x, d, bias, Identity, true, ir.Sums{}); err != nil {
					t.Error(err)
					return
				}
				if diff := cmp.Diff(want, g.Values(d)); diff != "" {
					t.Errorf("goroutine %d, product %d (-want +got):\n%s", i, n, diff)
					return
				}
				if n%10 != i {
					continue
				}
				if err := f.workspaces.clear(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	all.Wait()
}

func TestFakeAllocations(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	v := g.Tensor(ir.Float32, make([]complex128, 4), []int{2, 2}, []int{2, 1})
	mark := g.Mark()
	run := func() {
		g.Release(mark)
		must(t, f.multiply(g, v, v, v, ir.View{}, Identity, true, ir.Sums{}))
	}
	allocations.AtMost(t, 0, run)
}
