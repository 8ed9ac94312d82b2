package composite

import (
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/shapes"
	"github.com/sinter-go/sinter/runtime/core"
)

// Int8Steps are the operators that a recurrence of bytes is made of.
type Int8Steps struct {
	DynamicQuantize func(x *core.Tensor) (q, scale, zero *core.Tensor)
	Int8Product     func(x, y, xZero, yZero *core.Tensor) *core.Tensor
	ToType          func(x *core.Tensor, dtype ir.DType) *core.Tensor
	Narrow          narrow
	Reshape         func(x *core.Tensor, shape []int) *core.Tensor
	Stack           func(xs []*core.Tensor, dim int) *core.Tensor
	Add, Mul        product
	Sigmoid, Tanh   copyOf
}

// Int8LSTM returns the outputs and cells of an LSTM over gates [steps, batch, 4*width], in
// the order input, output, forget, cell, whose outputs are quantized before they are
// multiplied with weight [width, 4*width], int8 less zero, which stands for numbers scale
// times as large.
func Int8LSTM(o Int8Steps, gates, h, c, weight, scale, zero *core.Tensor, reverse bool) (out, cells *core.Tensor) {
	if t := core.FirstError(gates, h, c, weight, scale, zero); t != nil {
		return t, t
	}
	extents := func(t *core.Tensor) []int { return look(t).Shape() }
	shape := extents(gates)
	if _, err := shapes.Int8LSTMSequenceShape(shape, extents(h), extents(c), extents(weight), extents(scale), extents(zero)); err != nil {
		bad := core.Fail(descriptor("int8_lstm", 2), err)
		return bad, bad
	}
	steps, batch, width := shape[0], shape[1], shape[2]/4
	hs, cs := make([]*core.Tensor, steps), make([]*core.Tensor, steps)
	for i := range steps {
		t := i
		if reverse {
			t = steps - 1 - i
		}
		q, by, z := o.DynamicQuantize(o.ToType(h, ir.Float32))
		sums := o.ToType(o.Int8Product(q, weight, z, zero), look(gates).DType())
		all := o.Add(o.Reshape(o.Narrow(gates, 0, t, 1), []int{batch, 4 * width}), o.Mul(sums, o.Mul(by, scale)))
		gate := func(k int) *core.Tensor { return o.Narrow(all, 1, k*width, width) }
		c = o.Add(o.Mul(o.Sigmoid(gate(2)), c), o.Mul(o.Sigmoid(gate(0)), o.Tanh(gate(3))))
		h = o.Mul(o.Sigmoid(gate(1)), o.Tanh(c))
		hs[t], cs[t] = h, c
	}
	return o.Stack(hs, 0), o.Stack(cs, 0)
}
