package core

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/caller"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// A Declared is a tensor that a recorded function may use besides its arguments.
type Declared struct {
	Name   string
	Tensor *Tensor
}

// RecordOptions are what Record goes by.
type RecordOptions struct {
	Name     string // what snapshots of memory call that of the program
	State    []Declared
	Captures bool // tensors that are not declared may be used, too
	// CallByCall has runs be given to devices call by call, never in one piece.
	CallByCall bool
	// Unfused has every operator be a step of its own.
	Unfused bool
	// Relaxed is that of fusion.Options.
	Relaxed bool
	// Later has fused code be made by Finish; until then every operator is a step of its own.
	Later bool
	// Recompute has cheap values be computed again where that needs less memory.
	Recompute bool
	// Streams is how many streams steps that do not depend on one another are spread over,
	// where runs are given in one piece.
	Streams int
	// Turn calls what records the function once more, for gradients of gradients, when nobody
	// else records it; nil where everybody may.
	Turn func(record func() error) error
}

// spread returns how many streams a graph of the program has.
func (o *RecordOptions) spread() int {
	if o.CallByCall {
		return 1
	}
	return max(1, o.Streams)
}

// A Recorded is a function that was recorded. What it does never changes; any goroutine may
// run it.
type Recorded struct {
	Program *program.Program
	Layout  *program.Layout
	Fused   *Fused

	steps   []step
	buffers []recordedBuffer
	results []recordedResult
	grads   []recordedGrad
	guards  []guard
	state   []int // buffers whose handle must be as it was
	// arguments are the buffers that are arguments, outer those that are no temporaries, and
	// hosted the steps that a run does something for on the host; all ascending
	arguments, outer, hosted []int
	written                  []bool
	tape                     random.Tape
	caller                   *random.Generator // stands on the tape for that of who runs it
	blocks                   []deviceBlock
	frames                   sync.Pool
	capture                  capture
	lines                    *sync.Once // of all that share the program
	late                     bool       // Finish makes fused code
	Moved                    bool       // the steps are in another order than the calls were
	Again                    int        // values that are computed again, and not kept
	// exchanges are those of the steps, in their order
	exchanges []*Exchange
	places    []program.Ref
	options   RecordOptions
	streams   []int // by step: the stream of a graph that it is given to
}

// Writes reports whether runs with args change the elements of argument i.
func (rec *Recorded) Writes(args []*Tensor, i int) bool {
	for k := range rec.buffers {
		b := &rec.buffers[k]
		if b.Kind == program.Argument && rec.written[k] && (b.arg == i || args[b.arg].SharesStorage(args[i])) {
			return true
		}
	}
	return false
}

// Lines notes in the program's launches which lines of the program gave them.
func (rec *Recorded) Lines() {
	rec.lines.Do(func() {
		for i := range rec.steps {
			rec.Program.Steps[i].Line = caller.LineOf(rec.steps[i].caller)
		}
	})
}

// A deviceBlock is where the temporaries of one device lie.
type deviceBlock struct {
	dev   device.Device
	drv   device.Driver
	bytes int64
}

// A recordedResult is a handle that a run returns.
type recordedResult struct {
	buffer        int
	layout        ir.Layout
	dev           device.Device
	dtype         ir.DType
	view, wrapped bool
}

// A recordedGrad is what a run does to the gradient of a leaf.
type recordedGrad struct {
	state  *gradState // or where arg is not negative, that of this argument
	arg    int
	slot   gradSlot
	before ir.Layout // of the gradient that was read
	after  *recordedResult
}

// of returns the leaf's state in a run with args.
func (g *recordedGrad) of(args []*Tensor) *gradState {
	if g.arg >= 0 {
		return args[g.arg].grad
	}
	return g.state
}

// Record calls f with stand-ins for args and returns what it gave to devices, without
// having them do it: what f changed is as before. An error is f's, or says what could not
// be recorded.
func Record(args []*Tensor, o RecordOptions, f func(args []*Tensor) ([]*Tensor, error)) (rec *Recorded, err error) {
	return record(args, describe(args), o, f, nil)
}

