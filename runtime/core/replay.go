package core

import (
	"fmt"
	goruntime "runtime"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/caller"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/observe"
	"github.com/sinter-go/sinter/runtime/random"
)

// escapeSeen is that of all failures of escaped tensors: they are found where they are used.
var escapeSeen = func() *atomic.Bool { b := new(atomic.Bool); b.Store(true); return b }()

// Poison has every run fill its temporaries with a pattern before the first step and after
// their last use, so that a test finds a read of what is not there. It is for tests on
// devices in host memory.
var Poison atomic.Bool

// A frame is what one run works with. Frames are used again.
type frame struct {
	calls   []ir.Call
	places  []place
	fresh   []*Storage // of results, by buffer; a reference is the frame's
	blocks  []memory.Block
	tape    *random.Tape
	undo    []func() // takes back what the run changed on the host, in the reverse order
	drawing bool
	open    map[*Exchange]func() error // has later work wait for an exchange that is under way
	// captured is what the frame's calls are captured for; nil where they are done
	captured *captured
}

// A place is where a buffer is in one run.
type place struct {
	host unsafe.Pointer // one of these
	addr uint64
	of   *Storage // nil for temporaries
}

// newFrame returns a frame for one run at a time.
func (rec *Recorded) newFrame() *frame {
	f := &frame{calls: make([]ir.Call, len(rec.steps)), places: make([]place, len(rec.buffers)), fresh: make([]*Storage, len(rec.buffers))}
	f.drawing = !rec.tape.Empty()
	for i := range rec.steps {
		s := &rec.steps[i]
		if s.Action != program.Launch && s.Action != program.Exchange {
			continue
		}
		c := &f.calls[i]
		*c = s.Call
		c.Out, c.In = slices.Clone(c.Out), slices.Clone(c.In)
		if len(s.keeps) > 0 {
			c.Kept = make([]*ir.Kept, len(c.In))
		}
		if s.numbers != nil || s.exchange == nil && draws(c) {
			c.Attrs, c.Scalars = slices.Clone(c.Attrs), slices.Clone(c.Scalars)
		}
	}
	return f
}

// draws reports whether a call draws random numbers from the tape.
func draws(c *ir.Call) bool {
	return c.Seed >= 0 && c.Offset >= 0 && random.IsPlace(c.Attrs[c.Offset].Int)
}

// Run does the program with args and returns its results. Args are such as it was recorded
// with, and Holds is true. Where there is an error before the first step, nothing changed.
func (rec *Recorded) Run(args []*Tensor) ([]*Tensor, error) {
	outs, _, err := rec.run(args, nil)
	return outs, err
}

// run is Run. Random numbers are those of the tape or, where it is nil, drawn; it returns
// the tape with them.
func (rec *Recorded) run(args []*Tensor, tape *random.Tape) ([]*Tensor, *random.Tape, error) {
	if err := rec.exchangeable(); err != nil {
		return nil, nil, at(err)
	}
	if outs, tape, done, err := rec.launch(args, tape); done {
		goruntime.KeepAlive(args)
		if err != nil {
			err = at(err)
		}
		return outs, tape, err
	}
	f, _ := rec.frames.Get().(*frame)
	if f == nil {
		f = rec.newFrame()
	}
	defer func() {
		f.clear()
		rec.frames.Put(f)
	}()
	if err := rec.bind(f, args); err != nil {
		rec.abort(f, err)
		return nil, nil, at(err)
	}
	f.tape = rec.drawn(tape)
	for i := 0; i < len(rec.steps); i++ {
		first, err := i, error(nil)
		if i+1 < len(rec.steps) && rec.steps[i+1].Beside {
			i, err = rec.together(f, first)
		} else {
			err = rec.do(f, i)
		}
		if err != nil {
			f.takeBack(tape == nil)
			rec.abort(f, err)
			return nil, nil, at(err)
		}
		if Poison.Load() {
			for ; first <= i; first++ {
				rec.poisonDead(f, first)
			}
		}
	}
	goruntime.KeepAlive(args)
	outs := rec.effects(f, args)
	rec.capture.warm.Store(true)
	return outs, f.tape, nil
}

