package core

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
)

// A splitter makes the two programs of one recording. The arguments of the backward program
// are those of the function, the gradients of its results, and what is saved.
//
// A recording of a gradient begins with the steps of the function that it is the gradient of,
// and of those that this is of. Their values are saved by its runs; where one is not, steps
// that compute it of what is are a part of the program.
type splitter struct {
	d        *Differentiated
	args     []*Tensor // of a function that was given
	standIns []*Tensor // of another one
	from     int       // the function's first step
	behind   int       // the gradient's first step
	whole    *program.Program
}

// finish makes the programs of what the recorder has, whose function returned outs.
func (s *splitter) finish(r *recorder, standIns, outs []*Tensor) (*Recorded, error) {
	d := s.d
	if d.of != nil {
		standIns = s.standIns
		for of := d.of; of != nil; of = of.of {
			s.from += len(of.own())
		}
		d.given = slices.Concat(d.of.given, d.of.kept)
	}
	d.outs, d.flows = len(outs), make([]bool, len(outs))
	r.awaitAll()
	s.behind = len(r.program)
	var roots, dys []*Tensor
	for i, t := range outs {
		d.op.Out = append(d.op.Out, ir.Result{Name: fmt.Sprint(i)})
		if !t.RequiresGrad() || !GradEnabled() {
			continue
		}
		if k, known := r.known[t.storage]; !t.storage.recorded() || known && r.buffers[k].Kind == program.Argument {
			return nil, r.fail(fmt.Errorf("result %d: %w: it is an argument, state or a part of one, and gradients flow to it; return a copy", i, ErrUnrecordable))
		}
		d.flows[i] = true
		d.dys = append(d.dys, i)
		roots, dys = append(roots, t), append(dys, r.gradientOf(t, len(d.args)+len(dys)))
	}
	if len(roots) == 0 {
		return s.forward(r, outs)
	}
	saved := savedBy(roots)
	inputs, at := s.inputs(r, standIns)
	grads, err := d.grads(roots, dys, inputs, false)
	if err == nil {
		err = r.failed
	}
	if err != nil {
		return nil, err
	}
	var wanted []*Tensor
	for i, g := range grads {
		if g != nil {
			wanted, d.wants = append(wanted, g), append(d.wants, at[i])
		}
	}
	return s.split(r, outs, wanted, saved)
}

// inputs returns the arguments and the state that gradients flow to, and their places among
// the operands of the function: the arguments, then the state.
func (s *splitter) inputs(r *recorder, standIns []*Tensor) (inputs []*Tensor, at []int) {
	for i, t := range standIns {
		if t != nil && t.grad != nil {
			inputs, at = append(inputs, t), append(at, i)
		}
	}
	for i := range r.buffers {
		if b := &r.buffers[i]; b.Kind == program.State && b.handle.grad != nil {
			inputs, at = append(inputs, b.handle), append(at, s.d.operand(b.handle))
		}
	}
	return inputs, at
}

// operand returns the place of state among the operands of the function.
func (d *Differentiated) operand(t *Tensor) int {
	i := d.stateOf(t)
	if i < 0 {
		i, d.state = len(d.state), append(d.state, t)
	}
	return len(d.args) + i
}

// gradientOf returns a stand-in for the gradient of a result, argument arg of the backward
// program.
func (r *recorder) gradientOf(t *Tensor, arg int) *Tensor {
	l := ir.ContiguousLayout(t.layout.Shape)
	b := recordedBuffer{dev: t.dev, drv: t.storage.drv, arg: arg}
	b.Kind, b.Name, b.Device, b.Bytes = program.Argument, "gradient", t.dev.String(), int64(t.NumElements())*int64(t.dtype.Size())
	of := empty(b.drv)
	if of.void = b.Bytes == 0; !of.void {
		of = r.virtual(b)
	}
	return newTensor(of, t.dev, l, t.dtype)
}

