package composite

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// The types of the operators that recurrences are handed.
type (
	lstmForward  = func(gates, h, c, weight, bias *core.Tensor, reverse bool) (out, cells *core.Tensor)
	lstmBackward = func(g, gCells, gates, inner, before, weight, bias *core.Tensor, reverse bool) (dGates, dH, dC *core.Tensor)
	gruForward   = func(gates, h, weight, bias *core.Tensor, reverse bool) *core.Tensor
	gruBackward  = func(g, gates, inner, before, weight, bias *core.Tensor, reverse bool) (dGates, dInner, dH *core.Tensor)
	rnnForward   = func(x, h, weight, bias *core.Tensor, relu, reverse bool) *core.Tensor
	rnnBackward  = func(g, out, weight *core.Tensor, relu, reverse bool) (dX, dH *core.Tensor)
	ofOne        = func(x *core.Tensor) *core.Tensor
	swapAxes     = func(x *core.Tensor, dim0, dim1 int) *core.Tensor
)

// Recurrence are the operators that layers over steps are made of; each layer is given
// those it uses.
type Recurrence struct {
	LSTMSequence     lstmForward
	LSTMSequenceGrad lstmBackward
	GRUSequence      gruForward
	GRUSequenceGrad  gruBackward
	RNNSequence      rnnForward
	RNNSequenceGrad  rnnBackward
	RNNMatMul        product
	Transpose        swapAxes
	Narrow           narrow
	Cat              joinLists
	Reshape          withInts
	Sum              sumOver
	Add, Sub, Mul    product
	Sigmoid, Tanh    ofOne
	ReLU, Clone      ofOne
}

// A recurrence is a layer that goes over steps. Its first gradient is computed by
// operators of its own, all operands' in one pass; a gradient that is itself recorded is
// that of the layer's steps, each made of operators that can be differentiated again.
type recurrence struct {
	Recurrence
	op      *ir.Op
	reverse bool
	// cell returns the states after a step, the output first, from what the step
	// is given, what the output before it gives to its gates, the states, and bias.
	cell func(x, inner *core.Tensor, states []*core.Tensor, bias *core.Tensor) []*core.Tensor
}

// descriptor returns a recurrence's, with so many states; they are its results.
func descriptor(name string, states int) *ir.Op {
	o := &ir.Op{Name: name, Kind: ir.Composition, Switch: -1, DTypes: ir.ClassFloat, Tags: ir.TagTF32}
	for _, n := range []string{"gates", "h", "c"}[:1+states] {
		o.In = append(o.In, ir.Operand{Name: n})
	}
	o.In = append(o.In, ir.Operand{Name: "weight"}, ir.Operand{Name: "bias"})
	o.Out = []ir.Result{{Name: "out"}, {Name: "cells"}}[:states]
	return o
}

// apply runs forward as one node of the graph, of which backward is the gradient.
func (r *recurrence) apply(in []*core.Tensor, forward func() []*core.Tensor, backward func(g *core.Grad)) []*core.Tensor {
	save := core.Save(0)
	for i := range in {
		save |= core.SaveIn(i)
	}
	for i := range r.op.Out {
		save |= core.SaveOut(i)
	}
	return core.Custom(core.Apply{
		Op: r.op, In: in, Save: save,
		Backward: func(g *core.Grad) {
			if g.Recording() {
				r.again(g)
				return
			}
			backward(g)
		},
	}, forward)
}

// again sets the gradients of the layer's steps.
func (r *recurrence) again(g *core.Grad) {
	n := len(r.op.Out)
	again(g, r.op, &core.Operators{Add: r.Add, Clone: r.Clone}, func(in []*core.Tensor) []*core.Tensor {
		return r.steps(in[0], in[1:1+n], in[1+n], in[2+n])
	})
}

