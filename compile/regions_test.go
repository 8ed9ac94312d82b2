package compile_test

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestRegionsInOrder: a kernel of several operators runs behind all that any of them reads,
// however early others of them were called: programs in which values go through sums and
// around them give eager code's bits.
func TestRegionsInOrder(t *testing.T) {
	programs := uint64(60)
	if testing.Short() {
		programs = 6
	}
	for seed := range programs {
		f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
			r := rand.New(rand.NewPCG(*firstSeed+seed, 17))
			list := []tensor.Tensor{x[0].Tanh(), x[0].Sigmoid()}
			at := func() tensor.Tensor { return list[max(0, len(list)-1-r.IntN(12))] }
			for range 40 {
				y := at()
				switch r.IntN(6) {
				case 0:
					y = y.Mean(tensor.Dim(1), tensor.KeepDim())
				case 1:
					y = y.Neg()
				case 2:
					y = y.Mul(at())
				default:
					y = y.Add(at())
				}
				list = append(list, y.MulScalar(0.5))
			}
			sum := list[0].Sum()
			for _, y := range list[1:] {
				sum = sum.Add(y.Square().Sum())
			}
			g, err := tensor.Gradients([]tensor.Tensor{sum}, x)
			if err != nil {
				return tensor.Tensor{}, err
			}
			return g[0], nil
		}
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			each(t, func(t *testing.T, dev device.Device) {
				x := tensor.Linspace(-1, 1, 16).Reshape(4, 4).Contiguous().RequireGrad()
				want, err := f(x)
				must(t, err)
				step := compile.Step(f)
				defer step.Close()
				got, err := step.Call(x)
				must(t, err)
				if d := diff(values(t, want), values(t, got), alike(dev)); d != "" {
					t.Error(d)
				}
			})
		})
	}
}
