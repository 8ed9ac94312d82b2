package compile_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestExtremesOfZeros: the greatest and the least in programs have -0 before +0, as calls have.
func TestExtremesOfZeros(t *testing.T) { each(t, testExtremesOfZeros) }

func testExtremesOfZeros(t *testing.T, dev device.Device) {
	rng := rand.New(rand.NewPCG(17, 18))
	below := math.Copysign(0, -1)
	mixes := [][]float64{{0, below}, {0, below, -1}, {0, below, 1}, {below}, {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, below}}
	for _, n := range []int{8, 64, 65, 300, 1000} {
		rows := 4 * len(mixes)
		of := make([]float64, rows*n)
		for i := range of {
			mix := mixes[i/n%len(mixes)]
			of[i] = mix[rng.IntN(len(mix))]
		}
		for _, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.BFloat16, tensor.Float16} {
			x := tensor.FromSlice(of, []int{rows, n}, tensor.OfType(dtype))
			for _, dim := range []int{0, 1} {
				t.Run(fmt.Sprint(n, dtype, " along ", dim), func(t *testing.T) {
					testRowwise(t, dev, func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
						y, along := x[0].Neg(), tensor.Dim(dim)
						return []tensor.Tensor{y.Max(along), y.Min(along), x[0].Max(along).Neg(), x[0].Min(along).Neg()}, nil
					}, 0, []tensor.Tensor{x}, dtype, false)
				})
			}
		}
	}
}
