package nn

import (
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
)

// A Conv is a convolution over any number of spatial axes.
type Conv struct {
	Weight *Parameter // [out, in/groups, kernel...]
	Bias   *Parameter // [out], or nil

	stride, padding, dilation []int
	groups                    int
}

// NewConv1d returns a convolution over one spatial axis.
func NewConv1d(in, out, kernel int, opts ...Option) *Conv { return newConv(1, in, out, kernel, opts) }

// NewConv2d returns a convolution over two spatial axes with a square kernel.
func NewConv2d(in, out, kernel int, opts ...Option) *Conv { return newConv(2, in, out, kernel, opts) }

func newConv(rank, in, out, kernel int, opts []Option) *Conv {
	o := options(opts)
	shape := append([]int{out, in / o.groups}, axes([]int{kernel}, rank, 1)...)
	fan := in / o.groups
	for range rank {
		fan *= kernel
	}
	bound := 1 / math.Sqrt(float64(fan))
	c := &Conv{
		Weight: o.uniform(bound, shape...),
		stride: axes(o.stride, rank, 1), padding: axes(o.padding, rank, 0), dilation: axes(o.dilation, rank, 1),
		groups: o.groups,
	}
	if o.bias {
		c.Bias = o.uniform(bound, out)
	}
	return c
}

// Forward maps [n, in, spatial...] to [n, out, spatial...].
func (c *Conv) Forward(x tensor.Tensor) tensor.Tensor {
	if len(c.stride) == 1 {
		opts := []tensor.Conv1dOption{tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups)}
		if c.Bias != nil {
			opts = append(opts, tensor.Bias(c.Bias.Tensor))
		}
		return x.Conv1d(c.Weight.Tensor, opts...)
	}
	opts := []tensor.Conv2dOption{tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups)}
	if c.Bias != nil {
		opts = append(opts, tensor.Bias(c.Bias.Tensor))
	}
	return x.Conv2d(c.Weight.Tensor, opts...)
}

// MaxPool2d returns a module that keeps the largest element of each
// kernel x kernel window, with the kernel's size as the step.
func MaxPool2d(kernel int) Module {
	return Func(func(x tensor.Tensor) tensor.Tensor { return x.MaxPool2d([]int{kernel, kernel}) })
}

// AvgPool2d returns a module that averages each kernel x kernel window, with the
// kernel's size as the step.
func AvgPool2d(kernel int) Module {
	return Func(func(x tensor.Tensor) tensor.Tensor { return x.AvgPool2d([]int{kernel, kernel}) })
}
