package onnx

import (
	"fmt"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
)

// Products, convolutions and layers of integers of 8 bits by the operators for them, which
// multiply bytes without a sign by those of either kind. What has a sign and must have none is
// moved by 128, as its zero is.

// isByte reports whether operand i is of integers of 8 bits.
func (c *call) isByte(i int) bool {
	dt := c.t(i).DType()
	return dt == tensor.Uint8 || dt == tensor.Int8
}

// moved returns bytes as those of the other kind, all of which differ by 128: by their highest bit.
func moved(t tensor.Tensor) tensor.Tensor {
	if t.DType() == tensor.Uint8 {
		return t.BitwiseXorScalar(128).ToType(tensor.Int8)
	}
	return t.ToType(tensor.Uint8).BitwiseXorScalar(128)
}

// asKind returns operand i as bytes of dtype, for one direction of several where way is not
// below 0, and its zero, operand zero.
func (c *call) asKind(dtype tensor.DType, i, zero, way int) (t, z tensor.Tensor) {
	of := func(i int) tensor.Tensor {
		part := func(t tensor.Tensor) tensor.Tensor {
			if way >= 0 {
				return t.Select(0, way)
			}
			return t
		}
		if c.t(i).DType() == dtype {
			return part(c.t(i))
		}
		return c.derived(i, fmt.Sprint("moved ", way), func(t tensor.Tensor) tensor.Tensor { return moved(part(t)) })
	}
	if t = of(i); c.has(zero) {
		return t, of(zero)
	}
	z = tensor.Zeros([]int{}, tensor.OfType(c.t(i).DType()), tensor.On(c.dev))
	if z.DType() != dtype {
		z = moved(z)
	}
	return t, z
}

// withZero returns operand i and its zero, operand zero, as they are.
func (c *call) withZero(i, zero int) (t, z tensor.Tensor) {
	if t = c.t(i); c.has(zero) {
		return t, c.t(zero)
	}
	return t, tensor.Zeros([]int{}, tensor.OfType(t.DType()), tensor.On(c.dev))
}

// oneZero reports whether the zero of an operand, operand i, is not there or one number.
func (c *call) oneZero(i int) bool { return !c.has(i) || c.t(i).NumElements() == 1 }

// byteProduct returns the product, as int32, of integers of 8 bits, operands x and y, less
// their zeros; false where there is no operator for it.
func (c *call) byteProduct(x, xZero, y, yZero int) (product tensor.Tensor, ok bool) {
	if !c.isByte(x) || !c.isByte(y) || c.t(x).Rank() < 2 || c.t(y).Rank() != 2 || !c.oneZero(xZero) {
		return product, false
	}
	if c.has(yZero) && c.t(yZero).Rank() > 1 {
		return product, false
	}
	q, qZero := c.asKind(tensor.Uint8, x, xZero, -1)
	w, wZero := c.withZero(y, yZero)
	return tensor.Int8MatMul(q, w, qZero.Reshape(), wZero), true
}

// quantizedProduct returns the product, as int32, of operand 0 as a dynamic quantization to
// bytes has it with integers of 8 bits, operand y less its zero, and the scale of the former;
// false where there is no operator for it.
func (c *call) quantizedProduct(y, yZero int) (product, scale tensor.Tensor, ok bool) {
	if !c.isByte(y) || c.t(0).Rank() < 2 || c.t(y).Rank() != 2 || c.has(yZero) && c.t(yZero).Rank() > 1 {
		return product, scale, false
	}
	q, scale, zero := tensor.DynamicQuantize(c.t(0).ToType(tensor.Float32))
	w, wZero := c.withZero(y, yZero)
	return tensor.Int8MatMul(q, w, zero, wZero), scale, true
}

// byteConvolution returns the convolution, as int32, of integers of 8 bits, operands x and
// w, less their zeros; false where there is no operator for it.
func (c *call) byteConvolution(at window, groups, x, xZero, w, wZero int) (y tensor.Tensor, ok bool, err error) {
	rank := c.t(x).Rank()
	if !c.isByte(x) || !c.isByte(w) || rank != 3 && rank != 4 || c.t(w).Rank() != rank || !c.oneZero(xZero) {
		return y, false, nil
	}
	q, qZero := c.asKind(tensor.Uint8, x, xZero, -1)
	k, kZero := c.withZero(w, wZero)
	d := rank - 2
	win, err := at.on(q.Shape()[2:], k.Shape()[2:])
	if err != nil {
		return y, false, err
	}
	// As much padding on both sides as the larger one, behind a whole number of windows.
	pads, first, want := make([]int, d), make([]int, d), make([]int, d)
	for i := range d {
		before, behind, stride := win.pads[i], win.pads[d+i], win.strides[i]
		more := q.Size(2+i) + before + behind - win.span(i)
		if more < 0 {
			return y, false, fmt.Errorf("a window of %d elements does not fit %d with padding %d and %d", win.span(i), q.Size(2+i), before, behind)
		}
		want[i] = more/stride + 1
		for pads[i] = before; pads[i] < behind; pads[i] += stride {
			first[i]++
		}
	}
	strides, dilations := win.strides, win.dilations
	if rank == 3 {
		q, k, strides, pads, dilations = q.Unsqueeze(2), k.Unsqueeze(2), []int{1, strides[0]}, []int{0, pads[0]}, []int{1, dilations[0]}
	}
	y = tensor.Int8Conv2d(q, k, qZero.Reshape(), kZero, tensor.Stride(strides...), tensor.Padding(pads...), tensor.Dilation(dilations...), tensor.Groups(groups))
	if rank == 3 {
		y = y.Squeeze(2)
	}
	for i := range d {
		if y.Err() == nil && y.Size(2+i) != want[i] {
			y = y.Narrow(2+i, first[i], want[i])
		}
	}
	return y, true, nil
}

