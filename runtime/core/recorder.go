package core

import (
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/caller"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/local"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/random"
)

// Errors of functions that are recorded.
const (
	// ErrHostRead is wrapped when a value is read on the host.
	ErrHostRead ir.Error = "a value was read on the host while a function was recorded"
	// ErrUndeclared is wrapped when a tensor is used that is neither an argument nor declared.
	ErrUndeclared ir.Error = "a captured tensor that was not declared"
	// ErrEscaped is wrapped when a tensor of a recording is used outside of it.
	ErrEscaped ir.Error = "a tensor left the recording of the function that made it"
	// ErrUnrecordable is wrapped for what a recording cannot take down.
	ErrUnrecordable ir.Error = "it cannot be recorded"
)

// A recorder takes down what the calling goroutine gives to devices while it records, and
// keeps the devices from doing it. New storages are virtual: they have a place of their
// own, and no memory. What changes on the host is journaled, and taken back at the end.
type recorder struct {
	failed    error // the first thing that could not be recorded
	paused    int
	program   []step
	buffers   []recordedBuffer
	known     map[*Storage]int
	declared  map[*Storage]*Tensor
	names     map[*Storage]string
	captures  bool // undeclared tensors may be used
	unfused   bool // every operator is a step of its own
	relaxed   bool // kernels may compute otherwise
	later     bool // until the program is finished
	recompute bool // cheap values are computed again where that needs less memory
	streams   int  // that steps are spread over, where they are captured
	handles   []*Tensor
	constants []*Tensor
	grads     map[*gradState]*gradSlot
	gradOrder []*gradState
	undo      []func()
	failing   []func() // called only where the recording fails
	guards    []guard
	tape      random.Tape
	open      []step      // exchanges that nothing waits for yet
	scratch   *scratch    // that the lists and maps are of; nil where the program keeps them
	recorded  []step      // all steps, as they were recorded; set at the end
	unsure    atomic.Bool // the same steps may become something else next time
	pass      uintptr     // the frame that gives the steps of now; 0 where each looks for its own

	views    slab[ir.View]
	refs     slab[program.Ref]
	ints     slab[int]
	attrs    slab[ir.Value]
	scalars  slab[ir.Scalar]
	storages slab[Storage]
	tensors  slab[Tensor]
	nodes    slab[Node]
	opNames  slab[string]  // operators' names, of Fused
	frames   slab[uintptr] // the same operators' callers
	slots    slab[gradSlot]
}

// A step is a program's step, and what else there is to know to run it.
type step struct {
	program.Step
	dev         device.Device
	drv         device.Driver
	others      []device.Device
	nonBlocking bool                      // of copies
	numbers     func() ([]float64, error) // where the call's float attributes come from; or nil
	effect      func() (undo func())
	exchange    *Exchange // of Exchange and Await
	caller      uintptr   // the program's frame that gave it; 0 where that is not known
	keeps       []int     // operands that devices may keep forms of
	recorded    int       // its number, before steps became others
}

// A recordedBuffer is a buffer, and where its memory is found when the program runs.
type recordedBuffer struct {
	program.Buffer
	dev     device.Device
	drv     device.Driver
	handle  *Tensor    // State and Constant: a tensor of the storage
	grad    *gradState // Gradient
	arg     int        // Argument
	part    bool       // Argument: the storage is larger
	storage *Storage   // of those that have memory, as recorded
	version int64      // of the storage when it was first used
	moved   int64      // by how much the function moves the version
}

// A guard is something that was so when the function was recorded. The program stands for
// the function only while it is.
type guard struct {
	what string
	ok   func() bool
}

// A gradSlot is what a recording did to the gradient of a leaf.
type gradSlot struct {
	before  *Tensor
	read    bool // before it was written
	written bool
	hooks   int
}

// virtual memory begins at this address. A buffer's is at its index << virtualBits.
const (
	virtualBase = uint64(1) << 62
	virtualBits = 40
	mostBuffers = int(virtualBase >> virtualBits)
)

var recorders = local.NewKey[*recorder]()

// recorderNow returns the calling goroutine's recorder, or nil. Where nobody records it is
// one atomic load.
func recorderNow() *recorder {
	if !recorders.Held() {
		return nil
	}
	r, _ := recorders.Get()
	if r == nil || r.paused > 0 {
		return nil
	}
	return r
}

// Recording reports whether the calling goroutine's calls are recorded and not done.
func Recording() bool { return recorderNow() != nil }

// Unrecorded calls f outside of the recording, if there is one.
func Unrecorded(f func()) {
	r := recorderNow()
	if r == nil {
		f()
		return
	}
	r.paused++
	defer func() { r.paused-- }()
	f()
}

