package kernel

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A recurrence is the extents of a layer that goes over steps one after the other.
// A step's gates are [batch, gates*width], its state is [batch, width].
type recurrence struct {
	steps, batch, width, gates int
	reverse                    bool // from the last step to the first
}

func newRecurrence(outs []int, gates int, reverse ir.Value) *recurrence {
	return &recurrence{outs[0], outs[1], outs[2], gates, reverse.Int != 0}
}

// at returns the step that is taken as the i-th.
func (r *recurrence) at(i int) int {
	if r.reverse {
		return r.steps - 1 - i
	}
	return i
}

// state returns the elements of a step of a tensor [steps, batch, width].
func state[T float](r *recurrence, v []T, step int) []T {
	n := r.batch * r.width
	return v[step*n : (step+1)*n]
}

// gatesOf returns the elements of a step of a tensor [steps, batch, gates*width].
func gatesOf[T float](r *recurrence, v []T, step int) []T {
	n := r.batch * r.width * r.gates
	return v[step*n : (step+1)*n]
}

// cellWork is how many elements of a state are worth another processor.
const cellWork = 512

// each calls f for every element of the state: its number, its row's first gate
// and its column.
func (r *recurrence) each(f func(i, row, column int)) {
	pool.For(r.batch*r.width, cellWork, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			f(i, i/r.width*r.gates*r.width, i%r.width)
		}
	})
}

// toGates sets gates to what a state gives to them: state @ weight'.
func toGates[T float](r *recurrence, gates, state, weight []T) {
	if len(gates) == 0 {
		return
	}
	w := gemm.Matrix{Ptr: unsafe.Pointer(&weight[0]), Row: r.width, Col: 1}.T()
	gemm.Mul[T](r.batch, r.gates*r.width, r.width, dense(state, r.width), w, dense(gates, r.gates*r.width), false)
}

// toState sets, or with add adds to, a state's gradient what the gates' gives to
// it: gates @ weight.
func toState[T float](r *recurrence, state, gates, weight []T, add bool) {
	if len(state) == 0 {
		return
	}
	gemm.Mul[T](r.batch, r.width, r.gates*r.width, dense(gates, r.gates*r.width), dense(weight, r.width), dense(state, r.width), add)
}

func dense[T float](v []T, columns int) gemm.Matrix {
	return gemm.Matrix{Ptr: unsafe.Pointer(&v[0]), Row: columns, Col: 1}
}

func sigmoid[T float](x T) T { return T(1 / (1 + math.Exp(-float64(x)))) }

func tanh[T float](x T) T { return T(math.Tanh(float64(x))) }

// A recurrentFunc computes a recurrence or a gradient of one: in and out are
// contiguous and of the compute dtype.
type recurrentFunc func(r *recurrence, in, out []ir.View)

// recur runs a function on c's operands in the compute dtype.
func recur(c *ir.Call, t *table[recurrentFunc], r *recurrence) error {
	f, err := t.of(c.Compute)
	if err != nil {
		return err
	}
	in, out := make([]ir.View, len(c.In)), make([]ir.View, len(c.Out))
	for i, v := range c.In {
		in[i] = tile.Dense(v, c.Compute)
	}
	for i, v := range c.Out {
		out[i] = tile.TargetOf(v, c.Compute)
	}
	f(r, in, out)
	for i, v := range c.Out {
		tile.Finish(v, out[i])
	}
	return nil
}

// all returns the elements of views.
func all[T float](views []ir.View) [][]T {
	list := make([][]T, len(views))
	for i, v := range views {
		list[i] = tile.Elements[T](v)
	}
	return list
}

var lstms = table[recurrentFunc]{ir.Float32: lstm[float32], ir.Float64: lstm[float64]}

// LSTMSequence returns the outputs and cells, [steps, batch, width], of an LSTM
// over gates [steps, batch, 4*width], in the order input, forget, cell, output,
// from a first output and cell [batch, width]. Attribute: reverse.
func LSTMSequence(c *ir.Call) error {
	return recur(c, &lstms, newRecurrence(c.Out[0].Shape, 4, c.Attrs[0]))
}

func lstm[T float](r *recurrence, in, out []ir.View) {
	v, o := all[T](in), all[T](out)
	gates, h, c, weight, bias := v[0], v[1], v[2], v[3], v[4]
	inner, w := make([]T, r.batch*4*r.width), r.width
	for s := range r.steps {
		x, hs, cs := gatesOf(r, gates, r.at(s)), state(r, o[0], r.at(s)), state(r, o[1], r.at(s))
		toGates(r, inner, h, weight)
		before := c
		r.each(func(i, row, j int) {
			gate := func(k int) T { return x[row+k*w+j] + inner[row+k*w+j] + bias[k*w+j] }
			cs[i] = sigmoid(gate(1))*before[i] + sigmoid(gate(0))*tanh(gate(2))
			hs[i] = sigmoid(gate(3)) * tanh(cs[i])
		})
		h, c = hs, cs
	}
}

