package onnx

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/onnx/internal/format"
	"github.com/sinter-go/sinter/runtime/core"
)

// microsoft are operators of the domain com.microsoft, which onnxruntime's own tools write into
// models: its quantizer and its optimizer.
var microsoft = map[string]lowering{
	"DynamicQuantizeLSTM": {make: func(n *node) kernel {
		if layer := layerOfBytes(n); layer != nil {
			return layer
		}
		for i, weight := range []int{1, 2} { // the parameters follow the operands of a layer
			if n.in[weight] = n.floatWeight(weight, 8+2*i, 9+2*i); n.reason != "" {
				return nil
			}
		}
		n.in = n.in[:8]
		return recurrent(n, 4, "Sigmoid", "Tanh", "Tanh")
	}},
	"DynamicQuantizeMatMul": plain(func(c *call) error {
		if y, scale, ok := c.quantizedProduct(1, 3); ok {
			return c.scaled(y, scale.Mul(fit(c.t(2).ToType(tensor.Float32), 2, -1)), c.t(0).DType(), 4)
		}
		x, scale := byteRange(c.t(0))
		w, y := c.t(2).ToType(tensor.Float32), []*value{{t: x}, {t: c.centeredWeight(1, 3, -1)}}
		return c.rescaled(y, x, scale.Mul(fit(w, 2, -1)), 4)
	}),
	"MatMulIntegerToFloat": plain(func(c *call) error {
		if y, ok := c.byteProduct(0, 4, 1, 5); ok && c.t(2).NumElements() == 1 {
			return c.scaled(y, c.t(2).Reshape().Mul(fit(c.t(3), 2, -1)), tensor.Float32, 6)
		}
		x := centered(c, 0, 4, -2).ToType(tensor.Float32)
		y := []*value{{t: x}, {t: c.centeredWeight(1, 5, -1)}}
		return c.rescaled(y, x, fit(c.t(2), 2, -2).Mul(fit(c.t(3), 2, -1)), 6)
	}),
	"FusedMatMul": {make: func(n *node) kernel {
		alpha, ta, tb := n.float("alpha"), n.flag("transA"), n.flag("transB")
		if n.flag("transBatchA") || n.flag("transBatchB") {
			n.refuse("batches that are turned")
		}
		return func(c *call) error {
			x, y := c.t(0), c.t(1)
			if ta && x.Rank() > 1 {
				x = x.MT()
			}
			if tb && y.Rank() > 1 {
				y = y.MT()
			}
			return c.put(0, tensor.MatMul(x, y).MulScalar(alpha))
		}
	}},
	"FusedConv": {make: func(n *node) kernel {
		conv, f := convolve(n), func(x tensor.Tensor) tensor.Tensor { return x }
		if name := n.string("activation"); name != "" {
			params := append(n.floats("activation_params"), 0, 0)
			switch f = activation(name, params[0], params[1]); name {
			case "Clip":
				f = func(x tensor.Tensor) tensor.Tensor { return x.ClampScalar(params[0], params[1]) }
			}
			if f == nil {
				n.refuse("activation %q", name)
			}
		}
		return func(c *call) error {
			inner := *c
			inner.in, inner.out = c.in[:min(len(c.in), 3)], make([]*value, 1)
			if err := conv(&inner); err != nil {
				return err
			}
			y := inner.out[0].t
			if c.has(3) {
				y = y.Add(c.t(3))
			}
			return c.put(0, f(y))
		}
	}},
	"Gelu": unary(func(x tensor.Tensor) tensor.Tensor { return tensor.GELU(x) }),
	"BiasGelu": plain(func(c *call) error {
		return c.put(0, tensor.GELU(c.t(0).Add(c.t(1))))
	}),
	"FastGelu": plain(func(c *call) error {
		x := c.t(0)
		if c.has(1) {
			x = x.Add(c.t(1))
		}
		return c.put(0, tensor.GELU(x, tensor.ApproximateTanh))
	}),
	"QuickGelu": with(func(n *node, x tensor.Tensor) tensor.Tensor {
		return x.Mul(sigmoid(x.MulScalar(n.float("alpha"))))
	}),
	"SkipLayerNormalization": {make: func(n *node) kernel {
		eps := n.float("epsilon")
		return func(c *call) error {
			sum := c.t(0).Add(c.t(1))
			if c.has(4) {
				sum = sum.Add(c.t(4))
			}
			weight := c.t(2)
			opts := []tensor.Option{tensor.Weight(weight), tensor.Eps(eps)}
			if c.has(3) {
				opts = append(opts, tensor.Bias(c.t(3)))
			}
			if err := c.put(0, tensor.LayerNorm(sum, weight.Shape(), opts...)); err != nil {
				return err
			}
			return c.put(3, sum)
		}
	}},
	"QLinearAdd": plain(func(c *call) error { return c.onIntegers(tensor.Add) }),
	"QLinearMul": plain(func(c *call) error { return c.onIntegers(tensor.Mul) }),
	"QLinearSigmoid": plain(func(c *call) error {
		return c.requantized(c.dequantized(0).Sigmoid(), 3)
	}),
	"QLinearLeakyRelu": {make: func(n *node) kernel {
		alpha := n.float("alpha")
		return func(c *call) error {
			return c.requantized(tensor.LeakyReLU(c.dequantized(0), tensor.NegativeSlope(alpha)), 3)
		}
	}},
	"QLinearGlobalAveragePool": {make: func(n *node) kernel {
		last := n.flag("channels_last")
		return func(c *call) error {
			x := c.dequantized(0)
			over := spatial(x)
			if last {
				for i := range over {
					over[i]--
				}
			}
			return c.requantized(x.Mean(tensor.Dim(over...), tensor.KeepDim()), 3)
		}
	}},
	"QLinearConcat": {make: func(n *node) kernel {
		at := n.int("axis")
		return func(c *call) error {
			var parts []tensor.Tensor
			for i := 2; i+2 < len(c.in); i += 3 {
				parts = append(parts, c.dequantized(i))
			}
			if len(parts) == 0 {
				return fmt.Errorf("nothing to join")
			}
			return c.requantized(tensor.Cat(parts, at), 0)
		}
	}},
}

