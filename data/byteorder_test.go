package data

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sinter-go/sinter/generated/tensor"
)

// TestSwapBytes covers what little-endian machines never run.
func TestSwapBytes(t *testing.T) {
	for _, c := range []struct {
		d    tensor.DType
		want []byte
	}{
		{tensor.Bool, []byte{1, 2, 3, 4, 5, 6, 7, 8}},
		{tensor.BFloat16, []byte{2, 1, 4, 3, 6, 5, 8, 7}},
		{tensor.Float32, []byte{4, 3, 2, 1, 8, 7, 6, 5}},
		{tensor.Complex64, []byte{4, 3, 2, 1, 8, 7, 6, 5}},
		{tensor.Int64, []byte{8, 7, 6, 5, 4, 3, 2, 1}},
	} {
		raw := []byte{1, 2, 3, 4, 5, 6, 7, 8}
		swapBytes(raw, numberSize(c.d))
		if diff := cmp.Diff(c.want, raw); diff != "" {
			t.Errorf("%s: %s", c.d, diff)
		}
	}
}
