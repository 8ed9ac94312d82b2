// Package compile makes programs of Go functions over tensors. A function is recorded once
// for each set of shapes: its calls, those of backward passes, optimizers and random
// numbers among them, become a program whose memory is planned, and later calls run this
// without going through the function again.
//
//	step := compile.Step(func(x ...tensor.Tensor) (tensor.Tensor, error) {
//		return optim.Minimize(adam, func() tensor.Tensor {
//			return model.Forward(x[0]).CrossEntropy(x[1])
//		})
//	}, compile.State(model, adam))
//	loss, err := step.Call(images, labels)
//	if err != nil {
//		return err
//	}
//	fmt.Println(loss)
//
// A compiled call leaves what the function itself would have left: parameters, gradients,
// moments, statistics, versions and the state of random generators. What cannot be
// recorded is an error; nothing is computed eagerly in its place. The chapter
// docs/guide/compile.md of the guide says when to compile, and what cannot be.
//
// The package knows nothing of how calls are recorded and run: that is runtime/core.
package compile

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/program"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/runtime/precision"
)

// Errors that calls of compiled functions wrap.
const (
	// ErrHostRead: the function reads a value on the host, such as Item and Data do.
	ErrHostRead = core.ErrHostRead
	// ErrUndeclared: the function uses a tensor that is no argument and not declared.
	ErrUndeclared = core.ErrUndeclared
	// ErrEscaped: a tensor that the function made while it was recorded is used outside.
	ErrEscaped = core.ErrEscaped
	// ErrUnrecordable: the function does something else that cannot be recorded.
	ErrUnrecordable = core.ErrUnrecordable
)

// Results are what a compiled function returns besides an error.
type Results interface {
	tensor.Tensor | []tensor.Tensor
}

// A Compiled is a function and the programs that were made of it. Any goroutine may call
// it; calls that change the same state are the caller's to order, as in eager code.
type Compiled[T Results] struct {
	f     func(x ...tensor.Tensor) (T, error)
	grads bool   // results take part in differentiation
	name  string // of the memory of its programs
	o     settings
	err   error

	tracing turn

	mu      sync.Mutex
	memory  *known                // of the recording before
	plans   map[signature][]*plan // by signature, the latest used last
	count   int
	uses    int64
	stats   Stats
	last    *plan
	traces  []time.Time // of the last minute
	changed string      // since the recording before
	logged  bool
}

// A plan is a program of a compiled function.
type plan struct {
	key    signature
	rec    atomic.Pointer[core.Differentiated]
	memory snapshot
	used   int64
	ready  chan struct{} // closed when its code is made; nil where it was at once
	err    error         // of that, valid then
	gone   bool          // it was dropped
}

// Stats are figures of a compiled function.
type Stats struct {
	Calls    int           // of the function, those that failed included
	Traces   int           // recordings
	Plans    int           // programs that are kept
	Evicted  int           // programs that were dropped for others
	Tracing  time.Duration // spent recording and planning
	Steps    int           // launches, copies and clearings of the latest program
	Peak     int64         // bytes that it holds at most besides arguments and state
	Eager    int64         // bytes that the same calls hold at most in eager code
	Shared   int           // results that are written over operands
	Moved    bool          // steps run in another order than the calls, which needs less memory
	Again    int           // values that are computed again, and not kept meanwhile, which needs less memory
	Saved    int64         // bytes that a call keeps for its backward pass, besides arguments, state and results
	Nodes    int           // copies, clearings and kernels of the graph that it is given to its device as; 0 before that
	OneByOne string        // why its calls are given one by one; "" where a graph of them is, from the second run on
	Retraced string        // what had changed when it was recorded again; "" where it never was
}

// Step compiles a function that changes state: a step of training, with backward pass and
// optimizer. Its results take no part in differentiation.
//
// Options: State, Captures, Key, Pad, CallByCall, Unfused, Relaxed, Background, Recompute, Streams, Plans.
func Step[T Results](f func(x ...tensor.Tensor) (T, error), opts ...Option) *Compiled[T] {
	return newCompiled(f, opts, false)
}

// Func compiles a function that only computes. Gradients flow through its results, by a
// program of their own, to arguments and declared tensors.
//
// Options: State, Captures, Key, Pad, CallByCall, Unfused, Relaxed, Background, Recompute, Streams, Plans.
func Func[T Results](f func(x ...tensor.Tensor) (T, error), opts ...Option) *Compiled[T] {
	return newCompiled(f, opts, true)
}

