package core

import (
	"math"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/device"
)

// A planned is what the steps of a recording became, for recordings of the same steps to come:
// most of the time that planning takes is spent once. It has no tensors but constants that were
// computed of numbers, on the host.
type planned struct {
	*Recorded               // the program, its layout, streams and lines, and what became of the steps
	from      []int         // by step of the program: one that it stands for, as recorded
	made      []int         // buffers that planning made constants of on the host, which recordings share
	constants int           // their bytes
	again     []int         // steps, as recorded, that make constants of other buffers on devices
	given     []givenStep   // by step, as recorded
	held      []givenBuffer // by buffer, as recorded
}

// A givenStep is what there is to know of a recorded step besides the program's.
type givenStep struct {
	dev    device.Device
	drv    device.Driver
	caller uintptr
	alone  bool // it runs by itself: its attributes are those of each recording
}

// A givenBuffer is what there is to know of a recorded buffer besides the program's.
type givenBuffer struct {
	dev    device.Device
	drv    device.Driver
	number string // the bytes of a number of the host
}

// An outline is what recordings of the same steps have in common, and few others.
type outline struct {
	steps, buffers, results, streams int
	bytes                            int64
	callers                          uintptr
	numbers                          uint64
	relaxed                          bool
}

// outline returns that of what was recorded.
func (r *recorder) outline(places []program.Ref) outline {
	o := outline{steps: len(r.program), buffers: len(r.buffers), results: len(places), streams: r.streams, relaxed: r.relaxed}
	for i := range r.program {
		s := &r.program[i]
		o.callers = o.callers*31 + s.caller
		for _, a := range s.Call.Axes {
			o.numbers = o.numbers*31 + uint64(a)
		}
		for k := 0; k < len(s.Call.Scalars) && refused(s) == ""; k++ {
			o.numbers = o.numbers*31 + math.Float64bits(s.Call.Scalars[k].Float())
		}
	}
	for i := range r.buffers {
		o.bytes = o.bytes*31 + r.buffers[i].Bytes
		for _, b := range r.buffers[i].number() {
			o.numbers = o.numbers*31 + uint64(b)
		}
	}
	return o
}

// number returns the bytes of a number of the host that is the same in every run, or nil.
func (b *recordedBuffer) number() []byte {
	if b.Kind != program.Constant || b.handle == nil || !b.handle.wrapped || b.storage == nil || b.storage.block.Host == nil {
		return nil
	}
	return b.storage.host()
}

// plans are those of recordings of late. Where they have more than mostPlanned steps, they make
// place for others, and stay for as long as it takes these to be as many. So many bytes of
// constants count as a step.
var plans planMemo

const (
	mostPlanned  = 1 << 9
	mostSteps    = 8 * mostPlanned // of a program that is kept
	bytesPerStep = mostHoisted / mostPlanned
)

type planMemo struct {
	mu      sync.Mutex
	of, old map[outline]*planned
	steps   int // of those in of
}

// plannable reports whether steps that are the same become the same.
func (r *recorder) plannable() bool { return !r.unfused && !r.later && !r.recompute }

