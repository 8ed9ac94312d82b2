package step

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// numbers returns n random numbers from -3 to 3, some of them halves of a unit apart.
func numbers[T Float](rng *rand.Rand, n int) []T {
	list := make([]T, n)
	for i := range list {
		list[i] = T(rng.Float32()*6 - 3)
		if rng.IntN(4) == 0 {
			list[i] = T(rng.IntN(13)-6) / 2
		}
	}
	return list
}

func integers(rng *rand.Rand, n int) []int32 {
	list := make([]int32, n)
	for i := range list {
		list[i] = int32(rng.IntN(1<<17) - 1<<16)
	}
	return list
}

// testFuncs compares the functions of a level with what they say that they compute.
func testFuncs[T Float](t *testing.T, level simd.Level) {
	f, rng := Of[T](level), rand.New(rand.NewPCG(1, uint64(level)))
	for _, n := range []int{0, 1, 7, 8, 15, 16, 17, 33, 100, 512} {
		x, by := numbers[T](rng, n), numbers[T](rng, n)
		low, high := 0.0, 0.0
		for _, v := range x {
			low, high = min(low, float64(v)), max(high, float64(v))
		}
		wantScale := (float32(high) - float32(low)) / 255
		if wantScale == 0 {
			wantScale = 1
		}
		if least, scale := f.Span(x); least != float32(low) || scale != wantScale {
			t.Errorf("%s, %d elements: from %v by %v, want from %v by %v", level, n, least, scale, low, wantScale)
		}
		got, want := make([]uint8, n+1), make([]uint8, n+1)
		got[n], want[n] = 77, 77
		for _, scale := range []float32{0.5, 0.01} {
			f.Quantize(got, x, scale, 100)
			for i, v := range x {
				want[i] = uint8(min(255, max(0, math.RoundToEven(float64(float32(v)/scale))+100)))
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s, %d elements by %v (-want +got):\n%s", level, n, scale, diff)
			}
		}
		sums, columns := integers(rng, n), integers(rng, n)
		z, wantZ := make([]T, n), make([]T, n)
		f.Gates(z, x, by, 0.3, sums, columns, -9)
		for i := range z {
			wantZ[i] = x[i] + T(T(sums[i]+9*columns[i])*T(by[i]*0.3))
		}
		if diff := cmp.Diff(wantZ, z); diff != "" {
			t.Errorf("%s, gates of %d elements (-want +got):\n%s", level, n, diff)
		}
		a, b, copied := numbers[T](rng, n), numbers[T](rng, n), make([]T, n)
		f.Cell(z, copied, x, by, a, b)
		for i := range z {
			wantZ[i] = T(x[i]*by[i]) + T(a[i]*b[i])
		}
		if diff := cmp.Diff([][]T{wantZ, wantZ}, [][]T{z, copied}); diff != "" {
			t.Errorf("%s, cells of %d elements (-want +got):\n%s", level, n, diff)
		}
		f.Product(z, a, b)
		for i := range z {
			wantZ[i] = a[i] * b[i]
		}
		if diff := cmp.Diff(wantZ, z); diff != "" {
			t.Errorf("%s, products of %d elements (-want +got):\n%s", level, n, diff)
		}
		for i := range x {
			for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
				old := x[i]
				x[i] = T(bad)
				if _, scale := f.Span(x); scale-scale == 0 {
					t.Errorf("%s, %d elements, element %d is %v: a scale of %v", level, n, i, bad, scale)
				}
				x[i] = old
			}
		}
	}
}

func TestFuncs(t *testing.T) {
	for _, level := range simd.Usable() {
		testFuncs[float32](t, level)
		testFuncs[float64](t, level)
	}
}
