package gpu_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestProductOfOthers: gradients of products of all triples of zeros, infinities, NaN, numbers
// below the least normal one and large ones are on a GPU what they are on the CPU.
func TestProductOfOthers(t *testing.T) {
	need(t)
	special := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-45, -1e-39, 1e30, -1e30, 3, -0.5}
	var list []float64
	for i := range 11 * 11 * 11 {
		list = append(list, special[i%11], special[i/11%11], special[i/121])
	}
	run := func(d device.Device) []float64 {
		x := tensor.From(list, len(list)/3, 3).ToType(tensor.Float32).To(d).Detach().RequireGrad()
		all, err := tensor.Gradients([]T{x.Prod(tensor.Dim(1)).Sum()}, []T{x})
		must(t, err)
		out, err := tensor.Data[float64](all[0].ToType(tensor.Float64))
		must(t, err)
		return out
	}
	got, want := run(gpu), run(device.CPU)
	for i := range want {
		if a, b := got[i], want[i]; a != b && !(a != a && b != b) && !(math.Abs(a-b) <= 1e-6*math.Abs(b)+1.5e-45) {
			t.Errorf("the gradient of %v in %v is %v, on the CPU %v", list[i], list[i/3*3:i/3*3+3], a, b)
		}
	}
}
