package fold

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cputest"
	"github.com/sinter-go/sinter/ir"
)

// TestScans: a scan is the same to the bit at every level, its results are those of exact
// arithmetic rounded once or nearly so, and it writes nothing else.
func TestScans(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, kind := range []Kind{Sum, Prod} {
		for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Complex64} {
			for _, n := range sizes() {
				v := values(kind, cputest.NewView(dtype, "contiguous", n), rng)
				var first []complex128
				for _, level := range levels() {
					l := scansAt(level, kind, dtype)
					out, acc := cputest.NewView(dtype, "contiguous", n+1), cputest.NewView(l.Acc, "contiguous", 1)
					guard := cputest.Get(out, n)
					l.Init(1, acc.Ptr, nil)
					half := n / 3
					l.Prefix(half, out.Ptr, acc.Ptr, v.Ptr, nil)
					l.Prefix(n-half, unsafe.Add(out.Ptr, half*dtype.Size()), acc.Ptr, unsafe.Add(v.Ptr, half*dtype.Size()), nil)
					if cputest.Get(out, n) != guard {
						t.Fatalf("%s of %d %s, %s: wrote past the end", names[kind], n, dtype, level)
					}
					var got []complex128
					for i := range n {
						got = append(got, cputest.Get(out, i))
						if i%(1+n/9) == 0 && !near(got[i], oracle(kind, v, 0, i+1), dtype, 8) {
							t.Fatalf("%s of %d %s, %s: prefix %d is %v, want %v", names[kind], n, dtype, level, i, got[i], oracle(kind, v, 0, i+1))
						}
						if first != nil && got[i] != first[i] {
							t.Fatalf("%s of %d %s: prefix %d is %v at %s, %v at %s", names[kind], n, dtype, i, got[i], level, first[i], levels()[0])
						}
					}
					if first == nil {
						first = got
					}
				}
			}
		}
	}
}

// TestScansOfExtremes: what is not a number and what is infinite spreads to what follows.
func TestScansOfExtremes(t *testing.T) {
	for _, level := range levels() {
		l := scansAt(level, Sum, ir.Float32)
		x := []float32{1, float32(math.Inf(1)), 2, 3, 4, float32(math.Inf(-1)), 5, 6, 7}
		out, acc := make([]float32, len(x)), make([]float64, 1)
		l.Prefix(len(x), unsafe.Pointer(&out[0]), unsafe.Pointer(&acc[0]), unsafe.Pointer(&x[0]), nil)
		for i, v := range out {
			switch {
			case i < 1 && v != 1, i >= 1 && i < 5 && !math.IsInf(float64(v), 1), i >= 5 && v == v:
				t.Errorf("%s: prefix %d is %v", level, i, v)
			}
		}
	}
}
