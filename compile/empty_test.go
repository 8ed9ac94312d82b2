package compile_test

import (
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestEmptyBatch: functions that are differentiated, or that differentiate, run on tensors without elements, too.
func TestEmptyBatch(t *testing.T) { each(t, testEmptyBatch) }

func testEmptyBatch(t *testing.T, _ device.Device) {
	weight := func() tensor.Tensor { return tensor.Ones([]int{4}).RequireGrad() }
	for _, c := range []struct {
		name string
		f    func(x ...tensor.Tensor) (tensor.Tensor, error)
	}{
		{"a leaf of its own", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			leaf := x[0].MulScalar(2).Detach().RequireGrad()
			g, err := tensor.Gradients([]tensor.Tensor{leaf.Mul(x[1]).Sum()}, []tensor.Tensor{leaf})
			if err != nil {
				return tensor.Tensor{}, err
			}
			return g[0], nil
		}},
		{"an argument", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			leaf := x[0].Detach().RequireGrad()
			g, err := tensor.Gradients([]tensor.Tensor{leaf.Mul(x[1]).Sum()}, []tensor.Tensor{leaf})
			if err != nil {
				return tensor.Tensor{}, err
			}
			return g[0], nil
		}},
		{"gradients flow to the result", func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Mul(x[1]), nil }},
		{"a loss", func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Mul(x[1]).Sum(), nil }},
		{"in place", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := x[0].MulScalar(1)
			return y, y.MulInPlace(x[1])
		}},
		{"in place of a part", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := x[0].MulScalar(1)
			return y, y.Narrow(1, 0, 2).AddScalarInPlace(1)
		}},
		{"filled", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := tensor.Zeros([]int{0, 4})
			return y, y.AddInPlace(x[1].Mul(x[0]))
		}},
		{"an operand of a list", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return tensor.Cat([]tensor.Tensor{x[0].Mul(x[1]), x[1].Unsqueeze(0)}, 0), nil
		}},
		{"a part", func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[1].Narrow(0, 1, 0).Exp(), nil }},
		{"a view as the result", func(x ...tensor.Tensor) (tensor.Tensor, error) { return x[0].Mul(x[1]).Transpose(0, 1), nil }},
		{"a pass", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := x[0].Mul(x[1]).Sum()
			return y.Detach(), y.Backward()
		}},
		{"the argument in place", func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return x[1].Sum(), x[0].AddScalarInPlace(1)
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			x := tensor.Zeros([]int{0, 4})
			w := weight()
			want, err := c.f(x, w)
			must(t, err)
			f := compile.Func(c.f)
			defer f.Close()
			for range 3 {
				got, err := f.Call(x, w)
				if err != nil {
					t.Error(err)
					return
				}
				if got.RequiresGrad() != want.RequiresGrad() {
					t.Errorf("gradients flow: %t, want %t", got.RequiresGrad(), want.RequiresGrad())
				}
				sameBits(t, []tensor.Tensor{got.Detach()}, []tensor.Tensor{want.Detach()}, f.Program())
				if want.RequiresGrad() {
					must(t, got.Sum().Backward())
				}
			}
		})
	}
}
