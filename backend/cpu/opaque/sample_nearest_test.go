package opaque

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// TestSampleNearest: elements that are picked are those of samples with taps, also at the
// ends of x and halfway between elements, far outside, and where coordinates or elements
// are special numbers.
func TestSampleNearest(t *testing.T) {
	testSampleNearest[float32](t, ir.Float32)
	testSampleNearest[float64](t, ir.Float64)
}

func testSampleNearest[T float](t *testing.T, dtype ir.DType) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(special []float64, scale float64, shape ...int) ir.View {
		v := tile.NewDense(dtype, shape)
		for i := range tile.Elements[T](v) {
			x := scale * (2*random.Float64() - 1)
			if random.IntN(5) == 0 {
				x = special[random.IntN(len(special))]
			}
			tile.Elements[T](v)[i] = T(x)
		}
		return v
	}
	coordinates := []float64{-1, 1, 0, 0.5, -0.5, 0.25, 1.25, -1.25, 1e9, -1e30, math.NaN(), math.Inf(1), math.Inf(-1)}
	elements := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1)}
	for _, axes := range []int{2, 3} {
		for outside := int64(outsideZeros); outside <= outsideReflection; outside++ {
			for k, corners := range []bool{false, true, false, true, false} {
				channels := k + 1
				s := &sampling{images: 2, channels: channels, points: 2*nearestBlock + 7, in: [3]int{5, 4, 1}, inSize: 20, axes: axes, mode: sampleNearest, outside: outside, corners: corners}
				if axes == 3 {
					s.in[2], s.inSize = 3, 60
				}
				in := []ir.View{draw(elements, 1, 2, channels, s.inSize), draw(coordinates, 1.3, 2, s.points, axes)}
				got, want := draw(elements, 1, 2, channels, s.points), draw(elements, 1, 2, channels, s.points)
				sampleNearestPoints[T](s, in, got)
				samplePoints[T](s, in, want)
				same := func(a, b T) bool { // a NaN is one, whatever its bits
					return a == b && math.Signbit(float64(a)) == math.Signbit(float64(b)) || a != a && b != b
				}
				if slices.EqualFunc(tile.Elements[T](want), tile.Elements[T](got), same) {
					continue // to look for a difference takes longer
				}
				if diff := cmp.Diff(tile.Elements[T](want), tile.Elements[T](got), cmp.Comparer(same)); diff != "" {
					t.Errorf("%s, %d axes, outside %d, corners %t, %d channels (-want +got):\n%s", dtype, axes, outside, corners, channels, diff)
				}
			}
		}
	}
}
