package core

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
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
	// Turn is held while the function is recorded once more, for gradients of gradients; or nil.
	Turn sync.Locker
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
	lines                    sync.Once
	late                     bool // Finish makes fused code
	Moved                    bool // the steps are in another order than the calls were
	Again                    int  // values that are computed again, and not kept
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
		for i, t := range in {
			switch {
			case t == nil || !list[i].requires:
			case s != nil:
				t.grad = &gradState{} // a leaf, whose gradient is asked for
			default:
				t.grad = args[i].grad
			}
		}
		outs, err = f(in)
		if r.failed != nil && !errors.Is(err, r.failed) {
			err = r.failed
		}
		if bad := FirstError(outs...); err == nil && bad != nil {
			err = bad.Err()
		}
		err = at(err)
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

// An argument is what a recording knows of one: all but its elements.
type argument struct {
	layout   ir.Layout // in its buffer
	bytes    int64     // of the buffer
	dev      device.Device
	drv      device.Driver
	dtype    ir.DType
	fixed    any // that of the storage
	first    int // the first argument that it shares memory with, or itself; -1 for none that is given
	part     bool
	wrapped  bool
	requires bool // gradients
}

// describe returns what a recording knows of args.
func describe(args []*Tensor) []argument {
	list := make([]argument, len(args))
	for i, a := range args {
		d := &list[i]
		if d.first = -1; a == nil {
			continue
		}
		d.layout, _, d.bytes = argSpan(args, i)
		d.dev, d.drv, d.dtype, d.fixed = a.dev, a.storage.drv, a.dtype, a.storage.fixed
		d.first = slices.IndexFunc(args[:i+1], func(b *Tensor) bool { return b == a || b.SharesStorage(a) })
		d.part, d.wrapped, d.requires = d.bytes != a.storage.bytes, a.wrapped, a.grad != nil
	}
	return list
}

// standIns returns virtual tensors for arguments. Those that share memory go on sharing it.
func (r *recorder) standIns(args []argument) []*Tensor {
	out := make([]*Tensor, len(args))
	for i := range args {
		a := &args[i]
		switch {
		case a.first < 0:
			continue
		case a.first < i:
			out[i] = out[a.first].again(a.layout)
			out[i].dtype = a.dtype
		default:
			b := recordedBuffer{dev: a.dev, drv: a.drv, arg: i, part: a.part}
			b.Kind, b.Name, b.Device, b.Bytes = program.Argument, fmt.Sprint(i), a.dev.String(), a.bytes
			s := empty(a.drv)
			if a.bytes > 0 {
				s = r.virtual(b)
				s.fixed = a.fixed
			}
			out[i] = newTensor(s, a.dev, a.layout, a.dtype)
		}
		out[i].wrapped = a.wrapped
	}
	return out
}

// argSpan returns the layout of argument i in its buffer, and where in the storage the
// buffer begins and how many bytes it has: those of the elements, or all of a storage that
// another argument shares.
func argSpan(args []*Tensor, i int) (l ir.Layout, from, bytes int64) {
	a := args[i]
	for j, b := range args {
		if j != i && a.SharesStorage(b) {
			return a.layout, 0, a.storage.bytes
		}
	}
	if a.NumElements() == 0 {
		return ir.Layout{Shape: a.layout.Shape, Strides: a.layout.Strides}, 0, 0
	}
	low, high := 0, 0
	for k, d := range a.layout.Shape {
		reach := (d - 1) * a.layout.Strides[k]
		low, high = low+min(reach, 0), high+max(reach, 0)
	}
	size := int64(a.dtype.Size())
	return ir.Layout{Shape: a.layout.Shape, Strides: a.layout.Strides, Offset: -low},
		int64(a.layout.Offset+low) * size, int64(high-low+1) * size
}

// WholeStorage returns an error where a recording knows only the part of x's storage that
// an argument spans, so that positions in the storage mean nothing.
func WholeStorage(x *Tensor) error {
	r := recorderNow()
	if r == nil || !x.storage.virtual {
		return nil
	}
	b := &r.buffers[(x.storage.block.Addr&^virtualBase)>>virtualBits]
	if !b.part {
		return nil
	}
	return r.fail(fmt.Errorf("%w: positions in the storage of argument %d, which is a part of a larger one; pass a copy", ErrUnrecordable, b.arg))
}

// result returns the place of a tensor that outlives a run.
func (r *recorder) result(t *Tensor) (*recordedResult, error) {
	res := &recordedResult{layout: t.layout, dev: t.dev, dtype: t.dtype, view: t.view, wrapped: t.wrapped}
	var err error
	switch i, ok := r.known[t.storage]; {
	case ok:
		res.buffer = i
	case t.storage.bytes == 0:
		res.buffer = -1
	default:
		res.buffer, err = r.external(t)
	}
	if err == nil && res.buffer >= 0 && r.buffers[res.buffer].Kind == program.Temporary {
		r.buffers[res.buffer].Kind = program.Result
	}
	return res, err
}