// dequantized returns the numbers that the integers of operand i stand for: i+1 is their scale,
// i+2 their zero.
func (c *call) dequantized(i int) tensor.Tensor {
	return centered(c, i, i+2, -1).ToType(tensor.Float32).Mul(fit(c.t(i+1), c.t(i).Rank(), -1))
}

// requantized makes numbers result 0, as integers by the scale and the zero of operands i and i+1.
func (c *call) requantized(x tensor.Tensor, i int) error {
	e := c.elem(0)
	if i+1 < len(c.in) && c.in[i+1] != nil && c.in[i+1].form == formTensor {
		e = c.elem(i + 1)
	}
	limits := ranges[e]
	y := x.Div(fit(c.t(i), x.Rank(), -1)).Round()
	if c.has(i + 1) {
		y = y.Add(fit(c.t(i+1), x.Rank(), -1).ToType(tensor.Float32))
	}
	return c.as(0, y.ClampScalar(limits[0], limits[1]).ToType(carriers[e]), e)
}

// onIntegers computes an operator of two quantized operands.
func (c *call) onIntegers(f func(x, y tensor.Tensor) tensor.Tensor) error {
	return c.requantized(f(c.dequantized(0), c.dequantized(3)), 6)
}

// rescaled makes the product of integers in float32 times scale result 0, with a bias where
// operand i is there. In has the factors, the second one of int8.
func (c *call) rescaled(in []*value, x, scale tensor.Tensor, i int) error {
	return c.scaled(integerProduct(in[0].t, in[1].t, 255, 255), scale, x.DType(), i)
}

// scaled makes sums times scale, in dtype, result 0, with a bias where operand i is there.
func (c *call) scaled(sums, scale tensor.Tensor, dtype tensor.DType, i int) error {
	y := sums.ToType(tensor.Float32).Mul(scale)
	if c.has(i) {
		y = y.Add(c.t(i))
	}
	return c.as(0, y.ToType(dtype), format.Float)
}

// byteRange returns the integers from -255 to 255 that a dynamic quantization to bytes has for
// the elements of x, less their zero and in float32, and their scale.
func byteRange(x tensor.Tensor) (q, scale tensor.Tensor) {
	zero := tensor.Zeros([]int{}, tensor.On(x.Device()), tensor.OfType(x.DType()))
	low, high := tensor.Minimum(x.Min(), zero), tensor.Maximum(x.Max(), zero)
	scale = high.Sub(low).DivScalar(255)
	scale = tensor.Where(scale.EqScalar(0), tensor.OnesLike(scale), scale)
	offset := low.Neg().Div(scale).Round().ClampScalar(0, 255)
	return x.Div(scale).Round().Add(offset).ClampScalar(0, 255).Sub(offset), scale
}

// asBytes returns x as a dynamic quantization to bytes rounds it.
func asBytes(x tensor.Tensor) tensor.Tensor {
	q, scale := byteRange(x)
	return q.Mul(scale)
}

// floatWeight returns a place with the numbers that the weight [directions, in, out] of small
// integers stands for, transposed as layers of floats have it. All of it must be known.
func (n *node) floatWeight(weight, scale, zero int) int {
	g, list := n.graph, []tensor.Tensor{}
	for _, i := range []int{weight, scale, zero} {
		v := (*value)(nil)
		if i < len(n.in) && n.in[i] >= 0 {
			v = g.known[n.in[i]]
		}
		if v == nil || v.form != formTensor {
			n.refuse("a weight that is no constant")
			return -1
		}
		list = append(list, v.t)
	}
	var w tensor.Tensor
	core.OutsideScope(func() {
		whole := func(t tensor.Tensor) tensor.Tensor { return t.ToType(tensor.Float32) }
		wide := func(t tensor.Tensor) tensor.Tensor { // one number for each direction, or for each column of it
			t = whole(t)
			return t.Reshape(append(slices.Clone(t.Shape()), slices.Repeat([]int{1}, max(0, 3-t.Rank()))...)...)
		}
		s, z := wide(list[1]), wide(list[2])
		if list[1].Rank() == 2 {
			s = whole(list[1]).Unsqueeze(1)
		}
		if list[2].Rank() == 2 {
			z = whole(list[2]).Unsqueeze(1)
		}
		w = whole(list[0]).Sub(z).Mul(s).Transpose(1, 2).Contiguous()
	})
	if err := w.Err(); err != nil {
		n.refuse("a weight of %v: %v", list[0].Shape(), err)
		return -1
	}
	return g.constant(constantValue(w, format.Float))
}
