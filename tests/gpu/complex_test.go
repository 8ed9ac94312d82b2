package gpu_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestComplexPowers: powers of complex numbers have the limits on a GPU that they have on the
// CPU, which other tests hold against PyTorch's. The sign of a zero is open.
func TestComplexPowers(t *testing.T) {
	need(t)
	parts := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2, math.Inf(1), math.Inf(-1), math.NaN()}
	var bases, exponents []complex128
	for i := range 9 * 9 * 9 * 9 {
		bases = append(bases, complex(parts[i%9], parts[i/9%9]))
		exponents = append(exponents, complex(parts[i/81%9], parts[i/729]))
	}
	for dtype, near := range map[tensor.DType]float64{tensor.Complex64: 1e-5, tensor.Complex128: 1e-12} {
		x, y := tensor.From(bases, len(bases)).ToType(dtype), tensor.From(exponents, len(exponents)).ToType(dtype)
		want, err := tensor.Data[complex128](x.Pow(y).ToType(tensor.Complex128))
		must(t, err)
		got, err := tensor.Data[complex128](x.To(gpu).Pow(y.To(gpu)).ToType(tensor.Complex128))
		must(t, err)
		for i := range want {
			if !sameParts(got[i], want[i], near) {
				t.Errorf("%s: %v to the power %v is %v, on the CPU %v", dtype, bases[i], exponents[i], got[i], want[i])
			}
		}
	}
}

func sameParts(a, b complex128, near float64) bool {
	same := func(x, y float64) bool {
		return x == y || x != x && y != y || math.Abs(x-y) <= near*math.Max(1e-6, math.Abs(y))
	}
	return same(real(a), real(b)) && same(imag(a), imag(b))
}
