package opaque

import (
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// indexCases are shapes of x, index and src, and an axis.
var indexCases = []struct {
	x, index, src []int
	axis          int
}{
	{[]int{3, 4}, []int{2, 4}, []int{2, 4}, 0}, {[]int{3, 4, 2}, []int{2, 5, 2}, []int{3, 6, 2}, 1}, {[]int{3}, []int{0}, []int{2}, 0},
	{[]int{5, 4}, []int{3, 9}, []int{4, 9}, -1}, {[]int{}, []int{}, []int{}, 0}, {[]int{20, 300}, []int{70, 300}, []int{70, 300}, 0},
	{[]int{30, 3, 20}, []int{25, 5, 20}, []int{25, 5, 20}, 1}, {[]int{4, 4}, []int{4, 0}, []int{4, 4}, 1}, {[]int{0, 4}, []int{0, 2}, []int{0, 2}, 1},
	{[]int{6, 40}, []int{9, 40}, []int{9, 40}, 0}, {[]int{3, 4, 50}, []int{3, 6, 50}, []int{3, 7, 60}, 1}, {[]int{2, 3, 1100}, []int{2, 7, 1100}, []int{2, 7, 1100}, 1},
	{[]int{6, 40}, []int{0, 40}, []int{0, 40}, 0}, {[]int{6, 40}, []int{4, 33}, []int{5, 40}, 0},
}

// newIndex returns an index of a shape into an axis of n elements, in any layout: one
// is a list along the axis, expanded over the others.
func newIndex(rng *rand.Rand, shape []int, axis, n int) ir.View {
	if len(shape) == 0 || rng.IntN(3) > 0 {
		return filledIndex(rng, cputest.NewView(ir.Int64, anyOf(rng, cputest.Layouts), shape...), n)
	}
	list := slices.Repeat([]int{1}, len(shape))
	list[axis] = shape[axis]
	return cputest.Expand(filledIndex(rng, cputest.NewView(ir.Int64, anyOf(rng, cputest.Layouts), list...), n), shape...)
}

func filledIndex(rng *rand.Rand, index ir.View, n int) ir.View {
	if index.NumElements() > 0 {
		cputest.Fill(index, rng, 0, n-1)
	}
	return index
}

func front(axis int, shape []int) int {
	if axis < 0 {
		return axis + len(shape)
	}
	return axis
}

// target returns the place in x that place i of the index names.
func target(x, index ir.View, axis, i int) int {
	if len(x.Shape) == 0 {
		return 0
	}
	c := coords(index.Shape, i)
	c[axis] = int(real(cputest.Get(index, i)))
	return at(x.Shape, c...)
}

// wrapped returns a sum as an integer dtype holds it.
func wrapped(dtype ir.DType, v complex128) complex128 {
	switch dtype {
	case ir.Uint8:
		return complex(float64(uint8(int64(real(v)))), 0)
	case ir.Int8:
		return complex(float64(int8(int64(real(v)))), 0)
	case ir.Int16:
		return complex(float64(int16(int64(real(v)))), 0)
	}
	return v
}

func TestGather(t *testing.T) {
	rng := newRand()
	for _, dtype := range ir.ClassAll.List() {
		for _, c := range indexCases {
			for _, layout := range someLayouts(rng) {
				x := cputest.Fill(cputest.NewView(dtype, layout, c.x...), rng, 0, 1)
				axis := front(c.axis, c.x)
				_, along, _ := around(c.x, axis)
				index := newIndex(rng, c.index, axis, along)
				dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.index...)
				must(t, Gather, call(dtype, []ir.Value{num(c.axis)}, []ir.View{dst}, x, index))
				want := make([]complex128, dst.NumElements())
				for i := range want {
					want[i] = cputest.Get(x, target(x, index, axis, i))
				}
				checkExact(t, dtype.String()+" "+layout, dst, want)
			}
		}
	}
}

// TestScatter: columns are shared among processors, so it is tried with few and
// with many.
func TestScatter(t *testing.T) {
	counts := []int{1, 3, 16}
	if testing.Short() {
		counts = counts[1:2]
	}
	for _, procs := range counts {
		old := runtime.GOMAXPROCS(procs)
		testScatter(t)
		runtime.GOMAXPROCS(old)
	}
}

func testScatter(t *testing.T) {
	rng := newRand()
	for _, add := range []bool{false, true} {
		for _, dtype := range ir.ClassAll.List() {
			if add && dtype == ir.Bool {
				continue
			}
			for _, c := range indexCases {
				for _, layout := range someLayouts(rng) {
					x := cputest.Fill(cputest.NewView(dtype, layout, c.x...), rng, 0, 1)
					axis := front(c.axis, c.x)
					_, along, _ := around(c.x, axis)
					index := newIndex(rng, c.index, axis, along)
					src := cputest.Fill(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.src...), rng, 0, 1)
					if !add && rng.IntN(4) == 0 {
						src = cputest.From(ir.Float64, nil, 1) // a number is kept wide
					}
					dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.x...)
					f := Scatter
					if add {
						f = ScatterAdd
					}
					must(t, f, call(dtype, []ir.Value{num(c.axis)}, []ir.View{dst}, x, index, src))
					want := cputest.Values(x)
					for i := range index.NumElements() {
						v := cputest.Get(src, 0)
						if len(src.Shape) > 0 {
							v = cputest.Get(src, at(src.Shape, coords(c.index, i)...))
						}
						if add {
							want[target(x, index, axis, i)] += v
						} else {
							want[target(x, index, axis, i)] = v
						}
					}
					for i := range want {
						want[i] = wrapped(dtype, want[i])
					}
					checkExact(t, dtype.String()+" "+layout, dst, want)
				}
			}
		}
	}
}

