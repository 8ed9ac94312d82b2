package edges_test

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	. "github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestTransposedPaddingCuts gives a transposed convolution weights that are infinite. Its
// padding cuts the result: there is no zero for them to be multiplied with, and no NaN.
func TestTransposedPaddingCuts(t *testing.T) {
	for _, d := range []device.Device{device.CPU, device.Sim(0)} {
		for _, dt := range []DType{Float16, BFloat16, Float32, Float64} {
			for _, stride := range []int{1, 2} {
				t.Run(fmt.Sprint(d, " ", dt, " stride ", stride), func(t *testing.T) {
					data := slices.Repeat([]float64{1}, 2*3*3*3)
					data[0], data[31] = math.Inf(1), math.Inf(1)
					x, w := Ones([]int{1, 2, 4, 4}, On(d), OfType(dt)), From(data, 2, 3, 3, 3).ToType(dt).To(d)
					got := x.ConvTranspose2d(w, Stride(stride), Padding(1))
					whole := x.ConvTranspose2d(w, Stride(stride))
					n := whole.Shape()[2] - 2
					want := kinds(t, whole.Narrow(2, 1, n).Narrow(3, 1, n).Contiguous())
					if diff := cmp.Diff(want, kinds(t, got)); diff != "" {
						t.Errorf("cut afterwards (-), by padding (+):\n%s", diff)
					}
					if slices.Contains(want, "nan") || !slices.Contains(want, "inf") || !slices.Contains(want, "") {
						t.Errorf("elements are %q, want finite and infinite ones", want)
					}
				})
			}
		}
	}
}

// TestEinsumOfThree: an error of one of the products that an einsum is made of is its error,
// whichever it is, and its text names the operator.
func TestEinsumOfThree(t *testing.T) {
	x := func() Tensor { return Ones([]int{2, 2}) }
	wrong := map[string]Tensor{"another dtype": Ones([]int{2, 2}, OfType(Int64)), "another shape": Ones([]int{2, 3}), "no tensor": {}, "another device": Ones([]int{2, 2}, On(device.Sim(0)))}
	for name, bad := range wrong {
		for at := range 3 {
			xs := []Tensor{x(), x(), x()}
			xs[at] = bad
			y := Einsum("ij,jk,ki->j", xs)
			if err := y.Err(); err == nil && name != "another dtype" { // it is promoted
				t.Errorf("operand %d of %s: no error", at, name)
			} else if y.Add(x()).Err() == nil != (err == nil) {
				t.Errorf("operand %d of %s: the error %v is not passed on", at, name, err)
			}
		}
	}
}
