package compile_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// residual is two layers with gelu by tanh between them, of which what they are of is added, and
// its gradients.
func residual(x ...tensor.Tensor) ([]tensor.Tensor, error) {
	y := x[0].Linear(x[1], tensor.Bias(x[2])).GELU(tensor.ApproximateTanh).Linear(x[3], tensor.Bias(x[4])).Add(x[0])
	grads, err := tensor.Gradients([]tensor.Tensor{y.Square().Sum()}, x)
	return append(grads, y.Detach()), err
}

// residualOf returns operands of residual: so many rows of so many columns, and a layer as wide.
func residualOf(rows, columns, wide int, on ...tensor.Option) []tensor.Tensor {
	draw := func(scale float64, shape ...int) tensor.Tensor {
		return tensor.Randn(shape, on...).MulScalar(scale).Detach().RequireGrad()
	}
	return []tensor.Tensor{draw(1, rows, columns), draw(0.1, wide, columns), draw(1, wide), draw(0.1, columns, wide), draw(1, columns)}
}

// TestResidual: products of 16 bits with gelu, its gradient and a sum after them, which may be one
// call of a library where rounding is free, are near what they are one by one.
func TestResidual(t *testing.T) { each(t, testResidual) }

func testResidual(t *testing.T, dev device.Device) {
	for _, dtype := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		for _, s := range [][3]int{{64, 48, 96}, {33, 40, 72}, {7, 5, 9}} {
			x := residualOf(s[0], s[1], s[2], tensor.OfType(dtype))
			want, err := residual(x...)
			must(t, err)
			relaxed := compile.Step(residual, compile.Relaxed())
			defer relaxed.Close()
			for range 3 {
				got, err := relaxed.Call(x...)
				must(t, err)
				for i := range want {
					most, err := want[i].ToType(tensor.Float32).Abs().Max().Item()
					must(t, err)
					if d := apartBy(t, got[i], want[i]); !(d <= most*map[tensor.DType]float64{tensor.Float16: 4e-3, tensor.BFloat16: 3e-2}[dtype]) {
						t.Errorf("%v %v, result %d: %v apart of %v\n%s", dtype, s, i, d, most, relaxed.Explain())
					}
				}
			}
		}
	}
}

// TestResidualPlanned: on a GPU, which this machine need not have, gelu, its gradient and the sum
// are launches of their own only where eager code's bits are asked for.
func TestResidualPlanned(t *testing.T) {
	f := compile.Step(residual, compile.Unfused())
	defer f.Close()
	_, err := f.Call(residualOf(256, 256, 512, tensor.OfType(tensor.BFloat16))...)
	must(t, err)
	p := f.Recorded()
	for i := range p.Steps { // as memory of a device is
		for _, views := range [][]ir.View{p.Steps[i].Call.In, p.Steps[i].Call.Out} {
			for j := range views {
				views[j].Ptr = nil
			}
		}
	}
	exact, relaxed := launches(t, p, new(gpu.Driver), false), launches(t, p, new(gpu.Driver), true)
	for _, name := range []string{"fused_matmul_bias_gelu", "fused_matmul_gelu_grad_x", "fused_matmul_add"} {
		if slices.Contains(exact, name) || !slices.Contains(relaxed, name) {
			t.Error(fmt.Sprint(name, ": exact ", exact, ", relaxed ", relaxed))
		}
	}
}