// drawn returns a tape with the random numbers of a run: those of the given one or, where it
// is nil, the next of the generators.
func (rec *Recorded) drawn(tape *random.Tape) *random.Tape {
	if tape != nil || rec.tape.Empty() {
		return tape
	}
	tape = rec.tape.Clone()
	tape.Replace(rec.caller, random.Current())
	tape.Advance()
	return tape
}

// allocate takes the memory of temporaries.
func (rec *Recorded) allocate(f *frame) error {
	for i := range rec.blocks {
		d, alloc := &rec.blocks[i], memory.Alloc
		if len(rec.blocks) == 1 && len(rec.exchanges) == 0 { // recorded work of another device, and an engine's calls that were given up, keep addresses, not the block
			alloc = memory.AllocTemporaries
		}
		b, err := alloc(d.dev, d.drv, current(d.dev), d.bytes)
		if err != nil {
			return rec.noRoom(rec.largest(d.dev), err)
		}
		f.blocks = append(f.blocks, b)
	}
	for i := range rec.buffers {
		o := rec.Layout.Offsets[i]
		if o < 0 {
			continue
		}
		b, p := &rec.buffers[i], &f.places[i]
		at := slices.IndexFunc(rec.blocks, func(d deviceBlock) bool { return d.dev == b.dev })
		if base := f.blocks[at].Host; base != nil {
			p.host = unsafe.Add(base, o)
		} else {
			p.addr = f.blocks[at].Addr + uint64(o)
		}
	}
	return nil
}

// largest returns the largest of the temporaries on a device.
func (rec *Recorded) largest(dev device.Device) int {
	most := -1
	for i := range rec.buffers {
		if b := &rec.buffers[i]; rec.Layout.Offsets[i] >= 0 && b.dev == dev && (most < 0 || b.Bytes > rec.buffers[most].Bytes) {
			most = i
		}
	}
	return most
}

// noRoom says of an error of an allocation which step makes buffer i, and that step's line.
func (rec *Recorded) noRoom(i int, err error) error {
	first := rec.Program.Buffers[i].First
	if first < 0 {
		return err
	}
	s := &rec.steps[first]
	err = fmt.Errorf("%s, which makes %d bytes: %w", s.Name(), rec.buffers[i].Bytes, err)
	if s.caller != 0 {
		return &located{frame: s.caller, err: err}
	}
	return err
}

// bind finds the memory of every buffer.
func (rec *Recorded) bind(f *frame, args []*Tensor) error {
	if err := rec.apart(args); err != nil {
		return err
	}
	if err := rec.allocate(f); err != nil {
		return err
	}
	for i := range rec.buffers {
		b, p := &rec.buffers[i], &f.places[i]
		switch b.Kind {
		case program.Temporary:
		case program.Result:
			s := rec.replaced(i, args)
			if s == nil {
				var err error
				if s, err = newStorage(b.dev, b.drv, current(b.dev), b.Bytes); err != nil {
					return rec.noRoom(i, err)
				}
			}
			f.fresh[i] = s
			p.at(s)
		default:
			rec.external(p, i, args)
		}
	}
	if Poison.Load() {
		rec.poison(f, func(int) bool { return true })
	}
	return nil
}

// at puts a buffer at the beginning of a storage.
func (p *place) at(s *Storage) {
	p.of = s
	if p.host = s.block.Host; p.host == nil {
		p.addr = s.block.Addr
	}
}

