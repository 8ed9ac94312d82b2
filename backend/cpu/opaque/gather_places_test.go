package opaque

import (
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// placeCases are slices along axis 1 of three axes that are shared by places where there
// are 16 processors: more names than places, fewer, wide slices, one place for all, narrow
// slices.
var placeCases = []struct {
	outer, along, inner, n int
	only                   bool // the last place
}{
	{1, 40, 300, 120, false}, {3, 500, 64, 90, false}, {1, 7, 2100, 31, false}, {2, 9, 1024, 12, true}, {5, 2000, 16, 450, false},
	{2, 3000, 3, 5000, false}, {1, 400, 1, 20000, false}, {1, 9000, 1, 40000, false}, {1, 300, 15, 3000, true},
}

// TestSlicesByPlace: what slices named twice write stays in order, to the bit, however
// many processors take part.
func TestSlicesByPlace(t *testing.T) {
	for _, procs := range []int{1, 2, 16} {
		old := runtime.GOMAXPROCS(procs)
		rng, shared := newRand(), 0
		for _, c := range placeCases {
			if (&slicing{outer: c.outer, along: c.along, inner: c.inner, index: make([]int64, c.n)}).byPlaces() {
				shared++
			}
			list := filledIndex(rng, cputest.NewView(ir.Int64, "contiguous", 1, c.n, 1), c.along)
			if c.only {
				cputest.Fill(list, rng, c.along-1, c.along-1)
			}
			checkByPlace(t, rng, list, c.outer, c.along, c.inner)
		}
		if procs == 16 && shared != len(placeCases) {
			t.Errorf("%d of %d cases are shared by places", shared, len(placeCases))
		}
		runtime.GOMAXPROCS(old)
	}
}

// checkByPlace writes slices that list names by every operator that does so, and one by one.
func checkByPlace(t *testing.T, rng *rand.Rand, list ir.View, outer, along, inner int) {
	t.Helper()
	n := list.Shape[1]
	x, src := random32(rng, outer, along, inner), random32(rng, outer, n, inner)
	one, names := ir.View{Ptr: list.Ptr, DType: list.DType, Shape: []int{n}, Strides: []int{1}}, tile.Elements[int64](list)
	wide := cputest.Expand(list, outer, n, inner)
	axis, self := num(1), ir.Value{Int: 1}
	put := func(_, v float32) float32 { return v }
	add := func(a, v float32) float32 { return a + v }
	for _, o := range []struct {
		name  string
		f     ir.KernelFunc
		attrs []ir.Value
		index ir.View
		with  func(a, v float32) float32
	}{
		{"Scatter", Scatter, []ir.Value{axis}, wide, put}, {"ScatterAdd", ScatterAdd, []ir.Value{axis}, wide, add},
		{"IndexAdd", IndexAdd, []ir.Value{axis}, one, add},
		{"ScatterMax", ScatterMax, []ir.Value{axis, self}, wide, func(a, v float32) float32 { return max(a, v) }},
	} {
		dst := cputest.NewView(ir.Float32, "contiguous", outer, along, inner)
		must(t, o.f, call(ir.Float32, o.attrs, []ir.View{dst}, x, o.index, src))
		want, from := append([]float32(nil), tile.Elements[float32](x)...), tile.Elements[float32](src)
		for i, v := range from {
			at := (i/(n*inner)*along+int(names[i/inner%n]))*inner + i%inner
			want[at] = o.with(want[at], v)
		}
		for i, v := range tile.Elements[float32](dst) {
			if v != want[i] {
				t.Fatalf("%s of %v by %d names, element %d: %g, want %g", o.name, x.Shape, n, i, v, want[i])
			}
		}
	}
}

// random32 returns float32 numbers whose sums depend on the order.
func random32(rng *rand.Rand, shape ...int) ir.View {
	v := cputest.NewView(ir.Float32, "contiguous", shape...)
	for i := range tile.Elements[float32](v) {
		tile.Elements[float32](v)[i] = float32(rng.NormFloat64())
	}
	return v
}
