package exec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/ir"
)

// streamFrom makes the test's calls stream results from so many bytes on, however
// slow their loops are.
func streamFrom(t *testing.T, bytes int) {
	before, usual := lastCache, plan
	lastCache = func() int { return bytes }
	plan.rate = 0
	t.Cleanup(func() { lastCache, plan = before, usual })
}

// TestStream computes results past the caches that begin and end anywhere, in tiles
// of several sizes.
func TestStream(t *testing.T) {
	if simd.Active() == simd.Portable {
		t.Skip("nothing is streamed without vectors")
	}
	streamFrom(t, 1)
	usual := plan
	rng := rand.New(rand.NewPCG(1, 2))
	for _, plan = range []streamPlan{usual, {quick: streaming{512, 0, 2}}, {quick: streaming{1024, 1 << 20, 4}}, {rate: math.Inf(1), slow: streaming{64, 64, 1}}} {
		for _, dtype := range []ir.DType{ir.Uint8, ir.Int16, ir.Float32, ir.Float64, ir.Complex128} {
			for _, space := range [][]int{{20000}, {9000}, {16384}, {33, 1000}, {3, 9000}} {
				lo := rng.IntN(40)
				n := ir.NumElements(space)
				all := cputest.NewView(dtype, "contiguous", n+lo+40)
				before := cputest.Values(all)
				out := all
				out.Ptr = unsafe.Add(out.Ptr, lo*dtype.Size())
				out.Shape, out.Strides = space, ir.ContiguousStrides(space)
				x := cputest.Fill(cputest.NewView(dtype, "contiguous", space...), rng, 0, 9)
				y := cputest.Fill(cputest.NewView(dtype, []string{"contiguous", "expanded", "offset"}[rng.IntN(3)], space...), rng, 0, 9)
				if err := Run(&ir.Call{Op: &axpy, Compute: dtype, Space: space, Out: []ir.View{out}, In: []ir.View{x, y}}); err != nil {
					t.Fatal(err)
				}
				for i := range n {
					before[lo+i] = 2*cputest.Get(x, i) + cputest.Get(y, i)
				}
				if d := diff(before, cputest.Values(all)); d != "" {
					t.Fatalf("%s %v from %d, %+v: %s", dtype, space, lo, plan, d)
				}
			}
		}
	}
}

// TestStreamIndex checks that streamed tiles are told where they begin.
func TestStreamIndex(t *testing.T) {
	streamFrom(t, 1)
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
	if err := Run(&ir.Call{Op: &pickOp, Compute: ir.Float32, Space: []int{n}, Out: []ir.View{out}, In: []ir.View{c, x}}); err != nil {
		t.Fatal(err)
	}
	if d := diff(want, cputest.Reals(out)); d != "" {
		t.Error(d)
	}
}

// TestStreamInPlace streams a result that is an operand.
func TestStreamInPlace(t *testing.T) {
	streamFrom(t, 1)
	rng := rand.New(rand.NewPCG(4, 5))
	const n = 100000
	x := cputest.Fill(cputest.NewView(ir.Float32, "offset", n), rng, 0, 9)
	y := cputest.Fill(cputest.NewView(ir.Float32, "contiguous", n), rng, 0, 9)
	want := cputest.Reals(x)
	for i, v := range cputest.Reals(y) {
		want[i] += want[i] + v
	}
	if err := Run(&ir.Call{Op: &axpy, Compute: ir.Float32, Space: []int{n}, Out: []ir.View{x}, In: []ir.View{x, y}}); err != nil {
		t.Fatal(err)
	}
	if d := diff(want, cputest.Reals(x)); d != "" {
		t.Error(d)
	}
}

// TestGrid computes with views that are stored along different axes, in blocks that
// are whole and not.
func TestGrid(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, space := range [][]int{{5, 40}, {40, 300}, {17, 257}, {300, 33}, {3, 50, 70}, {50, 3, 70}, {5, 6, 7, 40}, {20, 1100}, {2, 5000}, {2000, 3}, {4, 1, 300}} {
		for _, dtypes := range [][3]ir.DType{{ir.Float32, ir.Float32, ir.Float32}, {ir.Float16, ir.Float16, ir.Float32}, {ir.Float32, ir.Uint8, ir.Float64}, {ir.Float64, ir.Int64, ir.Int16}} {
			for range 6 {
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
				if err := Run(&ir.Call{Op: &axpy, Compute: compute, Space: space, Out: []ir.View{out}, In: []ir.View{x, y}}); err != nil {
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
			if err := Run(&ir.Call{Op: &pickOp, Compute: ir.Float32, Space: space, Out: []ir.View{out}, In: []ir.View{c, x}}); err != nil {
				t.Fatal(err)
			}
			if d := diff(want, cputest.Reals(out)); d != "" {
				t.Errorf("%v %s: %s", space, layout, d)
			}
		}
	}
}
