package core

import (
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir/fusion"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
)

// result returns the place of a tensor that outlives a run.
func (r *recorder) result(t *Tensor) (recordedResult, error) {
	res := recordedResult{layout: t.layout, dev: t.dev, dtype: t.dtype, view: t.view, wrapped: t.wrapped}
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
		rec.results = append(rec.results, res)
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
	rec.places = places
	if err := r.plan(rec); err != nil {
		return nil, err
	}
	r.settled(rec)
	return rec, nil
}

// plan makes the program that runs, or finds the one that the same steps became before.
func (r *recorder) plan(rec *Recorded) error {
	o := r.outline(rec.places)
	if known := plans.find(r, o, rec.places); known != nil {
		if ok, err := known.use(r, rec); ok || err != nil {
			return err
		}
	}
	p := r.begin()
	rec.Program, rec.lines = r.value(rec.places), new(sync.Once)
	if err := rec.Program.Verify(); err != nil {
		return r.fail(fmt.Errorf("%w: %w", ErrUnrecordable, err))
	}
	if rec.late = r.later; rec.late {
		rec.Fused = &Fused{Before: rec.Program}
	} else if err := r.fused(rec); err != nil {
		return err
	}
	r.ordered(rec)
	plans.keep(p, r, o, rec)
	return nil
}

// ordered gives the steps another order, where that needs less memory, and temporaries their
// places.
func (r *recorder) ordered(rec *Recorded) {
	p := rec.Program
	a := p.Arrange(func(i int) bool {
		return fusion.Pinned(p, i, func(i int) string { return refused(&r.program[i]) })
	}, r.spread())
	order := a.Order
	rec.Program, rec.Layout, rec.streams, rec.Moved = a.Program, a.Layout, a.Streams, order != nil
	r.reordered(rec, order)
	order, q, l := rec.Program.Beside(func(i int) bool {
		return fusion.Pinned(rec.Program, i, func(i int) string { return refused(&r.program[i]) })
	}, r.narrow)
	if order != nil {
		rec.Program, rec.Layout = q, l
		r.reordered(rec, order)
	}
}

// reordered has the steps be those of the program, which has them in an order, unless that is
// nil.
func (r *recorder) reordered(rec *Recorded, order []int) {
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
	r.program = steps
}

// narrow reports whether a step leaves processors of its device idle, which others may use
// meanwhile.
func (r *recorder) narrow(i int) bool {
	s := &r.program[i]
	if s.Action != program.Launch || s.dev.Accelerator() || refused(s) != "" || len(s.others) > 0 || s.numbers != nil || draws(&s.Call) {
		return false
	}
	d, able := s.drv.(device.Concurrent)
	return able && d.Narrow(s.dev.Index, &s.Call)
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
	var direct, last, pooled []FusedRegion
	if r.recorded == nil {
		r.recorded = r.program
	}
	settle := func() error { return nil }
	if !r.unfused {
		settle = r.hoist(before)
		if len(r.program) < recorded {
			rec.Program = r.draft(rec.places)
		}
		if pooled = r.pooled(rec.Program); len(pooled) > 0 {
			rec.Program = r.draft(rec.places)
		}
		if direct = r.inPlace(rec.Program); len(direct) > 0 {
			rec.Program = r.draft(rec.places)
		}
		direct = append(direct, r.direct(rec.Program)...)
		if last = r.arrange(rec.Program); len(direct) > 0 || len(last) > 0 {
			rec.Program = r.draft(rec.places)
		}
	}
	if r.recompute {
		rec.Again = r.again(rec)
	}
	rec.Fused = r.fuse(rec.Program)
	rec.Fused.Direct, rec.Fused.Last, rec.Fused.Pooled = direct, last, pooled
	if rec.Fused.Before = before; len(rec.Fused.Regions) > 0 || len(direct) > 0 || len(last) > 0 || len(pooled) > 0 || len(r.program) < recorded || rec.Again > 0 {
		rec.Program = r.value(slices.Clone(rec.places))
		if err := rec.Program.Verify(); err != nil {
			return r.fail(fmt.Errorf("%w: fused: %w", ErrUnrecordable, err))
		}
		if b := rec.Program.ReadsEarlier(before); b >= 0 {
			return r.fail(fmt.Errorf("%w: fused: internal error: buffer %d is read before it is written", ErrUnrecordable, b))
		}
	}
	return settle() // last: devices compute constants while the host plans
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
	rec.outer = make([]int, 0, len(rec.buffers))
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
	done := &Recorded{Program: rec.Program.Apart(), lines: new(sync.Once), results: rec.results, grads: rec.grads, guards: rec.guards, state: rec.state, tape: rec.tape,
		caller: rec.caller, places: rec.places}
	r := &recorder{program: slices.Clone(rec.steps), buffers: slices.Clone(rec.buffers), recompute: rec.options.Recompute, streams: rec.options.spread()}
	for i := range r.program {
		r.program[i].Beside = false
	}
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
	return r.valueIn(make([]program.Buffer, len(r.buffers)), make([]program.Step, len(r.program)), places)
}

// draft is value for a program that nobody uses any more when the next one is made, or the
// recording has ended.
func (r *recorder) draft(places []program.Ref) *program.Program {
	s := r.scratch
	if s == nil {
		return r.value(slices.Clone(places))
	}
	s.draft.buffers = slices.Grow(s.draft.buffers[:0], len(r.buffers))[:len(r.buffers)]
	s.draft.steps = slices.Grow(s.draft.steps[:0], len(r.program))[:len(r.program)]
	return r.valueIn(s.draft.buffers, s.draft.steps, slices.Clone(places))
}

// valueIn is value with room for buffers and steps.
func (r *recorder) valueIn(buffers []program.Buffer, steps []program.Step, places []program.Ref) *program.Program {
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
			g.after = &res
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
