package gemm

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// TestPacked: a product whose B was packed before is, to the bit, that whose B was not,
// wherever B's columns lie, with a bias or without, on one processor and on several.
func TestPacked(t *testing.T) {
	eachLevel(t, func(t *testing.T, level simd.Level) {
		testPacked[float32](t, level)
		testPacked[float64](t, level)
	})
}

func testPacked[T float](t *testing.T, level simd.Level) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, s := range [][3]int{{4, 32, 8}, {20, 70, 1100}, {128, 384, 384}, {40, 100, 1536}, {128, 97, 2050}, {300, 33, 40}, {2, 64, 64}} {
		m, n, k := s[0], s[1], s[2]
		if testing.Short() && m*n*k > 1<<20 {
			continue
		}
		for _, layout := range []int{plain, turned, spaced} {
			for _, biased := range []bool{false, true} {
				a, _ := matrix[T](rng, m, k, plain)
				b, _ := matrix[T](rng, k, n, layout)
				p := Product[T]{M: m, N: n, K: k, A: a, B: b}
				if biased {
					bias, _ := matrix[T](rng, 1, n, plain)
					p.Bias = bias.Ptr
				}
				run := func(packed *Packed, procs int) []T {
					q, c := p, make([]T, m*n)
					q.C, q.Packed = Matrix{unsafe.Pointer(&c[0]), n, 1}, packed
					old := runtime.GOMAXPROCS(procs)
					runAt(level, &q)
					runtime.GOMAXPROCS(old)
					return c
				}
				want, packed := run(nil, 1), packAt[T](level, b, k, n)
				for procs := 1; procs <= 3; procs++ {
					if diff := diffOf(want, run(packed, procs)); diff != "" {
						t.Fatalf("%v, layout %d, bias %v, %d processors (-want +got):\n%s", s, layout, biased, procs, diff)
					}
				}
			}
		}
	}
}