// external finds the memory of buffer i, which was there before the run.
func (rec *Recorded) external(p *place, i int, args []*Tensor) {
	b := &rec.buffers[i]
	switch b.Kind {
	case program.Argument:
		p.at(args[b.arg].storage)
		_, from, _ := argSpan(args, b.arg)
		if p.host != nil {
			p.host = unsafe.Add(p.host, from)
		} else {
			p.addr += uint64(from)
		}
	case program.Gradient:
		p.at(rec.gradient(b, args).storage)
	default:
		if b.storage == nil {
			p.host = unsafe.Pointer(&noElements)
		} else {
			p.at(b.storage)
		}
	}
}

// replaced returns the memory of the gradient that buffer i takes the place of, with a
// reference, where the program does not read it and nobody else holds it; nil where there is
// none. A function that forgets gradients first would get it again from the allocator.
func (rec *Recorded) replaced(i int, args []*Tensor) *Storage {
	for k := range rec.grads {
		g := &rec.grads[k]
		if g.after == nil || g.after.buffer != i || g.slot.read {
			continue
		}
		s := g.of(args)
		s.mu.Lock()
		defer s.mu.Unlock()
		old := s.grad
		if old == nil || old.storage == nil || !old.storage.held || old.storage.refs.Load() != 1 || old.grad != nil ||
			old.dev != rec.buffers[i].dev || old.storage.bytes != rec.buffers[i].Bytes {
			return nil
		}
		old.storage.ref()
		old.storage.version.Store(0)
		return old.storage
	}
	return nil
}

