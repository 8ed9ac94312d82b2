package opaque

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// TestSampleLines: with the channels of a place together, samples and their gradients
// have the bits that they have without.
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
		for mode := int64(sampleBilinear); mode <= sampleBicubic; mode++ {
			for outside := int64(outsideZeros); outside <= outsideReflection; outside++ {
				s := &sampling{images: 2, channels: channels, points: 35, in: [3]int{5, 6, 1}, inSize: 30, axes: 2, mode: mode, outside: outside}
				x, g, grid := draw(1, 2, channels, 6, 5), draw(1, 2, channels, 5, 7), draw(1.3, 2, 5, 7, 2)
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
					got, want := draw(1, c.like.Shape...), draw(1, c.like.Shape...)
					c.lines(s, c.in, got)
					c.points(s, c.in, want)
					if diff := cmp.Diff(bitsOf(want), bitsOf(got)); diff != "" {
						t.Errorf("%s (-want +got):\n%s", fmt.Sprintf("%s, %d channels, mode %d, outside %d", name, channels, mode, outside), diff)
					}
				}
			}
		}
	}
}

func bitsOf(v ir.View) (bits []uint32) {
	for _, x := range tile.Elements[float32](v) {
		bits = append(bits, math.Float32bits(x))
	}
	return bits
}
