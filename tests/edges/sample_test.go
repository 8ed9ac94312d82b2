package edges_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestGridSampleFarAway samples where there is no place, on the CPU and on a simulated
// accelerator with the reference kernels. The results are those of PyTorch's
// grid_sample on the CPU; an image's last coordinate is 0, its middle row.
func TestGridSampleFarAway(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	coordinates := []float64{nan, inf, -inf, 1e30, -1e30, 1e10, -1e10, 3e9}
	for _, c := range []struct {
		mode    Interpolation
		padding PaddingMode
		want    []float64
	}{
		{InterpolationBilinear, PaddingModeZeros, []float64{nan, nan, nan, 0, 0, 0, 0, 0}},
		{InterpolationBilinear, PaddingModeBorder, []float64{5, 8, 5, 8, 5, 8, 5, 8}},
		{InterpolationBilinear, PaddingModeReflection, []float64{5, 5, 5, 5, 5, 5, 5, 5}},
		{InterpolationNearest, PaddingModeZeros, []float64{0, 0, 0, 0, 0, 0, 0, 0}},
		{InterpolationNearest, PaddingModeBorder, []float64{5, 8, 5, 8, 5, 8, 5, 8}},
		{InterpolationNearest, PaddingModeReflection, []float64{5, 5, 5, 5, 5, 5, 5, 5}},
		{InterpolationBicubic, PaddingModeZeros, []float64{nan, nan, nan, 0, 0, 0, 0, 0}},
		{InterpolationBicubic, PaddingModeBorder, []float64{nan, nan, nan, 8, 5, 8, 5, 8}},
		{InterpolationBicubic, PaddingModeReflection, []float64{nan, nan, nan, 5, 5, 5, 5, 5}},
	} {
		for _, channels := range []int{1, 5} { // apart, and together
			for _, corners := range []bool{false, true} {
				var gradients []map[string][]float64
				for _, dev := range []device.Device{device.CPU, device.Sim(0)} {
					name := fmt.Sprintf("%v, %v, %d channels, corners %t, %v", c.mode, c.padding, channels, corners, dev)
					x, grid := farImage(dev, channels), farGrid(dev, coordinates)
					out := x.GridSample(grid, c.mode, c.padding, AlignCorners(corners))
					for ch := range channels {
						got := numbers(t, out.Narrow(1, ch, 1))
						if d := cmp.Diff(c.want, got, cmpopts.EquateNaNs(), cmpopts.EquateApprox(0, 1e-5)); d != "" {
							t.Errorf("%s (-want +got):\n%s", name, d)
						}
					}
					must(t, out.Sum().Backward())
					g := map[string][]float64{}
					for k, v := range map[string]Tensor{"x": x, "grid": grid} {
						grad, _ := v.Grad()
						g[k] = numbers(t, grad)
					}
					gradients = append(gradients, g)
				}
				if d := cmp.Diff(gradients[1], gradients[0], cmpopts.EquateNaNs(), cmpopts.EquateApprox(1e-5, 1e-5)); d != "" {
					t.Errorf("%v, %v, %d channels, corners %t: gradients (-reference +CPU):\n%s", c.mode, c.padding, channels, corners, d)
				}
				for _, v := range gradients[0]["x"] {
					if math.IsNaN(v) {
						t.Errorf("%v, %v, %d channels: the gradient of the image is NaN", c.mode, c.padding, channels)
						break
					}
				}
			}
		}
	}
}

// farImage is [1, channels, 3, 4] of the numbers from 1 on, the same in every channel.
func farImage(dev device.Device, channels int) Tensor {
	var values []float32
	for i := range channels * 12 {
		values = append(values, float32(i%12+1))
	}
	return FromSlice(values, []int{1, channels, 3, 4}, On(dev), RequireGrad())
}

// farGrid is [1, 1, len(x), 2].
func farGrid(dev device.Device, x []float64) Tensor {
	var values []float32
	for _, v := range x {
		values = append(values, float32(v), 0)
	}
	return FromSlice(values, []int{1, 1, len(x), 2}, On(dev), RequireGrad())
}

func numbers(t *testing.T, x Tensor) []float64 {
	t.Helper()
	list, err := Data[float64](x.ToType(Float64))
	must(t, err)
	return list
}
