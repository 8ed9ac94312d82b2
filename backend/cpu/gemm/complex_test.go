package gemm

import (
	"math"
	"math/cmplx"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

type complexNumber interface{ complex64 | complex128 }

// complexMatrix returns a random rows by cols matrix and its memory.
func complexMatrix[T complexNumber](rng *rand.Rand, rows, cols, layout int) (Matrix, []T) {
	reals, _ := matrix[float32](rand.New(rand.NewPCG(0, 0)), rows, cols, layout) // its strides
	n := (rows-1)*reals.Row + (cols-1)*reals.Col + 1
	data := unsafe.Slice((*T)(unsafe.Pointer(&guarded[float32](n * int(unsafe.Sizeof(*new(T))) / 4)[0])), n)
	for i := range data {
		data[i] = T(complex(rng.Float64()*2-1, rng.Float64()*2-1))
	}
	return Matrix{unsafe.Pointer(&data[0]), reals.Row, reals.Col}, data
}

// testComplex computes a random product of the given extents at a level and compares
// it with sums of complex128, and what lies between its elements with what it was.
func testComplex[T complexNumber](t *testing.T, level simd.Level, rng *rand.Rand, m, n, k int, epsilon float64) {
	t.Helper()
	defer unguard()
	p := Product[T]{M: m, N: n, K: k}
	p.A, _ = complexMatrix[T](rng, m, k, rng.IntN(layoutCount))
	p.B, _ = complexMatrix[T](rng, k, n, rng.IntN(layoutCount))
	c, data := complexMatrix[T](rng, m, n, rng.IntN(layoutCount))
	p.C = c
	bias := make([]T, max(m, n))
	for i := range bias {
		bias[i] = T(complex(float64(i), -1))
	}
	switch rng.IntN(4) {
	case 0:
		p.Add = true
	case 1:
		p.Bias = unsafe.Pointer(&bias[0])
	case 2:
		p.Bias, p.BiasRows = unsafe.Pointer(&bias[0]), true
	}
	finished := 0
	p.Done = func(i0, i1, j0, j1 int) { finished += (i1 - i0) * (j1 - j0) }
	p.Serial = true // done counts
	want := append([]T(nil), data...)
	bounds := make([]float64, len(data))
	for i := range m {
		for j := range n {
			w := &want[i*c.Row+j*c.Col]
			var sum complex128
			switch {
			case p.Add:
				sum = complex128(*w)
			case p.Bias != nil && p.BiasRows:
				sum = complex128(bias[i])
			case p.Bias != nil:
				sum = complex128(bias[j])
			}
			size := cmplx.Abs(sum)
			for q := range k {
				x := complex128(*at[T](p.A, i, q)) * complex128(*at[T](p.B, q, j))
				sum += x
				size += cmplx.Abs(x)
			}
			*w, bounds[i*c.Row+j*c.Col] = T(sum), (math.Sqrt(float64(k))+4)*epsilon*size
		}
	}
	runAt(level, &p)
	for i, w := range want {
		if !(cmplx.Abs(complex128(data[i]-w)) <= bounds[i]) {
			t.Fatalf("%dx%dx%d A%v B%v C%v add %v bias %v of rows %v: place %d is %v, want %v", m, n, k, [2]int{p.A.Row, p.A.Col},
				[2]int{p.B.Row, p.B.Col}, [2]int{c.Row, c.Col}, p.Add, p.Bias != nil, p.BiasRows, i, data[i], w)
		}
	}
	if finished != m*n {
		t.Fatalf("%dx%dx%d: %d elements were finished", m, n, k, finished)
	}
}

func TestComplex(t *testing.T) {
	pieces := complexBytes / (4 * 4 * complexTerms) // columns of complex64 of a piece
	large := [][3]int{{3, pieces + 5, complexTerms + 3}, {20, 2*complexColumns + 1, 2*complexTerms + 7}, {1, 1, complexBytes/16 + 9},
		{1, 700, 300}, {700, 1, 300}, {2, 300, 200}, {300, 2, 200}, {16, 40, 128}, {40, 16, 128}, {90, 70, 110}, {90, 70, 110}, {90, 70, 110}, {600, 3, 1030}}
	eachLevel(t, func(t *testing.T, level simd.Level) {
		rng := rand.New(rand.NewPCG(8, uint64(level)))
		tries := 600
		if testing.Short() {
			tries = 40
		}
		for range tries {
			m, n, k := 1+rng.IntN(24), 1+rng.IntN(24), 1+rng.IntN(24)
			testComplex[complex64](t, level, rng, m, n, k, 0x1p-23)
			testComplex[complex128](t, level, rng, m, n, k, 0x1p-51) // the sums compared with are no better
		}
		for i, s := range large {
			if testing.Short() && i%5 != int(level)%5 { // other levels have some of these
				continue
			}
			testComplex[complex64](t, level, rng, s[0], s[1], s[2], 0x1p-23)
			testComplex[complex128](t, level, rng, s[0], s[1], s[2], 0x1p-51)
		}
	})
}

// TestComplexSpecial multiplies numbers that are not finite: parts are as the formula
// of the product says.
func TestComplexSpecial(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	values := []float64{0, 1, -2, inf, -inf, nan}
	same := cmp.Comparer(func(x, y float64) bool { return x == y || x != x && y != y })
	parts := cmp.Transformer("parts", func(c complex128) [2]float64 { return [2]float64{real(c), imag(c)} })
	eachLevel(t, func(t *testing.T, level simd.Level) {
		for _, shape := range [][2]int{{36, 36}, {1, 36}, {36, 1}} { // which kernels differ in
			m, n := shape[0], shape[1]
			var a, b []complex128
			for i := range m {
				a = append(a, complex(values[i/6%6], values[i%6]))
			}
			for i := range n {
				b = append(b, complex(values[i/6%6], values[i%6]))
			}
			got, want := make([]complex128, m*n), make([]complex128, m*n)
			for i, x := range a {
				for j, y := range b {
					want[i*n+j] = complex(real(x)*real(y)-imag(x)*imag(y), real(x)*imag(y)+imag(x)*real(y))
				}
			}
			p := complexOf[float64](level, &Product[complex128]{M: m, N: n, K: 1, A: Matrix{unsafe.Pointer(&a[0]), 1, 1},
				B: Matrix{unsafe.Pointer(&b[0]), n, 1}, C: Matrix{unsafe.Pointer(&got[0]), n, 1}})
			for name, way := range map[string]func(){"spread": p.spread, "apart": p.apart} {
				way()
				if diff := cmp.Diff(want, got, parts, same); diff != "" {
					t.Errorf("%dx%d, %s: %s", m, n, name, diff)
				}
			}
		}
	})
}

// TestComplexRounding compares results of one processor and of several, bit by bit.
func TestComplexRounding(t *testing.T) {
	rng := rand.New(rand.NewPCG(9, 9))
	for i, s := range [][3]int{{200, 150, 700}, {1, 900, 500}, {900, 1, 500}, {16, 300, 900}, {3, 5, 9000}} {
		for layout := range layoutCount {
			if testing.Short() && (i+layout)%3 != 0 {
				continue
			}
			a, _ := complexMatrix[complex64](rng, s[0], s[2], layout)
			b, _ := complexMatrix[complex64](rng, s[2], s[1], layout)
			var results [3][]complex64
			for i := range results {
				results[i] = make([]complex64, s[0]*s[1])
				old := runtime.GOMAXPROCS(i + 1)
				Mul[complex64](s[0], s[1], s[2], a, b, Matrix{unsafe.Pointer(&results[i][0]), s[1], 1}, false)
				runtime.GOMAXPROCS(old)
			}
			if !cmp.Equal(results[0], results[1]) || !cmp.Equal(results[0], results[2]) {
				t.Errorf("%v, layout %d: the result depends on the number of processors", s, layout)
			}
			unguard()
		}
	}
}
