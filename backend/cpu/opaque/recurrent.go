package opaque

import (
	"math"
	"runtime"
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
	first, count               int  // the rows of the batch that are gone through
	alone                      bool // by this goroutine, others have other rows
}

func newRecurrence(outs []int, gates int, reverse ir.Value) *recurrence {
	return &recurrence{steps: outs[0], batch: outs[1], width: outs[2], gates: gates, reverse: reverse.Int != 0, count: outs[1]}
}

const (
	// leastRows is how many rows of a batch a goroutine goes through the steps with, at least,
	// and how wide a state is then: which kernels products of fewer rows or columns have, whose
	// sums round otherwise, depends on how many of the others there are.
	leastRows = 4
	// mostShared is how many bytes of a weight every processor's own cache holds besides.
	mostShared = 512 * 1024
)

// eachRowsOf calls f with a recurrence of the given rows of the batch each, which cover it. No
// row needs another one's state: goroutines that have rows of their own wait for each other
// only at the end, where each step would be dealt out otherwise. A weight that no cache holds
// is read by all processors together, each step.
func (r *recurrence) eachRowsOf(size int, f func(r *recurrence)) {
	parts := min(runtime.GOMAXPROCS(0), r.batch/leastRows)
	if parts < 2 || r.steps < 2 || r.width < leastRows || r.gates*r.width*r.width*size > mostShared {
		f(r)
		return
	}
	pool.For(parts, 1, func(lo, hi int) {
		part := *r
		part.first, part.alone = lo*r.batch/parts, true
		part.count = hi*r.batch/parts - part.first
		f(&part)
	})
}

// at returns the step that is taken as the i-th.
func (r *recurrence) at(i int) int {
	if r.reverse {
		return r.steps - 1 - i
	}
	return i
}

// state returns the rows of a step of a tensor [steps, batch, width].
func state[T float](r *recurrence, v []T, step int) []T {
	first := (step*r.batch + r.first) * r.width
	return v[first : first+r.count*r.width]
}

// gatesOf returns the rows of a step of a tensor [steps, batch, gates*width].
func gatesOf[T float](r *recurrence, v []T, step int) []T {
	n := r.width * r.gates
	first := (step*r.batch + r.first) * n
	return v[first : first+r.count*n]
}

// A factor is a weight that rows are multiplied with, each step.
type factor struct {
	b      gemm.Matrix
	packed *gemm.Packed // unless nil, b too
}

// newFactor returns b, k by n, packed where that is worth it for all rows.
func newFactor[T float](r *recurrence, b gemm.Matrix, k, n int) factor {
	f := factor{b: b}
	if p := (gemm.Product[T]{M: r.batch, N: n, K: k}); r.steps > 2 && p.Packs() {
		f.packed = gemm.Pack[T](b, k, n)
	}
	return f
}

// across returns what a state's product with the transposed weight reads: the
// weight as it is for few steps, else a transposed copy of it.
func across[T float](r *recurrence, weight []T) factor {
	w := gemm.Matrix{Ptr: unsafe.Pointer(&weight[0]), Row: r.width, Col: 1}.T()
	if r.steps < 3 || r.batch < 2 {
		return factor{b: w}
	}
	n := r.gates * r.width
	to := tile.NewDense(dtypeOf[T](), []int{r.width, n})
	tile.Copy(to, ir.View{Ptr: w.Ptr, DType: to.DType, Shape: to.Shape, Strides: []int{1, r.width}})
	return newFactor[T](r, gemm.Matrix{Ptr: to.Ptr, Row: n, Col: 1}, r.width, n)
}

// along returns what gates' product with the weight reads: as it lies where that is added to a
// state's gradient, which products with packed weights do not.
func along[T float](r *recurrence, weight []T, add bool) factor {
	switch {
	case len(weight) == 0:
		return factor{}
	case add:
		return factor{b: dense(weight, r.width)}
	}
	return newFactor[T](r, dense(weight, r.width), r.gates*r.width, r.width)
}

// toGates sets gates to what the state before the i-th step gives to them: state @ w, which is
// the transposed weight. Every other step reads that from its end, which a cache still holds.
func toGates[T float](r *recurrence, i int, gates, state []T, w factor) {
	if len(gates) == 0 {
		return
	}
	n := r.gates * r.width
	p := gemm.Product[T]{M: r.batch, N: n, K: r.width, A: dense(state, r.width), B: w.b, C: dense(gates, n), Back: i%2 == 1, Packed: w.packed}
	runRows(r, &p)
}