// finish makes a program of what was recorded.
func (r *recorder) finish(args, outs []*Tensor) (*Recorded, error) {
	r.awaitAll()
	rec := &Recorded{guards: r.guards, tape: *r.tape.Clone()}
	var places []program.Ref
	for _, t := range outs {
		res, err := r.result(t)
		if err != nil {
			return nil, r.fail(fmt.Errorf("result: %w", err))
		}
		rec.results = append(rec.results, *res)
		if res.buffer >= 0 {
			places = append(places, program.Ref{Buffer: res.buffer})
		}
	}
	if err := r.finishGrads(rec, args); err != nil {
		return nil, err
	}
	for s, i := range r.known {
		b := &r.buffers[i]
		b.moved = s.version.Load() - b.version
		if b.Kind == program.State {
			rec.state = append(rec.state, i)
			b.grad = b.handle.grad
		}
	}
	rec.Program = r.value(places)
	if err := rec.Program.Verify(); err != nil {
		return nil, r.fail(fmt.Errorf("%w: %w", ErrUnrecordable, err))
	}
	rec.places = places
	if rec.late = r.later; rec.late {
		rec.Fused = &Fused{Before: rec.Program}
	} else if err := r.fused(rec); err != nil {
		return nil, err
	}
	r.ordered(rec)
	r.settled(rec)
	return rec, nil
}

// ordered gives the steps another order, where that needs less memory, and temporaries their
// places.
func (r *recorder) ordered(rec *Recorded) {
	p := rec.Program
	a := p.Arrange(func(i int) bool {
		return fusion.Pinned(p, i, func(i int) string { return refused(&r.program[i]) })
	}, r.spread())
	order := a.Order
	rec.Program, rec.Layout, rec.streams = a.Program, a.Layout, a.Streams
	if order == nil {
		return
	}
	steps := make([]step, len(order))
	for i, from := range order {
		steps[i] = r.program[from]
	}
	for i := range steps {
		steps[i].Step = rec.Program.Steps[i]
	}
	r.program, rec.Moved = steps, true
}

// spread returns how many streams the steps are given to: several only where an accelerator
// does all of them, as a graph.
func (r *recorder) spread() int {
	if slices.ContainsFunc(r.program, func(s step) bool { return s.Action != program.Effect && !s.dev.Accelerator() }) {
		return 1
	}
	return max(1, r.streams)
}

// fused makes one step of several.
func (r *recorder) fused(rec *Recorded) error {
	before, recorded := rec.Program, len(r.program)
	var direct []FusedRegion
	if r.recorded == nil {
		r.recorded = r.program
	}
	if !r.unfused {
		if err := r.hoist(before); err != nil {
			return err
		}
		if len(r.program) < recorded {
			rec.Program = r.value(slices.Clone(rec.places))
		}
		direct = r.direct(rec.Program)
		if len(direct) > 0 {
			rec.Program = r.value(slices.Clone(rec.places))
		}
	}
	if r.recompute {
		rec.Again = r.again(rec)
	}
	rec.Fused = r.fuse(rec.Program)
	rec.Fused.Direct = direct
	if rec.Fused.Before = before; len(rec.Fused.Regions) > 0 || len(r.program) < recorded || rec.Again > 0 {
		rec.Program = r.value(slices.Clone(rec.places))
		if err := rec.Program.Verify(); err != nil {
			return r.fail(fmt.Errorf("%w: fused: %w", ErrUnrecordable, err))
		}
		if b := rec.Program.ReadsEarlier(before); b >= 0 {
			return r.fail(fmt.Errorf("%w: fused: internal error: buffer %d is read before it is written", ErrUnrecordable, b))
		}
	}
	return nil
}

// again has cheap values be computed again, and returns how many.
func (r *recorder) again(rec *Recorded) int {
	p := rec.Program
	a := p.Again(func(i int) bool { return refused(&r.program[i]) != "" }, r.spread())
	if a == nil {
		return 0
	}
	steps := make([]step, len(a.Steps))
	for i, from := range a.Steps {
		steps[i] = r.program[from]
		steps[i].Step = a.Program.Steps[i]
	}
	for i, of := range a.Buffers {
		b := recordedBuffer{Buffer: a.Program.Buffers[len(p.Buffers)+i], dev: r.buffers[of].dev, drv: r.buffers[of].drv}
		r.buffers = append(r.buffers, b)
	}
	r.program, rec.Program = steps, a.Program
	return len(a.Buffers)
}