// steps returns the states after each step, [steps, batch, width], one step after
// the other.
func (r *recurrence) steps(gates *core.Tensor, states []*core.Tensor, weight, bias *core.Tensor) []*core.Tensor {
	count := look(gates).Shape()[0]
	lists := make([][]*core.Tensor, len(states))
	across := r.Transpose(weight, 0, 1)
	for i := range count {
		t := i
		if r.reverse {
			t = count - 1 - i
		}
		x := r.Reshape(r.Narrow(gates, 0, t, 1), look(gates).Shape()[1:])
		states = r.cell(x, r.RNNMatMul(states[0], across), states, bias)
		for k, s := range states {
			lists[k] = append(lists[k], r.Reshape(s, slices.Concat([]int{1}, look(s).Shape())))
		}
	}
	out := make([]*core.Tensor, len(lists))
	for k, list := range lists {
		if r.reverse {
			slices.Reverse(list)
		}
		out[k] = r.Cat(list, 0)
	}
	return out
}

// before returns a state before each step, from the first one and those after
// each step.
func (r *recurrence) before(first, after *core.Tensor) *core.Tensor {
	first = r.Reshape(first, slices.Concat([]int{1}, look(first).Shape()))
	n := look(after).Shape()[0]
	switch {
	case n == 1:
		return first
	case r.reverse:
		return r.Cat([]*core.Tensor{r.Narrow(after, 0, 1, n-1), first}, 0)
	}
	return r.Cat([]*core.Tensor{first, r.Narrow(after, 0, 0, n-1)}, 0)
}

// given returns what states give to the gates: states @ weight'.
func (r *recurrence) given(states, weight *core.Tensor) *core.Tensor {
	return r.RNNMatMul(states, r.Transpose(weight, 0, 1))
}

// rows returns x with all axes but the last joined.
func (r *recurrence) rows(x *core.Tensor) *core.Tensor {
	s := look(x).Shape()
	return r.Reshape(x, []int{ir.NumElements(s[:len(s)-1]), s[len(s)-1]})
}

// weightGrad returns the gradient of the weight, from that of what it gave and the
// states that it was multiplied with.
func (r *recurrence) weightGrad(g, states *core.Tensor) *core.Tensor {
	return r.RNNMatMul(r.Transpose(r.rows(g), 0, 1), r.rows(states))
}

// overSteps sums over steps and batch.
func (r *recurrence) overSteps(g *core.Tensor) *core.Tensor {
	return r.Sum(g, []int{0, 1}, false, ir.Invalid)
}

// part returns the k-th of the parts, as wide as the state, along the last axis.
func (r *recurrence) part(x, state *core.Tensor, k int) *core.Tensor {
	w := look(state).Shape()[1]
	return r.Narrow(x, len(look(x).Shape())-1, k*w, w)
}

// LSTM returns the outputs and cells of an LSTM over gates [steps, batch, 4*width].
func LSTM(o Recurrence, gates, h, c, weight, bias *core.Tensor, reverse bool) (out, cells *core.Tensor) {
	r := &recurrence{Recurrence: o, op: descriptor("lstm_layer", 2), reverse: reverse}
	r.cell = func(x, inner *core.Tensor, states []*core.Tensor, bias *core.Tensor) []*core.Tensor {
		all := o.Add(o.Add(x, inner), bias)
		gate := func(k int) *core.Tensor { return r.part(all, states[0], k) }
		cell := o.Add(o.Mul(o.Sigmoid(gate(1)), states[1]), o.Mul(o.Sigmoid(gate(0)), o.Tanh(gate(2))))
		return []*core.Tensor{o.Mul(o.Sigmoid(gate(3)), o.Tanh(cell)), cell}
	}
	outs := r.apply([]*core.Tensor{gates, h, c, weight, bias}, func() []*core.Tensor {
		out, cells := o.LSTMSequence(gates, h, c, weight, bias, reverse)
		return []*core.Tensor{out, cells}
	}, func(g *core.Grad) {
		weight := g.In(3)
		before := r.before(g.In(1), g.Out(0))
		dGates, dH, dC := o.LSTMSequenceGrad(g.Dy(0), g.Dy(1), g.In(0), r.given(before, weight), r.before(g.In(2), g.Out(1)), weight, g.In(4), reverse)
		g.Set(0, dGates)
		g.Set(1, dH)
		g.Set(2, dC)
		if g.Needs(3) {
			g.Set(3, r.weightGrad(dGates, before))
		}
		if g.Needs(4) {
			g.Set(4, r.overSteps(dGates))
		}
	})
	return outs[0], outs[1]
}

