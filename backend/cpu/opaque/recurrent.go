package opaque

import (
	"math"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/gemm"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/backend/cpu/vmath"
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
const cellWork = 1024

// A cell is what a worker needs to compute rows of a step.
type cell[T float] struct {
	*recurrence
	room []T              // for the gates of a row, and as much as its state
	args []unsafe.Pointer // of an activation's loop
}

// each calls f for every row of the batch.
func each[T float](r *recurrence, f func(c *cell[T], row int)) {
	if r.width == 0 {
		return
	}
	pool.For(r.batch, max(1, cellWork/r.width), func(lo, hi int) {
		n := (r.gates + 1) * r.width
		block := scratch.Get(n * int(unsafe.Sizeof(T(0))))
		defer block.Put()
		c := cell[T]{r, scratch.Slice[T](block, n), make([]unsafe.Pointer, 2)}
		for ; lo < hi; lo++ {
			f(&c, lo)
		}
	})
}

// rowOf returns row i of a tensor whose rows are gates or, with 1, states.
func rowOf[T float](v []T, i, width int) []T { return v[i*width : (i+1)*width] }

// gate returns the k-th gate of a row of gates.
func (c *cell[T]) gate(v []T, k int) []T { return v[k*c.width : (k+1)*c.width] }

// An activation is a function of each element.
type activation[T float] struct {
	loop  vector.Func // nil: plain
	plain func(T) T
}

func activationOf[T float](name string, plain func(T) T) *activation[T] {
	return &activation[T]{vmath.Loop(name, dtypeOf[T](), simd.Active()), plain}
}

func dtypeOf[T float]() ir.DType {
	if unsafe.Sizeof(T(0)) == 4 {
		return ir.Float32
	}
	return ir.Float64
}

// A set is the activations of cells.
type set[T float] struct{ sigmoid, tanh *activation[T] }

func newSet[T float]() set[T] {
	return set[T]{activationOf("sigmoid", sigmoid[T]), activationOf("tanh", tanh[T])}
}

// apply sets the elements of v to what an activation makes of them.
func (c *cell[T]) apply(a *activation[T], v []T) {
	if a.loop == nil {
		for i, x := range v {
			v[i] = a.plain(x)
		}
		return
	}
	for len(v) > 0 {
		n := min(len(v), 16*tile.Size)
		c.args[0], c.args[1] = unsafe.Pointer(&v[0]), unsafe.Pointer(&v[0])
		a.loop(n, c.args, nil, 0)
		v = v[n:]
	}
}

// plus sets to to x + y + bias.
func plus[T float](to, x, y, bias []T) {
	for i := range to {
		to[i] = x[i] + y[i] + bias[i]
	}
}

// across returns what a state's product with the transposed weight reads: the
// weight as it is for few steps, else a transposed copy of it.
func across[T float](r *recurrence, weight []T) gemm.Matrix {
	w := gemm.Matrix{Ptr: unsafe.Pointer(&weight[0]), Row: r.width, Col: 1}.T()
	if r.steps < 3 || r.batch < 2 {
		return w
	}
	n := r.gates * r.width
	to := tile.NewDense(dtypeOf[T](), []int{r.width, n})
	tile.Copy(to, ir.View{Ptr: w.Ptr, DType: to.DType, Shape: to.Shape, Strides: []int{1, r.width}})
	return gemm.Matrix{Ptr: to.Ptr, Row: n, Col: 1}
}

// toGates sets gates to what the state before the i-th step gives to them: state @ w, which is
// the transposed weight. Every other step reads that from its end, which a cache still holds.
func toGates[T float](r *recurrence, i int, gates, state []T, w gemm.Matrix) {
	if len(gates) == 0 {
		return
	}
	n := r.gates * r.width
	p := gemm.Product[T]{M: r.batch, N: n, K: r.width, A: dense(state, r.width), B: w, C: dense(gates, n), Back: i%2 == 1}
	p.Run()
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
	if len(h) == 0 {
		return
	}
	inner, w, f := make([]T, r.batch*4*r.width), across(r, weight), newSet[T]()
	for s := range r.steps {
		x, hs, cs := gatesOf(r, gates, r.at(s)), state(r, o[0], r.at(s)), state(r, o[1], r.at(s))
		toGates(r, s, inner, h, w)
		before := c
		each(r, func(k *cell[T], row int) {
			z := k.lstmGates(f, rowOf(x, row, 4*r.width), rowOf(inner, row, 4*r.width), bias)
			in, forget, fresh, out := k.gate(z, 0), k.gate(z, 1), k.gate(z, 2), k.gate(z, 3)
			top, c, cs, hs := k.gate(k.room, 4), rowOf(before, row, r.width), rowOf(cs, row, r.width), rowOf(hs, row, r.width)
			for i := range cs {
				cs[i] = forget[i]*c[i] + in[i]*fresh[i]
				top[i] = cs[i]
			}
			k.apply(f.tanh, top)
			for i := range hs {
				hs[i] = out[i] * top[i]
			}
		})
		h, c = hs, cs
	}
}

// lstmGates returns the gates of a row: input, forget, cell and output.
func (c *cell[T]) lstmGates(f set[T], x, y, bias []T) []T {
	z := c.room[:4*c.width]
	plus(z, x, y, bias)
	c.apply(f.sigmoid, z[:2*c.width])
	c.apply(f.tanh, c.gate(z, 2))
	c.apply(f.sigmoid, c.gate(z, 3))
	return z
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
	gh, gc, w, f := o[1], o[2], r.width, newSet[T]() // gradients of the state after the step, then before it
	clear(gh)
	clear(gc)
	for s := r.steps - 1; s >= 0; s-- {
		t := r.at(s)
		x, y, d := gatesOf(r, gates, t), gatesOf(r, inner, t), gatesOf(r, o[0], t)
		dh, dc, c := state(r, g, t), state(r, gCells, t), state(r, before, t)
		each(r, func(k *cell[T], row int) {
			z := k.lstmGates(f, rowOf(x, row, 4*w), rowOf(y, row, 4*w), bias)
			in, forget, fresh, out := k.gate(z, 0), k.gate(z, 1), k.gate(z, 2), k.gate(z, 3)
			c, top := rowOf(c, row, w), k.gate(k.room, 4)
			for i := range top {
				top[i] = forget[i]*c[i] + in[i]*fresh[i]
			}
			k.apply(f.tanh, top)
			d, dh, dc, gh, gc := rowOf(d, row, 4*w), rowOf(dh, row, w), rowOf(dc, row, w), rowOf(gh, row, w), rowOf(gc, row, w)
			for i := range top {
				dOut := dh[i] + gh[i]
				dCell := dc[i] + gc[i] + dOut*out[i]*(1-top[i]*top[i])
				d[i] = dCell * fresh[i] * in[i] * (1 - in[i])
				d[w+i] = dCell * c[i] * forget[i] * (1 - forget[i])
				d[2*w+i] = dCell * in[i] * (1 - fresh[i]*fresh[i])
				d[3*w+i] = dOut * top[i] * out[i] * (1 - out[i])
				gc[i] = dCell * forget[i]
			}
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
	if len(h) == 0 {
		return
	}
	inner, w, f := make([]T, r.batch*3*r.width), across(r, weight), newSet[T]()
	for s := range r.steps {
		x, hs := gatesOf(r, gates, r.at(s)), state(r, o[0], r.at(s))
		toGates(r, s, inner, h, w)
		before := h
		each(r, func(c *cell[T], row int) {
			z, _ := c.gruGates(f, rowOf(x, row, 3*r.width), rowOf(inner, row, 3*r.width), bias)
			update, fresh := c.gate(z, 1), c.gate(z, 2)
			h, hs := rowOf(before, row, r.width), rowOf(hs, row, r.width)
			for i := range hs {
				hs[i] = fresh[i] + update[i]*(h[i]-fresh[i])
			}
		})
		h = hs
	}
}

// gruGates returns the gates of a row, reset, update and new, and what the state
// gives to the last one.
func (c *cell[T]) gruGates(f set[T], x, y, bias []T) (z, given []T) {
	w := c.width
	z, given = c.room[:3*w], c.gate(c.room, 3)
	for i := range 2 * w {
		z[i] = (x[i] + bias[i]) + (y[i] + bias[3*w+i])
	}
	c.apply(f.sigmoid, z[:2*w])
	for i := range given {
		given[i] = y[2*w+i] + bias[5*w+i]
		z[2*w+i] = (x[2*w+i] + bias[2*w+i]) + z[i]*given[i]
	}
	c.apply(f.tanh, z[2*w:])
	return z, given
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
	gh, w, f := o[2], r.width, newSet[T]()
	clear(gh)
	for s := r.steps - 1; s >= 0; s-- {
		t := r.at(s)
		x, y, d, e := gatesOf(r, gates, t), gatesOf(r, inner, t), gatesOf(r, o[0], t), gatesOf(r, o[1], t)
		dh, h := state(r, g, t), state(r, before, t)
		each(r, func(c *cell[T], row int) {
			z, given := c.gruGates(f, rowOf(x, row, 3*w), rowOf(y, row, 3*w), bias)
			reset, update, fresh := c.gate(z, 0), c.gate(z, 1), c.gate(z, 2)
			d, e, dh, h, gh := rowOf(d, row, 3*w), rowOf(e, row, 3*w), rowOf(dh, row, w), rowOf(h, row, w), rowOf(gh, row, w)
			for i := range given {
				dOut := dh[i] + gh[i]
				dFresh := dOut * (1 - update[i]) * (1 - fresh[i]*fresh[i])
				d[i] = dFresh * given[i] * reset[i] * (1 - reset[i])
				d[w+i] = dOut * (h[i] - fresh[i]) * update[i] * (1 - update[i])
				d[2*w+i] = dFresh
				e[i], e[w+i], e[2*w+i] = d[i], d[w+i], dFresh*reset[i]
				gh[i] = dOut * update[i]
			}
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

func rnn[T float](r *recurrence, in, out []ir.View) {
	activated(r, in, out, activationOf("tanh", tanh[T]))
}

func reluRNN[T float](r *recurrence, in, out []ir.View) {
	activated(r, in, out, &activation[T]{plain: func(x T) T { return max(x, 0) }})
}

func activated[T float](r *recurrence, in, out []ir.View, f *activation[T]) {
	v, o := all[T](in), all[T](out)
	gates, h, weight, bias := v[0], v[1], v[2], v[3]
	if len(h) == 0 {
		return
	}
	w := across(r, weight)
	for s := range r.steps {
		x, hs := state(r, gates, r.at(s)), state(r, o[0], r.at(s))
		toGates(r, s, hs, h, w)
		each(r, func(c *cell[T], row int) {
			hs := rowOf(hs, row, r.width)
			plus(hs, rowOf(x, row, r.width), hs, bias)
			c.apply(f, hs)
		})
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
		each(r, func(_ *cell[T], row int) {
			for i := row * r.width; i < (row+1)*r.width; i++ {
				d[i] = f(dh[i]+gh[i], h[i])
			}
		})
		toState(r, gh, d, weight, false)
	}
}
