package core

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/random"
)

// A Differentiated is a function that was recorded with its gradient: two programs, of which
// the second runs in backward passes. What it reads of the first is saved in between.
//
// Where a pass is itself to be differentiated, its gradients are those of another function,
// which is differentiated: of the arguments, the gradients of the results, and what was saved.
// It is recorded when it is asked for first.
type Differentiated struct {
	*Recorded // the function; its results are followed by what is saved

	backward *Recorded
	op       *ir.Op
	f        func(args []*Tensor) ([]*Tensor, error)
	grads    GradientsOf
	of       *Differentiated // of which the function is the gradient; nil for one that was given
	args     []argument
	outs     int       // results of the function
	flows    []bool    // by result: gradients flow to it
	state    []*Tensor // besides the arguments, what gradients flow to or passes read
	wants    []int     // by result of the backward program, the argument or state that it is the gradient of
	dys      []int     // the results whose gradients the backward program takes, in its order
	// by argument and state: the backward program reads it, a pass of any order may read it, and
	// the function's own program or a pass does
	reads, held, uses []bool
	given, kept       []int            // buffers whose values come from the function that this is the gradient of, and that are saved
	before            *program.Program // as it was recorded
	again             int              // values that the backward program computes again
	higher            *gradientsOf
}

// GradientsOf returns the gradients of roots with respect to inputs, nil where there is none.
// Where graph is set they can be differentiated, and share no memory with dys and inputs.
type GradientsOf func(roots, dys, inputs []*Tensor, graph bool) ([]*Tensor, error)

// gradientsOf are a function's gradients as functions, by which gradients of results gradients
// flow to.
type gradientsOf struct {
	mu     sync.Mutex
	all    map[string]*Differentiated
	closed bool
}

func newGradientsOf() *gradientsOf { return &gradientsOf{all: map[string]*Differentiated{}} }

// RecordDifferentiated is Record for a function whose results gradients flow through.
func RecordDifferentiated(args []*Tensor, o RecordOptions, f func(args []*Tensor) ([]*Tensor, error), grads GradientsOf) (*Differentiated, error) {
	d := &Differentiated{f: f, grads: grads, args: describe(args)}
	return d, d.record(args, o)
}

// record records the function. Args are those of one that was given.
func (d *Differentiated) record(args []*Tensor, o RecordOptions) error {
	d.op = &ir.Op{Name: "compiled", In: []ir.Operand{{Name: "x", Variadic: true}}, Switch: -1}
	d.higher = newGradientsOf()
	s := &splitter{d: d, args: args}
	list, f := d.args, d.f
	if d.of != nil {
		list = d.first().args
		f = func(in []*Tensor) (outs []*Tensor, err error) {
			s.standIns, outs, err = d.replay(recorderNow(), in)
			return outs, err
		}
	}
	rec, err := record(args, list, o, f, s)
	if err != nil {
		return err
	}
	d.Recorded = rec
	if d.backward != nil {
		d.backward.caller = rec.caller
		d.backward.capturable(o)
	}
	d.before = rec.Fused.Before
	d.saved()
	return nil
}