func newCompiled[T Results](f func(x ...tensor.Tensor) (T, error), opts []Option, grads bool) *Compiled[T] {
	c := &Compiled[T]{f: f, grads: grads, plans: map[signature][]*plan{}}
	r := option.Read(opts)
	c.o, c.err = read(&r)
	if c.err == nil && f == nil {
		c.err = errors.New("compile: there is no function to compile")
	}
	if f != nil {
		c.name = "compiled " + runtime.FuncForPC(reflect.ValueOf(f).Pointer()).Name()
		c.tracing.name = c.name
	}
	return c
}

// Call does what the function does with x. The first call with such arguments records it.
// Where there is an error before anything was computed, nothing changed.
func (c *Compiled[T]) Call(x ...tensor.Tensor) (out T, err error) {
	args, err := c.arguments(x)
	if err != nil {
		return out, err
	}
	if core.Recording() { // by an outer function
		return c.f(x...)
	}
	cut, err := c.o.pad.widen(args, c.grads)
	if err != nil {
		return out, fmt.Errorf("compile: %w", err)
	}
	defer cut.release()
	p, err := c.find(args)
	if err != nil {
		return out, err
	}
	outs, err := p.rec.Load().Call(args)
	if err != nil {
		return out, fmt.Errorf("compile: %w", err)
	}
	return pack[T](cut.narrow(outs)), nil
}

// Prepare records the function for such arguments, unless it is recorded, and runs
// nothing. In a function that is recorded itself it does nothing: calls there are part of
// that one's program.
func (c *Compiled[T]) Prepare(x ...tensor.Tensor) error {
	args, err := c.arguments(x)
	if err != nil || core.Recording() {
		return err
	}
	cut, err := c.o.pad.widen(args, c.grads)
	if err != nil {
		return fmt.Errorf("compile: %w", err)
	}
	defer cut.release()
	_, err = c.find(args)
	return err
}

// Wait returns when the code of all programs that are kept is made, which Background puts
// off, or when ctx ends.
func (c *Compiled[T]) Wait(ctx context.Context) error {
	if c == nil {
		return nil
	}
	if ctx == nil {
		ctx = context.Background()
	}
	c.mu.Lock()
	list := slices.Concat(slices.Collect(maps.Values(c.plans))...)
	c.mu.Unlock()
	for _, p := range list {
		if p.ready == nil {
			continue
		}
		select {
		case <-p.ready:
		case <-ctx.Done():
			return ctx.Err()
		}
		if p.err != nil {
			return fmt.Errorf("compile: %w", p.err)
		}
	}
	return nil
}

// finish makes the code of a program whose calls go on one by one meanwhile.
func (c *Compiled[T]) finish(p *plan) {
	defer close(p.ready)
	was := p.rec.Load()
	done, err := was.Finish()
	c.mu.Lock()
	defer c.mu.Unlock()
	if p.err = err; err != nil {
		return
	}
	p.rec.Store(done)
	was.Close()
	if p.gone {
		done.Close()
	}
}

// arguments returns the handles of x.
func (c *Compiled[T]) arguments(x []tensor.Tensor) ([]*core.Tensor, error) {
	if c == nil || c.f == nil && c.err == nil {
		return nil, errors.New("compile: a compiled function that Step or Func did not make")
	}
	if c.err != nil {
		return nil, c.err
	}
	args := make([]*core.Tensor, len(x))
	for i, t := range x {
		if err := t.Err(); err != nil {
			return nil, fmt.Errorf("compile: argument %d: %w", i, err)
		}
		args[i] = t.Handle()
		if core.GradEnabled() && !c.grads && !args[i].IsLeaf() {
			return nil, fmt.Errorf("compile: %w", core.At(fmt.Errorf("argument %d: %w: it was made by %s and requires gradients; Detach it, or call in tensor.NoGrad",
				i, ErrUnrecordable, args[i].GradFn())))
		}
	}
	return args, nil
}

// pack returns results as the function does.
func pack[T Results](outs []*core.Tensor) (out T) {
	list := wrap(outs)
	switch p := any(&out).(type) {
	case *tensor.Tensor:
		*p = list[0]
	case *[]tensor.Tensor:
		*p = list
	}
	return out
}

// unpack is the reverse of pack.
func unpack[T Results](out T) []*core.Tensor {
	switch v := any(out).(type) {
	case tensor.Tensor:
		return []*core.Tensor{v.Handle()}
	case []tensor.Tensor:
		list := make([]*core.Tensor, len(v))
		for i, t := range v {
			list[i] = t.Handle()
		}
		return list
	}
	return nil
}

