package exec

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// bypassFrom makes the test's calls write results past the caches from so many bytes on, however slow
// their loops are.
func bypassFrom(t *testing.T, bytes int) {
	before, usual := lastCache, active
	lastCache = func() int { return bytes }
	active.rate = 0
	t.Cleanup(func() { lastCache, active = before, usual })
}

// TestBypass computes results past the caches that begin and end anywhere, in tiles
// of several sizes.
func TestBypass(t *testing.T) {
	if simd.Active() == simd.Portable {
		t.Skip("nothing is written past the caches without vectors")
	}
	bypassFrom(t, 1)
	usual := active
	rng := rand.New(rand.NewPCG(1, 2))
	for _, active = range []bypassSizes{usual, {512, 0, 2, 0}, {1024, 1 << 20, 4, 1e-9}, {64, 64, 1, 0}} {
		for d, dtype := range []ir.DType{ir.Uint8, ir.Int16, ir.Float32, ir.Float64, ir.Complex128} {
			for k, space := range [][]int{{20000}, {9000}, {16384}, {33, 1000}, {3, 9000}} {
				if brief.Skip(d, k) {
					continue
				}
				lo := rng.IntN(40)
				n := ir.NumElements(space)
				all := cputest.NewView(dtype, "contiguous", n+lo+40)
				before := cputest.Values(all)
				out := all
				out.Ptr = unsafe.Add(out.Ptr, lo*dtype.Size())
				out.Shape, out.Strides = space, ir.ContiguousStrides(space)
				x := cputest.Fill(cputest.NewView(dtype, "contiguous", space...), rng, 0, 9)
				y := cputest.Fill(cputest.NewView(dtype, []string{"contiguous", "expanded", "offset"}[rng.IntN(3)], space...), rng, 0, 9)
				if err := Run(&ir.Call{Kernel: axpy.Kernel(0, dtype), Space: space, Out: []ir.View{out}, In: []ir.View{x, y}}); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					before[lo+i] = 2*cputest.Get(x, i) + cputest.Get(y, i)
				}
				if d := diff(before, cputest.Values(all)); d != "" {
					t.Fatalf("%s %v from %d, %+v: %s", dtype, space, lo, active, d)
				}
			}
		}
	}
}

// TestBypassLoop goes past the caches by a loop of an operator's own: whole groups, that begin with a
// cache line and are told where they begin, and all but what is before and after them.
func TestBypassLoop(t *testing.T) {
	if simd.Active() == simd.Portable {
		t.Skip("nothing is written past the caches without vectors")
	}
	bypassFrom(t, 1)
	const group = vector.Group / 4
	var passed atomic.Int64
	loop := func(n int, p []unsafe.Pointer, _ []ir.Scalar, index int64) {
		for i, x := range unsafe.Slice((*float32)(p[1]), n) {
			unsafe.Slice((*float32)(p[0]), n)[i] = x - float32(index+int64(i))
		}
	}
	past := func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
		if n <= 0 || n%group != 0 || uintptr(p[0])%move.Line != 0 {
			t.Errorf("%d elements at %v", n, p[0])
		}
		passed.Add(int64(n))
		loop(n, p, s, index)
	}
	op := ir.Op{Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, Code: []ir.Code{{For: "cpu", Of: &vector.Code{
		Loops:   vector.Table{{ir.Float32: loop}},
		Vectors: []vector.Loop{{DType: ir.Float32, Past: vector.Loops{AVX2: past, AVX512: past}}},
	}}}}
	rng := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{group - 1, group + 16, 3*group + 5, 1 << 17, 1<<18 + 77} {
		for _, lo := range []int{0, 5} {
			x := cputest.Fill(cputest.NewView(ir.Float32, "offset", n), rng, 0, 9)
			all := cputest.NewView(ir.Float32, "contiguous", n+lo+40)
			want := cputest.Reals(all)
			out := all
			out.Ptr, out.Shape, out.Strides = unsafe.Add(out.Ptr, 4*lo), []int{n}, []int{1}
			passed.Store(0)
			if err := Run(&ir.Call{Kernel: op.Kernel(0, ir.Float32), Space: []int{n}, Out: []ir.View{out}, In: []ir.View{x}}); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				want[lo+i] = float64(float32(real(cputest.Get(x, i))) - float32(i))
			}
			if d := diff(want, cputest.Reals(all)); d != "" {
				t.Fatalf("%d from %d: %s", n, lo, d)
			}
			if got := passed.Load(); got < int64(n*3/4/group*group) {
				t.Errorf("%d of %d went past the caches", got, n)
			}
		}
	}
}

