package compile_test

import (
	"testing"

	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
)

// BenchmarkConvolutionBlocks measures layers of networks with what follows them on the processor:
// a bias and silu, and what is added to them before relu.
func BenchmarkConvolutionBlocks(b *testing.B) {
	for _, c := range []struct {
		name                                                      string
		images, channels, outs, size, kernel, stride, pad, groups int
	}{
		{"stem", 4, 3, 64, 224, 7, 2, 3, 1},
		{"3x3", 4, 64, 64, 56, 3, 1, 1, 1},
		{"1x1", 4, 64, 256, 56, 1, 1, 0, 1},
		{"1x1 late", 4, 512, 512, 14, 1, 1, 0, 1},
		{"depthwise", 4, 144, 144, 56, 3, 1, 1, 144},
		{"large", 1, 32, 32, 256, 3, 1, 1, 1},
	} {
		x := []tensor.Tensor{tensor.Randn([]int{c.images, c.channels, c.size, c.size}), tensor.Randn([]int{c.outs, c.channels / c.groups, c.kernel, c.kernel}), tensor.Randn([]int{c.outs})}
		convolve := func(x ...tensor.Tensor) tensor.Tensor {
			return x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Stride(c.stride), tensor.Padding(c.pad), tensor.Groups(c.groups))
		}
		x = append(x, tensor.Randn(convolve(x...).Shape()))
		for _, w := range []struct {
			name string
			f    func(x ...tensor.Tensor) (tensor.Tensor, error)
		}{
			{"alone", func(x ...tensor.Tensor) (tensor.Tensor, error) {
				return x[0].Conv2d(x[1], tensor.Stride(c.stride), tensor.Padding(c.pad), tensor.Groups(c.groups)), nil
			}},
			{"silu", func(x ...tensor.Tensor) (tensor.Tensor, error) { return convolve(x...).SiLU(), nil }},
			{"addend", func(x ...tensor.Tensor) (tensor.Tensor, error) { return convolve(x...).Add(x[3]).ReLU(), nil }},
		} {
			f := compile.Func(w.f)
			b.Run(c.name+"/"+w.name, func(b *testing.B) {
				for b.Loop() {
					y, err := f.Call(x...)
					must(b, err)
					y.Release()
				}
			})
			f.Close()
		}
	}
}