var lstmGrads = table[recurrentFunc]{ir.Float32: lstmGrad[float32], ir.Float64: lstmGrad[float64]}

// LSTMSequenceGrad returns the gradients of the gates, the first output and the
// first cell of LSTMSequence, from those of its outputs and cells, its gates, what
// the states before each step gave to them, the cells before each step, weight and
// bias. Attribute: reverse.
func LSTMSequenceGrad(c *ir.Call) error {
	return recur(c, &lstmGrads, newRecurrence(c.In[0].Shape, 4, c.Attrs[0]))
}

func lstmGrad[T float](r *recurrence, in, out []ir.View) {
	v, o := all[T](in), all[T](out)
	g, gCells, gates, inner, before, weight, bias := v[0], v[1], v[2], v[3], v[4], v[5], v[6]
	gh, gc, w := o[1], o[2], r.width // of the state after the step, then before it
	clear(gh)
	clear(gc)
	for s := r.steps - 1; s >= 0; s-- {
		t := r.at(s)
		x, y, d := gatesOf(r, gates, t), gatesOf(r, inner, t), gatesOf(r, o[0], t)
		dh, dc, c := state(r, g, t), state(r, gCells, t), state(r, before, t)
		r.each(func(i, row, j int) {
			gate := func(k int) T { return x[row+k*w+j] + y[row+k*w+j] + bias[k*w+j] }
			in, forget, cell, out := sigmoid(gate(0)), sigmoid(gate(1)), tanh(gate(2)), sigmoid(gate(3))
			top := tanh(forget*c[i] + in*cell)
			dOut := dh[i] + gh[i]
			dCell := dc[i] + gc[i] + dOut*out*(1-top*top)
			d[row+j] = dCell * cell * in * (1 - in)
			d[row+w+j] = dCell * c[i] * forget * (1 - forget)
			d[row+2*w+j] = dCell * in * (1 - cell*cell)
			d[row+3*w+j] = dOut * top * out * (1 - out)
			gc[i] = dCell * forget
		})
		toState(r, gh, d, weight, false)
	}
}

var grus = table[recurrentFunc]{ir.Float32: gru[float32], ir.Float64: gru[float64]}

// GRUSequence returns the outputs [steps, batch, width] of a GRU over gates
// [steps, batch, 3*width], in the order reset, update, new, from a first output
// [batch, width]. bias has two rows: one is added to the gates, and one to what
// the state gives to them. Attribute: reverse.
func GRUSequence(c *ir.Call) error {
	return recur(c, &grus, newRecurrence(c.Out[0].Shape, 3, c.Attrs[0]))
}

func gru[T float](r *recurrence, in, out []ir.View) {
	v, o := all[T](in), all[T](out)
	gates, h, weight, bias := v[0], v[1], v[2], v[3]
	inner := make([]T, r.batch*3*r.width)
	for s := range r.steps {
		x, hs := gatesOf(r, gates, r.at(s)), state(r, o[0], r.at(s))
		toGates(r, inner, h, weight)
		before := h
		r.each(func(i, row, j int) {
			_, update, fresh, _ := gruGates(r.width, x[row:], inner[row:], bias, j)
			hs[i] = fresh + update*(before[i]-fresh)
		})
		h = hs
	}
}

// gruGates returns the gates of column j, and what the state gives to the new one.
func gruGates[T float](w int, x, y, bias []T, j int) (reset, update, fresh, given T) {
	gate := func(k int) T { return x[k*w+j] + bias[k*w+j] }
	state := func(k int) T { return y[k*w+j] + bias[(3+k)*w+j] }
	reset, update, given = sigmoid(gate(0)+state(0)), sigmoid(gate(1)+state(1)), state(2)
	return reset, update, tanh(gate(2) + reset*given), given
}

var gruGrads = table[recurrentFunc]{ir.Float32: gruGrad[float32], ir.Float64: gruGrad[float64]}

// GRUSequenceGrad returns the gradients of the gates, of what the states before
// each step gave to them, and of the first output of GRUSequence, from that of its
// outputs, its gates, what the states gave to them, the outputs before each step,
// weight and bias. Attribute: reverse.
func GRUSequenceGrad(c *ir.Call) error {
	return recur(c, &gruGrads, newRecurrence(c.In[0].Shape, 3, c.Attrs[0]))
}

