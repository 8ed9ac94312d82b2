package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/nn"
	"github.com/sinter-go/sinter/optim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/tests/brief"
)

// TestNormSums: the gradient by the bias of a convolution before a norm is summed with the norm's
// gradient where a channel's images are whole accumulators and its parts whole blocks, and is to
// the bit what eager code gives.
func TestNormSums(t *testing.T) { each(t, testNormSums) }

func testNormSums(t *testing.T, dev device.Device) {
	for i, tt := range []struct {
		shape []int // images, channels, rows and columns
		dtype tensor.DType
		takes bool
	}{
		{[]int{64, 32, 8, 8}, tensor.Float32, true},
		{[]int{1, 2, 8, 8}, tensor.Float32, true}, // an axis of one element is not folded
		{[]int{8, 1, 8, 8}, tensor.Float32, true},
		{[]int{3, 5, 8, 16}, tensor.Float32, true},
		{[]int{5, 3, 16, 12}, tensor.Float32, true}, // blocks end within rows
		{[]int{300, 1, 8, 8}, tensor.Float32, true}, // parts, of which the last is no whole block
		{[]int{20, 2, 32, 32}, tensor.Float32, true},
		{[]int{2, 2, 160, 160}, tensor.Float32, true}, // images longer than a part
		{[]int{4, 3, 4, 8}, tensor.Float64, true},
		{[]int{40, 3, 16, 32}, tensor.Float64, true},
		{[]int{4, 3, 4, 8}, tensor.Float32, false},
		{[]int{2, 4, 7, 7}, tensor.Float32, false},
		{[]int{9, 2, 48, 48}, tensor.Float32, false}, // parts are no whole blocks
		{[]int{2, 2, 129, 128}, tensor.Float32, false},
		{[]int{8, 4, 8, 8}, tensor.BFloat16, false},
	} {
		if brief.Skip(i, int(dev.Kind)) {
			continue
		}
		t.Run(fmt.Sprint(tt.shape, tt.dtype), func(t *testing.T) {
			want, _ := trainNorm(t, tt.shape, tt.dtype, false)
			got, done := trainNorm(t, tt.shape, tt.dtype, true)
			sameBits(t, got, want, done)
			if dev.Kind != device.KindCPU {
				return
			}
			if takes := tt.takes && simd.Active().Vectors() >= simd.AVX2; takes != strings.Contains(done.String(), "channel_norm_affine_grad_sum") {
				t.Errorf("summed with the norm's gradient: %t is wanted\n%s", takes, done)
			}
		})
	}
}

// trainNorm returns the parameters after two steps, and what they were done by.
func trainNorm(t *testing.T, shape []int, dtype tensor.DType, compiled bool) (left []tensor.Tensor, done *program.Program) {
	random.Seed(7)
	model := nn.NewSequential(nn.NewConv2d(1, shape[1], 1), nn.NewBatchNorm(shape[1]), nn.Tanh())
	must(t, nn.ToType(model, dtype))
	sgd, err := optim.NewSGD(nn.Parameters(model), 0.1)
	must(t, err)
	step := func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return optim.Minimize(sgd, func() tensor.Tensor { return model.Forward(x[0]).Mul(x[1]).Sum() })
	}
	if compiled {
		c := compile.Step(step, compile.State(model, sgd))
		defer func() { done = c.Program(); c.Close() }()
		step = c.Call
	}
	of := tensor.OfType(dtype)
	for range 2 {
		x, y := tensor.Randn([]int{shape[0], 1, shape[2], shape[3]}, of), tensor.Randn(shape, of)
		_, err := step(x, y)
		must(t, err)
	}
	for _, p := range nn.Parameters(model) {
		left = append(left, p.Tensor)
	}
	return left, done
}
