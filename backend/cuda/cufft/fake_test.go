package cufft

import (
	_ "embed"
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/backend/cuda/library"
	"github.com/sinter-go/sinter/backend/cuda/library/librarytest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/fftplans"
)

//go:embed testdata/fakecufft.c
var fakeSource []byte

// A fake is the binding over a library that computes on the host.
type fake struct {
	*Library
	lib *dl.Library
	api *capturing
}

// capturing is a driver whose streams are captured where status says so, and whose
// devices cannot be waited for where err does.
type capturing struct {
	driver.API
	status driver.CaptureStatus
	err    error
}

func (c *capturing) StreamCaptureStatus(int, driver.Stream) (driver.CaptureStatus, error) {
	return c.status, nil
}

func (c *capturing) Synchronize(int) error { return c.err }

func newFake(t *testing.T) fake {
	t.Helper()
	lib := librarytest.Compile(t, fakeSource)
	f, err := Resolve(lib)
	must(t, err)
	return fake{f, lib, &capturing{API: librarytest.Host()}}
}

var must = librarytest.Must

// count returns one of the library's counters.
func (f fake) count(t *testing.T, name string) int {
	t.Helper()
	counter, err := f.lib.Func(name)
	must(t, err)
	c := dl.Get()
	defer c.Free()
	return int(int32(counter.Call(c)))
}

func random(n int) []complex128 {
	rng := rand.New(rand.NewPCG(uint64(n), 3))
	x := make([]complex128, n)
	for i := range x {
		x[i] = complex(float64(rng.IntN(9)-4), float64(rng.IntN(9)-4))
	}
	return x
}

// dft is the definition over rows of n.
func dft(x []complex128, n int, sign float64) []complex128 {
	out := make([]complex128, len(x))
	for i := range x {
		row := x[i/n*n : (i/n+1)*n]
		for j, v := range row {
			out[i] += v * cmplx.Exp(complex(0, sign*2*math.Pi*float64(j*(i%n)%n)/float64(n)))
		}
	}
	return out
}

func near(t *testing.T, what string, got, want []complex128, bound float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range want {
		if !(cmplx.Abs(got[i]-want[i]) <= bound) {
			t.Errorf("%s: number %d is %v, want %v", what, i, got[i], want[i])
			return
		}
	}
}

func rows(dt ir.DType, n, batch int) Problem {
	return Problem{
		DType: dt, Rank: 1, N: [MaxRank]int64{int64(n)}, InEmbed: [MaxRank]int64{int64(n)}, OutEmbed: [MaxRank]int64{int64(n)},
		InStride: 1, OutStride: 1, InDist: int64(n), OutDist: int64(n), Batch: int64(batch),
	}
}

func TestRows(t *testing.T) {
	f := newFake(t)
	for dt, bound := range map[ir.DType]float64{ir.Complex64: 1e-4, ir.Complex128: 1e-12} {
		g := librarytest.NewOn(t, f.api, 1<<20)
		cache := fftplans.New(8)
		const n, batch = 6, 3
		x := random(n * batch)
		p := rows(dt, n, batch)
		shape := []int{batch, n}
		in, out := g.Tensor(dt, x, shape, []int{n, 1}), g.Tensor(dt, make([]complex128, n*batch), shape, []int{n, 1})
		for sign, inverse := range map[float64]bool{-1: false, 1: true} {
			must(t, f.Run(g, cache, &p, in.Addr, out.Addr, inverse))
			near(t, dt.String(), g.Values(out), dft(x, n, sign), bound)
		}
		if diff := cmp.Diff(1, cache.Size()); diff != "" {
			t.Errorf("plans of both directions (-want +got):\n%s", diff)
		}
		must(t, f.Run(g, cache, &p, in.Addr, in.Addr, false))
		near(t, "in place", g.Values(in), dft(x, n, -1), bound)
	}
}

func TestRealKinds(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	cache := fftplans.New(8)
	const n = 5
	x := random(n)
	for i := range x {
		x[i] = complex(real(x[i]), 0)
	}
	in := g.Tensor(ir.Float64, x, []int{n}, []int{1})
	half := g.Tensor(ir.Complex128, make([]complex128, n/2+1), []int{n/2 + 1}, []int{1})
	p := rows(ir.Complex128, n, 1)
	p.Kind, p.OutEmbed[0], p.OutDist = R2C, n/2+1, n/2+1
	must(t, f.Run(g, cache, &p, in.Addr, half.Addr, false))
	near(t, "r2c", g.Values(half), dft(x, n, -1)[:n/2+1], 1e-12)
	p.Kind = C2R
	p.InEmbed, p.OutEmbed, p.InDist, p.OutDist = p.OutEmbed, p.InEmbed, p.OutDist, p.InDist
	must(t, f.Run(g, cache, &p, half.Addr, in.Addr, true))
	for i := range x {
		x[i] *= n
	}
	near(t, "c2r", g.Values(in), x, 1e-12)
	if got := cache.Size(); got != 2 {
		t.Errorf("%d plans, want 2", got)
	}
}

