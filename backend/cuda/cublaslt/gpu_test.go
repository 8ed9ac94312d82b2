package cublaslt

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/precision"
	"github.com/sinter-go/sinter/tests/allocations"
)

var must = librarytest.Must

// machine returns this machine's GPU and skips the test without one, or without
// the library.
func machine(t testing.TB, bytes int64) *librarytest.GPU {
	t.Helper()
	return librarytest.NewFor(t, bytes, func(g *librarytest.GPU) error {
		_, err := deviceOf(g.API(), g.Device())
		return err
	})
}

var floats = []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64, ir.Complex64, ir.Complex128}

// small returns values whose products and sums all dtypes have exactly.
func small(v ir.View, rng *rand.Rand) []complex128 {
	_, end := ir.Layout{Shape: v.Shape, Strides: v.Strides}.Span()
	m := make([]complex128, end)
	for i := range m {
		m[i] = complex(float64(rng.IntN(7)-3), 0)
		if v.DType.IsComplex() {
			m[i] += complex(0, float64(rng.IntN(7)-3))
		}
	}
	return m
}

func TestGPULayouts(t *testing.T) {
	g := machine(t, 512<<20)
	for _, dt := range floats {
		for _, c := range layoutCases {
			t.Run(dt.String()+"/"+c.name, func(t *testing.T) {
				g.Reset()
				rng := rand.New(rand.NewPCG(3, 4))
				x, y, d := c.views(t)
				x.DType, y.DType, d.DType = dt, dt, dt
				mx, my, md := small(x, rng), small(y, rng), small(d, rng)
				want := naive(x, y, d, mx, my)
				x, y = g.Tensor(dt, mx, x.Shape, x.Strides), g.Tensor(dt, my, y.Shape, y.Strides)
				d = g.Tensor(dt, md, d.Shape, d.Strides)
				must(t, MatMul(g, x, y, d, precision.MatmulTF32(), precision.Now().Sums))
				if diff := cmp.Diff(want, g.Values(d)); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestGPUBatches is larger numbers of matrices than a grid has blocks on one axis.
func TestGPUBatches(t *testing.T) {
	g := machine(t, 512<<20)
	for _, batch := range []int{65535, 65537, 200000} {
		t.Run(fmt.Sprint(batch), func(t *testing.T) {
			g.Reset()
			rng := rand.New(rand.NewPCG(3, 4))
			x, y, d := layoutCase{x: []int{batch, 2, 3}, y: []int{batch, 3, 4}}.views(t)
			x.DType, y.DType, d.DType = ir.Float32, ir.Float32, ir.Float32
			mx, my := small(x, rng), small(y, rng)
			want := naive(x, y, d, mx, my)
			x, y = g.Tensor(ir.Float32, mx, x.Shape, x.Strides), g.Tensor(ir.Float32, my, y.Shape, y.Strides)
			d.Addr = g.Alloc(int64(batch) * 32)
			err := MatMul(g, x, y, d, precision.MatmulTF32(), precision.Now().Sums)
			if errors.Is(err, ErrUnsupported) {
				t.Skip(err)
			}
			must(t, err)
			if diff := cmp.Diff(want, g.Values(d)); diff != "" {
				t.Error("the products differ")
			}
		})
	}
}

func TestGPUBias(t *testing.T) {
	g := machine(t, 512<<20)
	gelu := func(v float64) float64 {
		return 0.5 * v * (1 + math.Tanh(math.Sqrt(2/math.Pi)*(v+0.044715*v*v*v)))
	}
	for _, dt := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64} {
		for act, f := range map[Activation]func(float64) float64{
			Identity: func(v float64) float64 { return v },
			ReLU:     func(v float64) float64 { return max(v, 0) },
			GELU:     gelu,
		} {
			for _, c := range layoutCases {
				if len(c.y) != 2 {
					continue
				}
				t.Run(fmt.Sprint(dt, "/", act, "/", c.name), func(t *testing.T) {
					g.Reset()
					rng := rand.New(rand.NewPCG(3, 4))
					x, y, d := c.views(t)
					bias := ir.View{DType: dt, Shape: c.y[1:], Strides: []int{1}}
					x.DType, y.DType, d.DType = dt, dt, dt
					mx, my, mb := small(x, rng), small(y, rng), small(bias, rng)
					want := naive(x, y, d, mx, my)
					for i := range want {
						want[i] = complex(f(real(want[i]+mb[i%len(mb)])), 0)
					}
					x, y = g.Tensor(dt, mx, x.Shape, x.Strides), g.Tensor(dt, my, y.Shape, y.Strides)
					d = g.Tensor(dt, small(d, rng), d.Shape, d.Strides)
					err := MatMulBias(g, x, y, g.Tensor(dt, mb, bias.Shape, bias.Strides), d, act, precision.MatmulTF32(), precision.Now().Sums)
					if errors.Is(err, ErrUnsupported) {
						t.Skip(err)
					}
					must(t, err)
					for i, v := range g.Values(d) {
						bound := 0.0
						if act == GELU {
							bound = 0.01 * (1 + cmplx.Abs(want[i]))
						}
						if !(cmplx.Abs(v-want[i]) <= bound) {
							t.Fatalf("element %d: %v, want %v", i, v, want[i])
						}
					}
				})
			}
		}
	}
}

// random returns n x n values of a normal distribution.
func random(n int, seed uint64) []complex128 {
	rng := rand.New(rand.NewPCG(seed, 0))
	m := make([]complex128, n*n)
	for i := range m {
		m[i] = complex(rng.NormFloat64(), 0)
	}
	return m
}

// TestGPUPrecision is S17, S18 and S23 for products: the flag decides for the
// launches after it.
func TestGPUPrecision(t *testing.T) {
	const n = 512
	g := machine(t, 256<<20)
	defer precision.SetMatmulTF32(precision.MatmulTF32())
	a, b := random(n, 1), random(n, 2)
	shape, strides := []int{n, n}, []int{n, 1}
	errorOf := func(dt ir.DType) float64 {
		x, y := g.Tensor(dt, a, shape, strides), g.Tensor(dt, b, shape, strides)
		d := ir.View{Addr: g.Alloc(n * n * 8), DType: dt, Shape: shape, Strides: strides}
		must(t, MatMul(g, x, y, d, precision.MatmulTF32(), precision.Now().Sums))
		x64, y64 := g.Tensor(ir.Float64, a, shape, strides), g.Tensor(ir.Float64, b, shape, strides)
		d64 := ir.View{Addr: g.Alloc(n * n * 8), DType: ir.Float64, Shape: shape, Strides: strides}
		must(t, MatMul(g, x64, y64, d64, precision.MatmulTF32(), precision.Now().Sums))
		truth, worst := g.Values(d64), 0.0
		for i, v := range g.Values(d) {
			worst = max(worst, cmplx.Abs(v-truth[i]))
		}
		g.Reset()
		return worst / math.Sqrt(2*n/math.Pi)
	}
	for _, c := range []struct {
		tf32      bool
		low, high float64
	}{{true, 1e-4, 1e-2}, {false, 0, 2e-5}, {true, 1e-4, 1e-2}} {
		precision.SetMatmulTF32(c.tf32)
		if e := errorOf(ir.Float32); !(e >= c.low && e <= c.high) {
			t.Errorf("TF32 %t: relative error %g, want %g to %g", c.tf32, e, c.low, c.high)
		}
	}
}

// TestGPUReducedReduction runs products that split along the inner extent with
// every setting of P4.
func TestGPUReducedReduction(t *testing.T) {
	g := machine(t, 256<<20)
	defer func() { must(t, precision.SetReducedReduction(precision.FP16, true, true)) }()
	const m, k = 32, 8192
	rng := rand.New(rand.NewPCG(1, 1))
	values := make([]complex128, m*k)
	for i := range values {
		values[i] = complex(float64(rng.IntN(3)-1), 0)
	}
	x := g.Tensor(ir.Float16, values, []int{m, k}, []int{k, 1})
	y := ir.View{Addr: x.Addr, DType: ir.Float16, Shape: []int{k, m}, Strides: []int{1, k}}
	want := naive(x, y, ir.View{Shape: []int{m, m}}, values, values)
	for _, c := range []struct{ reduced, split bool }{{true, true}, {false, true}, {false, false}} {
		must(t, precision.SetReducedReduction(precision.FP16, c.reduced, c.split))
		d := ir.View{Addr: g.Alloc(m * m * 2), DType: ir.Float16, Shape: []int{m, m}, Strides: []int{m, 1}}
		must(t, MatMul(g, x, y, d, precision.MatmulTF32(), precision.Now().Sums))
		for i, v := range g.Values(d) {
			// Sums of one sign reach 8192, of which float16 has every fourth.
			if cmplx.Abs(v-want[i]) > 32 || !c.reduced && cmplx.Abs(v-want[i]) > 2 {
				t.Errorf("%+v: element %d is %v, want %v", c, i, v, want[i])
			}
		}
	}
}

// TestGPUManyGoroutines has goroutines with streams of their own share what is prepared,
// and compares bits.
func TestGPUManyGoroutines(t *testing.T) {
	machine(t, 1<<20)
	const n, goroutines = 64, 16
	a := random(n, 5)
	shape, strides := []int{n, n}, []int{n, 1}
	gpus := make([]*librarytest.GPU, goroutines)
	var x, d [goroutines]ir.View
	for i := range gpus {
		g := librarytest.New(t, 64<<20)
		gpus[i] = g
		x[i] = g.Tensor(ir.Float32, a, shape, strides)
		d[i] = ir.View{Addr: g.Alloc(n * n * 4), DType: ir.Float32, Shape: shape, Strides: strides}
	}
	var all sync.WaitGroup
	for i, g := range gpus {
		all.Go(func() {
			x, d := x[i], d[i]
			bias := ir.View{Addr: x.Addr, DType: ir.Float32, Shape: []int{n}, Strides: []int{1}}
			for range 200 {
				if err := errors.Join(MatMul(g, x, x, d, precision.MatmulTF32(), precision.Now().Sums), MatMulBias(g, x, x, bias, d, ReLU, precision.MatmulTF32(), precision.Now().Sums)); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	first := gpus[0].Get(d[0].Addr, n*n*4)
	for i, g := range gpus {
		if string(g.Get(d[i].Addr, n*n*4)) != string(first) {
			t.Errorf("goroutine %d has other bits", i)
		}
	}
}

// onStream is a GPU of a test whose products go to another's stream.
type onStream struct {
	*librarytest.GPU
	stream driver.Stream
}

func (g onStream) Stream() driver.Stream { return g.stream }

// TestGPUOneStream has goroutines multiply rows by columns on one stream, which the
// library does in two kernels: one leaves partial sums in the workspace.
func TestGPUOneStream(t *testing.T) {
	owner := machine(t, 1<<20)
	const goroutines, products = 16, 200
	for _, dt := range []ir.DType{ir.Float32, ir.Float64} {
		for _, k := range []int{3, 63, 5000} {
			var all sync.WaitGroup
			var got [goroutines]ir.View
			gpus := make([]onStream, goroutines)
			shape := ir.View{DType: dt, Shape: []int{k}, Strides: []int{1}}
			for i := range gpus {
				g := onStream{librarytest.New(t, 64<<20), owner.Stream()}
				values := make([]complex128, k)
				for j := range values {
					values[j] = complex(float64(i-7), 0)
				}
				x := g.Tensor(dt, values, shape.Shape, shape.Strides)
				got[i] = ir.View{Addr: g.Alloc(products * 512), DType: dt, Shape: []int{products}, Strides: []int{512 / dt.Size()}}
				gpus[i] = g
				run := func(n int) error {
					return MatMul(g, x, x, ir.View{Addr: got[i].Addr + uint64(512*n), DType: dt, Shape: []int{}, Strides: []int{}}, false, ir.Sums{})
				}
				must(t, run(0)) // from here on the stream has its workspace
				all.Go(func() {
					for n := range products {
						if err := run(n); err != nil {
							t.Error(err)
							return
						}
					}
				})
			}
			all.Wait()
			owner.Sync()
			for i, g := range gpus {
				want := complex(float64(k*(i-7)*(i-7)), 0)
				for n, v := range g.Values(got[i]) {
					if v != want {
						t.Errorf("%s, %d elements, goroutine %d, product %d: %v, want %v", dt, k, i, n, v, want)
						break
					}
				}
			}
		}
	}
}

func TestGPUAllocations(t *testing.T) {
	g := machine(t, 64<<20)
	const n = 64
	shape, strides := []int{n, n}, []int{n, 1}
	x := g.Tensor(ir.Float32, random(n, 5), shape, strides)
	d := ir.View{Addr: g.Alloc(n * n * 4), DType: ir.Float32, Shape: shape, Strides: strides}
	run := func() { must(t, MatMul(g, x, x, d, precision.MatmulTF32(), precision.Now().Sums)) }
	allocations.AtMost(t, 0, run)
	g.Sync()
}

func BenchmarkGPUMatMul(b *testing.B) {
	g := machine(b, 64<<20)
	const n = 64
	shape, strides := []int{n, n}, []int{n, 1}
	x := g.Tensor(ir.Float32, random(n, 5), shape, strides)
	d := ir.View{Addr: g.Alloc(n * n * 4), DType: ir.Float32, Shape: shape, Strides: strides}
	b.ReportAllocs()
	for b.Loop() {
		must(b, MatMul(g, x, x, d, precision.MatmulTF32(), precision.Now().Sums))
	}
	g.Sync()
}