// dynamicQuantize is DynamicQuantizeLinear.
func dynamicQuantize(c *call) error {
	q, scale, zero := tensor.DynamicQuantize(c.t(0).ToType(tensor.Float32))
	if err := c.as(0, q, format.Uint8); err != nil {
		return err
	}
	if err := c.put(1, scale); err != nil || len(c.out) < 3 {
		return err
	}
	return c.as(2, zero, format.Uint8)
}

// Operands of a layer whose weights are bytes.
const (
	layerInput = iota
	layerWeight
	layerState
	layerBias
	layerLengths
	layerFirst
	layerCell
	layerPeepholes
	layerWeightScale
	layerWeightZero
	layerStateScale
	layerStateZero
	layerOperands
)

// layerOfBytes is a DynamicQuantizeLSTM whose weights are multiplied as bytes; nil for one
// that is not of the usual form.
func layerOfBytes(n *node) kernel {
	there := func(i int) bool { return i < len(n.in) && n.in[i] >= 0 }
	usual := len(n.in) == layerOperands && !there(layerLengths) && !there(layerPeepholes) && !n.given("activations") && !n.given("clip") && !n.flag("input_forget")
	for _, i := range []int{layerWeightScale, layerWeightZero, layerStateScale, layerStateZero} {
		usual = usual && there(i)
	}
	if !usual {
		return nil
	}
	direction := n.oneOf("direction", "forward", "reverse", "bidirectional")
	return func(c *call) error {
		x := c.t(layerInput)
		if x.Rank() != 3 || c.t(layerWeight).Rank() != 3 || c.t(layerState).Rank() != 3 || !c.isByte(layerWeight) || !c.isByte(layerState) {
			return fmt.Errorf("a layer over %v with weights %v and %v", x.Shape(), c.t(layerWeight).Shape(), c.t(layerState).Shape())
		}
		q, scale, zero := tensor.DynamicQuantize(x)
		var ys, hs, cs []tensor.Tensor
		for way := range c.t(layerState).Size(0) {
			w, wZero := c.t(layerWeight).Select(0, way), c.t(layerWeightZero).Select(0, way)
			r, rZero := c.asKind(tensor.Int8, layerState, layerStateZero, way)
			width := r.Size(0)
			gates := tensor.Int8MatMul(q, w, zero, wZero).ToType(tensor.Float32).Mul(scale.Mul(c.t(layerWeightScale).Select(0, way)))
			if c.has(layerBias) {
				gates = gates.Add(c.derived(layerBias, fmt.Sprint("sum ", way), func(t tensor.Tensor) tensor.Tensor {
					return t.Select(0, way).Narrow(0, 0, 4*width).Add(t.Select(0, way).Narrow(0, 4*width, 4*width))
				}))
			}
			state := func(i int) tensor.Tensor {
				if c.has(i) {
					return c.t(i).Select(0, way)
				}
				return tensor.Zeros([]int{x.Size(1), width}, tensor.On(c.dev))
			}
			last, reverse := x.Size(0)-1, direction == "reverse" || way == 1
			if reverse {
				last = 0
			}
			h, cell := state(layerFirst), state(layerCell)
			if x.Size(0) == 0 {
				ys, hs, cs = append(ys, tensor.Zeros([]int{0, x.Size(1), width}, tensor.On(c.dev))), append(hs, h), append(cs, cell)
				continue
			}
			y, cells := tensor.Int8LSTM(gates, h, cell, r, c.t(layerStateScale).Select(0, way), rZero, tensor.Reverse(reverse))
			if err := y.Err(); err != nil {
				return err
			}
			ys, hs, cs = append(ys, y), append(hs, y.Select(0, last)), append(cs, cells.Select(0, last))
		}
		for i, list := range [][]tensor.Tensor{ys, hs, cs} {
			at := 0
			if i == 0 {
				at = 1
			}
			if err := c.put(i, tensor.Stack(list, at)); err != nil {
				return err
			}
		}
		return nil
	}
}