// fail notes an error that makes the recording fail, and returns it with the line of the
// program that called.
func (r *recorder) fail(err error) error {
	err = at(err)
	if r.failed == nil {
		r.failed = err
	}
	return err
}

// Journal calls change, which changes what the program keeps on the host, and returns what
// takes it back. While the goroutine records, that is called at the end, and each run changes
// it again; a run that fails takes it back, too.
func Journal(change func() (undo func())) {
	undo := change()
	if r := recorderNow(); r != nil {
		r.undo = append(r.undo, undo)
		r.program = append(r.program, step{Step: program.Step{Action: program.Effect}, effect: change})
	}
}

// OnFailure has undo called where the recording of the calling goroutine fails.
func OnFailure(undo func()) {
	if r := recorderNow(); r != nil {
		r.failing = append(r.failing, undo)
	}
}

// OnRolledBack has undo called when the recording of the calling goroutine ends.
func OnRolledBack(undo func()) {
	if r := recorderNow(); r != nil {
		r.undo = append(r.undo, undo)
	}
}

// Guard says that what is recorded holds only while ok returns true. What names it.
func Guard(what string, ok func() bool) {
	if r := recorderNow(); r != nil {
		r.guards = append(r.guards, guard{what, ok})
	}
}

// Declare makes tensors state of the function that the calling goroutine records.
func Declare(ts ...*Tensor) {
	if r := recorderNow(); r != nil {
		for _, t := range ts {
			r.declare(t, "")
		}
	}
}

func (r *recorder) declare(t *Tensor, name string) {
	if t == nil || t.storage == nil || t.storage.virtual {
		return
	}
	if _, twice := r.declared[t.storage]; !twice {
		r.declared[t.storage], r.names[t.storage] = t, name
	}
}

// storage returns a virtual storage of so many bytes.
func (r *recorder) storage(dev device.Device, drv device.Driver, bytes int64) (*Storage, error) {
	switch {
	case bytes >= 1<<virtualBits:
		return nil, fmt.Errorf("%w: a tensor of %d bytes in a program, want fewer than %d", device.ErrOutOfMemory, bytes, int64(1)<<virtualBits)
	case len(r.buffers) == mostBuffers:
		return nil, r.fail(fmt.Errorf("%w: more than %d tensors; compile a part of the function", ErrUnrecordable, mostBuffers))
	}
	return r.virtual(recordedBuffer{dev: dev, drv: drv, Buffer: program.Buffer{Device: dev.String(), Bytes: bytes}}), nil
}

func (r *recorder) virtual(b recordedBuffer) *Storage {
	i := len(r.buffers)
	s := &r.storages.take(1)[0]
	s.drv, s.bytes, s.virtual = b.drv, b.Bytes, true
	s.refs.Store(1)
	s.block = memory.Block{Memory: device.Memory{Addr: virtualBase | uint64(i)<<virtualBits}, Device: b.dev}
	b.Made, b.Released = len(r.program), -1
	r.buffers = append(r.buffers, b)
	r.known[s] = i
	return s
}

// gone notes that nothing refers to a virtual storage any more.
func (s *Storage) gone() {
	r, _ := recorders.Get()
	if r == nil {
		return
	}
	if i, ok := r.known[s]; ok && r.buffers[i].Released < 0 {
		r.buffers[i].Released = len(r.program)
	}
}

// external returns the buffer of a tensor that has memory.
func (r *recorder) external(t *Tensor) (int, error) {
	s := t.storage
	if i, ok := r.known[s]; ok {
		return i, nil
	}
	b := recordedBuffer{dev: t.dev, drv: s.drv, storage: s, handle: t, version: s.version.Load()}
	b.Device, b.Bytes, b.Kind = t.dev.String(), s.bytes, program.State
	d, declared := r.declared[s]
	switch {
	case declared:
		b.handle, b.Name = d, r.names[s]
	case t.wrapped:
		b.Kind, b.handle = program.Constant, t.keep()
	case r.captures:
		b.handle = t.keep()
	default:
		return 0, fmt.Errorf("%w: %s %v on %s; pass it as an argument, declare it with compile.State, or allow it with compile.Captures",
			ErrUndeclared, t.dtype, t.layout.Shape, t.dev)
	}
	i := len(r.buffers)
	r.buffers = append(r.buffers, b)
	r.known[s] = i
	return i, nil
}

// constant makes the elements of t, which the program holds from now on, a constant.
func (r *recorder) constant(t *Tensor) {
	if t.storage.bytes == 0 {
		return
	}
	b := recordedBuffer{dev: t.dev, drv: t.storage.drv, storage: t.storage, handle: t, version: t.storage.version.Load()}
	b.Device, b.Bytes, b.Kind = t.dev.String(), t.storage.bytes, program.Constant
	r.known[t.storage] = len(r.buffers)
	r.buffers, r.constants = append(r.buffers, b), append(r.constants, t)
}

