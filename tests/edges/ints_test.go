package edges_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestFromInt makes tensors of the type that Go's integers have by default.
func TestFromInt(t *testing.T) {
	data := []int{1, -2, 3, 4}
	for name, x := range map[string]tensor.Tensor{
		"From":      tensor.From(data, 2, 2),
		"FromSlice": tensor.FromSlice(data, []int{2, 2}),
		"NewTensor": tensor.NewTensor(tensor.Zeros([]int{1}, tensor.OfType(tensor.Int64)), data, []int{2, 2}),
	} {
		got, err := tensor.Data[int64](x)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff([]int64{1, -2, 3, 4}, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}
