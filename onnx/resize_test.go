package onnx

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestResizeTies: places of sizes are exact. Of two elements that are equally near the lower one
// is taken.
func TestResizeTies(t *testing.T) {
	for _, c := range []struct{ n, size int }{{20, 14}, {18, 39}, {5, 8}, {54, 12}, {7, 7}} {
		for _, coordinates := range []string{"half_pixel", "half_pixel_symmetric"} {
			how := msg{}.text(1, "coordinate_transformation_mode").int(20, 3).text(4, coordinates)
			m, err := LoadBytes(model(initializer("z", 7, []int64{2}, msg{}.bytes(7, byte(c.size), 2)), nodes(nodeOf("Resize", "x - - z", "y", how))))
			if err != nil {
				t.Fatal(err)
			}
			out, err := m.Run(context.Background(), map[string]tensor.Tensor{"x": tensor.Arange(0, float64(2*c.n), 1).Reshape(c.n, 2)})
			if err != nil {
				t.Fatal(err)
			}
			got, err := tensor.Data[float32](out["y"])
			if err != nil {
				t.Fatal(err)
			}
			var want []float32
			for o := range c.size {
				twice := (2*o+1)*c.n - c.size // size times twice the place
				place := min(max((twice-c.size+2*c.size-1)/(2*c.size), 0), c.n-1)
				if twice < c.size {
					place = 0
				}
				want = append(want, float32(2*place), float32(2*place+1))
			}
			if !slices.Equal(want, got) {
				t.Errorf("%s: %s", fmt.Sprint(c, coordinates), cmp.Diff(want, got))
			}
		}
	}
}