// savedBy returns what the nodes that roots were made by have saved: what passes may read.
func savedBy(roots []*Tensor) []*Storage {
	var all []*Storage
	seen := map[*Node]bool{}
	var list []*Node
	add := func(s *gradState) {
		if s != nil && s.node != nil && !seen[s.node] {
			seen[s.node] = true
			list = append(list, s.node)
		}
	}
	for _, t := range roots {
		add(t.grad)
	}
	for i := 0; i < len(list); i++ {
		n := list[i]
		for j := range n.in {
			if st := n.in[j].saved.storage; st != nil {
				all = append(all, st)
			}
			add(n.in[j].state)
		}
		for j := range n.out {
			if st := n.out[j].saved.storage; st != nil {
				all = append(all, st)
			}
		}
	}
	return all
}

// split makes one program of the function's steps and one of those behind them, which returns
// grads. Saved is what passes may read.
func (s *splitter) split(r *recorder, outs, grads []*Tensor, saved []*Storage) (*Recorded, error) {
	d := s.d
	read, own := touched(r.program[s.behind:], len(r.buffers)), touched(r.program[s.from:s.behind], len(r.buffers))
	before := touched(r.program[:s.from], len(r.buffers))
	for _, g := range grads {
		if i, ok := r.known[g.storage]; ok {
			read[i] = true
		}
	}
	for _, st := range saved {
		if i, ok := r.known[st]; ok {
			s.hold(r, i, &d.held)
		}
	}
	for i := range read {
		if read[i] {
			s.hold(r, i, &d.held)
		}
		if read[i] && own[i] && !before[i] && r.buffers[i].Kind == program.Temporary {
			d.kept = append(d.kept, i)
		}
	}
	if r.recompute {
		s.spare(r, outs)
	}
	for _, st := range saved {
		i, ok := r.known[st]
		if !ok || !own[i] || before[i] || r.buffers[i].Kind != program.Temporary || slices.Contains(d.kept, i) {
			continue
		}
		if _, able := s.program(r).Slice(s.behind, []int{i}, s.there(r), r.repeats); !able {
			d.kept = append(d.kept, i)
		}
	}
	back, err := s.cut(r, s.behind, len(r.program), grads, slices.Concat(d.given, d.kept), len(d.args)+len(d.dys), &d.reads)
	if err != nil {
		return nil, err
	}
	if d.backward, err = s.finished(back, grads); err != nil {
		return nil, r.fail(err)
	}
	of := make([]*Storage, len(r.buffers))
	for st, i := range r.known {
		of[i] = st
	}
	for _, i := range d.kept {
		b := &r.buffers[i]
		outs = append(outs, &Tensor{storage: of[i], dev: b.dev, layout: ir.ContiguousLayout([]int{int(b.Bytes)}), dtype: ir.Uint8})
	}
	return s.forward(r, outs)
}

// spare has values that are cheap be computed again by the backward program, and not kept.
func (s *splitter) spare(r *recorder, outs []*Tensor) {
	d := s.d
	spared := s.program(r).Spare(s.behind, d.kept, s.there(r), func(i int) bool {
		return !r.repeats(i) || refused(&r.program[i]) != "" || slices.ContainsFunc(outs, func(t *Tensor) bool {
			b, ok := r.known[t.storage]
			return ok && r.program[i].Out[0].Buffer == b // the caller has it
		})
	})
	d.again = len(spared)
	d.kept = slices.DeleteFunc(d.kept, func(b int) bool { return slices.Contains(spared, b) })
}

// program returns all that was recorded as a program.
func (s *splitter) program(r *recorder) *program.Program {
	if s.whole == nil {
		s.whole = r.value(nil)
		for i := range s.whole.Steps { // whose versions the recorder's steps have for others
			st := &s.whole.Steps[i]
			st.In, st.Out = slices.Clone(st.In), slices.Clone(st.Out)
		}
	}
	return s.whole
}

// there returns which buffers hold what they held, as long as nothing is written to them.
func (s *splitter) there(r *recorder) func(buffer int) bool {
	d := s.d
	return func(i int) bool {
		b := &r.buffers[i]
		switch b.Kind {
		case program.Argument:
			return b.arg < len(d.args) && s.holds(b.arg)
		case program.State:
			k := d.stateOf(b.handle)
			return k >= 0 && s.holds(len(d.args)+k)
		}
		return slices.Contains(d.given, i) || slices.Contains(d.kept, i)
	}
}

