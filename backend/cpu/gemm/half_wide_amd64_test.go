package gemm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"
)

// TestHalfWide compares results of float32 with those of bfloat16, which are the same
// sums, rounded. Memory that nobody may touch follows the result.
func TestHalfWide(t *testing.T) {
	if !Halves() {
		t.Skip("there are no instructions for it")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(11, 12))
	shapes := [][3]int{
		{1, 1, 1}, {32, 32, 64}, {33, 33, 33}, {256, 64, 2048}, {300, 70, 4100}, {257, 4100, 40}, {64, 64, 4096}, {300, 1100, 100},
		{513, 200, 600}, {513, 224, 2500}, {40, 31, 700}, {1, 70, 40000}, {150, 1, 5000}, {200, 1, 64}, {1, 300, 31},
	}
	more := 200
	if testing.Short() {
		more = 40
		shapes = slices.DeleteFunc(shapes, func(s [3]int) bool { return s[0]*s[1]*s[2] > 1<<26 })
	}
	for range more {
		shapes = append(shapes, [3]int{1 + rng.IntN(100), 1 + rng.IntN(100), 1 + rng.IntN(140)})
	}
	for _, s := range shapes {
		checkHalfWide(t, rng, s[0], s[1], s[2])
		unguard()
	}
}

func checkHalfWide(t *testing.T, rng *rand.Rand, m, n, k int) {
	t.Helper()
	la, lb, lc := rng.IntN(layoutCount), rng.IntN(layoutCount), rng.IntN(scattered)
	p := HalfProduct{M: m, N: n, K: k}
	p.A, _ = half(rng, m, k, la)
	p.B, _ = half(rng, k, n, lb)
	p.C, _ = half(rng, m, n, lc)
	q := p
	q.Wide = true
	var c []float32
	q.C, c = matrix[float32](rng, m, n, lc)
	if rng.IntN(2) == 0 && p.C.Col == 1 {
		_, bias := matrix[float32](rng, 1, n, plain)
		p.Bias = unsafe.Pointer(&bias[0])
		q.Bias = p.Bias
	}
	before := append([]float32(nil), c...)
	if !p.Run() || !q.Run() {
		t.Fatalf("%d x %d x %d: not computed", m, n, k)
	}
	exact := true
	for i := range m {
		for j := range n {
			got := *at[float32](q.C, i, j)
			exact = exact && math.Float32bits(got)&0xffff == 0
			if want := *at[int16](p.C, i, j); roundHalf(got) != want {
				t.Fatalf("%d x %d x %d, layouts %d %d %d: element %d, %d is %v, rounded %v", m, n, k, la, lb, lc, i, j, got, widen(want))
			}
			before[i*q.C.Row+j*q.C.Col] = got
		}
	}
	if exact && m*n*k > 1000 {
		t.Errorf("%d x %d x %d: every element is one of bfloat16: they were rounded", m, n, k)
	}
	for serial := range 2 {
		for i := range before {
			if before[i] != c[i] {
				t.Fatalf("%d x %d x %d, serial %d: place %d is %v, want %v", m, n, k, serial, i, c[i], before[i])
			}
		}
		q.Serial = true
		q.Run()
	}
}
