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