// TestBypassLaidOut gives such a loop operands that are not as the result is: rows and columns
// that repeat, and others of other distances and dtypes.
func TestBypassLaidOut(t *testing.T) {
	if simd.Active() == simd.Portable {
		t.Skip("nothing is written past the caches without vectors")
	}
	bypassFrom(t, 1)
	var passed atomic.Int64
	loop := func(n int, p []unsafe.Pointer, _ []ir.Scalar, index int64) {
		x, y, z := unsafe.Slice((*float32)(p[1]), n), unsafe.Slice((*float32)(p[2]), n), unsafe.Slice((*float32)(p[3]), n)
		for i := range n {
			unsafe.Slice((*float32)(p[0]), n)[i] = x[i] + 16*y[i] + 256*z[i]
		}
	}
	past := func(n int, p []unsafe.Pointer, s []ir.Scalar, index int64) {
		passed.Add(int64(n))
		loop(n, p, s, index)
	}
	op := ir.Op{Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}, {Name: "y"}, {Name: "z"}}, Out: []ir.Result{{Name: "out"}}, Code: []ir.Code{{For: "cpu", Of: &vector.Code{
		Loops:   vector.Table{{ir.Float32: loop}},
		Vectors: []vector.Loop{{DType: ir.Float32, Past: vector.Loops{AVX2: past, AVX512: past}}},
	}}}}
	rng := rand.New(rand.NewPCG(17, 18))
	for _, space := range [][]int{{40, 1024}, {33, 1000}, {5, 7, 640}, {2, 9000}, {3000, 9}, {7, 300, 16}} {
		for range brief.Times(12) {
			out := cputest.NewView(ir.Float32, "contiguous", space...)
			in := []ir.View{cputest.Fill(cputest.NewView(ir.Float32, "contiguous", space...), rng, 0, 9)}
			for range 2 {
				v := cputest.Fill(cputest.NewView([]ir.DType{ir.Float32, ir.Float32, ir.BFloat16}[rng.IntN(3)], "contiguous", space...), rng, 0, 9)
				for a := range v.Strides {
					if rng.IntN(2) == 0 {
						v.Strides[a] = 0
					}
				}
				in = append(in, v)
			}
			want := make([]float64, out.NumElements())
			for i := range want {
				want[i] = real(cputest.Get(in[0], i) + 16*cputest.Get(in[1], i) + 256*cputest.Get(in[2], i))
			}
			passed.Store(0)
			if err := Run(&ir.Call{Kernel: op.Kernel(0, ir.Float32), Space: space, Out: []ir.View{out}, In: in}); err != nil {
				t.Fatal(err)
			}
			if d := diff(want, cputest.Reals(out)); d != "" {
				t.Fatalf("%v of %v and %v %v: %s", space, in[1].Strides, in[2].Strides, in[2].DType, d)
			}
			if passed.Load() == 0 {
				t.Errorf("%v of %v and %v: nothing went past the caches", space, in[1].Strides, in[2].Strides)
			}
		}
	}
}

// TestBypassIndex checks that such tiles are told where they begin.
func TestBypassIndex(t *testing.T) {
	bypassFrom(t, 1)
	rng := rand.New(rand.NewPCG(3, 4))
	const n = 50000
	c := cputest.Fill(cputest.NewView(ir.Bool, "contiguous", n), rng, 0, 1)
	x := cputest.Fill(cputest.NewView(ir.Float32, "contiguous", n), rng, -9, -1)
	out := cputest.NewView(ir.Float32, "contiguous", n)
	want := cputest.Reals(x)
	for i := range want {
		if cputest.Get(c, i) == 0 {
			want[i] = float64(i)
		}
	}
	if err := Run(&ir.Call{Kernel: pickOp.Kernel(0, ir.Float32), Space: []int{n}, Out: []ir.View{out}, In: []ir.View{c, x}}); err != nil {
		t.Fatal(err)
	}
	if d := diff(want, cputest.Reals(out)); d != "" {
		t.Error(d)
	}
}