// gradient returns the gradient that b is.
func (rec *Recorded) gradient(b *recordedBuffer, args []*Tensor) *Tensor {
	s := b.grad
	if b.arg >= 0 && b.arg < len(args) && slices.ContainsFunc(rec.grads, func(g recordedGrad) bool { return g.state == s && g.arg == b.arg }) {
		s = args[b.arg].grad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.held()
}

// apart reports an argument that shares memory with state, where one of both is written:
// when the program was recorded they were apart.
func (rec *Recorded) apart(args []*Tensor) error {
	for i := range rec.buffers {
		b := &rec.buffers[i]
		if b.Kind != program.State && b.Kind != program.Constant {
			continue
		}
		for _, j := range rec.arguments {
			a := &rec.buffers[j]
			if (rec.written[i] || rec.written[j]) && args[a.arg].storage == b.storage {
				return fmt.Errorf("%w: argument %d shares memory with %s, and the function changes one of them; clone one", ErrOverlap, a.arg, named(b))
			}
		}
	}
	return nil
}

// do does step i.
func (rec *Recorded) do(f *frame, i int) error {
	s := &rec.steps[i]
	switch s.Action {
	case program.Effect:
		f.undo = append(f.undo, s.effect())
		return nil
	case program.Zero:
		st := rec.storage(f, s.Out[0])
		return st.zero(s.dev, current(s.dev))
	case program.Copy:
		return rec.move(f, s)
	case program.Await:
		return f.exchange(s, nil)
	}
	c := f.call(s, i)
	if s.Action == program.Exchange {
		return f.exchange(s, c)
	}
	if f.drawing && f.captured == nil && draws(&s.Call) {
		seed, offset, ok := f.tape.Find(s.Call.Attrs[c.Offset].Int)
		if !ok {
			return fmt.Errorf("%s: internal error: a random number that is not on the tape", c.Op.Name)
		}
		c.Set(c.Seed, ir.IntScalar(seed))
		c.Set(c.Offset, ir.IntScalar(offset))
	}
	if s.numbers != nil && f.captured == nil {
		if _, err := c.SetFloats(s.numbers); err != nil {
			return err
		}
	}
	q := current(s.dev)
	var err error
	switch {
	case observe.Now() != nil:
		w := observe.Work{Driver: s.drv, Device: s.dev, Stream: q, Call: c, Line: caller.LineOf(s.caller)}
		err = between(s.dev, q, s.others, func() error {
			return observe.Give(w, func() error { return s.drv.Launch(s.dev.Index, q, c) })
		})
	case len(s.others) > 0:
		err = between(s.dev, q, s.others, func() error { return give(s.drv, s.dev, q, c) })
	default:
		err = give(s.drv, s.dev, q, c)
	}
	if err == nil && LaunchBlocking() {
		err = blocked(s.drv, s.dev, q)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", c.Op.Name, err)
	}
	return err
}

// call returns the call of step i, with its memory.
func (f *frame) call(s *step, i int) *ir.Call {
	c := &f.calls[i]
	for j := range c.Out {
		f.view(&c.Out[j], s.Out[j])
	}
	for j := range c.In {
		f.view(&c.In[j], s.In[j])
	}
	for _, j := range s.keeps {
		c.Kept[j] = f.places[s.In[j].Buffer].of.keeps()
	}
	c.Room = [6]unsafe.Pointer{}
	return c
}

// together does step i and those beside it, and returns the last of them. Where somebody
// observes what devices do it is one after the other.
func (rec *Recorded) together(f *frame, i int) (last int, err error) {
	s := &rec.steps[i]
	same := true // devices
	for last = i; last+1 < len(rec.steps) && rec.steps[last+1].Beside; last++ {
		same = same && rec.steps[last+1].dev == s.dev
	}
	d, able := s.drv.(device.Concurrent)
	if !able || !same || observe.Now() != nil || LaunchBlocking() {
		for ; i <= last && err == nil; i++ {
			err = rec.do(f, i)
		}
		return last, err
	}
	calls := make([]*ir.Call, 0, 4)
	for k := i; k <= last; k++ {
		calls = append(calls, f.call(&rec.steps[k], k))
	}
	return last, d.LaunchAll(s.dev.Index, current(s.dev), calls)
}

// view sets the memory of a view.
func (f *frame) view(v *ir.View, r program.Ref) {
	if r.Buffer < 0 {
		return
	}
	if p := &f.places[r.Buffer]; p.host != nil {
		v.Ptr = unsafe.Add(p.host, r.Offset)
	} else {
		v.Addr = p.addr + uint64(r.Offset)
	}
}

// storage returns a place as a storage that gives nothing back.
func (rec *Recorded) storage(f *frame, r program.Ref) *Storage {
	b, p := &rec.buffers[r.Buffer], &f.places[r.Buffer]
	s := empty(b.drv)
	s.bytes = b.Bytes - r.Offset
	s.block = memory.Block{Device: b.dev, Memory: device.Memory{Bytes: s.bytes}}
	if p.host != nil {
		s.block.Host = unsafe.Add(p.host, r.Offset)
	} else {
		s.block.Addr = p.addr + uint64(r.Offset)
	}
	if p.of != nil {
		s.pin = p.of.pin
	}
	return s
}

// move does a copy between devices.
func (rec *Recorded) move(f *frame, s *step) error {
	bytes := ir.ContiguousLayout([]int{int(s.Bytes)})
	ends := [2]*Tensor{}
	for i, r := range []program.Ref{s.Out[0], s.In[0]} {
		ends[i] = &Tensor{storage: rec.storage(f, r), layout: bytes, dev: rec.buffers[r.Buffer].dev, dtype: ir.Uint8}
	}
	return moveBytes(ends[0], ends[1], TransferOptions{NonBlocking: s.nonBlocking})
}

// effects makes the results, and has state be as the function leaves it.
func (rec *Recorded) effects(f *frame, args []*Tensor) []*Tensor {
	for _, i := range rec.outer {
		if b := &rec.buffers[i]; b.moved != 0 && f.places[i].of != nil {
			f.places[i].of.version.Add(b.moved)
		}
	}
	for i := range rec.grads {
		g := &rec.grads[i]
		if !g.slot.written {
			continue
		}
		s := g.of(args)
		if f.keeps(i, s) {
			continue
		}
		var t *Tensor
		if g.after != nil {
			t = f.handle(rec, g.after)
		}
		s.mu.Lock()
		s.replace(t)
		s.mu.Unlock()
		if k := f.captured; k != nil && g.after != nil && g.after.buffer >= 0 && f.fresh[g.after.buffer] == nil {
			k.stored[i] = t
		}
	}
	outs := make([]*Tensor, len(rec.results))
	for i := range rec.results {
		outs[i] = f.handle(rec, &rec.results[i])
		scopeAdd(outs[i])
	}
	return outs
}

// keeps reports whether a leaf's gradient is the handle on a graph's memory that the run
// before gave it, which the graph has written again.
func (f *frame) keeps(grad int, s *gradState) bool {
	k := f.captured
	if k == nil || k.stored[grad] == nil {
		return false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.grad == k.stored[grad]
}

// handle returns a new handle on a result.
func (f *frame) handle(rec *Recorded, r *recordedResult) *Tensor {
	t := &Tensor{layout: r.layout, dev: r.dev, dtype: r.dtype, view: r.view, wrapped: r.wrapped}
	if r.buffer < 0 {
		drv, _ := device.DriverOf(r.dev.Kind)
		t.storage = empty(drv)
		return t
	}
	t.storage = f.places[r.buffer].of
	if b := &rec.buffers[r.buffer]; b.Kind == program.Argument {
		_, from := b.arg, int64(0)
		base := t.storage.block.Host
		if base != nil {
			from = int64(uintptr(f.places[r.buffer].host) - uintptr(base))
		} else {
			from = int64(f.places[r.buffer].addr - t.storage.block.Addr)
		}
		t.layout.Offset += int(from) / r.dtype.Size()
	}
	t.storage.ref() // the frame's own goes when it is cleared
	t.epoch = t.storage.epoch.Load()
	return t
}

// takeBack has the host be as it was before a run that failed: rates, schedules and, where
// the run drew them, random numbers.
func (f *frame) takeBack(drew bool) {
	for _, undo := range slices.Backward(f.undo) {
		undo()
	}
	if drew {
		f.tape.Retract()
	}
}

// clear lets go of what a run used.
func (f *frame) clear() {
	clear(f.undo)
	f.undo = f.undo[:0]
	for i, s := range f.fresh {
		if s != nil {
			_ = s.unref()
			f.fresh[i] = nil
		}
	}
	for _, b := range f.blocks {
		_ = b.Free() // what a driver reports of it is the error of the device's next allocation
	}
	f.blocks = f.blocks[:0]
	clear(f.places)
	for i := range f.calls {
		c := &f.calls[i]
		c.Room = [6]unsafe.Pointer{}
		for j := range c.Out {
			c.Out[j].Ptr = nil
		}
		for j := range c.In {
			c.In[j].Ptr = nil
		}
		clear(c.Kept)
	}
}

// poison overwrites the temporaries in host memory that which names.
func (rec *Recorded) poison(f *frame, which func(buffer int) bool) {
	for i := range rec.buffers {
		b := &rec.buffers[i]
		if b.Kind == program.Temporary && f.places[i].host != nil && which(i) {
			raw := unsafe.Slice((*byte)(f.places[i].host), b.Bytes)
			for k := range raw {
				raw[k] = 0xA7
			}
		}
	}
}

// poisonDead overwrites what step i was the last to use and nothing took the place of.
func (rec *Recorded) poisonDead(f *frame, i int) {
	rec.poison(f, func(b int) bool {
		if rec.Program.Buffers[b].Last != i {
			return false
		}
		for k := range rec.Program.Buffers {
			o := &rec.Program.Buffers[k]
			if k != b && rec.Layout.Offsets[k] == rec.Layout.Offsets[b] && o.Device == rec.Program.Buffers[b].Device && o.First == i && o.Kind == program.Temporary {
				return false // written over it
			}
		}
		return true
	})
}

// Steps returns how many launches, copies and clearings the program has.
func (rec *Recorded) Steps() int {
	n := 0
	for i := range rec.steps {
		if rec.steps[i].Action != program.Effect {
			n++
		}
	}
	return n
}
