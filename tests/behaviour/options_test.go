package behaviour_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestAbsentOptions holds that a nil option and one of the zero Tensor are none, that a
// flag without a value is true and with one what that says, and that an option may be
// given twice where both say the same.
func TestAbsentOptions(t *testing.T) {
	x, w, b := tensor.Randn([]int{2, 3}), tensor.Randn([]int{4, 3}), tensor.Randn([]int{4})
	var none tensor.Tensor
	yes := true
	for _, c := range []struct {
		name      string
		got, want tensor.Tensor
	}{
		{"nil", x.Sum(nil, tensor.Dim(1), nil), x.Sum(tensor.Dim(1))},
		{"zero tensor", x.Linear(w, tensor.Bias(none)), x.Linear(w)},
		{"given after none", x.Linear(w, tensor.Bias(none), tensor.Bias(b)), x.Linear(w, tensor.Bias(b))},
		{"flag", x.Sum(tensor.Dim(1), tensor.KeepDim()), x.Sum(tensor.Dim(1), tensor.KeepDim(yes))},
		{"flag that says no", x.Sum(tensor.Dim(1), tensor.KeepDim(false)), x.Sum(tensor.Dim(1))},
		{"twice the same", x.Sum(tensor.Dim(1), tensor.Dim(1), tensor.KeepDim(), tensor.KeepDim(yes)), x.Sum(tensor.Dim(1), tensor.KeepDim())},
	} {
		t.Run(c.name, func(t *testing.T) {
			if diff := cmp.Diff(c.want.Shape(), c.got.Shape()); diff != "" {
				t.Fatalf("shape (-want +got):\n%s", diff)
			}
			same, err := c.got.Eq(c.want).All().Item()
			if err != nil || same != 1 {
				t.Errorf("%v, want %v; error %v", c.got, c.want, err)
			}
		})
	}
}
