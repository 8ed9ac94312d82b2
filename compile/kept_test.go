package compile_test

import (
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestKept: what a device keeps beside a parameter that the function captures is of the
// parameter as it is: runs give what eager code does before it is written, and after.
func TestKept(t *testing.T) { each(t, testKept) }

func testKept(t *testing.T, dev device.Device) {
	n, side := 4, 20
	if dev.Kind != device.KindCPU {
		n, side = 1, 5 // Other devices keep no forms, and simulated ones are slow.
	}
	for _, c := range []struct {
		name      string
		x, weight []int
		of        func(x, w tensor.Tensor) tensor.Tensor
	}{
		{"product", []int{16 * n, 24 * n}, []int{24 * n, 40 * n}, func(x, w tensor.Tensor) tensor.Tensor { return x.MatMul(w) }},
		{"transposed", []int{16 * n, 24 * n}, []int{40 * n, 24 * n}, func(x, w tensor.Tensor) tensor.Tensor { return tensor.Linear(x, w).ReLU() }},
		{"a part", []int{16 * n, 24 * n}, []int{40 * n, 48 * n}, func(x, w tensor.Tensor) tensor.Tensor { return tensor.Linear(x, w.Narrow(1, 24*n, 24*n)) }},
		{"written by the function", []int{16 * n, 24 * n}, []int{24 * n, 40 * n}, func(x, w tensor.Tensor) tensor.Tensor {
			y := x.MatMul(w)
			_ = w.MulScalarInPlace(0.5)
			return y.Add(x.MatMul(w))
		}},
		{"convolution", []int{1, 6 * n, side, side}, []int{10 * n, 6 * n, 3, 3}, func(x, w tensor.Tensor) tensor.Tensor { return tensor.Conv2d(x, w, tensor.Padding(1)) }},
		{"convolution of several images", []int{3, 6 * n, side, side}, []int{10 * n, 3 * n, 3, 3}, func(x, w tensor.Tensor) tensor.Tensor { return tensor.Conv2d(x, w, tensor.Groups(2)) }},
		{"few windows each", []int{10 * n, 6 * n, 4}, []int{10 * n, 6 * n, 3}, func(x, w tensor.Tensor) tensor.Tensor { return tensor.Conv1d(x, w, tensor.Padding(1)) }},
	} {
		w := tensor.Randn(c.weight)
		compiled := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := c.of(x[0], w)
			return y, y.Err()
		}, compile.Captures())
		for i := range 9 {
			if i%3 == 2 {
				must(t, w.AddInPlace(tensor.Randn(c.weight)))
			}
			x, before := tensor.Randn(c.x), w.Clone()
			got, err := compiled.Call(x)
			must(t, err)
			if d := diff(values(t, c.of(x, before)), values(t, got), alike(dev)); d != "" {
				t.Fatalf("%s, run %d: eager and compiled differ (-want +got):\n%s", c.name, i, d)
			}
		}
		compiled.Close()
	}
}