// first returns the function that was given.
func (d *Differentiated) first() *Differentiated {
	for d.of != nil {
		d = d.of
	}
	return d
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
	done.higher = newGradientsOf() // those of d are closed with it
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

// Call does the function with args, and has backward passes do its gradient.
func (d *Differentiated) Call(args []*Tensor) ([]*Tensor, error) { return d.call(args, nil, nil) }

// call is Call with the values of given buffers, and with the random numbers of a tape unless
// it is nil. Arguments that nothing reads have no memory.
func (d *Differentiated) call(args, given []*Tensor, tape *random.Tape) ([]*Tensor, error) {
	all := args
	if len(given) > 0 {
		all = slices.Concat(args, given)
	}
	outs, tape, err := d.run(all, tape)
	if err != nil || d.backward == nil {
		return outs, err
	}
	outs, kept := outs[:d.outs], outs[d.outs:]
	operands := slices.Concat(args, d.state, given, kept)
	a := Apply{Op: d.op, Backward: func(g *Grad) { d.pass(g, tape) }}
	first := outs[d.dys[0]]
	newNode(&a, operands, first.storage.drv, current(first.dev), outs)
	n := first.grad.node
	for i, t := range operands {
		if i >= len(args)+len(d.state) || has(d.held, i) {
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

// A run of a pass is what its program is given.
type passing struct {
	args []*Tensor // by argument and gradient of a result; nil for what it does not read
	rest []*Tensor // what is saved
	own  []*Tensor // handles to release
}

// pass does the backward program, or the function that gives the same gradients where they
// are to be differentiated.
func (d *Differentiated) pass(g *Grad, tape *random.Tape) {
	grads, err := d.gradients(g, tape)
	for i, k := range d.wants {
		if err != nil {
			g.Set(k, Fail(d.op, err))
		} else {
			g.Set(k, grads[i])
		}
	}
}

func (d *Differentiated) gradients(g *Grad, tape *random.Tape) ([]*Tensor, error) {
	if Recording() {
		return nil, recorderNow().fail(fmt.Errorf("%w: the gradient of a call of a compiled function that was made before; call it inside", ErrUnrecordable))
	}
	reads := d.reads
	var next *Differentiated
	if g.Recording() {
		var err error
		if next, err = d.gradient(g); err != nil {
			return nil, err
		}
		reads = next.usesOf(d)
	}
	var p passing
	defer func() {
		for _, t := range p.own {
			t.Release()
		}
	}()
	p.take(d, g, reads)
	if bad := FirstError(p.own...); bad != nil {
		return nil, bad.Err()
	}
	if next == nil {
		grads, _, err := d.backward.run(append(p.args, p.rest...), tape)
		return grads, err
	}
	for i, t := range p.args {
		if t == nil {
			o := &g.node.in[i]
			p.args[i] = &Tensor{storage: empty(g.node.drv), layout: o.layout, dev: o.dev, dtype: o.dtype, grad: o.state}
		}
	}
	return next.call(p.args, p.rest, tape)
}

// take finds what a pass is given, of arguments and state what reads says.
func (p *passing) take(d *Differentiated, g *Grad, reads []bool) {
	saved := func(i int) *Tensor {
		t := g.In(i)
		p.own = append(p.own, t)
		return t
	}
	p.args = make([]*Tensor, len(d.args), len(d.args)+len(d.dys)+len(d.given)+len(d.kept))
	operands := len(d.args) + len(d.state)
	for i := range operands {
		if !has(reads, i) {
			continue
		}
		if t := saved(i); i < len(d.args) { // of state, whether it is as it was
			p.args[i] = t
		}
	}
	for i := operands; i < g.NumIn(); i++ {
		p.rest = append(p.rest, saved(i))
	}
	for _, i := range d.dys {
		dy := g.Dy(i)
		shared := func(t *Tensor) bool { return t != nil && t.SharesStorage(dy) }
		if !dense(dy) || slices.ContainsFunc(p.args, shared) || slices.ContainsFunc(p.rest, shared) {
			copied := Copy(dy.Detach())
			if copied.grad = dy.grad; copied.fail.Load() != nil {
				copied.grad = nil
			}
			dy = copied
			p.own = append(p.own, dy)
		}
		p.args = append(p.args, dy)
	}
}

// dense reports whether the elements of t lie one behind the other.
func dense(t *Tensor) bool {
	return t.Err() == nil && equalInts(t.layout.Strides, ir.ContiguousLayout(t.layout.Shape).Strides)
}

// has reports whether list, which may be shorter, says so of i.
func has(list []bool, i int) bool { return i < len(list) && list[i] }

// mark has list say so of i.
func mark(list *[]bool, i int) {
	for len(*list) <= i {
		*list = append(*list, false)
	}
	(*list)[i] = true
}

// Across returns how many values the backward program computes again, and how many bytes are
// saved for it besides arguments, state and results.
func (d *Differentiated) Across() (again int, saved int64) {
	for i := d.outs; i < len(d.results); i++ {
		b := d.results[i].buffer
		if !slices.ContainsFunc(d.results[:d.outs], func(r recordedResult) bool { return r.buffer == b }) {
			saved += d.buffers[b].Bytes
		}
	}
	return d.again, saved
}

// Close gives back what the programs hold between runs.
func (d *Differentiated) Close() {
	d.Recorded.Close()
	if d.backward != nil {
		d.backward.Close()
	}
	if h := d.higher; h != nil {
		h.mu.Lock()
		defer h.mu.Unlock()
		h.closed = true
		for _, g := range h.all {
			g.Close()
		}
	}
}
