package opaque

import (
	"math"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

var orderedDTypes = []ir.DType{ir.Uint8, ir.Int8, ir.Int16, ir.Int32, ir.Int64, ir.Float16, ir.BFloat16, ir.Float32, ir.Float64}

// special fills v with small numbers and, for floats, zeros of both signs,
// infinities and NaN.
func special(v ir.View, rng *rand.Rand) ir.View {
	cputest.Fill(v, rng, 0, 1)
	for i := range v.NumElements() {
		x := float64(rng.IntN(9) - 4)
		if v.DType == ir.Uint8 || v.DType == ir.Bool {
			x = math.Abs(x)
		}
		if v.DType.IsFloat() {
			switch rng.IntN(12) {
			case 0:
				x = math.NaN()
			case 1:
				x = math.Inf(1)
			case 2:
				x = math.Inf(-1)
			case 3:
				x = math.Copysign(0, -1)
			}
		}
		cputest.Set(v, i, complex(x, 0))
	}
	return v
}

// before reports a < b with NaN above all numbers.
func before(a, b float64) bool { return a < b || a == a && b != b }

func TestSort(t *testing.T) {
	rng := newRand()
	for _, dtype := range append([]ir.DType{ir.Bool}, orderedDTypes...) {
		for _, c := range []struct {
			shape []int
			axis  int
		}{{[]int{7}, 0}, {[]int{3, 5}, 1}, {[]int{2, 40, 3}, -2}, {[]int{}, 0}, {[]int{0, 3}, 0}, {[]int{3, 0}, 0}, {[]int{1000}, 0}, {[]int{300, 4}, 0}} {
			for _, descending := range []bool{false, true} {
				x := special(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng)
				values := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.shape...)
				index := cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), c.shape...)
				must(t, Sort, call(dtype, []ir.Value{num(c.axis), flag(descending)}, []ir.View{values, index}, x))
				checkSorted(t, x, values, index, front(c.axis, c.shape), descending)
			}
		}
	}
}

// checkSorted checks that every line of values is x's line in the order of
// index, that neighbours are in order, and equal ones in the order they were in.
func checkSorted(t *testing.T, x, values, index ir.View, axis int, descending bool) {
	t.Helper()
	for i := range x.NumElements() {
		p := coords(x.Shape, i)
		from := real(cputest.Get(index, i))
		q := append([]int(nil), p...)
		if len(q) > 0 {
			q[axis] = int(from)
		}
		v := real(cputest.Get(values, i))
		if w := real(cputest.Get(x, at(x.Shape, q...))); math.Float64bits(v) != math.Float64bits(w) {
			t.Fatalf("%s %v: value %v at %v, x has %v at %v", x.DType, x.Shape, v, p, w, q)
		}
		if len(p) == 0 || p[axis] == 0 {
			continue
		}
		p[axis]--
		u, uFrom := real(cputest.Get(values, at(x.Shape, p...))), real(cputest.Get(index, at(x.Shape, p...)))
		lo, hi := u, v
		if descending {
			lo, hi = v, u
		}
		if before(hi, lo) || !before(lo, hi) && uFrom >= from {
			t.Fatalf("%s %v descending %v: %v (from %v) before %v (from %v)", x.DType, x.Shape, descending, u, uFrom, v, from)
		}
	}
}

func TestSortExtremes(t *testing.T) {
	big := cputest.NewView(ir.Int64, "contiguous", 3)
	for i, v := range []float64{math.MinInt64, 5, -7} {
		cputest.Set(big, i, complex(v, 0))
	}
	values, index := cputest.NewView(ir.Int64, "contiguous", 3), cputest.NewView(ir.Int64, "contiguous", 3)
	must(t, Sort, call(ir.Int64, []ir.Value{num(0), flag(false)}, []ir.View{values, index}, big))
	checkExact(t, "int64", index, []complex128{0, 2, 1})
}

func TestSearchSorted(t *testing.T) {
	rng := newRand()
	for _, dtype := range orderedDTypes {
		for _, c := range []struct{ sorted, values []int }{
			{[]int{9}, []int{2, 3}}, {[]int{0}, []int{4}}, {[]int{5}, []int{}}, {[]int{2, 7}, []int{2, 400}}, {[]int{2, 3, 4}, []int{2, 3, 5}}, {[]int{3, 4}, []int{3, 0}},
		} {
			for _, right := range []bool{false, true} {
				sorted := special(cputest.NewView(dtype, anyOf(rng, resultLayouts), c.sorted...), rng)
				lines := sorted.NumElements() / max(1, c.sorted[len(c.sorted)-1])
				row := c.sorted[len(c.sorted)-1]
				for l := range lines {
					for i := range row {
						for j := i; j > 0; j-- {
							a, b := cputest.Get(sorted, l*row+j-1), cputest.Get(sorted, l*row+j)
							if before(real(b), real(a)) {
								cputest.Set(sorted, l*row+j-1, b)
								cputest.Set(sorted, l*row+j, a)
							}
						}
					}
				}
				values := special(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.values...), rng)
				dst := cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), c.values...)
				must(t, SearchSorted, call(dtype, []ir.Value{flag(right)}, []ir.View{dst}, sorted, values))
				want := make([]complex128, dst.NumElements())
				for i := range want {
					line, v := 0, real(cputest.Get(values, i))
					if len(c.sorted) > 1 {
						line = i / c.values[len(c.values)-1]
					}
					for j := range row {
						s := real(cputest.Get(sorted, line*row+j))
						if before(s, v) || right && !before(v, s) {
							want[i]++
						}
					}
				}
				checkExact(t, dtype.String(), dst, want)
			}
		}
	}
}

