package onnx

import (
	"fmt"
	"math"

	"github.com/sinter-go/sinter/generated/tensor"
)

// signals are the Fourier transforms. Complex numbers are pairs along the last axis.
var signals = map[string]lowering{
	"DFT":  {make: fourier},
	"STFT": {make: shortFourier},

	"MelWeightMatrix": {make: mel},
}

// spectral returns the numbers of x, whose last axis has one or two parts, in a dtype that
// transforms compute in.
func spectral(x tensor.Tensor) (z tensor.Tensor, isReal bool, err error) {
	if x.Rank() < 2 || x.Size(-1) != 1 && x.Size(-1) != 2 {
		return x, false, fmt.Errorf("a signal of shape %v, want 1 or 2 parts along the last axis", x.Shape())
	}
	if x.DType().Size() < 4 {
		x = x.ToType(tensor.Float32)
	}
	if x.Size(-1) == 1 {
		return x.Select(-1, 0), true, nil
	}
	return tensor.Complex(x.Select(-1, 0), x.Select(-1, 1)), false, nil
}

// inParts returns complex numbers as pairs.
func inParts(z tensor.Tensor) tensor.Tensor {
	return tensor.Stack([]tensor.Tensor{tensor.Real(z), tensor.Imag(z)}, -1)
}

// transform returns the transform of n numbers along axis a, or the first half of it, which
// decides the other.
func transform(z tensor.Tensor, isReal bool, a, n int, onesided bool) tensor.Tensor {
	if isReal && onesided {
		return inParts(tensor.RFFT(z, tensor.Sizes(n), tensor.Dim(a)))
	}
	y := tensor.FFT(z, tensor.Sizes(n), tensor.Dim(a))
	if onesided {
		y = y.Narrow(a, 0, n/2+1)
	}
	return inParts(y)
}

func fourier(n *node) kernel {
	inverse, onesided := n.flag("inverse"), n.flag("onesided")
	return func(c *call) error {
		x := c.t(0)
		at := -2
		switch {
		case n.spec.Since < 20:
			at = n.int("axis")
		case c.has(2):
			list, err := c.ints(2)
			if err != nil || len(list) != 1 {
				return fmt.Errorf("axis is not one number: %v", err)
			}
			at = list[0]
		}
		a, err := axis(at, x.Rank())
		if err != nil {
			return err
		}
		if a == x.Rank()-1 {
			return fmt.Errorf("axis %d of shape %v has the parts of a number", at, x.Shape())
		}
		length := x.Size(a)
		if inverse && onesided {
			length = 2 * (length - 1)
		}
		if c.has(1) {
			list, err := c.ints(1)
			if err != nil || len(list) != 1 {
				return fmt.Errorf("dft_length is not one number: %v", err)
			}
			length = list[0]
		}
		if length < 1 {
			return fmt.Errorf("a transform of %d numbers", length)
		}
		shape := x.Shape()
		shape[a] = length
		if err := c.size(shape); err != nil {
			return err
		}
		z, isReal, err := spectral(x)
		if err != nil {
			return err
		}
		var y tensor.Tensor
		switch {
		case inverse && onesided:
			y = tensor.IRFFT(z, tensor.Sizes(length), tensor.Dim(a)).Unsqueeze(-1)
		case inverse:
			y = inParts(tensor.IFFT(z, tensor.Sizes(length), tensor.Dim(a)))
		default:
			y = transform(z, isReal, a, length, onesided)
		}
		return c.put(0, y.ToType(x.DType()))
	}
}

func shortFourier(n *node) kernel {
	onesided := n.flag("onesided")
	return func(c *call) error {
		x := c.t(0)
		if x.Rank() != 3 {
			return fmt.Errorf("a signal of shape %v, want [batch, length, parts]", x.Shape())
		}
		step, err := c.ints(1)
		if err != nil || len(step) != 1 || step[0] < 1 {
			return fmt.Errorf("frame_step is %v, want a positive number: %v", step, err)
		}
		length := x.Size(1)
		if c.has(2) {
			length = c.t(2).NumElements()
		}
		if c.has(3) {
			list, err := c.ints(3)
			if err != nil || len(list) != 1 || c.has(2) && list[0] != length {
				return fmt.Errorf("frame_length is %v for a window of %d: %v", list, length, err)
			}
			length = list[0]
		}
		if length < 1 || length > x.Size(1) {
			return fmt.Errorf("frames of %d numbers of a signal of %d", length, x.Size(1))
		}
		z, isReal, err := spectral(x)
		if err != nil {
			return err
		}
		frames := z.Unfold(1, length, step[0])
		if c.has(2) {
			frames = frames.Mul(c.t(2))
		}
		return c.put(0, transform(frames, isReal, 2, length, onesided).ToType(x.DType()))
	}
}

// mel makes the triangles by which a spectrum becomes one of equal distances in mels.
func mel(n *node) kernel {
	to := n.elem("output_datatype")
	return func(c *call) error {
		var in [5]float64 // bins, numbers of a transform, samples a second, lowest and highest frequency
		for i := range in {
			var err error
			if in[i], err = c.one(i); err != nil {
				return err
			}
		}
		bins, rows := int(in[0]), int(in[1])/2+1
		if !(in[0] >= 1 && in[1] >= 1 && in[2] >= 1 && in[3] >= 0 && in[4] >= in[3] && in[4] <= in[2] && in[0]*in[1] <= 1<<28) {
			return fmt.Errorf("%g bins of a transform of %g numbers, %g a second, from %g to %g Hz", in[0], in[1], in[2], in[3], in[4])
		}
		if err := c.size([]int{rows, bins}); err != nil {
			return err
		}
		mels := func(hz float64) float64 { return 2595 * math.Log10(1+hz/700) }
		low := mels(in[3])
		step := (mels(in[4]) - low) / float64(bins+2)
		edge := func(i int) int {
			hz := 700 * (math.Pow(10, (float64(i)*step+low)/2595) - 1)
			return min(int(math.Floor((in[1]+1)*hz/in[2])), rows-1)
		}
		list := make([]float64, rows*bins)
		for i := range bins {
			from, center, end := edge(i), edge(i+1), edge(i+2)
			list[center*bins+i] = 1
			for j := from; j < center; j++ {
				list[j*bins+i] = float64(j-from) / float64(center-from)
			}
			for j := center; j < end; j++ {
				list[j*bins+i] = float64(end-j) / float64(end-center)
			}
		}
		return c.as(0, tensor.From(list, rows, bins).ToType(carriers[to]).To(c.dev), to)
	}
}
