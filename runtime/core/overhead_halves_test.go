package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestHalfLaunches: layers of 16-bit floats with a bias are one launch and convert
// nothing.
func TestHalfLaunches(t *testing.T) {
	d := &counting{install(t), map[string]int{}}
	device.Install(d)
	zeros := func(shape ...int) tensor.Tensor {
		return tensor.Zeros(shape, tensor.On(device.Sim(0)), tensor.OfType(tensor.BFloat16))
	}
	x, matrix, bias := zeros(4, 8), zeros(6, 8), zeros(6)
	images, weight := zeros(2, 3, 5, 5), zeros(6, 3, 3, 3)
	for _, c := range []struct {
		name string
		run  func() error
		want map[string]int
	}{
		{"linear", func() error { return x.Linear(matrix, tensor.Bias(bias)).Err() }, map[string]int{"matmul_bias": 1}},
		{"conv2d", func() error { return images.Conv2d(weight, tensor.Bias(bias), tensor.Padding(1)).Err() }, map[string]int{"convolution_bias": 1}},
	} {
		clear(d.by)
		must(t, c.run())
		if diff := cmp.Diff(c.want, d.by); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.name, diff)
		}
	}
}
