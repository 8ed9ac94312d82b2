package gpu_test

import (
	"math"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// TestRemainders: whole numbers that are drawn from so many are the same on a GPU, whichever way its
// remainders are computed.
func TestRemainders(t *testing.T) {
	need(t)
	for _, span := range []int{1, 2, 3, 5, 17, 255, 256, 257, 1000, 32767, 1 << 15, 1<<15 + 1, 65537, math.MaxInt32, math.MaxInt / 2, math.MaxInt - 7} {
		for _, low := range []int{0, -5, 7} {
			draw := func(d device.Device) (list []int64) {
				err := random.With(random.New(int64(span)), func() (err error) {
					list, err = tensor.Data[int64](tensor.Randint([]int{20001}, low, low+span, tensor.On(d)).To(device.CPU))
					return err
				})
				must(t, err)
				return list
			}
			if diff := cmp.Diff(draw(device.CPU), draw(gpu)); diff != "" {
				t.Errorf("%d numbers from %d: %s", span, low, diff)
			}
		}
	}
}

// TestDiagonals: matrices with ones on their diagonals are the same on a GPU, of any extents and dtypes.
func TestDiagonals(t *testing.T) {
	need(t)
	for _, extents := range [][2]int{{1, 1}, {1, 9}, {9, 1}, {2, 3}, {3, 2}, {33, 100}, {100, 33}, {257, 257}, {2, 70001}, {70001, 2}} {
		for _, dt := range []tensor.DType{tensor.Bool, tensor.Uint8, tensor.Int16, tensor.Int64, tensor.Float16, tensor.Float32, tensor.Complex64, tensor.Complex128} {
			of := func(d device.Device) tensor.Tensor {
				return tensor.Eye(extents[0], extents[1], tensor.OfType(dt), tensor.On(d)).To(device.CPU)
			}
			others, err := tensor.Data[int64](of(gpu).Ne(of(device.CPU)).CountNonzero())
			must(t, err)
			if others[0] != 0 {
				t.Errorf("%v of %v: %d elements differ", extents, dt, others[0])
			}
		}
	}
}

// TestProbabilityErrors: a probability outside [0, 1] is told of, wherever it lies, and none is where there is none.
func TestProbabilityErrors(t *testing.T) {
	need(t)
	const n = 300_001
	for _, bad := range []float32{0, 1, -0.5, 1.5, float32(math.NaN()), float32(math.Inf(1))} {
		for _, at := range []int{0, 4097, n - 1} {
			p := make([]float32, n)
			p[at] = bad
			_, err := tensor.Data[float32](tensor.From(p, n).To(gpu).Bernoulli())
			if fine := bad == 0 || bad == 1; fine != (err == nil) || err != nil && !strings.Contains(err.Error(), "no probabilities") {
				t.Errorf("%v at %d: %v", bad, at, err)
			}
		}
	}
}
