package core

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/random"
)

// A Differentiated is a function that was recorded with its gradient: two programs, of which
// the second runs in backward passes. What it reads of the first is saved in between.
type Differentiated struct {
	*Recorded // the function; its results are followed by what is saved

	backward *Recorded
	op       *ir.Op
	outs     int       // results of the function
	flows    []bool    // by result: gradients flow to it
	state    []*Tensor // besides the arguments, what gradients flow to or the backward pass reads
	saves    []bool    // by argument and state: the backward pass reads it
	wants    []int     // by result of the backward program, the argument or state that it is the gradient of
	dys      []int     // the results whose gradients the backward program takes, in its order
}

// RecordDifferentiated is Record for a function whose results gradients flow through.
// Gradients returns those of roots with respect to inputs, nil where there is none.
func RecordDifferentiated(args []*Tensor, o RecordOptions, f func(args []*Tensor) ([]*Tensor, error),
	gradients func(roots, dys, inputs []*Tensor) ([]*Tensor, error)) (*Differentiated, error) {
	d := &Differentiated{op: &ir.Op{Name: "compiled", In: []ir.Operand{{Name: "x", Variadic: true}}, Switch: -1}}
	s := &splitter{d: d, args: args, gradients: gradients}
	rec, err := record(args, o, f, s)
	if err != nil {
		return nil, err
	}
	d.Recorded = rec
	if d.backward != nil {
		d.backward.caller = rec.caller
		d.backward.capturable(o)
	}
	d.saved()
	return d, nil
}

// saved has what is saved stay in a graph's memory: it is gone when the next run begins.
func (d *Differentiated) saved() {
	for i := d.outs; i < len(d.results); i++ {
		b := d.results[i].buffer
		if !slices.ContainsFunc(d.results[:d.outs], func(r recordedResult) bool { return r.buffer == b }) {
			d.capture.ways[b] = inPlace
		}
	}
}

// Finish is that of both programs. Passes of runs that were before go on with theirs.
func (d *Differentiated) Finish() (*Differentiated, error) {
	done := *d
	var err error
	if done.Recorded, err = d.Recorded.Finish(); err != nil {
		return nil, err
	}
	if d.backward != nil {
		if done.backward, err = d.backward.Finish(); err != nil {
			return nil, err
		}
	}
	done.saved()
	return &done, nil
}

// A splitter makes the two programs of one recording. The arguments of the backward program
// are those of the function, the gradients of its results, and what is saved.
type splitter struct {
	d         *Differentiated
	args      []*Tensor
	gradients func(roots, dys, inputs []*Tensor) ([]*Tensor, error)
}

// leaves makes the stand-ins of arguments leaves, whose gradients are asked for.
func (s *splitter) leaves(standIns []*Tensor) {
	for i, t := range standIns {
		if s.args[i].grad != nil {
			t.grad = &gradState{}
		}
	}
}

// finish makes the programs of what the recorder has, whose function returned outs.
func (s *splitter) finish(r *recorder, standIns, outs []*Tensor) (*Recorded, error) {
	d := s.d
	d.outs, d.flows = len(outs), make([]bool, len(outs))
	r.awaitAll()
	boundary := len(r.program)
	var roots, dys []*Tensor
	for i, t := range outs {
		d.op.Out = append(d.op.Out, ir.Result{Name: fmt.Sprint(i)})
		if !t.RequiresGrad() || !GradEnabled() {
			continue
		}
		if !t.storage.virtual || r.buffers[r.known[t.storage]].Kind == program.Argument {
			return nil, r.fail(fmt.Errorf("result %d: %w: it is an argument, state or a part of one, and gradients flow to it; return a copy", i, ErrUnrecordable))
		}
		d.flows[i] = true
		d.dys = append(d.dys, i)
		roots, dys = append(roots, t), append(dys, r.gradientOf(t, len(s.args)+len(dys)))
	}
	if len(roots) == 0 {
		return r.finish(s.args, outs)
	}
	inputs, at := s.inputs(r, standIns)
	grads, err := s.gradients(roots, dys, inputs)
	if err == nil {
		err = r.failed
	}
	if err != nil {
		return nil, err
	}
	var given []*Tensor
	for i, g := range grads {
		if g != nil {
			given, d.wants = append(given, g), append(d.wants, at[i])
		}
	}
	return s.split(r, boundary, outs, given)
}

