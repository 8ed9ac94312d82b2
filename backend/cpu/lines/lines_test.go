package lines

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// guard is what lies beyond lines.
const guard = -77

// numbers returns n numbers, and room behind them that nothing may write.
func numbers[T Float](rng *rand.Rand, n int) []T {
	x := make([]T, n+64)
	for i := range x {
		x[i] = guard
		if i < n {
			x[i] = T(rng.NormFloat64())
		}
	}
	return x
}

func near[T Float](got T, want, scale float64) bool {
	eps := 0x1p-23
	if unsafe.Sizeof(got) == 8 {
		eps = 0x1p-52
	}
	return math.Abs(float64(got)-want) <= 8*eps*(scale+1)
}

// TestLines compares each function, at every level, with sums in float64, for lines of any
// length, between other elements, which stay.
func TestLines(t *testing.T) {
	for _, level := range simd.Usable() {
		t.Run(level.String(), func(t *testing.T) {
			for n := 1; n <= 40; n++ {
				for _, taps := range []int{1, 4, 16} {
					for _, points := range []int{0, 1, 3} {
						testLines[float32](t, level, points, n, taps)
						testLines[float64](t, level, points, n, taps)
					}
				}
			}
		})
	}
}

func testLines[T Float](t *testing.T, level simd.Level, points, n, taps int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(points), uint64(n*taps)))
	const places = 20
	step, pitch := n+rng.IntN(3), n+rng.IntN(3)
	f, p := Of[T](level), Points[T]{N: n, Taps: taps, Step: step}
	for range points {
		for _, place := range rng.Perm(places)[:taps] {
			p.List = append(p.List, Tap[T]{place * pitch, T(rng.NormFloat64())})
		}
	}
	own, image := numbers[T](rng, points*step), numbers[T](rng, places*pitch)
	mixed, dots := append([]T{}, own...), numbers[T](rng, len(p.List))
	f.Mix(&p, mixed, image)
	f.Dots(&p, own, image, dots)
	want := make([]float64, len(own)) // what is mixed
	spread := make([]float64, len(image))
	for i := range own {
		want[i] = float64(own[i])
	}
	for i := range image {
		spread[i] = float64(image[i])
	}
	for i := range points {
		for c := range n {
			want[i*step+c] = 0
		}
		for k, tap := range p.List[i*taps:][:taps] {
			dot := 0.0
			for c := range n {
				v, x := float64(own[i*step+c]), float64(image[tap.At+c])
				dot += v * x
				want[i*step+c] += x * float64(tap.Weight)
				spread[tap.At+c] += v * float64(tap.Weight)
			}
			if got := dots[i*taps+k]; !near(got, dot, float64(4*n)) {
				t.Fatalf("%d points of %d taps and lines of %d: dot %d of point %d is %v, want %v", points, taps, n, k, i, got, dot)
			}
		}
	}
	f.Spread(&p, own, image)
	for _, r := range []struct {
		name string
		got  []T
		want []float64
	}{{"mix", mixed, want}, {"spread", image, spread}} {
		for i := range r.got {
			if !near(r.got[i], r.want[i], 16) {
				t.Fatalf("%s", fmt.Sprint(r.name, ": ", points, " points of ", taps, " taps and lines of ", n, ": element ", i, " is ", r.got[i], ", want ", r.want[i]))
			}
		}
	}
	if dots[len(p.List)] != guard {
		t.Fatalf("dots wrote behind its results")
	}
}
