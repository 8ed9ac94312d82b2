package compile_test

import (
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// Functions of x[0], a matrix of 16 bits, and x[1], a row of it, that compute in float32 in
// between. One kernel each.
var halves = []struct {
	name string
	f    func(x ...tensor.Tensor) (tensor.Tensor, error)
}{
	{"rounded after each", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Mul(x[1]).Add(x[0]).Sigmoid().MulScalar(3), nil
	}},
	{"wide in between", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].ToType(tensor.Float32).Mul(x[0].ToType(tensor.Float32)).AddScalar(1).Tanh().ToType(x[0].DType()), nil
	}},
	{"rounded, then wide", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Mul(x[0]).ToType(tensor.Float32).Exp().Log1p(), nil
	}},
	{"softmax of parts", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		last := []tensor.Option{tensor.Dim(-1), tensor.KeepDim()}
		s := x[0].ToType(tensor.Float32).MulScalar(0.125)
		e := s.Sub(s.Max(last...)).Exp()
		return e.Div(e.Sum(last...)).ToType(x[0].DType()), nil
	}},
	{"norm of parts", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		wide := x[0].ToType(tensor.Float32)
		mean := wide.Square().Mean(tensor.Dim(-1), tensor.KeepDim())
		return wide.Mul(mean.AddScalar(1e-6).Rsqrt()).ToType(x[0].DType()).Mul(x[1]), nil
	}},
}

// TestHalves: programs of 16-bit floats round where eager code does, and give its bits.
func TestHalves(t *testing.T) { each(t, testHalves) }

func testHalves(t *testing.T, dev device.Device) {
	if dev.Kind == device.KindSim {
		t.Skip("nothing is fused there")
	}
	for k, dtype := range []tensor.DType{tensor.Float16, tensor.BFloat16} {
		for i, shape := range [][]int{{64, 1024}, {40, 136}, {33, 77}, {300, 8192}} {
			if testing.Short() && (i+k)%2 != 0 { // each shape in one of them
				continue
			}
			x := []tensor.Tensor{tensor.Randn(shape, tensor.OfType(dtype)), tensor.Randn(shape[1:], tensor.OfType(dtype))}
			for _, c := range halves {
				t.Run(fmt.Sprint(c.name, shape, dtype), func(t *testing.T) {
					fused, apart := compile.Func(c.f), compile.Func(c.f, compile.Unfused())
					defer fused.Close()
					defer apart.Close()
					got, err := fused.Call(x...)
					must(t, err)
					want, err := apart.Call(x...)
					must(t, err)
					sameBits(t, []tensor.Tensor{got}, []tensor.Tensor{want}, fused.Program())
					if s := fused.Stats(); fuses(t, dev, fused.Explain()) && s.Steps != 1 {
						t.Errorf("%d launches, want 1\n%s\n%s", s.Steps, fused.Program(), fused.Explain())
					}
				})
			}
		}
	}
}

// TestScaledProducts: a product times a power of two is one call of cuBLASLt on GPUs, and
// rounds where eager code does; times another number it is two.
func TestScaledProducts(t *testing.T) { each(t, testScaledProducts) }

func testScaledProducts(t *testing.T, dev device.Device) {
	for _, tt := range []struct {
		dtype  tensor.DType
		factor float64
		steps  int // on GPUs
	}{
		{tensor.BFloat16, 0.125, 1}, {tensor.BFloat16, 0.3, 2}, {tensor.Float16, 2, 1}, {tensor.Float16, 0.5, 2}, {tensor.Float32, -0.25, 1},
	} {
		for i, shape := range [][]int{{128, 64}, {2, 3, 40, 64}} {
			if i > 0 && testing.Short() {
				break
			}
			x := tensor.Randn(shape, tensor.OfType(tt.dtype))
			f := func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return x[0].MatMul(x[0].Transpose(-2, -1)).MulScalar(tt.factor), nil
			}
			fused, apart := compile.Func(f), compile.Func(f, compile.Unfused())
			for range 3 {
				got, err := fused.Call(x)
				must(t, err)
				want, err := apart.Call(x)
				must(t, err)
				sameBits(t, []tensor.Tensor{got}, []tensor.Tensor{want}, fused.Program())
			}
			if s := fused.Stats(); dev.Kind == device.KindCUDA && fuses(t, dev, fused.Explain()) && s.Steps != tt.steps {
				t.Errorf("%s times %v: %d launches, want %d\n%s", tt.dtype, tt.factor, s.Steps, tt.steps, fused.Program())
			}
			fused.Close()
			apart.Close()
		}
	}
}
