package nn

import (
	"fmt"
	"math"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
)

// window describes how a kernel moves over the spatial axes; every list has one
// number an axis.
type window struct {
	kernel, stride, padding, dilation []int
	outputPadding                     []int // transposed convolutions
	groups                            int
}

// window returns the window over rank axes that the settings describe.
func (s *settings) window(rank, kernel int) (window, error) {
	w := window{
		kernel: axes(s.kernel, rank, kernel), stride: axes(s.stride, rank, 1), padding: axes(s.padding, rank, 0),
		dilation: axes(s.dilation, rank, 1), outputPadding: axes(s.outputPadding, rank, 0), groups: s.groups,
	}
	for _, l := range []struct {
		name string
		n    []int
		low  int
	}{{"kernel", w.kernel, 1}, {"stride", w.stride, 1}, {"padding", w.padding, 0}, {"dilation", w.dilation, 1}, {"output padding", w.outputPadding, 0}} {
		if len(l.n) != rank || slices.Min(l.n) < l.low {
			return w, fmt.Errorf("%s %v over %d axes; it takes one number or %d, of at least %d", l.name, l.n, rank, rank, l.low)
		}
	}
	return w, nil
}

// axes returns n repeated for rank axes when it is one number, def when none.
func axes(n []int, rank, def int) []int {
	switch len(n) {
	case 0:
		n = []int{def}
		fallthrough
	case 1:
		return slices.Repeat(n, rank)
	}
	return slices.Clone(n)
}

// String describes the window, leaving out what is usual.
func (w window) String() string {
	text := fmt.Sprintf("kernel=%v", w.kernel)
	for _, l := range []struct {
		name string
		n    []int
		def  int
	}{{"stride", w.stride, 1}, {"padding", w.padding, 0}, {"dilation", w.dilation, 1}, {"output padding", w.outputPadding, 0}} {
		if slices.ContainsFunc(l.n, func(n int) bool { return n != l.def }) {
			text += fmt.Sprintf(", %s=%v", l.name, l.n)
		}
	}
	if w.groups != 1 {
		text += fmt.Sprintf(", groups=%d", w.groups)
	}
	return text
}

// convolution is what both kinds of convolution are made of.
type convolution struct {
	Weight *Parameter // [out, in/groups, kernel...], transposed [in, out/groups, kernel...]
	Bias   *Parameter // [out], or nil

	window
	in, out int
}

// newConvolution draws the parameters as PyTorch does: uniformly from
// ±1/sqrt(the elements of weight for each of its first axis).
func newConvolution(s *settings, rank, in, out, kernel int, transposed bool) convolution {
	w, err := s.window(rank, kernel)
	c := convolution{window: w, in: in, out: out}
	switch {
	case err != nil:
	case s.groups < 1 || in < 1 || out < 1 || in%s.groups != 0 || out%s.groups != 0:
		err = fmt.Errorf("%d groups, which must be at least 1 and divide the %d channels in and the %d out", s.groups, in, out)
	}
	if err != nil {
		c.Weight = &Parameter{failed("convolution: %w", err)}
		return c
	}
	shape := append([]int{out, in / s.groups}, w.kernel...)
	if transposed {
		shape[0], shape[1] = in, out/s.groups
	}
	fan := 1.0
	for _, n := range shape[1:] {
		fan *= float64(n)
	}
	c.Weight = s.uniform(1/math.Sqrt(fan), shape...)
	if s.bias {
		c.Bias = s.uniform(1/math.Sqrt(fan), out)
	}
	return c
}

func (c *convolution) describe(name string) string {
	return fmt.Sprintf("%s%dd(in=%d, out=%d, %s, bias=%t)", name, len(c.kernel), c.in, c.out, c.window, c.Bias != nil)
}

// A Conv is a convolution over one, two or three spatial axes.
type Conv struct{ convolution }

// NewConv1d returns a convolution over one spatial axis, [n, in, length] to
// [n, out, length]. The kernel is an extent in elements; in and out are channels.
func NewConv1d(in, out, kernel int, opts ...ConvOption) *Conv {
	return &Conv{newConvolution(with(defaults(), opts), 1, in, out, kernel, false)}
}

// NewConv2d returns a convolution over two spatial axes with a square kernel,
// [n, in, height, width] to [n, out, height, width].
func NewConv2d(in, out, kernel int, opts ...ConvOption) *Conv {
	return &Conv{newConvolution(with(defaults(), opts), 2, in, out, kernel, false)}
}

// NewConv3d returns a convolution over three spatial axes with a cubic kernel.
func NewConv3d(in, out, kernel int, opts ...ConvOption) *Conv {
	return &Conv{newConvolution(with(defaults(), opts), 3, in, out, kernel, false)}
}

// Forward maps [n, in, spatial...] to [n, out, spatial...].
func (c *Conv) Forward(x tensor.Tensor) tensor.Tensor {
	switch len(c.kernel) {
	case 1:
		if c.Bias == nil {
			return x.Conv1d(c.Weight.Tensor, tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups))
		}
		return x.Conv1d(c.Weight.Tensor, tensor.Bias(c.Bias.Tensor), tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups))
	case 2:
		if c.Bias == nil {
			return x.Conv2d(c.Weight.Tensor, tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups))
		}
		return x.Conv2d(c.Weight.Tensor, tensor.Bias(c.Bias.Tensor), tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups))
	}
	if c.Bias == nil {
		return x.Conv3d(c.Weight.Tensor, tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups))
	}
	return x.Conv3d(c.Weight.Tensor, tensor.Bias(c.Bias.Tensor), tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...), tensor.Groups(c.groups))
}

// String describes the layer.
func (c *Conv) String() string { return c.describe("Conv") }

// A ConvTranspose is a transposed convolution over one or two spatial axes: the
// gradient of a convolution with respect to its input.
type ConvTranspose struct{ convolution }

// NewConvTranspose1d returns a transposed convolution over one spatial axis.
func NewConvTranspose1d(in, out, kernel int, opts ...ConvTransposeOption) *ConvTranspose {
	return &ConvTranspose{newConvolution(with(defaults(), opts), 1, in, out, kernel, true)}
}

// NewConvTranspose2d returns a transposed convolution over two spatial axes with
// a square kernel.
func NewConvTranspose2d(in, out, kernel int, opts ...ConvTransposeOption) *ConvTranspose {
	return &ConvTranspose{newConvolution(with(defaults(), opts), 2, in, out, kernel, true)}
}

// Forward maps [n, in, spatial...] to [n, out, spatial...].
func (c *ConvTranspose) Forward(x tensor.Tensor) tensor.Tensor {
	if len(c.kernel) == 1 {
		opts := []tensor.ConvTranspose1dOption{tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...),
			tensor.OutputPadding(c.outputPadding...), tensor.Groups(c.groups)}
		if c.Bias != nil {
			opts = append(opts, tensor.Bias(c.Bias.Tensor))
		}
		return x.ConvTranspose1d(c.Weight.Tensor, opts...)
	}
	opts := []tensor.ConvTranspose2dOption{tensor.Stride(c.stride...), tensor.Padding(c.padding...), tensor.Dilation(c.dilation...),
		tensor.OutputPadding(c.outputPadding...), tensor.Groups(c.groups)}
	if c.Bias != nil {
		opts = append(opts, tensor.Bias(c.Bias.Tensor))
	}
	return x.ConvTranspose2d(c.Weight.Tensor, opts...)
}

// String describes the layer.
func (c *ConvTranspose) String() string { return c.describe("ConvTranspose") }