func TestArg(t *testing.T) {
	rng := newRand()
	for _, dtype := range orderedDTypes {
		for _, c := range []struct {
			shape []int
			dims  []int
		}{{[]int{7}, nil}, {[]int{3, 4}, nil}, {[]int{3, 4}, []int{0}}, {[]int{3, 40}, []int{-1}}, {[]int{2, 5, 3}, []int{1}}, {[]int{}, nil}, {[]int{}, []int{0}}, {[]int{70000}, nil}, {[]int{0, 3}, []int{1}}} {
			for _, smallest := range []bool{false, true} {
				x := special(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng)
				kept := append([]int(nil), c.shape...)
				for a := range kept {
					if c.dims == nil || front(c.dims[0], c.shape) == a {
						kept[a] = 1
					}
				}
				dst := cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), kept...)
				f := ArgMax
				if smallest {
					f = ArgMin
				}
				must(t, f, call(dtype, []ir.Value{ints(c.dims...), flag(true)}, []ir.View{dst}, x))
				want := make([]complex128, dst.NumElements())
				found := make([]bool, len(want))
				best := make([]float64, len(want))
				for i := range x.NumElements() {
					p := coords(c.shape, i)
					q, n := make([]int, len(p)), i
					for a := range p {
						if q[a] = p[a]; kept[a] == 1 {
							q[a] = 0
						}
					}
					if c.dims != nil && len(p) > 0 {
						n = p[front(c.dims[0], c.shape)]
					}
					k, v := at(kept, q...), real(cputest.Get(x, i))
					better := before(best[k], v)
					if smallest {
						better = v < best[k] || v != v && best[k] == best[k]
					}
					if !found[k] || better {
						want[k], best[k], found[k] = complex(float64(n), 0), v, true
					}
				}
				checkExact(t, dtype.String(), dst, want)
			}
		}
	}
	empty := cputest.NewView(ir.Float32, "contiguous", 3, 0)
	if err := ArgMax(call(ir.Float32, []ir.Value{ints(1), flag(false)}, []ir.View{cputest.NewView(ir.Int64, "contiguous", 3)}, empty)); err == nil {
		t.Error("ArgMax of no elements: no error")
	}
}

// TestSortFirst compares with Sort, in whose results the same elements come first.
func TestSortFirst(t *testing.T) {
	rng := newRand()
	for _, dtype := range append([]ir.DType{ir.Bool}, orderedDTypes...) {
		for _, c := range []struct {
			shape []int
			axis  int
			ks    []int
		}{
			{[]int{7}, 0, []int{1, 3, 7}}, {[]int{3, 5}, 1, []int{2}}, {[]int{2, 40, 3}, -2, []int{1, 5, 39}}, {[]int{}, 0, []int{1}},
			{[]int{5000}, 0, []int{1, 10, 600, 624, 4999}}, {[]int{3, 3000, 2}, 1, []int{4, 300}}, {[]int{0, 3}, 1, []int{2}}, {[]int{4, 3}, 0, []int{0}},
		} {
			for _, k := range c.ks {
				for d, descending := range []bool{false, true} {
					if testing.Short() && (k+d+int(dtype))%2 != 0 {
						continue
					}
					x := special(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng)
					checkFirst(t, rng, x, front(c.axis, c.shape), k, descending)
				}
			}
		}
	}
}

// TestSortFirstOfLongLines: lines that workers divide, and lines whose every element
// comes before those so far.
func TestSortFirstOfLongLines(t *testing.T) {
	rng := newRand()
	for _, p := range []int{1, 3} {
		old := runtime.GOMAXPROCS(p)
		for _, dtype := range []ir.DType{ir.Float32, ir.Int64} {
			x := cputest.NewView(dtype, "contiguous", 3*selectPiece+5)
			for i := range x.NumElements() {
				cputest.Set(x, i, complex(float64(rng.IntN(1000)), 0))
			}
			checkFirst(t, rng, x, 0, 700, false)
			for i := range x.NumElements() {
				cputest.Set(x, i, complex(float64(i/3), 0))
			}
			checkFirst(t, rng, x, 0, 20, true)
		}
		runtime.GOMAXPROCS(old)
	}
}

// checkFirst compares the first k elements of x along an axis with what Sort gives.
func checkFirst(t *testing.T, rng *rand.Rand, x ir.View, axis, k int, descending bool) {
	t.Helper()
	shape := append([]int(nil), x.Shape...)
	if len(shape) > 0 {
		shape[axis] = k
	}
	values, index := cputest.NewView(x.DType, anyOf(rng, resultLayouts), shape...), cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), shape...)
	must(t, SortFirst, call(x.DType, []ir.Value{num(axis), num(k), flag(descending)}, []ir.View{values, index}, x))
	allValues, allIndex := cputest.NewView(x.DType, "contiguous", x.Shape...), cputest.NewView(ir.Int64, "contiguous", x.Shape...)
	must(t, Sort, call(x.DType, []ir.Value{num(axis), flag(descending)}, []ir.View{allValues, allIndex}, x))
	for i := range values.NumElements() {
		j := at(x.Shape, coords(shape, i)...)
		got, want := real(cputest.Get(values, i)), real(cputest.Get(allValues, j))
		if math.Float64bits(got) != math.Float64bits(want) || cputest.Get(index, i) != cputest.Get(allIndex, j) {
			t.Fatalf("%s %v, first %d, descending %v: element %d is %v from %v, want %v from %v",
				x.DType, x.Shape, k, descending, i, got, cputest.Get(index, i), want, cputest.Get(allIndex, j))
		}
	}
}