// runRows computes a product of all rows for those that are gone through. Its terms come in
// the stretches that all have.
func runRows[T float](r *recurrence, p *gemm.Product[T]) {
	if r.alone {
		p.Stretch = p.BestStretch()
		p.M, p.Serial = r.count, true
	}
	p.Run()
}

// toState sets, or with add adds to, a state's gradient what the gates' gives to
// it: gates @ weight.
func toState[T float](r *recurrence, state, gates []T, w factor, add bool) {
	if len(state) == 0 {
		return
	}
	n := r.gates * r.width
	p := gemm.Product[T]{M: r.batch, N: r.width, K: n, A: dense(gates, n), B: w.b, C: dense(state, r.width), Add: add, Packed: w.packed}
	runRows(r, &p)
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
	w, f := across(r, weight), newSet[T]()
	r.eachRowsOf(int(unsafe.Sizeof(T(0))), func(r *recurrence) { lstmRows(r, f, w, gates, state(r, h, 0), state(r, c, 0), bias, o[0], o[1]) })
}

// lstmRows goes through the steps of an LSTM from output h and cell c.
func lstmRows[T float](r *recurrence, f set[T], w factor, gates, h, c, bias, outs, cells []T) {
	inner := make([]T, r.count*4*r.width)
	var x, hs, cs []T
	eachStep(r, false, func(s int) {
		x, hs, cs = gatesOf(r, gates, r.at(s)), state(r, outs, r.at(s)), state(r, cells, r.at(s))
		toGates(r, s, inner, h, w)
	}, func(k *cell[T], row int) {
		z := rowOf(inner, row, 4*r.width)
		k.lstmGates(f, z, rowOf(x, row, 4*r.width), z, bias)
		in, forget, fresh, out := k.gate(z, 0), k.gate(z, 1), k.gate(z, 2), k.gate(z, 3)
		top, c, cs, hs := k.gate(k.room, 4), rowOf(c, row, r.width), rowOf(cs, row, r.width), rowOf(hs, row, r.width)
		k.step.Cell(cs, top, forget, c, in, fresh)
		k.apply(f.tanh, top)
		k.step.Product(hs, out, top)
	}, func() { h, c = hs, cs })
}

// lstmGates sets z, which may be y, to the gates of a row: input, forget, cell and output.
func (c *cell[T]) lstmGates(f set[T], z, x, y, bias []T) {
	plus(z, x, y, bias)
	c.apply(f.sigmoid, z[:2*c.width])
	c.apply(f.tanh, c.gate(z, 2))
	c.apply(f.sigmoid, c.gate(z, 3))
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
	v, o, f := all[T](in), all[T](out), newSet[T]()
	by := along(r, v[5], false)
	r.eachRowsOf(int(unsafe.Sizeof(T(0))), func(r *recurrence) { lstmGradRows(r, f, by, v, o) })
}

func lstmGradRows[T float](r *recurrence, f set[T], by factor, v, o [][]T) {
	g, gCells, gates, inner, before, bias := v[0], v[1], v[2], v[3], v[4], v[6]
	gh, gc, w := state(r, o[1], 0), state(r, o[2], 0), r.width // gradients of the state after the step, then before it
	clear(gh)
	clear(gc)
	var x, y, d, dh, dc, c []T
	eachStep(r, true, func(s int) {
		t := r.at(s)
		x, y, d = gatesOf(r, gates, t), gatesOf(r, inner, t), gatesOf(r, o[0], t)
		dh, dc, c = state(r, g, t), state(r, gCells, t), state(r, before, t)
	}, func(k *cell[T], row int) {
		z := k.room[:4*w]
		k.lstmGates(f, z, rowOf(x, row, 4*w), rowOf(y, row, 4*w), bias)
		k.lstmGrads(f, z, rowOf(c, row, w), rowOf(d, row, 4*w), rowOf(dh, row, w), rowOf(dc, row, w), rowOf(gh, row, w), rowOf(gc, row, w))
	}, func() { toState(r, gh, d, by, false) })
}

