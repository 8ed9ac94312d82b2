package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/tests/brief"
)

// eachLevel runs f at every level of instructions that the processor has.
func eachLevel(t *testing.T, f func(t *testing.T, level simd.Level)) {
	levels := simd.Usable()
	for i, level := range levels {
		if testing.Short() && i > 0 && i < len(levels)-1 { // what is between has much in common with both
			continue
		}
		t.Run(level.String(), func(t *testing.T) { f(t, level) })
	}
}

type float interface{ float32 | float64 }

// A sample is a product of random matrices that memory nobody may touch follows.
type sample[T float] struct {
	p       Product[T]
	a, b, c []T
	want    []float64
	bound   []float64 // of the error
}

// Ways of storing a matrix.
const (
	plain     = iota
	turned    // its transpose is row-major
	spaced    // rows with gaps between them
	scattered // elements with gaps between them
	layoutCount
)

// matrix returns a random rows by cols matrix and its memory.
func matrix[T float](rng *rand.Rand, rows, cols, layout int) (Matrix, []T) {
	m := Matrix{Row: cols, Col: 1}
	switch layout {
	case turned:
		m = Matrix{Row: 1, Col: rows}
	case spaced:
		m = Matrix{Row: cols + 3, Col: 1}
	case scattered:
		m = Matrix{Row: 2*cols + 1, Col: 2}
	}
	data := guarded[T]((rows-1)*m.Row + (cols-1)*m.Col + 1)
	for i := range data {
		data[i] = T(rng.Float64()*2 - 1)
	}
	m.Ptr = unsafe.Pointer(&data[0])
	return m, data
}

// product returns a random product of the given extents.
func product[T float](rng *rand.Rand, m, n, k int) *sample[T] {
	return laid[T](rng, m, n, k, [3]int{rng.IntN(layoutCount), rng.IntN(layoutCount), rng.IntN(layoutCount)})
}

// laid is product with matrices that are stored in some ways.
func laid[T float](rng *rand.Rand, m, n, k int, layouts [3]int) *sample[T] {
	s := &sample[T]{p: Product[T]{M: m, N: n, K: k}}
	s.p.A, s.a = matrix[T](rng, m, k, layouts[0])
	s.p.B, s.b = matrix[T](rng, k, n, layouts[1])
	s.p.C, s.c = matrix[T](rng, m, n, layouts[2])
	var bias []T
	switch rng.IntN(4) {
	case 0:
		s.p.Add = true
	case 1:
		_, bias = matrix[T](rng, 1, n, plain)
	case 2:
		_, bias = matrix[T](rng, 1, m, plain)
		s.p.BiasRows = true
	}
	if bias != nil {
		s.p.Bias = unsafe.Pointer(&bias[0])
	}
	s.expect(bias)
	return s
}

// expect computes what C must be.
func (s *sample[T]) expect(bias []T) {
	p := &s.p
	var t T
	epsilon := 0x1p-23
	if unsafe.Sizeof(t) == 8 {
		epsilon = 0x1p-52
	}
	for i := range p.M {
		for j := range p.N {
			sum, size := 0.0, 0.0
			switch {
			case p.Add:
				sum = float64(*at[T](p.C, i, j))
			case bias != nil && p.BiasRows:
				sum = float64(bias[i])
			case bias != nil:
				sum = float64(bias[j])
			}
			size = math.Abs(sum)
			for q := range p.K {
				x := float64(*at[T](p.A, i, q)) * float64(*at[T](p.B, q, j))
				sum += x
				size += math.Abs(x)
			}
			s.want = append(s.want, sum)
			s.bound = append(s.bound, (math.Sqrt(float64(p.K))+4)*epsilon*size)
		}
	}
}

// check compares C with what it must be, and what lies between its elements with
// what it was.
func (s *sample[T]) check(t *testing.T, before []T) {
	t.Helper()
	p := &s.p
	for i := range p.M {
		for j := range p.N {
			got, want := float64(*at[T](p.C, i, j)), s.want[i*p.N+j]
			if !(math.Abs(got-want) <= s.bound[i*p.N+j]) {
				t.Fatalf("%s: element %d, %d is %v, want %v", s, i, j, got, want)
			}
			before[i*p.C.Row+j*p.C.Col] = *at[T](p.C, i, j)
		}
	}
	for i, v := range before {
		if v != s.c[i] {
			t.Fatalf("%s: place %d, which is not in the result, was written", s, i)
		}
	}
}

func (s *sample[T]) String() string {
	p := &s.p
	return fmt.Sprintf("%dx%dx%d A%v B%v C%v add %v bias %v of rows %v", p.M, p.N, p.K, [2]int{p.A.Row, p.A.Col},
		[2]int{p.B.Row, p.B.Col}, [2]int{p.C.Row, p.C.Col}, p.Add, p.Bias != nil, p.BiasRows)
}

