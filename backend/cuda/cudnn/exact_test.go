package cudnn

import (
	"testing"

	"github.com/sinter-go/sinter/ir"
)

// TestExact: factors without the bits that TF32 cuts off are multiplied with it whatever
// the flag says, as a problem of its own; other dtypes have no such problem.
func TestExact(t *testing.T) {
	for _, flag := range []bool{true, false} {
		v := problems[2].convolution(ir.Float32)
		v.TF32 = flag
		v.Exact = true
		k, _ := keyOf(Forward, &v)
		if !k.exact || !k.tf32 || k.mathOf() != mathDefault {
			t.Errorf("flag %t: %+v, math type %d", flag, k, k.mathOf())
		}
		v.Exact = false
		if other, _ := keyOf(Forward, &v); other == k || other.tf32 != flag {
			t.Errorf("flag %t: the problem that is not exact is %+v", flag, other)
		}
		v = problems[2].convolution(ir.Float64)
		v.Exact = true
		if k, _ := keyOf(Forward, &v); k.exact || k.tf32 {
			t.Errorf("float64: %+v", k)
		}
	}
}

// TestFakeExact has the heuristics name an algorithm that transforms the factors.
func TestFakeExact(t *testing.T) {
	g, d, lib := newFake(t)
	v := problems[2].convolution(ir.Float32)
	for _, c := range []struct {
		algorithm uintptr
		exact, ok bool
	}{{1, true, true}, {6, false, true}, {6, true, false}} {
		clear(d.prepared)
		ask(t, lib, "fake_algorithm", c.algorithm)
		v.Exact = c.exact
		k, _ := keyOf(Forward, &v)
		if err := d.run(g, &k, 1, 2, 3, extras{}); (err == nil) != c.ok {
			t.Errorf("algorithm %d, exact %t: %v", c.algorithm, c.exact, err)
		}
	}
}
