package gemm

import (
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

type integer interface{ int32 | int64 }

// integerMatrix returns a random rows by cols matrix, of numbers that fill their
// type, and its memory.
func integerMatrix[T integer](rng *rand.Rand, rows, cols, layout int) (Matrix, []T) {
	m, memory := complexMatrix[complex128](rng, rows, cols, layout) // its strides, and room
	data := unsafe.Slice((*T)(unsafe.Add(unsafe.Pointer(&memory[0]), uintptr(len(memory))*(16-unsafe.Sizeof(*new(T))))), len(memory))
	for i := range data {
		data[i] = T(rng.Uint64())
	}
	m.Ptr = unsafe.Pointer(&data[0])
	return m, data
}

// testIntegers computes a random product of the given extents at a level and compares
// it with sums modulo 1<<64, and what lies between its elements with what it was.
func testIntegers[T integer](t *testing.T, level simd.Level, rng *rand.Rand, m, n, k int) {
	t.Helper()
	defer unguard()
	p := Product[T]{M: m, N: n, K: k}
	p.A, _ = integerMatrix[T](rng, m, k, rng.IntN(layoutCount))
	p.B, _ = integerMatrix[T](rng, k, n, rng.IntN(layoutCount))
	c, data := integerMatrix[T](rng, m, n, rng.IntN(layoutCount))
	p.C = c
	_, bias := integerMatrix[T](rng, 1, max(m, n), plain)
	switch rng.IntN(4) {
	case 0:
		p.Add = true
	case 1:
		p.Bias = unsafe.Pointer(&bias[0])
	case 2:
		p.Bias, p.BiasRows = unsafe.Pointer(&bias[0]), true
	}
	want := append([]T(nil), data...)
	for i := range m {
		for j := range n {
			var sum uint64
			switch w := want[i*c.Row+j*c.Col]; {
			case p.Add:
				sum = uint64(w)
			case p.Bias != nil && p.BiasRows:
				sum = uint64(bias[i])
			case p.Bias != nil:
				sum = uint64(bias[j])
			}
			for q := range k {
				sum += uint64(*at[T](p.A, i, q)) * uint64(*at[T](p.B, q, j))
			}
			want[i*c.Row+j*c.Col] = T(sum)
		}
	}
	runAt(level, &p)
	if !slices.Equal(want, data) {
		t.Fatalf("%dx%dx%d A%v B%v C%v add %v bias %v of rows %v: %s", m, n, k, [2]int{p.A.Row, p.A.Col},
			[2]int{p.B.Row, p.B.Col}, [2]int{c.Row, c.Col}, p.Add, p.Bias != nil, p.BiasRows, cmp.Diff(want, data))
	}
}

func TestIntegers(t *testing.T) {
	eachLevel(t, func(t *testing.T, level simd.Level) {
		rng := rand.New(rand.NewPCG(10, uint64(level)))
		times := 600
		if testing.Short() {
			times = 40
		}
		for range times {
			m, n, k := 1+rng.IntN(40), 1+rng.IntN(40), 1+rng.IntN(40)
			testIntegers[int32](t, level, rng, m, n, k)
			testIntegers[int64](t, level, rng, m, n, k)
		}
		long := sliceLeast*engineOf[int32](level).depth + 5
		for i, s := range [][3]int{{1, 700, 300}, {700, 1, 300}, {70, 1, 3000}, {300, 2, 200}, {90, 130, 1100}, {5, 7, long}, {1, 1, long}, {40, 4200, 3}} {
			if testing.Short() && i%3 != int(level)%3 { // other levels have some of these
				continue
			}
			testIntegers[int32](t, level, rng, s[0], s[1], s[2])
			testIntegers[int64](t, level, rng, s[0], s[1], s[2])
		}
	})
}
