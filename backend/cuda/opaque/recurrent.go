package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// RecurrentMatMul is MatMul by the precision of recurrent layers.
func RecurrentMatMul(g code.GPU, c *ir.Call) error {
	x, y, d := c.In[0], c.In[1], c.Out[0]
	switch {
	case d.NumElements() == 0:
		return nil
	case x.NumElements() == 0:
		return zero(g, d)
	}
	return multiply(g, x, y, d, c.Precision)
}

// multiply enqueues d = x @ y, none of which is empty, by the precision of
// recurrent layers.
func multiply(g code.GPU, x, y, d ir.View, p ir.Precision) error {
	if l, ok := onLibrary(g); ok && sameFloats(x, y, d) {
		err := cublaslt.MatMul(l, x, y, d, p.RNNTF32, p.Sums)
		if err == nil || !noCUBLASLt.covered(err) {
			return err
		}
	}
	return ownMatMul(g, &ir.Call{Kernel: &ir.Kernel{DType: d.DType, Compute: d.DType.Compute()}, In: []ir.View{x, y}, Out: []ir.View{d}})
}

// A recurrence is the steps of a recurrent layer, one launch and one product of
// matrices each.
type recurrence struct {
	gpu                        code.GPU
	dtype                      ir.DType
	steps, batch, width, gates int
	reverse                    bool
	precision                  ir.Precision
	in                         []ir.View // contiguous
	out                        []target
	weight                     ir.View // [gates*width, width]
}

// newRecurrence makes c's operands contiguous. outs is the shape of the outputs
// and weight which operand is that.
func newRecurrence(g code.GPU, c *ir.Call, outs []int, gates, weight int, reverse ir.Value) (*recurrence, error) {
	r := &recurrence{
		gpu: g, dtype: c.Out[0].DType, steps: outs[0], batch: outs[1], width: outs[2], gates: gates, reverse: reverse.Int != 0, precision: c.Precision,
	}
	if r.batch*r.width == 0 {
		return r, nil
	}
	var err error
	if r.in, err = denseAll(g, c.In, r.dtype); err != nil {
		return nil, err
	}
	for _, v := range c.Out {
		out, err := contiguous(g, v, r.dtype)
		if err != nil {
			return nil, err
		}
		r.out = append(r.out, out)
	}
	r.weight = r.in[weight]
	g.Ahead() // the products' workspaces
	return r, nil
}

// empty reports that there is nothing to compute: results are zeros where they
// have elements, which are weights' of a state without any.
func (r *recurrence) empty() bool { return r.in == nil }

func (r *recurrence) finish() error {
	for i := range r.out {
		if err := r.out[i].finish(r.gpu); err != nil {
			return err
		}
	}
	return nil
}

// at returns the step that is taken as the i-th.
func (r *recurrence) at(i int) int {
	if r.reverse {
		return r.steps - 1 - i
	}
	return i
}

// state and gate return where a step begins in a tensor [steps, batch, width] or
// [steps, batch, gates*width].
func (r *recurrence) state(addr uint64, step int) uint64 {
	return addr + uint64(step*r.batch*r.width*r.dtype.Size())
}

func (r *recurrence) gate(addr uint64, step int) uint64 {
	return addr + uint64(step*r.batch*r.width*r.gates*r.dtype.Size())
}

// matrix returns the view of a contiguous [batch, columns].
func (r *recurrence) matrix(addr uint64, columns int) ir.View {
	return ir.View{Addr: addr, DType: r.dtype, Shape: []int{r.batch, columns}, Strides: []int{columns, 1}}
}

// toGates enqueues gates = state @ weight'.
func (r *recurrence) toGates(gates, state uint64) error {
	w := r.weight
	w.Shape, w.Strides = []int{r.width, r.gates * r.width}, []int{1, r.width}
	return multiply(r.gpu, r.matrix(state, r.width), w, r.matrix(gates, r.gates*r.width), r.precision)
}

// toState enqueues state = gates @ weight.
func (r *recurrence) toState(state, gates uint64) error {
	return multiply(r.gpu, r.matrix(gates, r.gates*r.width), r.weight, r.matrix(state, r.width), r.precision)
}

