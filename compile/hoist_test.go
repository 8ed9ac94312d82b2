package compile_test

import (
	"testing"

	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
)

// TestHoisted: what depends on nothing that changes is computed when a function is
// recorded, and no step of its program, and so is what nobody reads; what is returned,
// written to, drawn or large is one.
func TestHoisted(t *testing.T) { each(t, testHoisted) }

func testHoisted(t *testing.T, dev device.Device) {
	for _, c := range []struct {
		name  string
		f     func(x tensor.Tensor) tensor.Tensor
		steps int
		same  bool
	}{
		{"a mask", func(x tensor.Tensor) tensor.Tensor {
			return x.MatMul(tensor.Ones([]int{4, 4}).Tril(0))
		}, 1, true},
		{"places", func(x tensor.Tensor) tensor.Tensor {
			n := tensor.Arange(0, 4, 1).ToType(tensor.Float32)
			return x.MatMul(n.Exp().Unsqueeze(1))
		}, 1, true},
		{"a number", func(x tensor.Tensor) tensor.Tensor {
			return x.Mul(tensor.Ones([]int{1}).Div(tensor.Full([]int{1}, 3)))
		}, 1, true},
		{"a number for a product", func(x tensor.Tensor) tensor.Tensor {
			return x.Narrow(1, 0, 1).MatMul(tensor.Ones([]int{1, 1}).MulScalar(3))
		}, 1, true},
		{"what is returned is made in each run", func(tensor.Tensor) tensor.Tensor { return tensor.Ones([]int{4, 4}) }, 1, true},
		{"what is written to", func(x tensor.Tensor) tensor.Tensor {
			y := tensor.Ones([]int{4, 4})
			_ = y.AddInPlace(x)
			return y.MatMul(x)
		}, map[bool]int{true: 2, false: 3}[dev.Kind != device.KindSim], true}, // where nothing is fused, it is made and then written to
		{"random numbers", func(x tensor.Tensor) tensor.Tensor { return x.MatMul(tensor.Randn([]int{4, 4})) }, 2, false},
		{"what nobody reads", func(x tensor.Tensor) tensor.Tensor {
			y := x.Exp().Sin()
			_ = y.AddInPlace(x)
			z := x.MatMul(x)
			_ = y.CopyFrom(z) // over what nobody has read
			return z
		}, 1, true},
		{"what is large", func(x tensor.Tensor) tensor.Tensor {
			return x.MatMul(tensor.Ones([]int{4, 1<<16 + 64}))
		}, 2, true},
	} {
		must(t, tensor.WithDefaults(tensor.Defaults{Device: dev}, func() error {
			compiled := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
				y := c.f(x[0])
				return y, y.Err()
			})
			defer compiled.Close()
			for range 3 { // the third may be a graph's
				x := tensor.Randn([]int{4, 4})
				got, err := compiled.Call(x)
				must(t, err)
				if want := c.f(x); c.same {
					if d := diff(values(t, want), values(t, got), alike(dev)); d != "" {
						t.Errorf("%s: eager and compiled differ (-want +got):\n%s", c.name, d)
					}
				}
			}
			if s := compiled.Stats(); s.Steps != c.steps {
				t.Errorf("%s: %d steps, want %d\n%s", c.name, s.Steps, c.steps, compiled.Program())
			}
			return nil
		}))
	}
}

// TestHoistedNumbers: what is one number for element-wise steps, and the same on all devices, is
// a number of the host. Others stay in the device's memory.
func TestHoistedNumbers(t *testing.T) {
	each(t, func(t *testing.T, dev device.Device) {
		one := func() tensor.Tensor { return tensor.Ones([]int{1}) }
		for _, c := range []struct {
			name string
			f    func(x tensor.Tensor) tensor.Tensor
			host bool
		}{
			{"a quotient", func(x tensor.Tensor) tensor.Tensor { return x.Mul(one().DivScalar(3)) }, true},
			{"of 16 bits", func(x tensor.Tensor) tensor.Tensor {
				return x.Mul(tensor.Ones([]int{1}, tensor.OfType(tensor.BFloat16)).DivScalar(3))
			}, true},
			{"an exponential", func(x tensor.Tensor) tensor.Tensor { return x.Mul(one().Exp()) }, false},
			{"of integers", func(x tensor.Tensor) tensor.Tensor { return x.Mul(one().ToType(tensor.Int32).AddScalar(2)) }, false},
			{"no number", func(x tensor.Tensor) tensor.Tensor { return x.Mul(one().SubScalar(1).DivScalar(0)) }, false},
			{"two elements", func(x tensor.Tensor) tensor.Tensor { return x.Mul(tensor.Ones([]int{4}).DivScalar(3)) }, false},
			{"of one operand", func(x tensor.Tensor) tensor.Tensor { return x.Mul(one().DivScalar(3).Tanh()) }, false},
			{"wider than what reads it", func(x tensor.Tensor) tensor.Tensor {
				return x.ToType(tensor.Float16).Mul(tensor.Ones([]int{}).DivScalar(3)).ToType(tensor.Float32)
			}, true}, // by a kernel of float32
			{"for a fold", func(x tensor.Tensor) tensor.Tensor { return x.Mul(one().DivScalar(3).Sum()) }, false},
		} {
			compiled := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
				y := c.f(x[0])
				return y, y.Err()
			})
			defer compiled.Close()
			x := tensor.Randn([]int{4, 4})
			got, err := compiled.Call(x)
			must(t, err)
			if d := diff(values(t, c.f(x)), values(t, got), cmpopts.EquateNaNs()); d != "" {
				t.Errorf("%s: eager and compiled differ (-want +got):\n%s", c.name, d)
			}
			host := true
			for _, s := range compiled.Program().Steps {
				for _, r := range s.In {
					if b := compiled.Program().Buffers[r.Buffer]; b.Kind == program.Constant {
						host = host && b.Device == "cpu"
					}
				}
			}
			if dev.Accelerator() && host != c.host {
				t.Errorf("%s: numbers of the host alone: %v, want %v\n%s", c.name, host, c.host, compiled.Program())
			}
		}
	})
}