// TestBypassInPlace writes a result that is an operand past the caches.
func TestBypassInPlace(t *testing.T) {
	bypassFrom(t, 1)
	rng := rand.New(rand.NewPCG(4, 5))
	const n = 100000
	x := cputest.Fill(cputest.NewView(ir.Float32, "offset", n), rng, 0, 9)
	y := cputest.Fill(cputest.NewView(ir.Float32, "contiguous", n), rng, 0, 9)
	want := cputest.Reals(x)
	for i, v := range cputest.Reals(y) {
		want[i] += want[i] + v
	}
	if err := Run(&ir.Call{Kernel: axpy.Kernel(0, ir.Float32), Space: []int{n}, Out: []ir.View{x}, In: []ir.View{x, y}}); err != nil {
		t.Fatal(err)
	}
	if d := diff(want, cputest.Reals(x)); d != "" {
		t.Error(d)
	}
}

// TestGrid computes with views that are stored along different axes, in blocks that
// are whole and not.
func TestGrid(t *testing.T) {
	rng, times := rand.New(rand.NewPCG(5, 6)), 6
	if testing.Short() {
		times = 1
	}
	for _, space := range [][]int{{5, 40}, {40, 300}, {17, 257}, {300, 33}, {3, 50, 70}, {50, 3, 70}, {5, 6, 7, 40}, {20, 1100}, {2, 5000}, {2000, 3}, {4, 1, 300}} {
		for _, dtypes := range [][3]ir.DType{{ir.Float32, ir.Float32, ir.Float32}, {ir.Float16, ir.Float16, ir.Float32}, {ir.Float32, ir.Uint8, ir.Float64}, {ir.Float64, ir.Int64, ir.Int16}} {
			for range times {
				out := cputest.NewView(dtypes[0], []string{"contiguous", "transposed", "sliced"}[rng.IntN(3)], space...)
				x, y := randomView(rng, dtypes[1], space), randomView(rng, dtypes[2], space)
				what := fmt.Sprintf("%v %v: strides %v, %v, %v", space, dtypes, out.Strides, x.Strides, y.Strides)
				compute := ir.Float64
				if dtypes[0] != ir.Float64 {
					compute = ir.Float32
				}
				want := make([]complex128, out.NumElements())
				for i := range want {
					want[i] = 2*cputest.Get(x, i) + cputest.Get(y, i)
				}
				if err := Run(&ir.Call{Kernel: axpy.Kernel(0, compute), Space: space, Out: []ir.View{out}, In: []ir.View{x, y}}); err != nil {
					t.Fatal(err)
				}
				if d := diff(want, cputest.Values(out)); d != "" {
					t.Fatalf("%s: %s", what, d)
				}
			}
		}
	}
}

// randomView returns a view whose axes are in any order in memory, and some of them
// broadcast.
func randomView(rng *rand.Rand, dtype ir.DType, space []int) ir.View {
	order := rng.Perm(len(space))
	shape := make([]int, len(space))
	for i, a := range order {
		shape[i] = space[a]
	}
	m := cputest.Fill(cputest.NewView(dtype, "contiguous", shape...), rng, 0, 9)
	v := m
	v.Shape, v.Strides = space, make([]int, len(space))
	for i, a := range order {
		v.Strides[a] = m.Strides[i]
		if rng.IntN(4) == 0 {
			v.Strides[a] = 0
		}
	}
	return v
}

// TestGridIndex checks that rows are told where they begin.
func TestGridIndex(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for _, space := range [][]int{{40, 300}, {9, 2000}, {3, 50, 70}} {
		c := cputest.Fill(cputest.NewView(ir.Bool, "transposed", space...), rng, 0, 1)
		x := cputest.Fill(cputest.NewView(ir.Float32, "expanded", space...), rng, -9, -1)
		for _, layout := range []string{"contiguous", "transposed"} {
			out := cputest.NewView(ir.Float32, layout, space...)
			want := make([]float64, out.NumElements())
			for i := range want {
				if want[i] = float64(i); cputest.Get(c, i) != 0 {
					want[i] = real(cputest.Get(x, i))
				}
			}
			if err := Run(&ir.Call{Kernel: pickOp.Kernel(0, ir.Float32), Space: space, Out: []ir.View{out}, In: []ir.View{c, x}}); err != nil {
				t.Fatal(err)
			}
			if d := diff(want, cputest.Reals(out)); d != "" {
				t.Errorf("%v %s: %s", space, layout, d)
			}
		}
	}
}
