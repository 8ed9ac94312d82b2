package opaque

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestCumulativeExtreme looks for each element through all before it.
func TestCumulativeExtreme(t *testing.T) {
	rng := newRand()
	for d, dtype := range append([]ir.DType{ir.Bool}, orderedDTypes...) {
		for i, c := range []struct {
			shape []int
			axis  int
		}{{[]int{7}, 0}, {[]int{3, 5}, 1}, {[]int{2, 40, 3}, -2}, {[]int{}, 0}, {[]int{0, 3}, 0}, {[]int{3, 0}, 0}, {[]int{1, 300}, 1}, {[]int{30, 70}, 0}} {
			if brief.Skip(d, i) {
				continue
			}
			for _, smallest := range []bool{false, true} {
				x := special(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), c.shape...), rng)
				values := cputest.NewView(dtype, anyOf(rng, resultLayouts), c.shape...)
				index := cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), c.shape...)
				must(t, CumulativeExtreme, call(dtype, []ir.Value{num(c.axis), flag(smallest)}, []ir.View{values, index}, x))
				checkPrefixes(t, x, values, index, front(c.axis, c.shape), smallest)
			}
		}
	}
}

// checkPrefixes checks that no element up to each is better than its value, which is
// that at its index, and that none as good comes behind that.
func checkPrefixes(t *testing.T, x, values, index ir.View, axis int, smallest bool) {
	t.Helper()
	for i := range x.NumElements() {
		p := coords(x.Shape, i)
		element := func(k int) float64 {
			q := append([]int(nil), p...)
			if len(q) > 0 {
				q[axis] = k
			}
			return real(cputest.Get(x, at(x.Shape, q...)))
		}
		last := 0
		if len(p) > 0 {
			last = p[axis]
		}
		from, v := int(real(cputest.Get(index, i))), real(cputest.Get(values, i))
		if from < 0 || from > last || math.Float64bits(v) != math.Float64bits(element(from)) {
			t.Fatalf("%s %v: value %v from %d at %v", x.DType, x.Shape, v, from, p)
		}
		for k := range last + 1 {
			u := element(k)
			better := u != u && v == v || u > v
			if smallest {
				better = u != u && v == v || u < v
			}
			if equal := u == v || u != u && v != v; better || equal && k > from {
				t.Fatalf("%s %v smallest %v: %v from %d at %v, where %d has %v", x.DType, x.Shape, smallest, v, from, p, k, u)
			}
		}
	}
}

// TestFrexp puts numbers together again, and knows those that are not put apart.
func TestFrexp(t *testing.T) {
	rng := newRand()
	for _, dtype := range []ir.DType{ir.Float16, ir.BFloat16, ir.Float32, ir.Float64} {
		x := special(cputest.NewView(dtype, anyOf(rng, cputest.Layouts), 3, 700), rng)
		for i := range x.NumElements() / 2 {
			cputest.Set(x, i, complex(math.Ldexp(rng.Float64()-0.5, rng.IntN(2200)-1120), 0))
		}
		mantissa := cputest.NewView(dtype, anyOf(rng, resultLayouts), 3, 700)
		exponent := cputest.NewView(ir.Int64, anyOf(rng, resultLayouts), 3, 700)
		must(t, Frexp, call(dtype.Compute(), nil, []ir.View{mantissa, exponent}, x))
		for i := range x.NumElements() {
			v, m, e := real(cputest.Get(x, i)), real(cputest.Get(mantissa, i)), real(cputest.Get(exponent, i))
			whole := v == 0 || math.IsInf(v, 0) || v != v
			if v == v && math.Ldexp(m, int(e)) != v || math.Signbit(m) != math.Signbit(v) || v != v && m == m {
				t.Errorf("%s: %v is %v and %v", dtype, v, m, e)
			}
			if a := math.Abs(m); whole && e != 0 || !whole && (a < 0.5 || a >= 1) {
				t.Errorf("%s: mantissa %v and exponent %v of %v", dtype, m, e, v)
			}
		}
	}
}