// find returns what the recorded steps became before, or nil.
func (m *planMemo) find(r *recorder, o outline, places []program.Ref) *planned {
	if !r.plannable() {
		return nil
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	p := m.of[o]
	if p == nil {
		if p = m.old[o]; p != nil {
			m.add(o, p)
		}
	}
	if p == nil || !p.same(r, places) {
		return nil
	}
	return p
}

// add has a plan be among the latest. The caller holds the lock.
func (m *planMemo) add(o outline, p *planned) {
	if m.of == nil || m.steps > mostPlanned {
		m.of, m.old, m.steps = map[outline]*planned{}, m.of, 0
	}
	m.of[o] = p
	m.steps += o.steps + p.constants/bytesPerStep
}

// begin returns a plan that knows what was recorded, or nil where it is not to be kept: where
// that is an exchange or work of two devices, too.
func (r *recorder) begin() *planned {
	if !r.plannable() || len(r.program) > mostSteps {
		return nil
	}
	p := &planned{given: make([]givenStep, len(r.program)), held: make([]givenBuffer, len(r.buffers))}
	for i := range r.program {
		s := &r.program[i]
		if s.exchange != nil || len(s.others) > 0 {
			return nil
		}
		s.recorded = i
		p.given[i] = givenStep{s.dev, s.drv, s.caller, refused(s) != ""}
	}
	for i := range r.buffers {
		b := &r.buffers[i]
		p.held[i] = givenBuffer{b.dev, b.drv, string(b.number())}
	}
	return p
}

// keep keeps what the recorded steps became, where the same steps become that again.
func (m *planMemo) keep(p *planned, r *recorder, o outline, rec *Recorded) {
	if p == nil || r.unsure.Load() {
		return
	}
	p.Recorded = &Recorded{Program: rec.Program, Layout: rec.Layout, Fused: rec.Fused, streams: rec.streams, Moved: rec.Moved, lines: rec.lines}
	p.from = make([]int, len(r.program))
	for i := range r.program {
		p.from[i] = r.program[i].recorded
	}
	p.buffers = make([]recordedBuffer, len(r.buffers))
	for i := range r.buffers {
		switch b := &r.buffers[i]; {
		case b.Kind == rec.Fused.Before.Buffers[i].Kind:
		case b.storage.block.Host == nil: // its memory is each recording's own
			p.again = append(p.again, rec.Fused.Before.Buffers[i].First)
		default:
			p.made, p.buffers[i] = append(p.made, i), *b
			p.constants += int(b.Bytes)
		}
	}
	slices.Sort(p.again)
	p.again = slices.Compact(p.again)
	m.mu.Lock()
	defer m.mu.Unlock()
	m.add(o, p)
}

// use has a recording be what the same steps became before. It reports false, and changes
// nothing, where constants cannot be computed now.
func (p *planned) use(r *recorder, rec *Recorded) (ok bool, err error) {
	var was []recordedBuffer
	if len(p.again) > 0 {
		was = slices.Clone(r.buffers)
	}
	for _, i := range p.made {
		r.buffers[i] = p.buffers[i]
	}
	h := &hoister{r: r}
	if !h.again(p.again) {
		copy(r.buffers, was)
		return false, nil
	}
	rec.Program, rec.Layout, rec.streams, rec.Moved, rec.lines = p.Program, p.Layout, p.streams, p.Moved, p.lines
	steps := make([]step, len(p.from))
	for i, from := range p.from {
		s, of := &steps[i], &p.Program.Steps[i]
		*s = r.program[from]
		call := of.Call
		if p.given[from].alone {
			call.Scalars, call.Attrs = s.Call.Scalars, s.Call.Attrs
		}
		s.Step = program.Step{Action: of.Action, Call: call, Out: of.Out, In: of.In, Bytes: of.Bytes, Beside: of.Beside, Again: of.Again} // lines may be written meanwhile
	}
	if rec.Fused = p.Fused; slices.ContainsFunc(p.given, func(g givenStep) bool { return g.alone }) {
		fused := *p.Fused
		fused.Before = p.before(r.program)
		rec.Fused = &fused
	}
	if r.recorded == nil {
		r.recorded = r.program
	}
	r.program = steps
	return true, h.settle()
}

// before returns the program as it was recorded, with the attributes of these recorded steps where
// they run by themselves: a gradient of a gradient asks whether the function did the same again.
func (p *planned) before(steps []step) *program.Program {
	was := p.Fused.Before
	own := &program.Program{Buffers: was.Buffers, Results: was.Results, Steps: make([]program.Step, len(steps))}
	for i := range steps {
		s, of := &own.Steps[i], &was.Steps[i]
		*s = program.Step{Action: of.Action, Call: of.Call, Out: of.Out, In: of.In, Bytes: of.Bytes, Again: of.Again}
		if p.given[i].alone {
			s.Call.Scalars, s.Call.Attrs = steps[i].Call.Scalars, steps[i].Call.Attrs
		}
	}
	return own
}

// same reports whether the recorded steps are those of the plan.
func (p *planned) same(r *recorder, places []program.Ref) bool {
	before := p.Fused.Before
	for i := range r.buffers {
		b, was, held := &r.buffers[i], &before.Buffers[i], &p.held[i]
		released := b.Released
		if released < 0 {
			released = len(r.program)
		}
		if b.Kind != was.Kind || b.Bytes != was.Bytes || b.Made != was.Made || released != was.Released || b.Name != was.Name ||
			b.dev != held.dev || b.drv != held.drv || string(b.number()) != held.number {
			return false
		}
	}
	for i := range r.program {
		s, was, given := &r.program[i], &before.Steps[i], &p.given[i]
		if s.dev != given.dev || s.drv != given.drv || s.caller != given.caller || (refused(s) != "") != given.alone || s.exchange != nil || len(s.others) > 0 ||
			s.Action != was.Action || s.Bytes != was.Bytes || s.Again != was.Again || !slices.EqualFunc(s.Out, was.Out, samePlace) || !slices.EqualFunc(s.In, was.In, samePlace) {
			return false
		}
		if s.Action == program.Launch && !(s.Call.SameForm(&was.Call) && (given.alone || s.Call.SameAttrs(&was.Call))) {
			return false
		}
	}
	return slices.EqualFunc(places, before.Results, samePlace)
}

// samePlace compares what New does not fill in.
func samePlace(a, b program.Ref) bool { return a.Buffer == b.Buffer && a.Offset == b.Offset }
