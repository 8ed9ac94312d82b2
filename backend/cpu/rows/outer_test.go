package rows

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/tests/brief"
)

func testOuter[T Float](t *testing.T, f *Funcs[T]) {
	if f.softmax == nil {
		if f.Outer("x + y", true) != nil {
			t.Error("a function without assembly")
		}
		return
	}
	rng, size := rand.New(rand.NewPCG(11, 12)), int(unsafe.Sizeof(T(0)))
	for _, c := range []struct {
		expr string
		of   func(x, y T) T
	}{
		{"x + y", func(x, y T) T { return x + y }}, {"y + x", func(x, y T) T { return x + y }}, {"x*y", func(x, y T) T { return x * y }}, {"y*x", func(x, y T) T { return x * y }},
		{"x - y", func(x, y T) T { return x - y }}, {"y - x", func(x, y T) T { return y - x }}, {"x/y", func(x, y T) T { return x / y }}, {"y/x", func(x, y T) T { return y / x }},
	} {
		for _, second := range []bool{false, true} {
			for n := range 301 {
				if n > 40 && brief.Skip(n) {
					continue
				}
				const rows, gap, step = 3, 2, 2
				x, one := make([]T, rows*(n+gap)), make([]T, rows*step)
				fill(x, rng, 3)
				fill(one, rng, 3)
				if n > 9 {
					x[n/2], x[n/3], x[0], one[step] = T(math.Inf(1)), T(math.NaN()), 0, 0
				}
				out, check := guarded[T](t, rows*n)
				to := f.Outer(c.expr, second)
				to(rows, n, n*size, (n+gap)*size, step*size, unsafe.SliceData(out), unsafe.SliceData(x), unsafe.SliceData(one))
				check()
				for i, v := range out {
					a, b := x[i/n*(n+gap)+i%n], one[i/n*step]
					if !second {
						a, b = b, a
					}
					if want := c.of(a, b); v != want && (v == v || want == want) {
						t.Fatalf("%s of %v and %v, %d elements: %v, want %v", c.expr, a, b, n, v, want)
					}
				}
				to(rows, n, (n+gap)*size, (n+gap)*size, step*size, unsafe.SliceData(x), unsafe.SliceData(x), unsafe.SliceData(one))
				for i, v := range out {
					if got := x[i/n*(n+gap)+i%n]; got != v && (got == got || v == v) {
						t.Fatalf("%s in place, %d of %d elements: %v, not %v", c.expr, i, n, got, v)
					}
				}
			}
		}
	}
	if f.Outer("max(x, y)", true) != nil {
		t.Error("a function of what there is none for")
	}
}

func TestOuter(t *testing.T) { each(t, testOuter[float32], testOuter[float64]) }
