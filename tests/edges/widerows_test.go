package edges_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestWideRows adds up few long rows, of which many columns are folded together.
func TestWideRows(t *testing.T) {
	for i, shape := range [][2]int{{2, 16 << 10}, {5, 20001}, {128, 40000}, {129, 3000}} {
		for k, dt := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Int64} {
			if testing.Short() && i != k { // each dtype has one of the others
				continue
			}
			t.Run(fmt.Sprint(shape, dt), func(t *testing.T) {
				rows, n := shape[0], shape[1]
				x := tensor.Arange(0, rows*n, 1).RemainderScalar(1009).ToType(dt).Reshape(rows, n)
				want := make([]float64, n)
				for i := range rows * n {
					want[i%n] += float64(i % 1009)
				}
				got := values(t, x.Sum(tensor.Dim(0)).ToType(tensor.Float64))
				if !slices.Equal(want, got) {
					t.Errorf("sums of columns (-want +got):\n%s", cmp.Diff(want, got))
				}
			})
		}
	}
}
