package gemm

import (
	"fmt"
	"math"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"
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
	if !Halves() {
		t.Skip("there are no instructions for it")
	}
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(4))
	rng := rand.New(rand.NewPCG(7, 8))
	shapes := [][3]int{{1, 1, 1}, {16, 16, 32}, {32, 32, 64}, {33, 33, 33}, {256, 64, 2048}, {300, 70, 4100}, {257, 4100, 40}, {64, 64, 4096}, {128, 96, 128}, {300, 1100, 100}, {513, 200, 600}}
	for range 300 {
		shapes = append(shapes, [3]int{1 + rng.IntN(80), 1 + rng.IntN(80), 1 + rng.IntN(140)})
	}
	for range 60 { // one row, or one column
		shapes = append(shapes, [3]int{1, 1 + rng.IntN(300), 1 + rng.IntN(300)}, [3]int{1 + rng.IntN(300), 1, 1 + rng.IntN(300)})
	}
	shapes = append(shapes, [3]int{1, 70, 40000}, [3]int{150, 1, 5000}, [3]int{200, 300, 2500}, [3]int{90, 600, 1101})
	for i, s := range shapes {
		m, n, k := s[0], s[1], s[2]
		if testing.Short() && (i%7 != 0 && i > 2 || m*n*k > 1<<24) {
			continue
		}
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
	if !Halves() {
		t.Skip("there are no instructions for it")
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
	if !Halves() {
		b.Skip("there are no instructions for it")
	}
	for _, s := range []struct {
		m, k, n          int
		turnedA, turnedB bool
	}{
		{256, 256, 256, false, false}, {512, 512, 512, false, false}, {1024, 1024, 1024, false, false}, {2048, 2048, 2048, false, false},
		{2048, 16, 2048, false, false}, {64, 16384, 64, false, false}, {1024, 1024, 1024, true, false}, {1024, 1024, 1024, false, true},
		{512, 750, 375, true, true}, {1000, 1000, 1000, false, false}, {1, 2048, 2048, false, false}, {16, 2048, 2048, false, true},
		{2048, 2048, 1, false, false}, {33, 65, 129, false, false}, {16, 16, 16, false, false},
	} {
		name := fmt.Sprintf("%dx%dx%d", s.m, s.k, s.n)
		b.Run(fmt.Sprintf("%s/%t,%t", name, s.turnedA, s.turnedB), func(b *testing.B) {
			rng := rand.New(rand.NewPCG(9, 10))
			layout := map[bool]int{true: turned}
			p := HalfProduct{M: s.m, N: s.n, K: s.k}
			p.A, _ = half(rng, s.m, s.k, layout[s.turnedA])
			p.B, _ = half(rng, s.k, s.n, layout[s.turnedB])
			p.C, _ = half(rng, s.m, s.n, plain)
			for b.Loop() {
				p.Run()
			}
			b.ReportMetric(float64(b.N)*2*float64(s.m)*float64(s.n)*float64(s.k)/float64(b.Elapsed().Nanoseconds()), "GF/s")
		})
	}
}
