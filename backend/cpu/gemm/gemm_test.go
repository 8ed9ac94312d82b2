package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// diffOf is cmp.Diff, quicker where there is no difference.
func diffOf[T comparable](want, got []T) string {
	if slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got)
}

// A case of strides: how a matrix of the given extents lies in memory.
var layouts = map[string]func(rows, cols int) (row, col int){
	"row-major":    func(rows, cols int) (int, int) { return cols, 1 },
	"column-major": func(rows, cols int) (int, int) { return 1, rows },
	"gaps":         func(rows, cols int) (int, int) { return 3*cols + 2, 3 },
	"one row":      func(rows, cols int) (int, int) { return 0, 1 },
}

func fill[T Number](rows, cols int, layout string, rng *rand.Rand) (Matrix, []T) {
	row, col := layouts[layout](rows, cols)
	data := make([]T, rows*row+cols*col+1)
	for i := range data {
		for range rng.IntN(7) {
			data[i]++
		}
	}
	return Matrix{unsafe.Pointer(&data[0]), row, col}, data
}

func testMul[T Number](t *testing.T, name string) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range [][3]int{{1, 1, 1}, {0, 3, 2}, {3, 0, 2}, {3, 4, 0}, {2, 4, 4}, {3, 5, 7}, {1, 50, 70}, {60, 1, 30}, {17, 19, 23}, {65, 129, 11}, {9, 10, 300}, {3, 1030, 5}, {1030, 6, 3}, {66, 130, 258}} {
		m, n, k := s[0], s[1], s[2]
		for al := range layouts {
			for bl := range layouts {
				if testing.Short() && rng.IntN(8) > 0 {
					continue
				}
				if s[0]*s[1]*s[2] > 1<<20 && al != "row-major" && bl != "row-major" {
					continue
				}
				for _, cl := range []string{"row-major", "gaps"} {
					a, _ := fill[T](m, k, al, rng)
					b, _ := fill[T](k, n, bl, rng)
					c, data := fill[T](m, n, cl, rng)
					add := rng.IntN(2) == 0
					want := append([]T(nil), data...)
					for i := range m {
						for j := range n {
							w := &want[i*c.Row+j*c.Col]
							if !add {
								*w = 0
							}
							for p := range k {
								*w += *at[T](a, i, p) * *at[T](b, p, j)
							}
						}
					}
					Mul[T](m, n, k, a, b, c, add)
					for i := range data {
						if data[i] != want[i] {
							t.Fatalf("%s %v, %s by %s to %s, add %v: element %d is %v, want %v", name, s, al, bl, cl, add, i, data[i], want[i])
						}
					}
				}
			}
		}
	}
}

func TestMul(t *testing.T) {
	testMul[uint8](t, "uint8")
	testMul[int16](t, "int16")
	testMul[int64](t, "int64")
	testMul[float32](t, "float32")
	testMul[float64](t, "float64")
	testMul[complex64](t, "complex64")
}

// TestNarrowSlices multiplies long sums whose result is tall and narrow, where A and B
// lie neither by rows nor by columns.
func TestNarrowSlices(t *testing.T) {
	const m, k = 5000, 8*1024 + 1
	row, b := make([]float32, 2*k), make([]float32, 6*k)
	for i := range row {
		row[i] = float32(i / 2 % 3)
	}
	for i := range b {
		b[i] = float32(i % 5)
	}
	for n := 2; n <= 3; n++ {
		c := make([]float32, m*n)
		Mul[float32](m, n, k, Matrix{unsafe.Pointer(&row[0]), 0, 2}, Matrix{unsafe.Pointer(&b[0]), 6, 2}, Matrix{unsafe.Pointer(&c[0]), n, 1}, false)
		for j := range n {
			want := 0
			for p := range k {
				want += p % 3 * ((6*p + 2*j) % 5)
			}
			for i := range m {
				if got := c[i*n+j]; got != float32(want) {
					t.Fatalf("%dx%d: element %d, %d is %v, want %v", m, n, i, j, got, want)
				}
			}
		}
	}
}