// A signature is what a program depends on.
type signature struct {
	args      string
	device    device.Device // where factories create
	precision ir.Precision
	keys      string
}

// signature returns what a program for args depends on.
func (c *Compiled[T]) signature(args []*core.Tensor) (signature, error) {
	var room [256]byte
	flags := uint64(core.DefaultFloat()) << 1
	if core.GradEnabled() {
		flags |= 1
	}
	key := signature{
		args:   string(binary.AppendUvarint(core.AppendSignature(room[:0], args), flags)),
		device: core.DefaultPlacement().Device, precision: precision.Now(),
	}
	var text []byte
	for _, k := range c.o.keys {
		v := k()
		if v != nil && !reflect.TypeOf(v).Comparable() {
			return key, fmt.Errorf("compile: a key of type %T, which cannot be compared", v)
		}
		text = fmt.Appendf(text, "|%T %v", v, v)
	}
	key.keys = string(text)
	return key, nil
}

// find returns the program for args.
func (c *Compiled[T]) find(args []*core.Tensor) (*plan, error) {
	key, err := c.signature(args)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.stats.Calls++
	p := c.fits(key, args)
	c.mu.Unlock()
	if p != nil {
		return p, nil
	}
	err = c.tracing.take(func() error {
		c.mu.Lock()
		p = c.fits(key, args) // of a goroutine that was quicker
		c.mu.Unlock()
		if p != nil {
			return nil
		}
		start := time.Now()
		if p, err = c.trace(key, args); err != nil {
			return err
		}
		c.mu.Lock()
		often := c.enter(p, time.Since(start))
		c.mu.Unlock()
		if often != nil {
			often()
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("compile: %w", err)
	}
	return p, nil
}

// fits returns the program for args, or nil. The caller holds c.mu.
func (c *Compiled[T]) fits(key signature, args []*core.Tensor) *plan {
	list := c.plans[key]
	for i := len(list) - 1; i >= 0; i-- {
		p := list[i]
		what := p.memory.changed()
		if what == "" {
			var ok bool
			if what, ok = p.rec.Load().Holds(args); ok {
				c.uses++
				p.used, c.last = c.uses, p
				return p
			}
		}
		c.changed = what
	}
	if len(list) == 0 && c.stats.Traces > 0 {
		c.changed = "the arguments' shapes, dtypes, strides or devices, or a key"
	}
	return nil
}

// enter keeps a program, and drops the one that was not used for longest where there are
// too many. The caller holds c.mu, and calls what is returned when it does not any more: it
// says that there are many recordings, to whoever listens, who may ask for Stats.
func (c *Compiled[T]) enter(p *plan, took time.Duration) (often func()) {
	c.uses++
	p.used, c.last = c.uses, p
	c.plans[p.key] = append(c.plans[p.key], p)
	c.count++
	c.stats.Traces++
	c.stats.Tracing += took
	if c.stats.Traces > 1 {
		c.stats.Retraced = c.changed
	}
	for c.count > c.o.plans {
		c.evict()
	}
	now := time.Now()
	c.traces = append(c.traces, now)
	for len(c.traces) > manyTraces+1 || now.Sub(c.traces[0]) > time.Minute { // the newest is now's
		c.traces = c.traces[1:]
	}
	if c.o.background && !c.o.unfused {
		p.ready = make(chan struct{})
		go c.finish(p)
	}
	if len(c.traces) <= manyTraces || c.logged {
		return nil
	}
	c.logged = true
	times, what := len(c.traces), c.changed
	return func() {
		slog.Warn("sinter: a compiled function is recorded again and again", "times in a minute", times, "latest change", what)
	}
}

// manyTraces is how many recordings in a minute are no reason to say something.
const manyTraces = 8

// evict drops the program that was not used for longest.
func (c *Compiled[T]) evict() {
	var oldest *plan
	for _, list := range c.plans {
		for _, p := range list {
			if oldest == nil || p.used < oldest.used {
				oldest = p
			}
		}
	}
	c.drop(oldest)
	c.stats.Evicted++
}

func (c *Compiled[T]) drop(p *plan) {
	list := c.plans[p.key]
	for i := range list {
		if list[i] == p {
			list = append(list[:i:i], list[i+1:]...)
			break
		}
	}
	if c.plans[p.key] = list; len(list) == 0 {
		delete(c.plans, p.key)
	}
	c.count--
	p.gone = true
	p.rec.Load().Close()
}

// Close drops all programs and their memory. The function can be called again.
func (c *Compiled[T]) Close() {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, list := range c.plans {
		for _, p := range list {
			c.drop(p)
		}
	}
	c.last, c.memory = nil, nil
}

// known returns what models have, which the recording before found where they are as they were.
func (c *Compiled[T]) known() *known {
	c.mu.Lock()
	memory := c.memory
	c.mu.Unlock()
	if memory == nil || memory.open || memory.changed() != "" {
		memory = &known{snapshot: take(c.o.state)}
	}
	return memory
}

// trace records the function.
func (c *Compiled[T]) trace(key signature, args []*core.Tensor) (*plan, error) {
	memory := c.known()
	state, err := declared(c.o.state, memory)
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	c.memory = memory
	c.mu.Unlock()
	o := core.RecordOptions{Name: c.name, State: state, Captures: c.o.captures, CallByCall: c.o.single, Unfused: c.o.unfused, Relaxed: c.o.relaxed,
		Later: c.o.background, Recompute: c.o.again, Streams: c.o.streams, Turn: c.tracing.take}
	f := func(args []*core.Tensor) ([]*core.Tensor, error) {
		out, err := c.f(wrap(args)...)
		if err != nil {
			return nil, err
		}
		return unpack(out), nil
	}
	var rec *core.Differentiated
	if c.grads {
		rec, err = core.RecordDifferentiated(args, o, f, gradients)
	} else {
		rec = new(core.Differentiated)
		rec.Recorded, err = core.Record(args, o, f)
	}
	if err != nil {
		return nil, err
	}
	if what := memory.changed(); what != "" {
		return nil, core.At(fmt.Errorf("%w: the function changed %s, which runs of its program would not change", ErrUnrecordable, what))
	}
	if err := c.o.pad.kept(args, rec.Recorded); err != nil {
		return nil, err
	}
	p := &plan{key: key, memory: memory.snapshot}
	p.rec.Store(rec)
	return p, nil
}

// gradients are those of a function that is recorded.
func gradients(roots, dys, inputs []*core.Tensor, graph bool) ([]*core.Tensor, error) {
	list, err := tensor.Gradients(wrap(roots), wrap(inputs), tensor.WithGradient(wrap(dys)...), tensor.CreateGraph(graph))
	if err != nil {
		return nil, err
	}
	out := make([]*core.Tensor, len(list))
	for i, t := range list {
		if t == (tensor.Tensor{}) { // nothing depends on the input
			continue
		}
		out[i] = t.Handle()
		shares := func(o *core.Tensor) bool { return o.SharesStorage(out[i]) }
		if graph && (slices.ContainsFunc(dys, shares) || slices.ContainsFunc(inputs, shares)) {
			out[i] = t.Clone().Handle()
		}
	}
	return out, nil
}

func wrap(list []*core.Tensor) []tensor.Tensor {
	out := make([]tensor.Tensor, len(list))
	for i, t := range list {
		out[i] = tensor.Wrap(t)
	}
	return out
}

// Stats returns figures of the function's calls and of its latest program.
func (c *Compiled[T]) Stats() Stats {
	if c == nil {
		return Stats{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	s := c.stats
	s.Plans = c.count
	if c.last != nil {
		rec := c.last.rec.Load()
		s.Steps, s.Peak, s.Eager, s.Shared = rec.Steps(), rec.Program.Peak(rec.Layout), rec.Fused.Before.EagerPeak(), rec.Layout.Shared
		s.Nodes, s.OneByOne = rec.Graph()
		again, saved := rec.Across()
		s.Moved, s.Again, s.Saved = rec.Moved, rec.Again+again, saved
	}
	return s
}

// Program returns the program that was used latest, which must not be changed; nil where
// there is none.
func (c *Compiled[T]) Program() *program.Program {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil
	}
	rec := c.last.rec.Load()
	rec.Lines()
	return rec.Program
}

// Recorded returns the program that was used latest as it was recorded, before operators
// became one, which must not be changed; nil where there is none.
func (c *Compiled[T]) Recorded() *program.Program {
	if f := c.fused(); f != nil {
		return f.Before
	}
	return nil
}

// fused says what became of the operators of the program that was used latest; nil where
// there is none.
func (c *Compiled[T]) fused() *core.Fused {
	if c == nil {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.last == nil {
		return nil
	}
	return c.last.rec.Load().Fused
}