// runSample computes a sample at a level and checks it.
func runSample[T float](t *testing.T, level simd.Level, s *sample[T]) {
	t.Helper()
	defer unguard()
	before := append([]T(nil), s.c...)
	done := make([]int, s.p.M*s.p.N)
	s.p.Done = func(i0, i1, j0, j1 int) {
		for i := i0; i < i1; i++ {
			for j := j0; j < j1; j++ {
				done[i*s.p.N+j]++
			}
		}
	}
	runAt(level, &s.p)
	s.check(t, before)
	for i, n := range done {
		if n != 1 {
			t.Fatalf("%s: element %d was finished %d times", s, i, n)
		}
	}
}

func testSmall[T float](t *testing.T, level simd.Level, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, uint64(level)))
	e := engineOf[T](level)
	for range brief.Times(1500) {
		runSample(t, level, product[T](rng, 1+rng.IntN(40), 1+rng.IntN(40), 1+rng.IntN(40)))
	}
	width := e.columns()
	for m := 1; m <= e.rows[oneEdge]+1; m++ { // every kernel
		for i, n := range []int{1, 2, e.lanes - 1, e.lanes, e.lanes + 1, width - 1, width, width + 1} {
			for j, k := range []int{1, 2, 3, 5, 8, 97} {
				if brief.Skip(m, i, j) {
					continue
				}
				runSample(t, level, product[T](rng, m, max(n, 1), k))
			}
		}
	}
}

func TestSmall(t *testing.T) {
	eachLevel(t, func(t *testing.T, level simd.Level) {
		testSmall[float32](t, level, 1)
		testSmall[float64](t, level, 2)
	})
}

func testLarge[T float](t *testing.T, level simd.Level) {
	rng := rand.New(rand.NewPCG(5, uint64(level)))
	e := engineOf[T](level)
	d, h := e.depth, e.block/e.depth/e.size
	shapes := [][3]int{
		{h - 1, 3, d}, {h + 1, 40, d + 1}, {2*h + 3, 17, 2*d + 1}, {3, 300, d - 1}, {70, e.across + 5, 3}, {1, 1500, 40}, {1500, 1, 40},
		{2, 1000, 300}, {1000, 2, 300}, {130, 140, 3*d + 2}, {257, 129, 65}, {1, 1, 5000}, {5, 7, 3000},
		{200, e.columns() - 1, e.long + 3}, {20, 300, 400}, {20, 300, 1024}, {30, 40, sliceLeast*d + 5}, {50, 150, 11 * d},
		{1, 1, thinElements + 7}, {2, 5, 3*thinElements + 1}, {4, 1, 2*thinElements + thinStretch},
	}
	times := 2
	if testing.Short() {
		times = 1
	}
	for i, s := range shapes {
		if testing.Short() && i%9 != (int(level)+2*int(unsafe.Sizeof(*new(T))/8))%9 { // other levels and the other type have some of these
			continue
		}
		for range times {
			runSample(t, level, product[T](rng, s[0], s[1], s[2]))
		}
	}
}

func TestLarge(t *testing.T) {
	eachLevel(t, func(t *testing.T, level simd.Level) {
		testLarge[float32](t, level)
		testLarge[float64](t, level)
	})
}

// testEach computes products of matrices that lie in the same way.
func testEach[T float](t *testing.T, level simd.Level) {
	rng := rand.New(rand.NewPCG(6, uint64(level)))
	for _, shape := range [][3]int{{1, 1, 1}, {2, 40, 9}, {5, 4, 3}, {16, 16, 16}, {32, 32, 32}, {33, 37, 41}, {12, 70, 8}, {70, 70, 70}} {
		for range brief.Times(5) {
			ways := [3]int{rng.IntN(layoutCount), rng.IntN(layoutCount), rng.IntN(layoutCount)}
			var all [3]*sample[T]
			var before [3][]T
			for i := range all {
				s := laid[T](rng, shape[0], shape[1], shape[2], ways)
				for s.p.Bias != nil || i > 0 && s.p.Add != all[0].p.Add {
					s = laid[T](rng, shape[0], shape[1], shape[2], ways)
				}
				all[i], before[i] = s, append([]T(nil), s.c...)
			}
			p := all[0].p
			eachAt(level, &p, len(all), func(i int) (a, b, c unsafe.Pointer) { return all[i].p.A.Ptr, all[i].p.B.Ptr, all[i].p.C.Ptr })
			for i, s := range all {
				s.check(t, before[i])
			}
			unguard()
		}
	}
}

func TestEach(t *testing.T) {
	eachLevel(t, func(t *testing.T, level simd.Level) {
		testEach[float32](t, level)
		testEach[float64](t, level)
	})
}
