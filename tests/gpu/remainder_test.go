package gpu_test

import (
	"math"
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