func gruGrad[T float](r *recurrence, in, out []ir.View) {
	v, o := all[T](in), all[T](out)
	g, gates, inner, before, weight, bias := v[0], v[1], v[2], v[3], v[4], v[5]
	gh, w := o[2], r.width
	clear(gh)
	for s := r.steps - 1; s >= 0; s-- {
		t := r.at(s)
		x, y, d, e := gatesOf(r, gates, t), gatesOf(r, inner, t), gatesOf(r, o[0], t), gatesOf(r, o[1], t)
		dh, h := state(r, g, t), state(r, before, t)
		r.each(func(i, row, j int) {
			reset, update, fresh, given := gruGates(w, x[row:], y[row:], bias, j)
			dOut := dh[i] + gh[i]
			dFresh := dOut * (1 - update) * (1 - fresh*fresh)
			d[row+j] = dFresh * given * reset * (1 - reset)
			d[row+w+j] = dOut * (h[i] - fresh) * update * (1 - update)
			d[row+2*w+j] = dFresh
			e[row+j], e[row+w+j], e[row+2*w+j] = d[row+j], d[row+w+j], dFresh*reset
			gh[i] = dOut * update
		})
		toState(r, gh, e, weight, true)
	}
}

var rnns = table[recurrentFunc]{ir.Float32: rnn[float32], ir.Float64: rnn[float64]}

// RNNSequence returns the outputs [steps, batch, width] of a recurrence over x, of
// that shape, from a first output [batch, width]. Attributes: relu, whether its
// function is that and not tanh, and reverse.
func RNNSequence(c *ir.Call) error {
	r := newRecurrence(c.Out[0].Shape, 1, c.Attrs[1])
	if c.Attrs[0].Int != 0 {
		return recur(c, &reluRNNs, r)
	}
	return recur(c, &rnns, r)
}

var reluRNNs = table[recurrentFunc]{ir.Float32: reluRNN[float32], ir.Float64: reluRNN[float64]}

func rnn[T float](r *recurrence, in, out []ir.View) { activated(r, in, out, tanh[T]) }

func reluRNN[T float](r *recurrence, in, out []ir.View) {
	activated(r, in, out, func(x T) T { return max(x, 0) })
}

func activated[T float](r *recurrence, in, out []ir.View, f func(T) T) {
	v, o := all[T](in), all[T](out)
	gates, h, weight, bias := v[0], v[1], v[2], v[3]
	for s := range r.steps {
		x, hs := state(r, gates, r.at(s)), state(r, o[0], r.at(s))
		toGates(r, hs, h, weight)
		r.each(func(i, _, j int) { hs[i] = f(x[i] + hs[i] + bias[j]) })
		h = hs
	}
}

var (
	rnnGrads     = table[recurrentFunc]{ir.Float32: rnnGrad[float32], ir.Float64: rnnGrad[float64]}
	reluRNNGrads = table[recurrentFunc]{ir.Float32: reluRNNGrad[float32], ir.Float64: reluRNNGrad[float64]}
)

// RNNSequenceGrad returns the gradients of x and of the first output of
// RNNSequence, from that of its outputs, these, and weight. Attributes: relu and
// reverse.
func RNNSequenceGrad(c *ir.Call) error {
	r := newRecurrence(c.In[0].Shape, 1, c.Attrs[1])
	if c.Attrs[0].Int != 0 {
		return recur(c, &reluRNNGrads, r)
	}
	return recur(c, &rnnGrads, r)
}

func rnnGrad[T float](r *recurrence, in, out []ir.View) {
	activatedGrad(r, in, out, func(g, y T) T { return g * (1 - y*y) })
}

func reluRNNGrad[T float](r *recurrence, in, out []ir.View) {
	activatedGrad(r, in, out, func(g, y T) T {
		if y > 0 {
			return g
		}
		return 0
	})
}

func activatedGrad[T float](r *recurrence, in, out []ir.View, f func(g, y T) T) {
	v, o := all[T](in), all[T](out)
	g, y, weight, gh := v[0], v[1], v[2], o[1]
	clear(gh)
	for s := r.steps - 1; s >= 0; s-- {
		t := r.at(s)
		dh, h, d := state(r, g, t), state(r, y, t), state(r, o[0], t)
		r.each(func(i, _, _ int) { d[i] = f(dh[i]+gh[i], h[i]) })
		toState(r, gh, d, weight, false)
	}
}