// holds reports whether the function's runs hold an operand for passes.
func (s *splitter) holds(operand int) bool {
	d := s.d
	return has(d.held, operand) && d.comes(operand)
}

// comes reports whether there is a value of an operand when the function runs.
func (d *Differentiated) comes(operand int) bool {
	switch of := d.of; {
	case of == nil:
		return true
	case operand < len(of.args):
		return has(of.held, operand)
	case operand < len(d.args):
		return true // the gradient of a result
	default:
		i := of.stateOf(d.state[operand-len(d.args)])
		return i >= 0 && has(of.held, len(of.args)+i)
	}
}

// repeats reports whether a step can be done again, by another program.
func (r *recorder) repeats(i int) bool {
	switch s := &r.program[i]; s.Action {
	case program.Launch, program.Copy, program.Zero:
		return s.numbers == nil && s.exchange == nil
	}
	return false
}

// hold marks buffer i among operands, where it is one, with the arguments that it is shared by.
func (s *splitter) hold(r *recorder, i int, list *[]bool) {
	b := &r.buffers[i]
	switch b.Kind {
	case program.Argument:
		if b.arg >= len(s.d.args) {
			return
		}
		for k := range s.d.args {
			if s.d.args[k].first == s.d.args[b.arg].first {
				mark(list, k)
			}
		}
	case program.State:
		mark(list, s.d.operand(b.handle))
	}
}

// cut returns a recorder of the steps from one on up to another, and of those before that
// compute again what they or results read and no source holds. Sources are buffers that come
// as arguments, from base on. Reads is what they read of arguments and state.
func (s *splitter) cut(r *recorder, from, to int, results []*Tensor, sources []int, base int, reads *[]bool) (*recorder, error) {
	steps := slices.Clone(r.program[from:to])
	read, before := touched(steps, len(r.buffers)), touched(r.program[:from], len(r.buffers))
	for _, g := range results {
		if i, ok := r.known[g.storage]; ok {
			read[i] = true
		}
	}
	var missing []int
	for i := range read {
		if read[i] && before[i] && r.buffers[i].Kind == program.Temporary && !slices.Contains(sources, i) {
			missing = append(missing, i)
		}
	}
	if len(missing) > 0 {
		again, able := s.program(r).Slice(from, missing, s.there(r), r.repeats)
		if !able {
			return nil, r.fail(fmt.Errorf("%w: it needs values that the function has changed since or that cannot be computed again", ErrUnrecordable))
		}
		steps = slices.Concat(r.placed(again), steps)
		steps = delayed(steps, len(again))
	}
	c := &recorder{known: r.known, declared: r.declared, names: r.names, captures: r.captures, unfused: r.unfused, relaxed: r.relaxed, later: r.later, recompute: r.recompute,
		grads: map[*gradState]*gradSlot{}, tape: r.tape, program: steps, buffers: slices.Clone(r.buffers), streams: r.streams}
	read = touched(steps, len(r.buffers))
	for _, g := range results {
		if i, ok := r.known[g.storage]; ok {
			read[i] = true
		}
	}
	for i := range c.buffers {
		b := &c.buffers[i]
		if b.Made = max(0, b.Made-from); b.Released >= 0 {
			b.Released = max(0, b.Released-from)
		}
		at := slices.Index(sources, i)
		switch {
		case b.Kind == program.Constant:
		case !read[i]:
			b.Kind = program.Temporary
		case at >= 0:
			b.Kind, b.arg, b.part = program.Argument, base+at, false
		case b.Kind == program.Gradient:
			return nil, r.fail(fmt.Errorf("%w: the backward pass reads a gradient", ErrUnrecordable))
		default:
			s.hold(r, i, reads)
		}
	}
	for i, on := range *reads {
		if on && !s.d.comes(i) {
			return nil, r.fail(fmt.Errorf("%w: it needs argument or state %d, which the function does not hold", ErrUnrecordable, i))
		}
	}
	return c, nil
}