// GRU returns the outputs of a GRU over gates [steps, batch, 3*width]; bias has a
// row for the gates and one for what the state gives to them.
func GRU(o Recurrence, gates, h, weight, bias *core.Tensor, reverse bool) *core.Tensor {
	r := &recurrence{Recurrence: o, op: descriptor("gru_layer", 1), reverse: reverse}
	r.cell = func(x, inner *core.Tensor, states []*core.Tensor, bias *core.Tensor) []*core.Tensor {
		x, inner = o.Add(x, o.Narrow(bias, 0, 0, 1)), o.Add(inner, o.Narrow(bias, 0, 1, 1))
		own := func(k int) *core.Tensor { return r.part(x, states[0], k) }
		given := func(k int) *core.Tensor { return r.part(inner, states[0], k) }
		reset, update := o.Sigmoid(o.Add(own(0), given(0))), o.Sigmoid(o.Add(own(1), given(1)))
		fresh := o.Tanh(o.Add(own(2), o.Mul(reset, given(2))))
		return []*core.Tensor{o.Add(fresh, o.Mul(update, o.Sub(states[0], fresh)))}
	}
	return r.apply([]*core.Tensor{gates, h, weight, bias}, func() []*core.Tensor {
		return []*core.Tensor{o.GRUSequence(gates, h, weight, bias, reverse)}
	}, func(g *core.Grad) {
		weight := g.In(2)
		before := r.before(g.In(1), g.Out(0))
		dGates, dInner, dH := o.GRUSequenceGrad(g.Dy(0), g.In(0), r.given(before, weight), before, weight, g.In(3), reverse)
		g.Set(0, dGates)
		g.Set(1, dH)
		if g.Needs(2) {
			g.Set(2, r.weightGrad(dInner, before))
		}
		if g.Needs(3) {
			both := []*core.Tensor{r.overSteps(dGates), r.overSteps(dInner)}
			g.Set(3, o.Reshape(o.Cat(both, 0), g.InShape(3)))
		}
	})[0]
}

// RNN returns the outputs of a recurrence over x [steps, batch, width] whose
// function is tanh or, with rectified, relu.
func RNN(o Recurrence, x, h, weight, bias *core.Tensor, rectified, reverse bool) *core.Tensor {
	r := &recurrence{Recurrence: o, op: descriptor("rnn_layer", 1), reverse: reverse}
	r.cell = func(x, inner *core.Tensor, _ []*core.Tensor, bias *core.Tensor) []*core.Tensor {
		all := o.Add(o.Add(x, inner), bias)
		if rectified {
			return []*core.Tensor{o.ReLU(all)}
		}
		return []*core.Tensor{o.Tanh(all)}
	}
	return r.apply([]*core.Tensor{x, h, weight, bias}, func() []*core.Tensor {
		return []*core.Tensor{o.RNNSequence(x, h, weight, bias, rectified, reverse)}
	}, func(g *core.Grad) {
		dX, dH := o.RNNSequenceGrad(g.Dy(0), g.Out(0), g.In(2), rectified, reverse)
		g.Set(0, dX)
		g.Set(1, dH)
		if g.Needs(2) {
			g.Set(2, r.weightGrad(dX, r.before(g.In(1), g.Out(0))))
		}
		if g.Needs(3) {
			g.Set(3, r.overSteps(dX))
		}
	})[0]
}