// scratch returns memory for elements of the dtype.
func (r *recurrence) scratch(elements int) (uint64, error) {
	return r.gpu.Scratch(int64(elements) * int64(r.dtype.Size()))
}

// zeros returns a state's cleared memory.
func (r *recurrence) zeros(addr uint64) error {
	return r.gpu.Zero(addr, int64(r.batch*r.width*r.dtype.Size()))
}

// A step is the addresses that the kernels of kernels/recurrent.cu take: Step
// there says what each is.
type step struct {
	gates, inner, bias, before, g, gCell, gNext, out, cell, gInner uint64
}

// launch enqueues the element-wise part of a step.
func (r *recurrence) launch(name string, s step) error {
	var p driver.Params
	for _, a := range []uint64{s.gates, s.inner, s.bias, s.before, s.g, s.gCell, s.gNext, s.out, s.cell, s.gInner} {
		p.Uint64(a)
	}
	count := r.batch * r.width
	p.Uint32(uint32(count))
	p.Uint32(uint32(r.width))
	return r.gpu.Launch("recurrent", ofType(name, r.dtype), grid(int64(count), blockThreads), block(blockThreads), 0, p.Bytes())
}

// LSTMSequence returns the outputs and cells, [steps, batch, width], of an LSTM
// over gates [steps, batch, 4*width], in the order input, forget, cell, output,
// from a first output and cell [batch, width]. Attribute: reverse.
func LSTMSequence(g code.GPU, c *ir.Call) error {
	r, err := newRecurrence(g, c, c.Out[0].Shape, 4, 3, c.Attrs[0])
	if err != nil || r.empty() {
		return err
	}
	inner, err := r.scratch(r.batch * 4 * r.width)
	if err != nil {
		return err
	}
	h, cell := r.in[1].Addr, r.in[2].Addr
	err = g.Repeat(r.steps, func(i int) error {
		t := r.at(i)
		if err := r.toGates(inner, h); err != nil {
			return err
		}
		s := step{
			gates: r.gate(r.in[0].Addr, t), inner: inner, bias: r.in[4].Addr, before: cell,
			out: r.state(r.out[0].Addr, t), cell: r.state(r.out[1].Addr, t),
		}
		if err := r.launch("lstm", s); err != nil {
			return err
		}
		h, cell = s.out, s.cell
		return nil
	})
	if err != nil {
		return err
	}
	return r.finish()
}

// LSTMSequenceGrad returns the gradients of the gates, the first output and the
// first cell of LSTMSequence, from those of its outputs and cells, its gates, what
// the states before each step gave to them, the cells before each step, weight and
// bias. Attribute: reverse.
func LSTMSequenceGrad(g code.GPU, c *ir.Call) error {
	r, err := newRecurrence(g, c, c.In[0].Shape, 4, 5, c.Attrs[0])
	if err != nil || r.empty() {
		return err
	}
	next, cell := r.out[1].Addr, r.out[2].Addr
	for _, addr := range []uint64{next, cell} {
		if err := r.zeros(addr); err != nil {
			return err
		}
	}
	err = g.Repeat(r.steps, func(i int) error {
		t := r.at(r.steps - 1 - i)
		s := step{
			gates: r.gate(r.in[2].Addr, t), inner: r.gate(r.in[3].Addr, t), bias: r.in[6].Addr, before: r.state(r.in[4].Addr, t),
			g: r.state(r.in[0].Addr, t), gCell: r.state(r.in[1].Addr, t), gNext: next, out: r.gate(r.out[0].Addr, t), cell: cell,
		}
		if err := r.launch("lstm_grad", s); err != nil {
			return err
		}
		return r.toState(next, s.out)
	})
	if err != nil {
		return err
	}
	return r.finish()
}

// GRUSequence returns the outputs [steps, batch, width] of a GRU over gates
// [steps, batch, 3*width], in the order reset, update, new, from a first output
// [batch, width]. bias has two rows: one is added to the gates, and one to what
// the state gives to them. Attribute: reverse.
func GRUSequence(g code.GPU, c *ir.Call) error {
	r, err := newRecurrence(g, c, c.Out[0].Shape, 3, 2, c.Attrs[0])
	if err != nil || r.empty() {
		return err
	}
	return r.forward("gru", r.in[3].Addr)
}