// lstmGrads sets the gradients d of a row's gates, which are z, and gc, that of its cell, from
// those of its output and of its cell, which come from two places each.
func (k *cell[T]) lstmGrads(f set[T], z, c, d, dh, dc, gh, gc []T) {
	top := k.gate(k.room, 4)
	n := len(top)
	in, forget, fresh, out := k.gate(z, 0)[:n], k.gate(z, 1)[:n], k.gate(z, 2)[:n], k.gate(z, 3)[:n]
	k.step.Cell(top, top, forget, c, in, fresh)
	k.apply(f.tanh, top)
	dIn, dForget, dFresh, dOutput := k.gate(d, 0)[:n], k.gate(d, 1)[:n], k.gate(d, 2)[:n], k.gate(d, 3)[:n]
	c, dh, dc, gh, gc = c[:n], dh[:n], dc[:n], gh[:n], gc[:n]
	for i, t := range top {
		dOut := dh[i] + gh[i]
		dCell := dc[i] + gc[i] + dOut*out[i]*(1-t*t)
		dIn[i] = dCell * fresh[i] * in[i] * (1 - in[i])
		dForget[i] = dCell * c[i] * forget[i] * (1 - forget[i])
		dFresh[i] = dCell * in[i] * (1 - fresh[i]*fresh[i])
		dOutput[i] = dOut * t * out[i] * (1 - out[i])
		gc[i] = dCell * forget[i]
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
	w, f := across(r, weight), newSet[T]()
	r.eachRowsOf(int(unsafe.Sizeof(T(0))), func(r *recurrence) { gruRows(r, f, w, gates, state(r, h, 0), bias, o[0]) })
}

// gruRows goes through the steps of a GRU from output h.
func gruRows[T float](r *recurrence, f set[T], w factor, gates, h, bias, outs []T) {
	inner := make([]T, r.count*3*r.width)
	var x, hs []T
	eachStep(r, false, func(s int) {
		x, hs = gatesOf(r, gates, r.at(s)), state(r, outs, r.at(s))
		toGates(r, s, inner, h, w)
	}, func(c *cell[T], row int) {
		z, _ := c.gruGates(f, rowOf(x, row, 3*r.width), rowOf(inner, row, 3*r.width), bias)
		update, fresh := c.gate(z, 1), c.gate(z, 2)
		h, hs := rowOf(h, row, r.width), rowOf(hs, row, r.width)
		for i := range hs {
			hs[i] = fresh[i] + update[i]*(h[i]-fresh[i])
		}
	}, func() { h = hs })
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
	v, o, f := all[T](in), all[T](out), newSet[T]()
	by := along(r, v[4], true)
	r.eachRowsOf(int(unsafe.Sizeof(T(0))), func(r *recurrence) { gruGradRows(r, f, by, v, o) })
}

func gruGradRows[T float](r *recurrence, f set[T], by factor, v, o [][]T) {
	g, gates, inner, before, bias := v[0], v[1], v[2], v[3], v[5]
	gh, w := state(r, o[2], 0), r.width
	clear(gh)
	var x, y, d, e, dh, h []T
	eachStep(r, true, func(s int) {
		t := r.at(s)
		x, y, d, e = gatesOf(r, gates, t), gatesOf(r, inner, t), gatesOf(r, o[0], t), gatesOf(r, o[1], t)
		dh, h = state(r, g, t), state(r, before, t)
	}, func(c *cell[T], row int) {
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
	}, func() { toState(r, gh, e, by, true) })
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
	r.eachRowsOf(int(unsafe.Sizeof(T(0))), func(r *recurrence) { activatedRows(r, f, w, gates, state(r, h, 0), bias, o[0]) })
}

func activatedRows[T float](r *recurrence, f *activation[T], w factor, gates, h, bias, outs []T) {
	var x, hs []T
	eachStep(r, false, func(s int) {
		x, hs = state(r, gates, r.at(s)), state(r, outs, r.at(s))
		toGates(r, s, hs, h, w)
	}, func(c *cell[T], row int) {
		hs := rowOf(hs, row, r.width)
		plus(hs, rowOf(x, row, r.width), hs, bias)
		c.apply(f, hs)
	}, func() { h = hs })
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
	by := along(r, v[2], false)
	r.eachRowsOf(int(unsafe.Sizeof(T(0))), func(r *recurrence) { activatedGradRows(r, f, by, v, o) })
}

func activatedGradRows[T float](r *recurrence, f func(g, y T) T, by factor, v, o [][]T) {
	g, y, gh := v[0], v[1], state(r, o[1], 0)
	clear(gh)
	var dh, h, d []T
	eachStep(r, true, func(s int) {
		t := r.at(s)
		dh, h, d = state(r, g, t), state(r, y, t), state(r, o[0], t)
	}, func(_ *cell[T], row int) {
		for i := row * r.width; i < (row+1)*r.width; i++ {
			d[i] = f(dh[i]+gh[i], h[i])
		}
	}, func() { toState(r, gh, d, by, false) })
}