// placed returns steps that are done again.
func (r *recorder) placed(again []int) []step {
	list := make([]step, len(again))
	for k, i := range again {
		list[k] = r.program[i]
		s := &list[k]
		s.Again, s.In, s.Out = true, slices.Clone(s.In), slices.Clone(s.Out)
		s.Call.In, s.Call.Out = slices.Clone(s.Call.In), slices.Clone(s.Call.Out)
	}
	return list
}

// delayed moves the first n steps, which are done again, to right before those that read them,
// where each is the only one that writes what it writes, and none behind them writes what they
// read.
func delayed(steps []step, n int) []step {
	writers := map[int]int{} // those behind count as several
	for i := range steps {
		for _, o := range steps[i].Out {
			if writers[o.Buffer]++; i >= n {
				writers[o.Buffer]++
			}
		}
	}
	for i := range n {
		for _, list := range [2][]program.Ref{steps[i].Out, steps[i].In} {
			if slices.ContainsFunc(list, func(r program.Ref) bool { return r.Buffer >= 0 && writers[r.Buffer] > 1 }) {
				return steps
			}
		}
	}
	by := map[int]int{} // by buffer: the step that is done again for it
	for i := range n {
		for _, o := range steps[i].Out {
			by[o.Buffer] = i
		}
	}
	out := make([]step, 0, len(steps))
	done := make([]bool, n)
	var put func(i int)
	put = func(i int) {
		for _, r := range steps[i].In {
			if w, ok := by[r.Buffer]; ok && !done[w] {
				done[w] = true
				put(w)
			}
		}
		out = append(out, steps[i])
	}
	for i := n; i < len(steps); i++ {
		put(i)
	}
	for i := range n { // what results alone read
		if !done[i] {
			done[i] = true
			put(i)
		}
	}
	return out
}

// finished makes a program of a cut, which changes nothing besides its results.
func (s *splitter) finished(c *recorder, results []*Tensor) (*Recorded, error) {
	rec, err := c.finish(nil, results)
	if err != nil {
		return nil, err
	}
	for i := range rec.buffers {
		rec.buffers[i].moved = 0 // that was the function's doing
	}
	return rec, nil
}

// forward makes the function's own program.
func (s *splitter) forward(r *recorder, outs []*Tensor) (*Recorded, error) {
	d := s.d
	r.recorded = r.program
	if d.of != nil {
		c, err := s.cut(r, s.from, s.behind, outs, d.given, len(d.args), &d.uses)
		if err != nil {
			return nil, err
		}
		for i, on := range d.held {
			if on {
				mark(&d.uses, i)
			}
		}
		for i := range d.uses {
			if d.uses[i] && !d.comes(i) {
				d.uses[i], d.held[i] = false, false // what nobody can read
			}
		}
		rec, err := s.finished(c, outs)
		if err != nil {
			return nil, r.fail(err)
		}
		for i := range rec.steps {
			for _, o := range rec.steps[i].Out {
				if b := &rec.buffers[o.Buffer]; b.Kind == program.State || b.Kind == program.Argument {
					return nil, r.fail(fmt.Errorf("%w: the gradient changes %s", ErrUnrecordable, b.Kind))
				}
			}
		}
		return rec, nil
	}
	r.program = r.program[:s.behind:s.behind]
	for i := range r.buffers {
		b := &r.buffers[i]
		b.Made, b.Released = min(b.Made, s.behind), min(b.Released, s.behind)
		if b.Kind == program.Argument && b.arg >= len(d.args) {
			b.Kind = program.Temporary // nothing of the function's
		}
	}
	return r.finish(s.args, outs)
}

// touched returns which buffers steps use.
func touched(steps []step, buffers int) []bool {
	used := make([]bool, buffers)
	for i := range steps {
		for _, list := range [2][]program.Ref{steps[i].In, steps[i].Out} {
			for _, r := range list {
				if r.Buffer >= 0 {
					used[r.Buffer] = true
				}
			}
		}
	}
	return used
}