// forward takes the steps of a layer whose only state is its output.
func (r *recurrence) forward(name string, bias uint64) error {
	inner, err := r.scratch(r.batch * r.gates * r.width)
	if err != nil {
		return err
	}
	h := r.in[1].Addr
	err = r.gpu.Repeat(r.steps, func(i int) error {
		t := r.at(i)
		if err := r.toGates(inner, h); err != nil {
			return err
		}
		s := step{gates: r.gate(r.in[0].Addr, t), inner: inner, bias: bias, before: h, out: r.state(r.out[0].Addr, t)}
		if err := r.launch(name, s); err != nil {
			return err
		}
		h = s.out
		return nil
	})
	if err != nil {
		return err
	}
	return r.finish()
}

// GRUSequenceGrad returns the gradients of the gates, of what the states before
// each step gave to them, and of the first output of GRUSequence, from that of its
// outputs, its gates, what the states gave to them, the outputs before each step,
// weight and bias. Attribute: reverse.
func GRUSequenceGrad(g code.GPU, c *ir.Call) error {
	r, err := newRecurrence(g, c, c.In[0].Shape, 3, 4, c.Attrs[0])
	if err != nil || r.empty() {
		return err
	}
	next, err := r.scratch(r.batch * r.width)
	if err != nil {
		return err
	}
	past := r.out[2].Addr // the part of the state's gradient that goes past the product
	for _, addr := range []uint64{next, past} {
		if err := r.zeros(addr); err != nil {
			return err
		}
	}
	err = g.Repeat(r.steps, func(i int) error {
		t := r.at(r.steps - 1 - i)
		s := step{
			gates: r.gate(r.in[1].Addr, t), inner: r.gate(r.in[2].Addr, t), bias: r.in[5].Addr, before: r.state(r.in[3].Addr, t),
			g: r.state(r.in[0].Addr, t), gNext: next, out: r.gate(r.out[0].Addr, t), cell: past, gInner: r.gate(r.out[1].Addr, t),
		}
		if err := r.launch("gru_grad", s); err != nil {
			return err
		}
		return r.toState(next, s.gInner)
	})
	if err != nil {
		return err
	}
	if err := r.launch("gru_joined", step{gNext: next, cell: past, out: past}); err != nil {
		return err
	}
	return r.finish()
}

// activation names the kernels of a layer without gates.
func activation(relu ir.Value) string {
	if relu.Int != 0 {
		return "relu"
	}
	return "tanh"
}

// RNNSequence returns the outputs [steps, batch, width] of a recurrence over x, of
// that shape, from a first output [batch, width]. Attributes: relu, whether its
// function is that and not tanh, and reverse.
func RNNSequence(g code.GPU, c *ir.Call) error {
	r, err := newRecurrence(g, c, c.Out[0].Shape, 1, 2, c.Attrs[1])
	if err != nil || r.empty() {
		return err
	}
	return r.forward(activation(c.Attrs[0]), r.in[3].Addr)
}

// RNNSequenceGrad returns the gradients of x and of the first output of
// RNNSequence, from that of its outputs, these, and weight. Attributes: relu and
// reverse.
func RNNSequenceGrad(g code.GPU, c *ir.Call) error {
	r, err := newRecurrence(g, c, c.In[0].Shape, 1, 2, c.Attrs[1])
	if err != nil || r.empty() {
		return err
	}
	next := r.out[1].Addr
	if err := r.zeros(next); err != nil {
		return err
	}
	err = g.Repeat(r.steps, func(i int) error {
		t := r.at(r.steps - 1 - i)
		s := step{before: r.state(r.in[1].Addr, t), g: r.state(r.in[0].Addr, t), gNext: next, out: r.state(r.out[0].Addr, t)}
		if err := r.launch(activation(c.Attrs[0])+"_grad", s); err != nil {
			return err
		}
		return r.toState(next, s.out)
	})
	if err != nil {
		return err
	}
	return r.finish()
}