// settled gives the program its steps and buffers, and these their places.
func (r *recorder) settled(rec *Recorded) {
	rec.steps, rec.buffers = r.program, r.buffers
	if r.scratch != nil {
		rec.buffers = slices.Clone(r.buffers)
	}
	for i := range rec.steps {
		s := &rec.steps[i]
		if s.Action == program.Exchange {
			rec.exchanges = append(rec.exchanges, s.exchange)
		}
		if s.effect != nil || s.numbers != nil {
			rec.hosted = append(rec.hosted, i)
		}
	}
	for i := range rec.buffers {
		switch rec.buffers[i].Kind {
		case program.Temporary:
			continue
		case program.Argument:
			rec.arguments = append(rec.arguments, i)
		}
		rec.outer = append(rec.outer, i)
	}
	rec.written = make([]bool, len(r.buffers))
	for i := range rec.steps {
		for _, o := range rec.steps[i].Out {
			rec.written[o.Buffer] = true
		}
	}
	for i := range rec.steps {
		rec.steps[i].keeps = rec.keeping(&rec.steps[i])
	}
	rec.place()
}

// Finish returns the program with the code that Later put off, or the program itself where
// nothing was. Runs may go on meanwhile.
func (rec *Recorded) Finish() (*Recorded, error) {
	if !rec.late {
		return rec, nil
	}
	rec.Lines() // nobody writes to the program from now on
	done := &Recorded{Program: rec.Program, results: rec.results, grads: rec.grads, guards: rec.guards, state: rec.state, tape: rec.tape,
		caller: rec.caller, places: rec.places}
	r := &recorder{program: slices.Clone(rec.steps), buffers: slices.Clone(rec.buffers), recompute: rec.options.Recompute, streams: rec.options.spread()}
	if err := r.fused(done); err != nil {
		return nil, err
	}
	r.ordered(done)
	r.settled(done)
	done.capturable(rec.options)
	return done, nil
}

// value returns what was recorded as a value.
func (r *recorder) value(places []program.Ref) *program.Program {
	buffers, steps := make([]program.Buffer, len(r.buffers)), make([]program.Step, len(r.program))
	for i := range buffers {
		if buffers[i] = r.buffers[i].Buffer; buffers[i].Released < 0 {
			buffers[i].Released = len(steps)
		}
	}
	for i := range steps {
		steps[i] = r.program[i].Step
	}
	return program.New(buffers, steps, places)
}

// finishGrads notes what became of gradients, and puts back those that were there.
func (r *recorder) finishGrads(rec *Recorded, args []*Tensor) error {
	for _, s := range r.gradOrder {
		g := recordedGrad{state: s, slot: *r.grads[s], arg: -1}
		for i, a := range args {
			if a != nil && a.grad == s {
				g.arg = i
				if at := slices.IndexFunc(r.buffers, func(b recordedBuffer) bool { return b.grad == s }); at >= 0 {
					r.buffers[at].arg = i
				}
			}
		}
		if t := g.slot.before; g.slot.read && t != nil {
			g.before = t.layout
		}
		s.mu.Lock()
		now := s.grad
		s.mu.Unlock()
		if g.slot.written && now != nil {
			res, err := r.result(now)
			if err != nil {
				return r.fail(fmt.Errorf("gradient: %w", err))
			}
			g.after = res
		}
		g.slot.before = nil
		if g.slot.read && g.before.Shape != nil {
			g.slot.before = r.grads[s].before
		}
		rec.grads = append(rec.grads, g)
	}
	return nil
}

// place finds the blocks of the layout.
func (rec *Recorded) place() {
	for i := range rec.buffers {
		b := &rec.buffers[i]
		bytes := rec.Layout.Blocks[b.Device]
		if rec.Layout.Offsets[i] < 0 || slices.ContainsFunc(rec.blocks, func(d deviceBlock) bool { return d.dev == b.dev }) {
			continue
		}
		rec.blocks = append(rec.blocks, deviceBlock{dev: b.dev, drv: b.drv, bytes: bytes})
	}
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
	f := &failure{err: at(ErrEscaped), bare: ErrEscaped, seen: escapeSeen}
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

// AppendSignature appends what a recording depends on of its arguments to key: dtypes,
// devices, shapes, strides, parts in differentiation, and what memory they share.
func AppendSignature(key []byte, args []*Tensor) []byte {
	num := func(n int) { key = binary.AppendVarint(key, int64(n)) }
	for i, a := range args {
		num(int(a.dtype))
		num(int(a.dev.Kind))
		num(a.dev.Index)
		num(len(a.layout.Shape))
		for k, d := range a.layout.Shape {
			num(d)
			num(a.layout.Strides[k])
		}
		flags := 0
		if a.grad != nil {
			flags |= 1
		}
		if a.wrapped {
			flags |= 2
		}
		if _, _, bytes := argSpan(args, i); bytes != a.storage.bytes {
			flags |= 4
		}
		if a.storage.fixed != nil { // which a recording that writes to it refuses
			flags |= 8
		}
		num(flags)
		for j, b := range args {
			if j != i && a.SharesStorage(b) {
				num(j + 1)
				num(a.layout.Offset)
				break
			}
		}
		num(0)
	}
	return key
}

func named(b *recordedBuffer) string {
	if b.Name == "" {
		return fmt.Sprintf("a tensor %s %v on %s", b.handle.dtype, b.handle.layout.Shape, b.dev)
	}
	return b.Name
}