// TestColumns has the axis strided in the operand and the batch beside it.
func TestColumns(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	const n, batch = 4, 3
	x := random(n * batch)
	in := g.Tensor(ir.Complex128, x, []int{batch, n}, []int{1, batch})
	out := g.Tensor(ir.Complex128, make([]complex128, n*batch), []int{batch, n}, []int{n, 1})
	p := rows(ir.Complex128, n, batch)
	p.InStride, p.InDist = batch, 1
	must(t, f.Run(g, fftplans.New(1), &p, in.Addr, out.Addr, false))
	near(t, "columns", g.Values(out), dft(g.Values(in), n, -1), 1e-12)
}

// TestPlans counts plans: one a problem, until it is dropped. In the end every plan
// that was made is destroyed.
func TestPlans(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	cache := fftplans.New(2)
	at := g.Alloc(1 << 10)
	run := func(n int) {
		t.Helper()
		p := rows(ir.Complex64, n, 1)
		must(t, f.Run(g, cache, &p, at, at, false))
	}
	for _, step := range []struct {
		n, made, destroyed int
	}{{4, 1, 0}, {4, 1, 0}, {5, 2, 0}, {4, 2, 0}, {6, 3, 1}, {4, 3, 1}, {5, 4, 2}} {
		run(step.n)
		got := [2]int{f.count(t, "fake_made"), f.count(t, "fake_destroyed")}
		if want := [2]int{step.made, step.destroyed}; got != want {
			t.Fatalf("after %d points: %d plans made and %d destroyed, want %d", step.n, got[0], got[1], want)
		}
	}
	cache.Clear()
	if got := f.count(t, "fake_destroyed"); got != 4 {
		t.Errorf("%d plans destroyed, want all 4", got)
	}
}

// TestPlansThatStay has a plan be part of a graph, and a device that cannot be
// waited for.
func TestPlansThatStay(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	cache := fftplans.New(4)
	at := g.Alloc(1 << 10)
	p := rows(ir.Complex64, 4, 1)
	f.api.status = driver.CaptureActive
	must(t, f.Run(g, cache, &p, at, at, false))
	f.api.status = driver.CaptureNone
	cache.Clear()
	if got := f.count(t, "fake_destroyed"); got != 0 {
		t.Errorf("the plan of a graph was destroyed")
	}
	p = rows(ir.Complex64, 8, 1)
	must(t, f.Run(g, cache, &p, at, at, false))
	f.api.err = errors.New("not now")
	cache.Clear()
	if got := f.count(t, "fake_destroyed"); got != 0 {
		t.Errorf("a plan was destroyed that may be in use")
	}
	f.api.err = nil
	must(t, f.Run(g, cache, &p, at, at, false))
	if got := f.count(t, "fake_destroyed"); got != 1 {
		t.Errorf("%d plans destroyed later, want 1", got)
	}
	cache.Clear()
}

func TestUnsupported(t *testing.T) {
	f := newFake(t)
	g := librarytest.NewOn(t, f.api, 1<<20)
	cache := fftplans.New(4)
	p := rows(ir.Complex64, 13, 1)
	at := g.Alloc(1 << 10)
	err := f.Run(g, cache, &p, at, at, false)
	if !errors.Is(err, ErrUnsupported) || err.Error() != "cuda:0: cuFFT does not compute this: cufftXtMakePlanMany: CUFFT_INVALID_SIZE (8)" {
		t.Errorf("%v", err)
	}
	if got := f.count(t, "fake_destroyed"); got != 1 || cache.Size() != 0 {
		t.Errorf("%d handles destroyed, %d plans kept, want 1 and 0", got, cache.Size())
	}
	for s, want := range map[uintptr]error{2: driver.OutOfMemory, 7: library.ErrUnusable, 8: ErrUnsupported} {
		if err := check("call", s); !errors.Is(err, want) {
			t.Errorf("status %d: %v", s, err)
		}
	}
}

func TestManyGoroutines(t *testing.T) {
	f := newFake(t)
	cache := fftplans.New(2)
	var all sync.WaitGroup
	for i := range 8 {
		g := librarytest.NewOn(t, f.api, 16<<20)
		at := g.Alloc(1 << 10)
		all.Go(func() {
			for j := range 200 {
				p := rows(ir.Complex64, 2+(i+j)%4, 1)
				if err := f.Run(g, cache, &p, at, at, false); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	all.Wait()
	cache.Clear()
	if made, destroyed := f.count(t, "fake_made"), f.count(t, "fake_destroyed"); made != destroyed {
		t.Errorf("%d plans made, %d destroyed", made, destroyed)
	}
}
