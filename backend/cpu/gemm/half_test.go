package gemm

import (
	"math"
	"math/rand/v2"
	"runtime"
	"strconv"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// widen returns the value of a bfloat16.
func widen(h int16) float64 { return float64(math.Float32frombits(uint32(uint16(h)) << 16)) }

// half returns a random rows by cols matrix of bfloat16.
func half(rng *rand.Rand, rows, cols, layout int) (Matrix, []int16) {
	m, floats := matrix[float32](rng, rows, cols, layout)
	data := make([]int16, len(floats))
	for i, f := range floats {
		data[i] = int16(math.Float32bits(f) >> 16)
	}
	m.Ptr = unsafe.Pointer(&data[0])
	return m, data
}

func TestHalfProduct(t *testing.T) {
	if simd.Available() < simd.AMX || simd.Active() < simd.AMX {
		t.Skip("there are no tiles")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(7, 8))
	shapes := [][3]int{{1, 1, 1}, {16, 16, 32}, {32, 32, 64}, {33, 33, 33}, {256, 64, 2048}, {300, 70, 4100}, {257, 4100, 40}, {64, 64, 4096}, {128, 96, 128}, {300, 1100, 100}, {513, 200, 600}}
	for range 300 {
		shapes = append(shapes, [3]int{1 + rng.IntN(80), 1 + rng.IntN(80), 1 + rng.IntN(140)})
	}
	for _, s := range shapes {
		m, n, k := s[0], s[1], s[2]
		la, lb, lc := rng.IntN(layoutCount), rng.IntN(layoutCount), rng.IntN(scattered)
		p := HalfProduct{M: m, N: n, K: k}
		p.A, _ = half(rng, m, k, la)
		p.B, _ = half(rng, k, n, lb)
		var c []int16
		p.C, c = half(rng, m, n, lc)
		var bias []float32
		if rng.IntN(2) == 0 && p.C.Col == 1 {
			_, bias = matrix[float32](rng, 1, n, plain)
			p.Bias = unsafe.Pointer(&bias[0])
		}
		before := append([]int16(nil), c...)
		if !p.Run() {
			t.Fatalf("%v: not computed", s)
		}
		for i := range m {
			for j := range n {
				want, size := 0.0, 0.0
				if bias != nil {
					want = float64(bias[j])
				}
				for q := range k {
					x := widen(*at[int16](p.A, i, q)) * widen(*at[int16](p.B, q, j))
					want += x
					size += math.Abs(x)
				}
				got := widen(*at[int16](p.C, i, j))
				if bound := math.Abs(want)*0x1p-8 + size*(math.Sqrt(float64(k))+4)*0x1p-23 + 0x1p-120; !(math.Abs(got-want) <= bound) {
					t.Fatalf("%v layouts %d %d %d bias %v: element %d, %d is %v, want %v", s, la, lb, lc, bias != nil, i, j, got, want)
				}
				before[i*p.C.Row+j*p.C.Col] = *at[int16](p.C, i, j)
			}
		}
		for i := range before {
			if before[i] != c[i] {
				t.Fatalf("%v: place %d, which is not in the result, was written", s, i)
			}
		}
		p.Serial = true
		p.Run()
		for i := range before {
			if before[i] != c[i] {
				t.Fatalf("%v: with one processor place %d is %x, with more %x", s, i, c[i], before[i])
			}
		}
		unguard()
	}
}

// nearest returns the bfloat16 nearest to a number that float32 has, to even where
// there are two.
func nearest(x float64) float64 {
	switch {
	case x == 0 || math.IsInf(x, 0) || math.IsNaN(x):
		return x
	case math.Abs(x) < 0x1p-126:
		return 0
	}
	_, e := math.Frexp(x)
	unit := math.Ldexp(1, e-8)
	if x = math.RoundToEven(x/unit) * unit; math.Abs(x) >= 0x1p128 {
		return math.Inf(int(x / math.Abs(x)))
	}
	return x
}

func TestHalfRounding(t *testing.T) {
	if simd.Available() < simd.AMX || simd.Active() < simd.AMX {
		t.Skip("there are no tiles")
	}
	const infinity, nan, largest, least, small = 0x7f80, 0x7fc1, 0x7f7f, 0x0080, 0x0001
	values := []uint16{0, 0x8000, infinity, 0xff80, nan, largest, 0xff7f, least, small, 0x3f80, 0xbf80, 0x3f00}
	for m := range uint16(128) { // every mantissa
		values = append(values, 0x3f80+m, 0xc000+m)
	}
	n := len(values)
	x, c := make([]int16, n), make([]int16, n*n)
	for i, v := range values {
		x[i] = int16(v)
	}
	p := HalfProduct{M: n, N: n, K: 1, A: Matrix{unsafe.Pointer(&x[0]), 1, 1}, B: Matrix{unsafe.Pointer(&x[0]), n, 1}, C: Matrix{unsafe.Pointer(&c[0]), n, 1}}
	p.Run()
	for i := range n {
		for j := range n {
			a, b, got := widen(x[i]), widen(x[j]), widen(c[i*n+j])
			if values[i] == small {
				a = 0
			}
			if values[j] == small {
				b = 0
			}
			if want := nearest(a * b); got != want && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Fatalf("%v * %v is %v, want %v", a, b, got, want)
			}
		}
	}
}

func BenchmarkHalfProduct(b *testing.B) {
	if simd.Active() < simd.AMX {
		b.Skip("there are no tiles")
	}
	for _, n := range []int{256, 512, 1024, 2048, 4096} {
		b.Run(strconv.Itoa(n), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(9, 10))
			x, y, z := make([]int16, n*n), make([]int16, n*n), make([]int16, n*n)
			for i := range x {
				x[i], y[i] = int16(math.Float32bits(rng.Float32()-0.5)>>16), int16(math.Float32bits(rng.Float32()-0.5)>>16)
			}
			m := func(s []int16) Matrix { return Matrix{unsafe.Pointer(&s[0]), n, 1} }
			for b.Loop() {
				p := HalfProduct{M: n, N: n, K: n, A: m(x), B: m(y), C: m(z)}
				p.Run()
			}
			b.ReportMetric(float64(b.N)*2*float64(n)*float64(n)*float64(n)/float64(b.Elapsed().Nanoseconds()), "GF/s")
		})
	}
}
