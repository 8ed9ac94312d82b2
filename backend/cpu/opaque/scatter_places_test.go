package opaque

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// dealtCases are few long rows of an index into axes of so many elements; reach is how many
// places of these are named.
var dealtCases = []struct{ rows, along, n, reach int }{
	{1, 64, 33000, 64}, {1, 5000, 40000, 5000}, {3, 1000, 32768, 1000}, {1, 200000, 50001, 200000}, {1, 100000, 40000, 1}, {2, 65537, 40000, 65537},
}

// TestScatterDealt: what is written to one place of a long row stays in order, to the bit,
// however many processors take part.
func TestScatterDealt(t *testing.T) {
	for k, procs := range []int{1, 2, 16} {
		old := runtime.GOMAXPROCS(procs)
		rng := newRand()
		for i, c := range dealtCases {
			if testing.Short() && (i+k)%3 != 0 {
				continue
			}
			index := filledIndex(rng, cputest.NewView(ir.Int64, "contiguous", c.rows, c.n), c.reach)
			x, src := random32(rng, c.rows, c.along), random32(rng, c.rows, c.n)
			if rng.IntN(2) == 0 {
				x = cputest.Expand(random32(rng, 1, 1), c.rows, c.along)
			}
			checkDealt(t, x, index, src)
			checkDealt(t, x, index, cputest.Expand(random32(rng, c.rows, 1), c.rows, c.n))
			checkDealt(t, x, index, apartRows(rng, c.rows, c.n))
		}
		runtime.GOMAXPROCS(old)
	}
}

// apartRows are rows whose elements lie two apart.
func apartRows(rng *rand.Rand, rows, n int) ir.View {
	v := random32(rng, rows, 2*n)
	v.Shape, v.Strides = []int{rows, n}, []int{2 * n, 2}
	return v
}

func checkDealt(t *testing.T, x, index, src ir.View) {
	t.Helper()
	rows, along, n := x.Shape[0], x.Shape[1], index.Shape[1]
	from, names, values := tile.Elements[float32](tile.Dense(x, ir.Float32)), tile.Elements[int64](index), tile.Elements[float32](tile.Dense(src, ir.Float32))
	checkAdded(t, x, names[:n], from, values)
	for _, o := range []struct {
		name  string
		f     ir.KernelFunc
		attrs []ir.Value
		with  func(a, v float32) float32
	}{
		{"Scatter", Scatter, []ir.Value{num(1)}, func(_, v float32) float32 { return v }},
		{"ScatterAdd", ScatterAdd, []ir.Value{num(1)}, func(a, v float32) float32 { return a + v }},
		{"ScatterProd", ScatterProd, []ir.Value{num(1), flag(true)}, func(a, v float32) float32 { return a * v }},
		{"ScatterMin", ScatterMin, []ir.Value{num(1), flag(true)}, func(a, v float32) float32 { return min(a, v) }},
	} {
		dst := cputest.NewView(ir.Float32, "contiguous", rows, along)
		must(t, o.f, call(ir.Float32, o.attrs, []ir.View{dst}, x, index, src))
		want := append([]float32(nil), from...)
		for i, v := range values {
			at := i/n*along + int(names[i])
			want[at] = o.with(want[at], v)
		}
		for i, v := range tile.Elements[float32](dst) {
			if v != want[i] && (v == v || want[i] == want[i]) {
				t.Fatalf("%s of %v by %v on %d processors, element %d: %g, want %g", o.name, x.Shape, index.Shape, runtime.GOMAXPROCS(0), i, v, want[i])
			}
		}
	}
}

// checkAdded adds columns to those of x that names has: slices of one element.
func checkAdded(t *testing.T, x ir.View, names []int64, from, values []float32) {
	t.Helper()
	rows, along, n := x.Shape[0], x.Shape[1], len(names)
	index, src := cputest.NewView(ir.Int64, "contiguous", n), cputest.NewView(ir.Float32, "contiguous", rows, n)
	copy(tile.Elements[int64](index), names)
	copy(tile.Elements[float32](src), values)
	dst, want := cputest.NewView(ir.Float32, "contiguous", rows, along), append([]float32(nil), from...)
	must(t, IndexAdd, call(ir.Float32, []ir.Value{num(1)}, []ir.View{dst}, x, index, src))
	for i, v := range values {
		want[i/n*along+int(names[i%n])] += v
	}
	for i, v := range tile.Elements[float32](dst) {
		if v != want[i] {
			t.Fatalf("IndexAdd of %v by %d on %d processors, element %d: %g, want %g", x.Shape, n, runtime.GOMAXPROCS(0), i, v, want[i])
		}
	}
}
