package compile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/cuda/gpu"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
)

// Functions of images x[0], weights x[1] and a bias x[2] of a convolution, and of x[3], like its
// result. Launches are those of a GPU with cuDNN; where rounds is set and floats have 16 bits, only
// where kernels may compute otherwise. Channels that are last between convolutions are moved to where
// the caller wants them by the relu behind them, which is a launch of its own then: moved counts these.
var convolutions = []struct {
	name     string
	f        func(x ...tensor.Tensor) (tensor.Tensor, error)
	launches int
	rounds   bool
	moved    int
}{
	{"relu", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1)).ReLU(), nil
	}, 1, false, 0},
	{"addend", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1)).Add(x[3]), nil
	}, 1, true, 0},
	{"addend first, relu", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[3].Add(x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1))).ReLU(), nil
	}, 1, true, 0},
	{"over the addend", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[3].MulScalar(2)
		return y, y.AddInPlace(x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1)))
	}, 2, true, 0},
	{"what is added is a sum", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Conv2d(x[1], tensor.Padding(1)).Add(x[3].Add(x[2].Reshape(1, -1, 1, 1))), nil
	}, 1, true, 0},
	{"a sum over the addend", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[3].MulScalar(2)
		return y, y.AddInPlace(x[0].Conv2d(x[1], tensor.Padding(1)).Add(x[2].Reshape(1, -1, 1, 1)))
	}, 2, true, 0},
	{"added to itself", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1))
		return y.Add(y).ReLU(), nil
	}, 2, false, 0},
	{"relu of two", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1)).ReLU()
		return y.Conv2d(x[4], tensor.Bias(x[2]), tensor.Padding(1)).Add(y).ReLU(), nil
	}, 2, true, 1},
	{"no bias", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Conv2d(x[1], tensor.Padding(1)).ReLU(), nil
	}, 1, false, 0},
	{"a channel is added", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1)).Add(x[3].Narrow(1, 0, 1)), nil
	}, 2, false, 0},
	{"axes in another order are added", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		return x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1)).Add(x[3].Transpose(2, 3)), nil
	}, 2, false, 0},
	{"kept, too", func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1))
		return tensor.Cat([]tensor.Tensor{y, y.ReLU()}, 1), nil
	}, 3, false, 0},
}

func imagesOf(dtype tensor.DType) []tensor.Tensor {
	of := tensor.OfType(dtype)
	scaled := func(shape []int, by float64) tensor.Tensor { return tensor.Randn(shape, of).MulScalar(by) }
	return []tensor.Tensor{scaled([]int{2, 8, 5, 5}, 1), scaled([]int{16, 8, 3, 3}, 0.1), scaled([]int{16}, 1), scaled([]int{2, 16, 5, 5}, 1), scaled([]int{16, 16, 3, 3}, 0.1)}
}

// TestConvolutions: what follows a convolution is computed with it where a device can, and gives
// what it gives apart: to the bit, or where sums are rounded less often, to the rounding of the
// results.
func TestConvolutions(t *testing.T) { each(t, testConvolutions) }

func testConvolutions(t *testing.T, dev device.Device) {
	for n, dtype := range []tensor.DType{tensor.Float32, tensor.Float16, tensor.BFloat16} {
		x := imagesOf(dtype)
		for i, c := range convolutions {
			for k, relaxed := range []bool{false, true} {
				if brief.Skip(n, i, k) {
					continue
				}
				t.Run(fmt.Sprint(c.name, dtype, relaxed), func(t *testing.T) {
					options := []compile.Option{}
					if relaxed {
						options = append(options, compile.Relaxed())
					}
					fused := compile.Func(c.f, options...)
					defer fused.Close()
					want, err := c.f(x...)
					must(t, err)
					for range 3 { // called, captured, launched
						got, err := fused.Call(x...)
						must(t, err)
						switch d := apartBy(t, got, want); {
						case dev.Kind != device.KindCUDA:
							sameBits(t, []tensor.Tensor{got}, []tensor.Tensor{want}, fused.Program())
						case !(d <= map[tensor.DType]float64{tensor.Float32: 2e-2, tensor.Float16: 2e-2, tensor.BFloat16: 0.15}[dtype]):
							t.Errorf("%v apart\n%s", d, fused.Program())
						}
					}
					if dev.Kind == device.KindCUDA && cuda.Unavailable() == nil && relaxed && fuses(t, dev, fused.Explain()) {
						if s := fused.Stats(); s.Steps > c.launches+c.moved {
							t.Errorf("%d launches, want %d\n%s\n%s", s.Steps, c.launches+c.moved, fused.Program(), fused.Explain())
						}
					}
				})
			}
		}
	}
}

// TestConvolutionsPlanned: so many launches they are on a GPU, which this machine need not have.
func TestConvolutionsPlanned(t *testing.T) {
	for _, dtype := range []tensor.DType{tensor.Float32, tensor.BFloat16, tensor.Float64} {
		x := imagesOf(dtype)
		for _, c := range convolutions {
			f := compile.Func(c.f, compile.Unfused())
			defer f.Close()
			_, err := f.Call(x...)
			must(t, err)
			p := f.Recorded()
			for i := range p.Steps {
				p.Steps[i].Call.Precision.ConvTF32 = true
			}
			for i := range p.Steps {
				for _, views := range [][]ir.View{p.Steps[i].Call.In, p.Steps[i].Call.Out} {
					for j := range views {
						views[j].Ptr = nil
					}
				}
			}
			for _, relaxed := range []bool{true, false} {
				names := launches(t, p, new(gpu.Driver), relaxed)
				together := strings.Contains(strings.Join(names, " "), "fused_convolution")
				switch {
				case dtype == tensor.Float64 && together, !relaxed && c.rounds && dtype == tensor.BFloat16 && len(names) <= c.launches:
					t.Errorf("%s, %v, relaxed %v: %v", c.name, dtype, relaxed, names)
				case dtype != tensor.Float64 && (relaxed || !c.rounds || dtype == tensor.Float32) && len(names) != c.launches:
					t.Errorf("%s, %v, relaxed %v: %d launches, want %d: %v", c.name, dtype, relaxed, len(names), c.launches, names)
				}
			}
		}
	}
}