// inputs returns the arguments and the state that gradients flow to, and their places among
// the operands of the function: the arguments, then the state.
func (s *splitter) inputs(r *recorder, standIns []*Tensor) (inputs []*Tensor, at []int) {
	for i, t := range standIns {
		if t.grad != nil {
			inputs, at = append(inputs, t), append(at, i)
		}
	}
	for i := range r.buffers {
		if b := &r.buffers[i]; b.Kind == program.State && b.handle.grad != nil {
			inputs, at = append(inputs, b.handle), append(at, len(s.args)+s.d.operand(b.handle))
		}
	}
	return inputs, at
}

// operand returns the index of a tensor among the state that counts as operands.
func (d *Differentiated) operand(t *Tensor) int {
	if i := slices.IndexFunc(d.state, func(o *Tensor) bool { return o.storage == t.storage }); i >= 0 {
		return i
	}
	d.state = append(d.state, t)
	return len(d.state) - 1
}

// gradientOf returns a stand-in for the gradient of a result, argument arg of the backward
// program.
func (r *recorder) gradientOf(t *Tensor, arg int) *Tensor {
	l := ir.ContiguousLayout(t.layout.Shape)
	b := recordedBuffer{dev: t.dev, drv: t.storage.drv, arg: arg}
	b.Kind, b.Name, b.Device, b.Bytes = program.Argument, "gradient", t.dev.String(), int64(t.NumElements())*int64(t.dtype.Size())
	of := empty(b.drv)
	if b.Bytes > 0 {
		of = r.virtual(b)
	}
	return newTensor(of, t.dev, l, t.dtype)
}

// split makes one program of the steps before the boundary and one of those behind it, which
// returns grads.
func (s *splitter) split(r *recorder, boundary int, outs, grads []*Tensor) (*Recorded, error) {
	d := s.d
	back := &recorder{known: r.known, declared: r.declared, names: r.names, captures: r.captures, unfused: r.unfused, relaxed: r.relaxed, later: r.later, recompute: r.recompute, grads: map[*gradState]*gradSlot{},
		tape: r.tape, program: r.program[boundary:], buffers: slices.Clone(r.buffers)}
	r.recorded, r.program = r.program, r.program[:boundary:boundary]
	made, read := touched(r.program, len(r.buffers)), touched(back.program, len(r.buffers))
	for _, g := range grads {
		if i, ok := r.known[g.storage]; ok {
			read[i] = true
		}
	}
	of := make([]*Storage, len(r.buffers))
	for st, i := range r.known {
		of[i] = st
	}
	d.saves = make([]bool, len(s.args)+len(d.state))
	kept := len(s.args) + len(d.dys)
	for i := range back.buffers {
		b, mine := &r.buffers[i], &back.buffers[i]
		mine.Made, b.Made, b.Released = max(0, b.Made-boundary), min(b.Made, boundary), min(b.Released, boundary)
		if mine.Released >= 0 {
			mine.Released = max(0, mine.Released-boundary)
		}
		switch {
		case b.Kind == program.Argument && b.arg >= len(s.args):
			b.Kind = program.Temporary // nothing of the function's
		case b.Kind == program.Constant:
		case !read[i]:
			mine.Kind = program.Temporary
		case b.Kind == program.Argument:
			s.saveArgument(b.arg)
		case b.Kind == program.State:
			if at := len(s.args) + d.operand(b.handle); at < len(d.saves) {
				d.saves[at] = true
			} else {
				d.saves = append(d.saves, true)
			}
		case b.Kind == program.Gradient:
			return nil, r.fail(fmt.Errorf("%w: the backward pass reads a gradient", ErrUnrecordable))
		case made[i]:
			outs = append(outs, &Tensor{storage: of[i], dev: b.dev, layout: ir.ContiguousLayout([]int{int(b.Bytes)}), dtype: ir.Uint8})
			mine.Kind, mine.arg, mine.part = program.Argument, kept, false
			kept++
		}
	}
	var err error
	if d.backward, err = back.finish(nil, grads); err != nil {
		return nil, r.fail(err)
	}
	for i := range d.backward.buffers {
		d.backward.buffers[i].moved = 0 // that was the function's doing
	}
	return r.finish(s.args, outs)
}