// keep returns a handle that nothing else releases.
func (t *Tensor) keep() *Tensor {
	k := t.alias()
	return k
}

// ref returns the place of a view, one of those of candidates, of which hint is likely.
func (r *recorder) ref(v *ir.View, candidates []*Tensor, hint int) (program.Ref, error) {
	if !v.Given() {
		return program.Ref{Buffer: -1}, nil
	}
	if v.Ptr == nil && v.Addr&virtualBase != 0 {
		rest := v.Addr &^ virtualBase
		return program.Ref{Buffer: int(rest >> virtualBits), Offset: int64(rest & (1<<virtualBits - 1))}, nil
	}
	if v.Ptr == unsafe.Pointer(&noElements) {
		return r.none(), nil
	}
	if hint < len(candidates) {
		if offset, ok := candidates[hint].holds(v); ok {
			i, err := r.external(candidates[hint])
			return program.Ref{Buffer: i, Offset: offset}, err
		}
	}
	for _, list := range [][]*Tensor{candidates, r.constants} { // operands may have been converted
		for _, t := range list {
			if offset, ok := t.holds(v); ok {
				i, err := r.external(t)
				return program.Ref{Buffer: i, Offset: offset}, err
			}
		}
	}
	return program.Ref{}, fmt.Errorf("%w: an operand of which nothing is known", ErrUnrecordable)
}

// none returns a place without bytes.
func (r *recorder) none() program.Ref {
	for i := range r.buffers {
		if b := &r.buffers[i]; b.Bytes == 0 && b.Kind == program.Constant {
			return program.Ref{Buffer: i}
		}
	}
	r.buffers = append(r.buffers, recordedBuffer{dev: device.CPU, arg: -1, Buffer: program.Buffer{Kind: program.Constant, Device: "cpu"}})
	return program.Ref{Buffer: len(r.buffers) - 1}
}

// holds reports whether a view lies in t's storage, and how many bytes into it.
func (t *Tensor) holds(v *ir.View) (offset int64, ok bool) {
	if t == nil || t.storage == nil || t.storage.bytes == 0 {
		return 0, false
	}
	if base := t.storage.block.Host; base != nil {
		offset = int64(uintptr(v.Ptr) - uintptr(base))
		return offset, v.Ptr != nil && offset >= 0 && offset < t.storage.bytes
	}
	offset = int64(v.Addr - t.storage.block.Addr)
	return offset, v.Ptr == nil && v.Addr >= t.storage.block.Addr && offset < t.storage.bytes
}

// launch takes down a call that reads in and may write tensors of outs.
func (r *recorder) launch(c *ir.Call, dev device.Device, drv device.Driver, others []device.Device, in, outs []*Tensor) error {
	s := step{dev: dev, drv: drv, others: slices.Clone(others)}
	s.Call = *c
	s.Call.Room = [6]unsafe.Pointer{}
	s.Call.Space, s.Call.Axes = r.ints.clone(c.Space), r.ints.clone(c.Axes)
	s.Call.Scalars, s.Call.Attrs = r.scalars.clone(c.Scalars), r.attrs.clone(c.Attrs)
	var err error
	if s.Call.In, s.In, err = r.places(c, c.In, in, false); err == nil {
		s.Call.Out, s.Out, err = r.places(c, c.Out, outs, true)
	}
	if err != nil {
		return err
	}
	s.numbers, _ = graph.Numbers()
	s.caller = r.caller()
	r.program = append(r.program, s)
	return nil
}

// caller returns the program's frame that gives what is recorded.
func (r *recorder) caller() uintptr {
	if r.pass != 0 {
		return r.pass
	}
	return caller.Frame()
}

// generated has steps count as given by who gave the pass that is under way, while f, the
// gradient of an operator, is the generator's: there is nobody else in between.
func (r *recorder) generated(f func(*Grad), under *uintptr) {
	if !caller.Generated(reflect.ValueOf(f).Pointer()) {
		return
	}
	if *under == 0 {
		*under = r.caller()
	}
	r.pass = *under
}

