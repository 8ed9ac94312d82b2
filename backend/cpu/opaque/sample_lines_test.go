package opaque

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// TestSampleLines: with the channels of a place together, samples and their gradients
// are what they are without; the sums of products over channels, in another order, nearly so.
func TestSampleLines(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	draw := func(scale float32, shape ...int) ir.View {
		v := tile.NewDense(ir.Float32, shape)
		for i := range tile.Elements[float32](v) {
			tile.Elements[float32](v)[i] = scale * (2*random.Float32() - 1)
		}
		return v
	}
	for _, channels := range []int{4, 7, 33} {
		same := func(a, b float32) bool { // a NaN is one, whatever its bits
			return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b || a == 0 && b == 0
		}
		close := func(a, b float32) bool { return same(a, b) || math.Abs(float64(a)-float64(b)) < 1e-5*float64(channels) }
		for mode := int64(sampleBilinear); mode <= sampleBicubic; mode++ {
			for outside := int64(outsideZeros); outside <= outsideReflection; outside++ {
				s := &sampling{images: 2, channels: channels, points: 150, in: [3]int{5, 6, 1}, inSize: 30, axes: 2, mode: mode, outside: outside}
				x, g, grid := draw(1, 2, channels, 6, 5), draw(1, 2, channels, 10, 15), draw(1.3, 2, 10, 15, 2)
				tile.Elements[float32](grid)[3] = float32(math.NaN())
				for name, c := range map[string]struct {
					lines, points sampleFunc
					in            []ir.View
					like          ir.View
				}{
					"samples":          {sampleLines[float32], samplePoints[float32], []ir.View{x, grid}, g},
					"gradient of x":    {sampleLinesGradInput[float32], samplePointsGradInput[float32], []ir.View{g, grid}, x},
					"gradient of grid": {sampleLinesGradGrid[float32], samplePointsGradGrid[float32], []ir.View{g, x, grid}, grid},
				} {
					if mode == sampleNearest && name == "gradient of grid" {
						continue // zero, by neither
					}
					got, want := draw(1, c.like.Shape...), draw(1, c.like.Shape...)
					c.lines(s, c.in, got)
					c.points(s, c.in, want)
					equal := same
					if name == "gradient of grid" {
						equal = close
					}
					if slices.EqualFunc(tile.Elements[float32](want), tile.Elements[float32](got), equal) {
						continue // to look for a difference takes longer
					}
					if diff := cmp.Diff(tile.Elements[float32](want), tile.Elements[float32](got), cmp.Comparer(equal)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", fmt.Sprintf("%s, %d channels, mode %d, outside %d", name, channels, mode, outside), diff)
					}
				}
			}
		}
	}
}
