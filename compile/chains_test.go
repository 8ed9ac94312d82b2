package compile_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestChainsOfLengths: regions that call functions, whose code is of one vector and of two,
// give what their operators give one by one, to the bit, whatever is left over.
func TestChainsOfLengths(t *testing.T) { each(t, testChainsOfLengths) }

func testChainsOfLengths(t *testing.T, dev device.Device) {
	if dev.Kind != device.KindCPU {
		t.Skip("of the code that is made on the CPU")
	}
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.Float16, tensor.BFloat16} {
		fused, apart := compile.Func(chain, compile.Plans(4)), compile.Func(chain, compile.Unfused(), compile.Plans(4))
		defer fused.Close()
		defer apart.Close()
		for _, n := range []int{1, 7, 8, 15, 16, 17, 31, 32, 33, 47, 48, 63, 64, 65, 100, 1027} {
			t.Run(fmt.Sprint(dtype, " of ", n), func(t *testing.T) {
				draw := func() tensor.Tensor { return tensor.Randn([]int{n}).MulScalar(3).ToType(dtype) }
				x := []tensor.Tensor{draw(), draw(), draw()}
				got, err := fused.Call(x...)
				must(t, err)
				want, err := apart.Call(x...)
				must(t, err)
				sameBits(t, []tensor.Tensor{got}, []tensor.Tensor{want}, fused.Program())
				if s := fused.Stats(); s.Steps != 1 {
					t.Errorf("%d launches, want 1", s.Steps)
				}
			})
		}
	}
}