func TestIndexSelectAndAdd(t *testing.T) {
	rng := newRand()
	for _, dtype := range ir.ClassAll.List() {
		for _, c := range []struct {
			shape   []int
			axis, n int
			padded  bool // neighbours are neighbours in x too, but for the edges
		}{
			{shape: []int{3, 4}, n: 5}, {shape: []int{3, 4, 2}, axis: -1, n: 2}, {shape: []int{3, 4}, axis: 1}, {shape: []int{}, n: 1},
			{shape: []int{20, 130}, n: 70}, {shape: []int{2, 3, 1100}, axis: 1, n: 4}, {shape: []int{4, 0}, n: 3},
			{shape: []int{20, 30}, axis: 1, n: 34, padded: true}, {shape: []int{4, 5, 40, 3}, axis: 2, n: 50, padded: true}, {shape: []int{3, 40}, axis: 1, n: 44, padded: true},
		} {
			for _, layout := range someLayouts(rng) {
				x := cputest.Fill(cputest.NewView(dtype, layout, c.shape...), rng, 0, 1)
				axis := front(c.axis, c.shape)
				shape, n := append([]int(nil), c.shape...), 1
				if len(shape) > 0 {
					n = shape[axis]
					shape[axis] = c.n
				}
				index := cputest.Fill(cputest.NewView(ir.Int64, layout, c.n), rng, 0, n-1)
				for i := range c.n {
					if c.padded {
						cputest.Set(index, i, complex(float64(min(max(i-2, 0), n-1)), 0))
					}
				}
				dst := cputest.NewView(dtype, anyOf(rng, resultLayouts), shape...)
				must(t, IndexSelect, call(dtype, []ir.Value{num(c.axis)}, []ir.View{dst}, x, index))
				want := make([]complex128, dst.NumElements())
				place := func(i int) int {
					p := coords(shape, i)
					if len(p) > 0 {
						p[axis] = int(real(cputest.Get(index, p[axis])))
					}
					return at(c.shape, p...)
				}
				for i := range want {
					want[i] = cputest.Get(x, place(i))
				}
				checkExact(t, dtype.String()+" select", dst, want)
				if dtype == ir.Bool {
					continue
				}
				src := cputest.Fill(cputest.NewView(dtype, layout, shape...), rng, 0, 1)
				sum := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.shape...)
				must(t, IndexAdd, call(dtype, []ir.Value{num(c.axis)}, []ir.View{sum}, x, index, src))
				want = cputest.Values(x)
				for i := range src.NumElements() {
					want[place(i)] = wrapped(dtype, want[place(i)]+cputest.Get(src, i))
				}
				checkExact(t, dtype.String()+" add", sum, want)
			}
		}
	}
}

// TestAddRoundsOnce adds numbers to a 16-bit float that would be lost one by one.
func TestAddRoundsOnce(t *testing.T) {
	x, ones := cputest.From(ir.Float16, []int{1}, 2048), make([]float64, 64)
	for i := range ones {
		ones[i] = 1
	}
	src, index := cputest.From(ir.Float16, []int{64}, ones...), cputest.From(ir.Int64, []int{64}, make([]float64, 64)...)
	for name, f := range map[string]ir.KernelFunc{"ScatterAdd": ScatterAdd, "IndexAdd": IndexAdd} {
		dst := cputest.NewView(ir.Float16, "contiguous", 1)
		must(t, f, call(ir.Float16, []ir.Value{num(0)}, []ir.View{dst}, x, index, src))
		checkExact(t, name, dst, []complex128{2112})
	}
}

func TestIndexOutOfRange(t *testing.T) {
	for name, f := range map[string]ir.KernelFunc{"Gather": Gather, "Scatter": Scatter, "ScatterAdd": ScatterAdd, "IndexSelect": IndexSelect, "IndexAdd": IndexAdd} {
		for _, bad := range []float64{3, -1, 1 << 40} {
			x := cputest.From(ir.Float32, []int{3}, 1, 2, 3)
			index := cputest.From(ir.Int64, []int{3}, 0, bad, 1)
			dst := cputest.From(ir.Float32, []int{3}, 7, 8, 9)
			err := f(call(ir.Float32, []ir.Value{num(0)}, []ir.View{dst}, x, index, x))
			if err == nil || !strings.Contains(err.Error(), "at position [1] is out of range for axis 0 with 3 elements (want 0 to 2)") {
				t.Errorf("%s: %v", name, err)
			}
			checkExact(t, name, dst, []complex128{7, 8, 9})
		}
		x, index := cputest.From(ir.Float32, []int{2}, 1, 2), cputest.From(ir.Int64, []int{2}, 0, 1)
		if err := f(call(ir.Float32, []ir.Value{num(1)}, []ir.View{x}, x, index, x)); err == nil {
			t.Errorf("%s: no error for axis 1 of rank 1", name)
		}
	}
}

// TestFirstOutside: of many elements that are no index the first is named, however many
// look for it.
func TestFirstOutside(t *testing.T) {
	index := make([]int64, 5*checkWork)
	for _, bad := range [][]int{nil, {0}, {3 * checkWork, 4*checkWork + 1}, {checkWork - 1, 2 * checkWork}, {len(index) - 1}} {
		clear(index)
		want := len(index)
		for i, at := range bad {
			index[at] = []int64{-1, 7}[i%2]
			want = min(want, at)
		}
		if got := firstOutside(index, 7); got != want {
			t.Errorf("%v are outside: the first is %d, want %d", bad, got, want)
		}
	}
}
