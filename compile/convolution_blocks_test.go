package compile_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
)

// Functions of images x[0], weights x[1], a bias x[2], and of x[3], like the result.
var blocked = []struct {
	name  string
	f     func(c func(bias ...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error)
	steps int // on the processor
}{
	{"bias, relu", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{c(x[2]).ReLU()}, nil
	}, 1},
	{"chain", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{c().SiLU().Mul(x[3]).AddScalar(2)}, nil
	}, 1},
	{"norm of known numbers, residual", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		line := make([]int, len(x[3].Shape())-1)
		for i := range line {
			line[i] = 1
		}
		line[0] = -1
		b := x[2].Reshape(line...)
		return []tensor.Tensor{c().Sub(b).Mul(b).Add(x[3]).ReLU()}, nil
	}, 1},
	{"residual in place", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[3].MulScalar(2).Contiguous()
		return []tensor.Tensor{y}, y.AddInPlace(c(x[2]))
	}, 1},
	{"the convolution is a result, too", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		y := c()
		return []tensor.Tensor{y, y.Tanh()}, nil
	}, 1},
	{"several results, of which one is bool", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		y := c().Mul(x[3])
		return []tensor.Tensor{y, y.Gt(x[3])}, nil
	}, 1},
	{"cast", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{c().ReLU().ToType(tensor.Float16)}, nil
	}, 0},
	{"two", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{c(x[2]).Sigmoid().Add(c())}, nil
	}, 2},
	{"one number of a row", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{c().Add(x[3].Narrow(-1, 0, 1))}, nil
	}, 0},
	{"channels last", func(c func(...tensor.Tensor) tensor.Tensor, x []tensor.Tensor) ([]tensor.Tensor, error) {
		return []tensor.Tensor{c(x[2]).ReLU().Transpose(1, -1).Contiguous()}, nil
	}, 0},
}

// Extents that take the ways through the kernels: images, groups, channels and rows of a group,
// height, width, kernel, stride, padding, dilation.
var blockedShapes = [][10]int{
	{2, 1, 3, 16, 19, 37, 7, 2, 3, 1},    // rows by vectors
	{3, 1, 48, 70, 9, 10, 3, 1, 1, 1},    // tiles
	{2, 1, 64, 96, 16, 18, 1, 1, 0, 1},   // a product
	{4, 13, 1, 1, 15, 15, 3, 1, 1, 1},    // depthwise
	{2, 3, 8, 10, 9, 20, 3, 1, 2, 2},     // groups
	{1, 1, 24, 10, 121, 140, 3, 1, 1, 1}, // bands
	{1, 1, 33, 70, 2, 2, 3, 1, 1, 1},     // few windows
	{9, 1, 33, 70, 3, 3, 3, 2, 1, 1},     // few of many images
	{1, 1, 20, 16, 14, 15, 11, 5, 1, 1},  // far apart
}

// TestConvolutionBlocks: what is computed of a convolution's elements is computed with it, and
// gives what it gives alone, to the bit.
func TestConvolutionBlocks(t *testing.T) {
	for i, s := range blockedShapes {
		for k, dtype := range []tensor.DType{tensor.Float32, tensor.Float64, tensor.BFloat16} {
			if testing.Short() && (i+k)%3 != 0 { // each shape in one of them
				continue
			}
			of := tensor.OfType(dtype)
			x := []tensor.Tensor{tensor.Randn([]int{s[0], s[1] * s[2], s[4], s[5]}, of), tensor.Randn([]int{s[1] * s[3], s[2], s[6], s[6]}, of), tensor.Randn([]int{s[1] * s[3]}, of)}
			convolve := func(x []tensor.Tensor, bias ...tensor.Tensor) tensor.Tensor {
				opts := []tensor.Option{tensor.Stride(s[7]), tensor.Padding(s[8]), tensor.Dilation(s[9]), tensor.Groups(s[1])}
				for _, b := range bias {
					opts = append(opts, tensor.Bias(b))
				}
				return x[0].Conv2d(x[1], opts...)
			}
			x = append(x, tensor.Randn(convolve(x).Shape(), of))
			for l, c := range blocked {
				if testing.Short() && (i/3+l)%2 != 0 { // each function on half of the shapes
					continue
				}
				t.Run(fmt.Sprint(c.name, s, dtype), func(t *testing.T) {
					f := func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
						return c.f(func(bias ...tensor.Tensor) tensor.Tensor { return convolve(x, bias...) }, x)
					}
					testProduct(t, device.CPU, f, c.steps, x)
				})
			}
		}
	}
}

// TestConvolutionBlocksExact: a weight that is infinite makes NaN of padding with what follows,
// too, where a result in the place of an operand is not computed twice.
func TestConvolutionBlocksExact(t *testing.T) {
	x := []tensor.Tensor{tensor.Randn([]int{2, 8, 6, 6}), tensor.Randn([]int{70, 8, 3, 3}), tensor.Randn([]int{70}), tensor.Randn([]int{2, 70, 6, 6})}
	must(t, x[1].Narrow(0, 3, 1).Narrow(2, 0, 1).FillInPlace(math.Inf(1)))
	testProduct(t, device.CPU, func(x ...tensor.Tensor) ([]tensor.Tensor, error) {
		y := x[3].MulScalar(2).Contiguous()
		return []tensor.Tensor{y}, y.AddInPlace(x[0].Conv2d(x[1], tensor.Bias(x[2]), tensor.Padding(1)).ReLU())
	}, 0, x)
}
