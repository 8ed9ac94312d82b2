package gpu_test

import (
	"math"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestComplexCorners: functions of two complex numbers have the limits on a GPU that they
// have on the CPU, which other tests hold against PyTorch's. The sign of a zero is open.
func TestComplexCorners(t *testing.T) {
	need(t)
	parts := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -2, math.Inf(1), math.Inf(-1), math.NaN()}
	var left, right []complex128
	for i := range 9 * 9 * 9 * 9 {
		left = append(left, complex(parts[i%9], parts[i/9%9]))
		right = append(right, complex(parts[i/81%9], parts[i/729]))
	}
	for _, f := range []struct {
		name  string
		apply func(x, y tensor.Tensor) tensor.Tensor
	}{
		{"to the power", tensor.Tensor.Pow},
		{"times", tensor.Tensor.Mul},
		{"divided by", tensor.Tensor.Div},
		{"below", tensor.Tensor.Rdiv},
		{"divided, added to 0, by", func(x, y tensor.Tensor) tensor.Tensor { return tensor.ZerosLike(x).Addcdiv(x, y) }},
	} {
		for dtype, near := range map[tensor.DType]float64{tensor.Complex64: 1e-5, tensor.Complex128: 1e-12} {
			x, y := tensor.From(left, len(left)).ToType(dtype), tensor.From(right, len(right)).ToType(dtype)
			want, err := tensor.Data[complex128](f.apply(x, y).ToType(tensor.Complex128))
			must(t, err)
			got, err := tensor.Data[complex128](f.apply(x.To(gpu), y.To(gpu)).ToType(tensor.Complex128))
			must(t, err)
			for i, misses := 0, 0; i < len(want) && misses < 8; i++ {
				if !sameParts(got[i], want[i], near) {
					misses++
					t.Errorf("%s: %v %s %v is %v, on the CPU %v", dtype, left[i], f.name, right[i], got[i], want[i])
				}
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