// TestMulRounding compares results of one processor and of several, bit by bit.
func TestMulRounding(t *testing.T) {
	for _, s := range []struct {
		m, n, k int
		b       string // layout
	}{{100, 300, 1000, "row-major"}, {60, 500, 700, "column-major"}, {60, 300, 1024, "row-major"}, {60, 70, 5000, "row-major"}, {300, 7, 5000, "row-major"}} {
		rng := rand.New(rand.NewPCG(3, 4))
		a, b := Matrix{Row: s.k, Col: 1}, Matrix{}
		b.Row, b.Col = layouts[s.b](s.k, s.n)
		x, y := make([]float32, s.m*s.k), make([]float32, s.k*s.n)
		for _, of := range [][]float32{x, y} {
			for i := range of {
				of[i] = rng.Float32() - 0.5
			}
		}
		a.Ptr, b.Ptr = unsafe.Pointer(&x[0]), unsafe.Pointer(&y[0])
		results := make([][]float32, 3)
		for p := range results {
			c := make([]float32, s.m*s.n)
			old := runtime.GOMAXPROCS(p + 1)
			Mul[float32](s.m, s.n, s.k, a, b, Matrix{unsafe.Pointer(&c[0]), s.n, 1}, false)
			runtime.GOMAXPROCS(old)
			results[p] = c
		}
		for i := range s.m {
			for j := range s.n {
				var want float64
				for p := range s.k {
					want += float64(*at[float32](a, i, p)) * float64(*at[float32](b, p, j))
				}
				got := results[0][i*s.n+j]
				if math.Abs(float64(got)-want) > 5e-4 {
					t.Fatalf("%v: element %d, %d is %v, want %v", s, i, j, got, want)
				}
				if got != results[1][i*s.n+j] || got != results[2][i*s.n+j] {
					t.Fatalf("%v: element %d, %d depends on the number of processors", s, i, j)
				}
			}
		}
	}
}

func BenchmarkMul(b *testing.B) {
	for _, s := range [][3]int{{16, 16, 16}, {32, 64, 144}, {128, 128, 128}, {512, 512, 512}, {1, 1024, 1024}} {
		m, n, k := s[0], s[1], s[2]
		x, y, z := make([]float32, m*k), make([]float32, k*n), make([]float32, m*n)
		b.Run(fmt.Sprintf("%dx%dx%d", m, n, k), func(b *testing.B) {
			for b.Loop() {
				Mul[float32](m, n, k, Matrix{unsafe.Pointer(&x[0]), k, 1}, Matrix{unsafe.Pointer(&y[0]), n, 1}, Matrix{unsafe.Pointer(&z[0]), n, 1}, false)
			}
			b.ReportMetric(float64(b.N)*float64(2*m*n*k)/float64(b.Elapsed().Nanoseconds()), "GF/s")
		})
	}
}

// TestBack: from which end columns are read changes nothing, to the bit.
func TestBack(t *testing.T) {
	eachLevel(t, func(t *testing.T, level simd.Level) {
		rng := rand.New(rand.NewPCG(3, 4))
		for _, s := range [][3]int{{1, 300, 700}, {3, 1024, 512}, {2, 301, 700}} {
			m, n, k := s[0], s[1], s[2]
			a, b := make([]float32, m*k), make([]float32, n*k)
			for _, list := range [][]float32{a, b} {
				for i := range list {
					list[i] = rng.Float32() - 0.5
				}
			}
			var got [2][]float32
			for i := range got {
				got[i] = make([]float32, m*n)
				runAt(level, &Product[float32]{M: m, N: n, K: k, A: Matrix{unsafe.Pointer(&a[0]), k, 1}, B: Matrix{unsafe.Pointer(&b[0]), 1, k},
					C: Matrix{unsafe.Pointer(&got[i][0]), n, 1}, Back: i == 1})
			}
			if diff := diffOf(got[0], got[1]); diff != "" {
				t.Errorf("%v (-forward +back):\n%s", s, diff)
			}
		}
	})
}
