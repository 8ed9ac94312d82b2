package edges_test

import (
	"math"
	"math/big"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestPowerOfNumbers checks powers of numbers that are operators of their own, where zeros,
// infinities, NaN, overflow and integers that wrap are concerned.
func TestPowerOfNumbers(t *testing.T) {
	inf, negativeZero := math.Inf(1), math.Copysign(0, -1)
	xs := []float64{0, negativeZero, 1, -1, 3, -0.7, 1e200, -1e-200, 5e-324, inf, -inf, math.NaN()}
	for _, y := range []float64{1, 2, -1, 0.5, 3} {
		got, err := tensor.Data[float64](tensor.From(xs, len(xs)).PowScalar(y))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range xs {
			want := math.Pow(x, y)
			same := got[i] == want && math.Signbit(got[i]) == math.Signbit(want) || math.IsNaN(want) && math.IsNaN(got[i])
			if !same && !(math.Abs(got[i]-want) <= 1e-15*math.Abs(want)) {
				t.Errorf("%v to the power %v is %v, want %v", x, y, got[i], want)
			}
		}
	}
	for _, y := range []int64{-1, 1, 2} {
		var xs []int8
		for x := range 256 {
			xs = append(xs, int8(x))
		}
		got, err := tensor.Data[int8](tensor.From(xs, len(xs)).PowScalar(y))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range xs {
			want := int8(0) // to the power -1
			if y > 0 {
				want = int8(new(big.Int).Exp(big.NewInt(int64(x)), big.NewInt(y), nil).Int64())
			} else if x == 1 || x == -1 {
				want = x
			}
			if got[i] != want {
				t.Errorf("%d to the power %d is %d, want %d", x, y, got[i], want)
			}
		}
	}
}
