package gpu_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
)

// TestNarrowPlanes: planes with few rows or columns are transposed as on the CPU, of elements of
// every size, where they have no gaps and where they have.
func TestNarrowPlanes(t *testing.T) {
	need(t)
	for _, dtype := range []tensor.DType{tensor.Uint8, tensor.BFloat16, tensor.Float32, tensor.Float64, tensor.Complex128} {
		for _, shape := range [][]int{{3, 8, 9}, {2, 9, 64}, {5, 512, 9}, {2, 9, 512}, {1, 5000, 16}, {1, 16, 5000}, {70000, 9, 10}, {3, 700, 17}, {2, 3, 1000}} {
			for _, gap := range []int{0, 1} {
				t.Run(fmt.Sprint(dtype, shape, gap), func(t *testing.T) {
					n := shape[0] * shape[1] * (shape[2] + gap)
					if *simulated && n > 100000 {
						t.Skip("takes long without a GPU")
					}
					elements := make([]int32, n)
					for i := range elements {
						elements[i] = int32(i * 7 % 251)
					}
					x := tensor.From(elements, shape[0], shape[1], shape[2]+gap)
					x = x.ToType(dtype)
					got, err := values(x.To(gpu).Narrow(2, gap, shape[2]).Permute(0, 2, 1).Contiguous())
					must(t, err)
					want, err := values(x.Narrow(2, gap, shape[2]).Permute(0, 2, 1).Contiguous())
					must(t, err)
					if !slices.Equal(got, want) {
						t.Errorf("%d elements differ from those of the CPU", len(want))
					}
				})
			}
		}
	}
}
