package edges_test

import (
	"math"
	"testing"

	. "github.com/sinter-go/sinter/generated/tensor"
)

// TestLogCumSumExpHalves: the gradient of 16-bit floats is not made of rounded results.
// Of equal numbers the sum of the last result's weights is 1, one part for each.
func TestLogCumSumExpHalves(t *testing.T) {
	for _, d := range []DType{Float16, BFloat16} {
		x := Full([]int{4}, 1000, OfType(d), RequireGrad())
		must(t, x.Logcumsumexp(0).Narrow(0, 3, 1).Sum().Backward())
		g, _ := x.Grad()
		for i, v := range numbers(t, g) {
			if math.Abs(v-0.25) > 0.002 {
				t.Errorf("%s: element %d of the gradient is %v, want 0.25", d, i, v)
			}
		}
	}
}

// TestLogCumSumExpOfLargeNumbers: a logarithm of 10000 in float32 is off by 0.0005, which
// its exponential is in parts of itself; so the gradient of float32 is made in float64.
func TestLogCumSumExpOfLargeNumbers(t *testing.T) {
	x := Linspace(0, 30, 40).Sin().Add(Linspace(9990, 10000, 40)).Detach()
	grad := func(d DType) []float64 {
		y := x.ToType(d).Detach().RequireGrad()
		must(t, y.Logcumsumexp(0).Mul(Linspace(0, 7, 40).Cos().ToType(d)).Sum().Backward())
		g, _ := y.Grad()
		return numbers(t, g)
	}
	want := grad(Float64)
	for i, v := range grad(Float32) {
		if math.Abs(v-want[i]) > 1e-6*max(1, math.Abs(want[i])) {
			t.Errorf("element %d of the gradient is %v, of float64 %v", i, v, want[i])
		}
	}
}
