package samples

import (
	"math"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestProductOfOthers: the gradient of a product is the product of the other elements, also
// where the product of all is zero, infinite, or beyond what the dtype holds.
func TestProductOfOthers(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	const tiny = 1.401298464324817e-45 // the least float32
	for _, test := range []struct {
		name    string
		x, want []float64
	}{
		{"plain", []float64{2, -3, 0.5}, []float64{-1.5, 1, -6}},
		{"one", []float64{7}, []float64{1}},
		{"a zero", []float64{2, 0, 5}, []float64{0, 10, 0}},
		{"two zeros", []float64{2, 0, 0}, []float64{0, 0, 0}},
		{"too large together", []float64{1e30, 1e30, 1e-30}, []float64{1, 1, 1e60}},
		{"too small together", []float64{1e-30, -1e-30, 1e30}, []float64{-1, 1, -1e-60}},
		{"over the least", []float64{tiny, 1e-38, 1e38}, []float64{1, tiny * 1e38, tiny * 1e-38}},
		{"over the largest", []float64{3e38, 3e38}, []float64{3e38, 3e38}},
		{"an infinity", []float64{2, -inf, 5}, []float64{-inf, 10, -inf}},
		{"two infinities", []float64{-inf, -inf, 5}, []float64{-inf, -inf, inf}},
		{"not a number", []float64{2, nan, 5}, []float64{nan, 10, nan}},
		{"a zero and an infinity", []float64{0, inf, 5}, []float64{inf, 0, nan}},
		{"an infinity and not a number", []float64{-inf, tiny, nan}, []float64{nan, nan, -inf}},
		{"parts beyond what float64 holds", append([]float64{2}, slices.Repeat([]float64{0x1p120, 0x1p-120}, 100)...),
			append([]float64{1}, slices.Repeat([]float64{0x1p-119, 0x1p121}, 100)...)},
	} {
		for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64} {
			within := map[tensor.DType]float64{tensor.Float16: 2e-3, tensor.BFloat16: 1.6e-2}[dt]
			within = max(within, 1e-5)
			x := tensor.FromSlice(test.x, []int{len(test.x)}, tensor.OfType(dt), tensor.RequireGrad())
			if far(settings[0].data(t, x), test.x, within) >= 0 {
				continue // the dtype has no such numbers
			}
			grads, err := tensor.Gradients([]tensor.Tensor{x.Prod()}, []tensor.Tensor{x})
			if err != nil {
				t.Fatal(err)
			}
			got := settings[0].data(t, grads[0])
			want := settings[0].data(t, tensor.FromSlice(test.want, []int{len(test.want)}, tensor.OfType(dt)))
			if i := far(got, want, within); i >= 0 {
				t.Errorf("%s, %v: gradient %d is %v, want %v", test.name, dt, i, got[i], want[i])
			}
		}
	}
}

// TestProdSecondDerivative checks the gradient of the sum of a product's gradients where
// factors are zeros, so that it cannot be had by division.
func TestProdSecondDerivative(t *testing.T) {
	for _, test := range []struct{ x, want []float64 }{
		{[]float64{2, 3, 5}, []float64{8, 7, 5}},
		{[]float64{2, 0, 5}, []float64{5, 7, 2}},
		{[]float64{2, 0, 0}, []float64{0, 2, 2}},
		{[]float64{0, 0, 0}, []float64{0, 0, 0}},
		{[]float64{2, 0, 0, 3}, []float64{0, 6, 6, 0}},
		{[]float64{0, 0, 0, 3}, []float64{0, 0, 0, 0}},
	} {
		for _, dt := range []tensor.DType{tensor.Float16, tensor.BFloat16, tensor.Float32, tensor.Float64} {
			x := tensor.FromSlice(test.x, []int{len(test.x)}, tensor.OfType(dt), tensor.RequireGrad())
			first, err := tensor.Gradients([]tensor.Tensor{x.Prod()}, []tensor.Tensor{x}, tensor.CreateGraph())
			if err != nil {
				t.Fatal(err)
			}
			second, err := tensor.Gradients([]tensor.Tensor{first[0].Sum()}, []tensor.Tensor{x})
			if err != nil {
				t.Fatal(err)
			}
			got := settings[0].data(t, second[0])
			if i := far(got, test.want, 1e-5); i >= 0 {
				t.Errorf("%v of %v: %v, want %v", test.x, dt, got, test.want)
			}
		}
	}
}

// far returns the first element of got that is not want's, but for a part of its size; -1 if
// there is none.
func far(got, want []float64, part float64) int {
	for i, g := range got {
		w := want[i]
		if g != w && !(math.Abs(g-w) <= part*math.Abs(w) && !math.IsInf(w, 0)) && !(math.IsNaN(g) && math.IsNaN(w)) {
			return i
		}
	}
	return -1
}
