package fold

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

// TestScans: a scan is the same to the bit at every level, its results are those of exact
// arithmetic rounded once or nearly so, and it writes nothing else.
func TestScans(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for _, kind := range []Kind{Sum, Prod} {
		for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Complex64} {
			for _, n := range sizes() {
				v := values(kind, cputest.NewView(dtype, "contiguous", n), rng)
				var first []complex128
				for _, level := range simd.UsableVectors() {
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
							t.Fatalf("%s of %d %s: prefix %d is %v at %s, %v at %s", names[kind], n, dtype, i, got[i], level, first[i], simd.UsableVectors()[0])
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

// TestScansOfColumns: columns that are scanned at once have the results and accumulators,
// to the bit, of each as a line, at every level, and nothing else is written.
func TestScansOfColumns(t *testing.T) {
	const rows = 21
	rng := rand.New(rand.NewPCG(13, 14))
	for _, kind := range []Kind{Sum, Prod} {
		for _, dtype := range []ir.DType{ir.Float32, ir.Float64, ir.Complex64} {
			for _, level := range simd.UsableVectors() {
				l, size := scansAt(level, kind, dtype), dtype.Size()
				for _, n := range []int{1, 3, 4, 8, 15, 16, 33, 47, 150} {
					what := fmt.Sprintf("%s of %d columns of %s, %s", names[kind], n, dtype, level)
					v := values(kind, cputest.NewView(dtype, "contiguous", rows, n), rng)
					out, acc := cputest.NewView(dtype, "contiguous", rows, n+1), cputest.NewView(l.Acc, "contiguous", n)
					guard := cputest.Get(out, n)
					l.Init(n, acc.Ptr, nil)
					half := rows / 2
					l.Next(half, n, (n+1)*size, n*size, out.Ptr, acc.Ptr, v.Ptr, nil)
					l.Next(rows-half, n, (n+1)*size, n*size, unsafe.Add(out.Ptr, half*(n+1)*size), acc.Ptr, unsafe.Add(v.Ptr, half*n*size), nil)
					for i := range n {
						one := cputest.NewView(l.Acc, "contiguous", 1)
						l.Init(1, one.Ptr, nil)
						for r := range rows {
							want := cputest.NewView(dtype, "contiguous", 1)
							l.Prefix(1, want.Ptr, one.Ptr, unsafe.Add(v.Ptr, (r*n+i)*size), nil)
							if got, want := cputest.Get(out, r*(n+1)+i), cputest.Get(want, 0); got != want {
								t.Fatalf("%s: row %d, column %d is %v, want %v", what, r, i, got, want)
							}
						}
						if got, want := cputest.Get(acc, i), cputest.Get(one, 0); got != want {
							t.Fatalf("%s: accumulator %d is %v, want %v", what, i, got, want)
						}
					}
					for r := range rows {
						if cputest.Get(out, r*(n+1)+n) != guard {
							t.Fatalf("%s: wrote between rows", what)
						}
					}
				}
			}
		}
	}
}

// TestScansOfExtremes: what is not a number and what is infinite spreads to what follows.
func TestScansOfExtremes(t *testing.T) {
	for _, level := range simd.UsableVectors() {
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