// record is Record for arguments of which list says what there is to know, and makes two
// programs where s is given.
func record(args []*Tensor, list []argument, o RecordOptions, f func(args []*Tensor) ([]*Tensor, error), s *splitter) (rec *Recorded, err error) {
	r := &recorder{grads: map[*gradState]*gradSlot{}, captures: o.Captures, unfused: o.Unfused, relaxed: o.Relaxed, later: o.Later && !o.Unfused, recompute: o.Recompute, streams: o.spread()}
	r.useScratch()
	for _, d := range o.State {
		r.declare(d.Tensor, d.Name)
	}
	caller := random.New(0)
	caller.SetState(random.Current().State())
	start := caller.State()
	done := false
	defer func() {
		if !done { // f panicked, or ended the goroutine
			r.rollBack(true)
			r.end()
		}
	}()
	work := func() {
		var outs []*Tensor
		in := r.standIns(list)
		leaves(in, args, list, s != nil)
		outs, err = r.called(f, in)
		if err == nil && caller.State() != start {
			err = r.fail(fmt.Errorf("%w: the random generator was seeded", ErrUnrecordable))
		}
		switch {
		case err != nil:
		case s != nil:
			rec, err = s.finish(r, in, outs)
		default:
			rec, err = r.finish(args, outs)
		}
	}
	outer := random.With(caller, func() error {
		return r.tape.Record(func() error {
			recorders.With(r, func() { InScope(func(*Scope) { work() }) })
			return nil
		})
	})
	if err == nil {
		err = outer
	}
	done = true
	r.rollBack(err != nil)
	r.end()
	if err != nil {
		return nil, err
	}
	r.giveScratch()
	rec.caller = caller
	rec.capturable(o)
	return rec, nil
}

// leaves gives stand-ins that require gradients those of args, or ones of their own where a
// splitter asks for their gradients.
func leaves(in, args []*Tensor, list []argument, own bool) {
	for i, t := range in {
		switch {
		case t == nil || !list[i].requires:
		case own:
			t.grad = &gradState{}
		default:
			t.grad = args[i].grad
		}
	}
}

// called calls f and returns its results, and first what could not be recorded, then f's
// error, then that of a result.
func (r *recorder) called(f func(args []*Tensor) ([]*Tensor, error), in []*Tensor) ([]*Tensor, error) {
	outs, err := f(in)
	if r.failed != nil && !errors.Is(err, r.failed) {
		err = r.failed
	}
	if bad := FirstError(outs...); err == nil && bad != nil {
		err = bad.Err()
	}
	return outs, at(err)
}

// rollBack takes back what the function changed on the host.
func (r *recorder) rollBack(failed bool) {
	for _, s := range r.gradOrder {
		s.mu.Lock()
		if slot := r.grads[s]; s.grad != slot.before {
			if s.grad != nil {
				s.grad.Release()
			}
			s.grad = slot.before
		}
		s.mu.Unlock()
	}
	for i := len(r.undo) - 1; i >= 0; i-- {
		r.undo[i]()
	}
	for s, i := range r.known {
		s.version.Store(r.buffers[i].version)
	}
	for i := len(r.failing) - 1; i >= 0 && failed; i-- {
		r.failing[i]()
	}
}

// end has every handle that the recording made carry an error.
func (r *recorder) end() {
	f := &failure{err: atFrame(ErrEscaped), bare: ErrEscaped, seen: escapeSeen}
	for _, t := range r.handles {
		t.fail.Store(f)
		t.released.Store(true)
		t.storage, t.grad = nil, nil
	}
}

// Holds reports whether the program stands for its function now. Where not, what says
// what has changed since it was recorded.
func (rec *Recorded) Holds(args []*Tensor) (what string, ok bool) {
	for _, i := range rec.state {
		b := &rec.buffers[i]
		switch {
		case b.handle.storage != b.storage:
			return named(b) + " was released or replaced", false
		case b.handle.grad != b.grad:
			return named(b) + " requires gradients or does not, other than before", false
		case b.storage.bytes != b.Bytes:
			return named(b) + " has another size", false
		}
	}
	for i := range rec.grads {
		g := &rec.grads[i]
		s := g.of(args)
		s.mu.Lock()
		now, hooks := s.grad, len(s.hooks)
		if g.slot.read {
			now = s.held()
		}
		s.mu.Unlock()
		switch {
		case hooks != g.slot.hooks:
			return "hooks of a gradient", false
		case !g.slot.read:
		case (now == nil) != (g.slot.before == nil):
			return "whether a gradient is there", false
		case now != nil && (!equalInts(now.layout.Shape, g.before.Shape) || !equalInts(now.layout.Strides, g.before.Strides) || now.layout.Offset != g.before.Offset):
			return "the layout of a gradient", false
		}
	}
	for _, g := range rec.guards {
		if !g.ok() {
			return g.what, false
		}
	}
	return "", true
}

func named(b *recordedBuffer) string {
	if b.Name == "" {
		return fmt.Sprintf("a tensor %s %v on %s", b.handle.dtype, b.handle.layout.Shape, b.dev)
	}
	return b.Name
}
