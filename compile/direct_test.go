package compile_test

import (
	"strings"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestDirect: products write their results where copies and transposes would bring them: not
// where the product is read elsewhere, too, or what is written has other values before.
func TestDirect(t *testing.T) {
	heads := func(x tensor.Tensor) tensor.Tensor { return x.Reshape(2, 6, 3, 4).Transpose(1, 2) }
	scores := func(x tensor.Tensor) tensor.Tensor { return heads(x).MatMul(heads(x).Transpose(2, 3)) }
	tests := []struct {
		name string
		left int // steps that are left out
		f    func(x ...tensor.Tensor) (tensor.Tensor, error)
	}{
		{"of two matrices", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return x[0].MatMul(x[1]).Transpose(0, 1).Contiguous(), nil
		}},
		{"heads", 1, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return heads(x[0]).MatMul(heads(x[0]).Transpose(2, 3)).Narrow(3, 0, 6).MatMul(heads(x[0])).Transpose(1, 2).Reshape(2, 6, 12), nil
		}},
		{"joined", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return tensor.Cat([]tensor.Tensor{x[0].MatMul(x[1]), x[1].MatMul(x[1])}, 0), nil
		}},
		{"joined after transposes", 2, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			a, b := heads(x[0]).MatMul(x[2]), heads(x[0]).MatMul(x[2].Transpose(0, 1))
			return tensor.Cat([]tensor.Tensor{a.Transpose(1, 2).Reshape(2, 6, 12), b.Transpose(1, 2).Reshape(2, 6, 12)}, 2), nil
		}},
		{"joined with a transpose", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return tensor.Cat([]tensor.Tensor{x[0].Transpose(0, 1).Contiguous(), x[1].MatMul(x[1])}, 1), nil
		}},
		{"read twice", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := scores(x[0])
			return tensor.Cat([]tensor.Tensor{y.Transpose(1, 2).Contiguous(), y.Transpose(1, 2)}, 1), nil
		}},
		{"a part", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			return scores(x[0]).Narrow(1, 1, 2).Transpose(1, 2).Contiguous(), nil
		}},
		{"written over", 0, func(x ...tensor.Tensor) (tensor.Tensor, error) {
			y := tensor.Zeros([]int{2, 6, 3, 6}, tensor.On(x[0].Device()))
			p := scores(x[0])
			if err := y.FillInPlace(3); err != nil {
				return y, err
			}
			return y, y.CopyFrom(p.Transpose(1, 2))
		}},
	}
	each(t, func(t *testing.T, dev device.Device) {
		x := []tensor.Tensor{tensor.Randn([]int{12, 12}), tensor.Randn([]int{12, 12}), tensor.Randn([]int{4, 4})}
		for _, tt := range tests {
			t.Run(tt.name, func(t *testing.T) {
				f, apart := compile.Func(tt.f), compile.Func(tt.f, compile.Unfused())
				defer f.Close()
				defer apart.Close()
				for range 3 {
					got, err := f.Call(x...)
					must(t, err)
					want, err := apart.Call(x...)
					must(t, err)
					if d := diff(values(t, want), values(t, got), alike(dev)); d != "" {
						t.Fatalf("%s\n%s", d, f.Program())
					}
				}
				if n := strings.Count(f.Explain(), " writes its result"); n != tt.left {
					t.Errorf("%d steps are left out, want %d\n%s\n%s", n, tt.left, f.Program(), f.Explain())
				}
			})
		}
	})
}
