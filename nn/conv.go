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
	in, out                           int // channels
	autoPad                           tensor.AutoPad
}

// window returns the window over rank axes that the settings describe.
func (s *settings) window(rank, kernel int) (window, error) {
	w := window{
		kernel: axes(s.kernel, rank, kernel), stride: axes(s.stride, rank, 1), padding: axes(s.padding, rank, 0),
		dilation: axes(s.dilation, rank, 1), outputPadding: axes(s.outputPadding, rank, 0), groups: s.groups, autoPad: s.autoPad,
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
	if w.autoPad != tensor.AutoPadNone {
		text += fmt.Sprintf(", padding=%s", w.autoPad)
	}
	if w.groups != 1 {
		text += fmt.Sprintf(", groups=%d", w.groups)
	}
	return text
}

// convolution returns the parameters of a convolution and its window. They are
// drawn as PyTorch draws them: uniformly from ±1/sqrt(the elements of weight for
// each of its first axis). weight is [out, in/groups, kernel...], or transposed
// [in, out/groups, kernel...].
func (s *settings) convolution(rank, in, out, kernel int, transposed bool) (weight, bias *Parameter, w window) {
	w, err := s.window(rank, kernel)
	w.in, w.out = in, out
	if s.err != nil {
		return s.broken(), nil, w
	}
	switch same := w.autoPad == tensor.AutoPadSame; {
	case err != nil:
	case same && slices.Max(w.stride) > 1:
		err = fmt.Errorf("stride %v with AutoPadSame, which takes a stride of 1", w.stride)
	case same && slices.Max(w.padding) > 0:
		err = fmt.Errorf("padding %v and AutoPadSame; one of them", w.padding)
	case s.groups < 1 || in < 1 || out < 1 || in%s.groups != 0 || out%s.groups != 0:
		err = fmt.Errorf("%d groups, which must be at least 1 and divide the %d channels in and the %d out", s.groups, in, out)
	}
	if err != nil {
		return &Parameter{failed("convolution: %w", err)}, nil, w
	}
	shape := append([]int{out, in / s.groups}, w.kernel...)
	if transposed {
		shape[0], shape[1] = in, out/s.groups
	}
	fan := 1.0
	for _, n := range shape[1:] {
		fan *= float64(n)
	}
	weight = s.uniform(1/math.Sqrt(fan), shape...)
	if s.bias {
		bias = s.uniform(1/math.Sqrt(fan), out)
	}
	return weight, bias, w
}

// options are those of the operator that the window is of, and more. The list has no
// room to append in place, so that several goroutines may.
func (w window) options(more Option) []Option {
	return slices.Clip([]Option{tensor.Stride(w.stride...), tensor.Padding(w.padding...), tensor.Dilation(w.dilation...), tensor.Groups(w.groups), more})
}

func (w window) describe(name string, bias *Parameter) string {
	return fmt.Sprintf("%s%dd(in=%d, out=%d, %s, bias=%t)", name, len(w.kernel), w.in, w.out, w, bias != nil)
}

// A convolve is tensor.Conv2d, or its like of another rank or transposed.
type convolve func(x, weight tensor.Tensor, opts ...Option) tensor.Tensor

// A Conv is a convolution over one, two or three spatial axes.
type Conv struct {
	Weight *Parameter // [out, in/groups, kernel...]
	Bias   *Parameter // [out], or nil

	window  window
	apply   convolve
	options []Option // of apply, but for the bias; never appended to in place
}

// NewConv1d returns a convolution over one spatial axis, [n, in, length] to [n, out,
// length]. The kernel is an extent in elements; in and out are channels.
//
// Options: tensor.AutoPad (AutoPadNone), Kernel (kernel on every axis), tensor.Stride
// (1), tensor.Padding (0), tensor.Dilation (1), tensor.Groups (1), NoBias, tensor.On
// (the CPU), tensor.OfType (Float32).
func NewConv1d(in, out, kernel int, opts ...Option) *Conv {
	return newConv(1, tensor.Conv1d, in, out, kernel, opts)
}

// NewConv2d returns a convolution over two spatial axes with a square kernel, [n, in,
// height, width] to [n, out, height, width].
//
// Options: tensor.AutoPad (AutoPadNone), Kernel (kernel on every axis), tensor.Stride
// (1), tensor.Padding (0), tensor.Dilation (1), tensor.Groups (1), NoBias, tensor.On
// (the CPU), tensor.OfType (Float32).
func NewConv2d(in, out, kernel int, opts ...Option) *Conv {
	return newConv(2, tensor.Conv2d, in, out, kernel, opts)
}

// NewConv3d returns a convolution over three spatial axes with a cubic kernel, [n, in,
// depth, height, width] to [n, out, depth, height, width].
//
// Options: tensor.AutoPad (AutoPadNone), Kernel (kernel on every axis), tensor.Stride
// (1), tensor.Padding (0), tensor.Dilation (1), tensor.Groups (1), NoBias, tensor.On
// (the CPU), tensor.OfType (Float32).
func NewConv3d(in, out, kernel int, opts ...Option) *Conv {
	return newConv(3, tensor.Conv3d, in, out, kernel, opts)
}

func newConv(rank int, apply convolve, in, out, kernel int, opts []Option) *Conv {
	weight, bias, w := read("convolution", opts, convOptions).convolution(rank, in, out, kernel, false)
	return &Conv{Weight: weight, Bias: bias, window: w, apply: apply, options: w.options(w.autoPad)}
}

// Forward maps [n, in, spatial...] to [n, out, spatial...].
func (c *Conv) Forward(x tensor.Tensor) tensor.Tensor {
	if c == nil || c.apply == nil {
		return missing(c)
	}
	return c.apply(x, c.Weight.value(), append(c.options, tensor.Bias(c.Bias.optional()))...)
}

// String describes the layer.
func (c *Conv) String() string {
	c = given(c)
	return c.window.describe("Conv", c.Bias)
}

// A ConvTranspose is a transposed convolution over one or two spatial axes: the
// gradient of a convolution with respect to its input.
type ConvTranspose struct {
	Weight *Parameter // [in, out/groups, kernel...]
	Bias   *Parameter // [out], or nil

	window  window
	apply   convolve
	options []Option // as of Conv
}

// NewConvTranspose1d returns a transposed convolution over one spatial axis.
//
// Options: tensor.OutputPadding (0), Kernel (kernel on every axis), tensor.Stride (1),
// tensor.Padding (0), tensor.Dilation (1), tensor.Groups (1), NoBias, tensor.On (the
// CPU), tensor.OfType (Float32).
func NewConvTranspose1d(in, out, kernel int, opts ...Option) *ConvTranspose {
	return newConvTranspose(1, tensor.ConvTranspose1d, in, out, kernel, opts)
}

// NewConvTranspose2d returns a transposed convolution over two spatial axes with a
// square kernel.
//
// Options: tensor.OutputPadding (0), Kernel (kernel on every axis), tensor.Stride (1),
// tensor.Padding (0), tensor.Dilation (1), tensor.Groups (1), NoBias, tensor.On (the
// CPU), tensor.OfType (Float32).
func NewConvTranspose2d(in, out, kernel int, opts ...Option) *ConvTranspose {
	return newConvTranspose(2, tensor.ConvTranspose2d, in, out, kernel, opts)
}

func newConvTranspose(rank int, apply convolve, in, out, kernel int, opts []Option) *ConvTranspose {
	weight, bias, w := read("transposed convolution", opts, transposeOptions).convolution(rank, in, out, kernel, true)
	return &ConvTranspose{Weight: weight, Bias: bias, window: w, apply: apply, options: w.options(tensor.OutputPadding(w.outputPadding...))}
}

// Forward maps [n, in, spatial...] to [n, out, spatial...].
func (c *ConvTranspose) Forward(x tensor.Tensor) tensor.Tensor {
	if c == nil || c.apply == nil {
		return missing(c)
	}
	return c.apply(x, c.Weight.value(), append(c.options, tensor.Bias(c.Bias.optional()))...)
}

// String describes the layer.
func (c *ConvTranspose) String() string {
	c = given(c)
	return c.window.describe("ConvTranspose", c.Bias)
}