// saveArgument has an argument saved, with those that it shares memory with.
func (s *splitter) saveArgument(i int) {
	for k, a := range s.args {
		if k == i || a.SharesStorage(s.args[i]) {
			s.d.saves[k] = true
		}
	}
}

// touched returns which buffers steps use.
func touched(steps []step, buffers int) []bool {
	used := make([]bool, buffers)
	for i := range steps {
		for _, r := range slices.Concat(steps[i].In, steps[i].Out) {
			if r.Buffer >= 0 {
				used[r.Buffer] = true
			}
		}
	}
	return used
}

// Call does the function with args, and has backward passes do its gradient.
func (d *Differentiated) Call(args []*Tensor) ([]*Tensor, error) {
	outs, tape, err := d.run(args, nil)
	if err != nil || d.backward == nil {
		return outs, err
	}
	outs, kept := outs[:d.outs], outs[d.outs:]
	operands := slices.Concat(args, d.state, kept)
	a := Apply{Op: d.op, Backward: func(g *Grad) { d.pass(g, tape) }}
	first := outs[d.dys[0]]
	newNode(&a, operands, first.storage.drv, current(first.dev), outs)
	n := first.grad.node
	for i, t := range operands {
		if i >= len(d.saves) || d.saves[i] {
			n.in[i].saved = save(t)
		}
	}
	for _, t := range kept {
		t.Release()
	}
	for i, t := range outs {
		if !d.flows[i] {
			t.grad = nil
		}
	}
	return outs, nil
}

// pass does the backward program.
func (d *Differentiated) pass(g *Grad, tape *random.Tape) {
	fail := func(err error) {
		for _, k := range d.wants {
			g.Set(k, Fail(d.op, err))
		}
	}
	if g.Recording() {
		fail(fmt.Errorf("%w: gradients of gradients do not flow through compiled functions", ErrUnrecordable))
		return
	}
	operands := len(d.saves) - len(d.state)
	args := make([]*Tensor, operands, operands+len(d.dys)+g.NumIn()-len(d.saves))
	var own []*Tensor
	defer func() {
		for _, t := range own {
			t.Release()
		}
	}()
	for i, saved := range d.saves {
		if !saved {
			continue
		}
		t := g.In(i)
		if own = append(own, t); i < operands {
			args[i] = t
		}
	}
	for _, i := range d.dys {
		dy := g.Dy(i)
		shared := func(t *Tensor) bool { return t != nil && t.SharesStorage(dy) }
		if !dense(dy) || slices.ContainsFunc(args, shared) {
			dy = Copy(dy)
			own = append(own, dy)
		}
		args = append(args, dy)
	}
	for i := len(d.saves); i < g.NumIn(); i++ {
		t := g.In(i)
		own, args = append(own, t), append(args, t)
	}
	bad := FirstError(own...)
	if bad != nil {
		fail(bad.Err())
		return
	}
	grads, _, err := d.backward.run(args, tape)
	if err != nil {
		fail(err)
		return
	}
	for i, k := range d.wants {
		g.Set(k, grads[i])
	}
}

// dense reports whether the elements of t lie one behind the other.
func dense(t *Tensor) bool {
	return t.Err() == nil && equalInts(t.layout.Strides, ir.ContiguousLayout(t.layout.Shape).Strides)
}

// Close gives back what the programs hold between runs.
func (d *Differentiated) Close() {
	d.Recorded.Close()
	if d.backward != nil {
		d.backward.Close()
	}
}