// places returns the views of a call without their memory, and where this is.
func (r *recorder) places(c *ir.Call, views []ir.View, candidates []*Tensor, written bool) ([]ir.View, []program.Ref, error) {
	out, refs := r.views.take(len(views)), r.refs.take(len(views))
	for i := range views {
		v := &views[i]
		ref, err := r.ref(v, candidates, i)
		if err == nil && written && ref.Buffer >= 0 && r.buffers[ref.Buffer].Kind == program.Constant && r.buffers[ref.Buffer].Bytes > 0 {
			err = fmt.Errorf("%w: a constant would be changed", ErrUnrecordable)
		}
		if err != nil {
			name := ""
			if !written {
				if o := operandOf(c.Op, i); o != nil {
					name = "operand " + o.Name + ": "
				}
			}
			return nil, nil, r.fail(fmt.Errorf("%s: %s%w", c.Op.Name, name, err))
		}
		refs[i], out[i].DType, out[i].Shape, out[i].Strides = ref, v.DType, r.ints.clone(v.Shape), r.ints.clone(v.Strides)
	}
	return out, refs, nil
}

// zero takes down that a storage is cleared.
func (r *recorder) zero(s *Storage, dev device.Device) error {
	i, ok := r.known[s]
	if !ok {
		return r.fail(fmt.Errorf("%w: clearing memory that the recording did not make", ErrUnrecordable))
	}
	r.program = append(r.program, step{dev: dev, drv: s.drv,
		Step: program.Step{Action: program.Zero, Out: []program.Ref{{Buffer: i}}, Bytes: s.bytes}})
	return nil
}

// move takes down a copy of n bytes between dense tensors on two devices.
func (r *recorder) move(dst, src *Tensor, n int64, nonBlocking bool) error {
	var refs [2]program.Ref
	for i, t := range []*Tensor{dst, src} {
		v := t.kernelView()
		ref, err := r.ref(&v, []*Tensor{t}, 0)
		if err != nil {
			return r.fail(fmt.Errorf("to: %w", err))
		}
		refs[i] = ref
	}
	r.program = append(r.program, step{dev: dst.dev, drv: dst.storage.drv, nonBlocking: nonBlocking,
		Step: program.Step{Action: program.Copy, Out: refs[:1:1], In: refs[1:], Bytes: n}})
	return nil
}

// foreign reports an operand that a recording of another goroutine made.
func foreign(in []*Tensor) error {
	for _, t := range in {
		if t != nil && t.storage != nil && t.storage.virtual {
			return at(ErrEscaped)
		}
	}
	return nil
}

// hostRead returns why the value of t cannot be read now, or nil.
func hostRead(t *Tensor, what string) error {
	if !recorders.Held() || t.wrapped && !t.storage.virtual {
		return nil
	}
	if r := recorderNow(); r != nil {
		return r.fail(fmt.Errorf("%s: %w: %s %v on %s has no value before the program runs; return it and read it outside, or compute with it as a tensor",
			what, ErrHostRead, t.dtype, t.layout.Shape, t.dev))
	}
	return foreign([]*Tensor{t})
}

// made notes a handle that the calling goroutine made.
func (r *recorder) made(t *Tensor) {
	if t.storage.recorded() {
		r.handles = append(r.handles, t)
	}
}

// slot returns what the recording knows of a leaf's gradient. The caller holds s.mu.
func (r *recorder) slot(s *gradState) *gradSlot {
	g := r.grads[s]
	if g == nil {
		g = &r.slots.take(1)[0]
		g.before, g.hooks = s.held(), len(s.hooks)
		if bad := g.before; bad != nil && bad.storage == nil {
			g.before = nil
			_ = r.fail(fmt.Errorf("gradient: %w", bad.Err()))
		}
		r.grads[s] = g
		r.gradOrder = append(r.gradOrder, s)
	}
	return g
}

// readGrad notes that the gradient of s is looked at. The caller holds s.mu.
func (s *gradState) readGrad() {
	r := recorderNow()
	if r == nil {
		return
	}
	g := r.slot(s)
	if g.written || g.read {
		return
	}
	g.read = true
	if t := g.before; t != nil && t.storage != nil && !t.storage.virtual {
		if d, declared := r.declared[t.storage]; declared {
			_, _ = r.external(d) // which fails for what is not declared alone
		} else if _, ok := r.known[t.storage]; !ok {
			b := recordedBuffer{dev: t.dev, drv: t.storage.drv, storage: t.storage, grad: s, version: t.storage.version.Load()}
			b.Device, b.Bytes, b.Kind = t.dev.String(), t.storage.bytes, program.Gradient
			r.known[t.storage] = len(r.buffers)
			r.buffers = append(r.buffers, b)
		}
	}
}

// replace makes g the gradient of s, or none. The caller holds s.mu.
func (s *gradState) replace(g *Tensor) {
	old := s.grad
	if r := recorderNow(); r != nil {
		slot := r.slot(s)
		slot.written = true
		if old == slot.before {
			old = nil // which comes back at the end
		}
	} else if s.narrow != nil {
		s.narrow.drop()
		s.narrow = nil
	}
	if old != nil && old != g {
		old.Release()
	}
	s.grad = g
}
