package dist

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/runtime/stream"
)

// An Option is an optional argument, of the type that all optional arguments have.
type Option = tensor.Option

// DefaultTimeout is how long a rank waits for the others unless Timeout says otherwise.
const DefaultTimeout = 10 * time.Minute

// Timeout is how long a rank waits for the others before the group fails,
// DefaultTimeout unless given. It is an option of what makes groups.
func Timeout(d time.Duration) Option { return option.Value("Timeout", d) }

// Errors that a group's calls wrap.
const (
	ErrMismatch = collective.ErrMismatch // the ranks make different calls
	ErrTimeout  = collective.ErrTimeout  // other ranks did not come in time
	ErrClosed   = collective.ErrClosed   // a rank has closed the group
	ErrCall     = collective.ErrCall     // a call that cannot be made
)

// An Op is what a reduction does with the elements of all ranks. Has(d) reports whether
// there is one of elements of dtype d; String() is its name.
type Op = collective.Op

// The operations of reductions.
const (
	Sum     = collective.Sum
	Product = collective.Product
	Min     = collective.Min
	Max     = collective.Max
	Average = collective.Average // of floating and complex dtypes; NCCL multiplies by 1/size, rounded, before it adds
)

// A Group is one rank's end of a process group: some ranks, each with a device, that
// make collective calls. All ranks make the same calls in the same order. Calls that were captured
// in graphs (package graph) are made by each replay. A replay waits on the host while another rank of the
// process has not come to the end of this one's third last, and a batch of calls while one has not come to the 32nd
// last; those of all groups of a device count together. CapturedCopies asks for more.
//
// Once a call went wrong, because a rank did not come, made another call or is gone, the
// group is of no more use: every later call of every rank returns the error, and a new
// group is needed. A call behind all that a rank made which closed the group is refused alone. What an accelerator was given before and nobody had waited for may be wrong then: the next wait for its
// stream, as in reading a tensor, returns the error. One goroutine at a time uses a Group; any may call Abort and Err.
type Group struct {
	comm    collective.Communicator
	timeout time.Duration
	stream  stream.Stream // an accelerator's, for the group alone
	give    func()        // gives the stream back
	unlead  func()        // takes the group's end off ahead
	untie   func()        // ends that the device waits for others of this process; nil: it does not
	turns   turns         // beside it
	queue   queue         // the host's calls
	order   *order        // of calls and replays; nil where one process does not have all ranks, or there is one alone
	bound   count         // of its graphs those for which devices wait for one another; mu guards it
	free    count         // of the others
	place   atomic.Uint64 // how many calls were made that all ranks make, on an accelerator, by replays, too
	ahead   *ahead        // what its device was given that other ranks have not come to; with order
	from    *Group        // that it was split off from, or nil
	parts   parts         // groups that were split off from it
	doubt   *stream.Doubt // about what its calls and replays give streams

	dividing *unit // whose gradients are being averaged and divided

	mu     sync.Mutex  // held by calls and Close
	closed atomic.Bool // written under mu
}

// newGroup returns the end of a group that comm makes the calls of. It owns comm. The order is that of
// the group's replays, or nil.
func newGroup(comm collective.Communicator, timeout time.Duration, o *order) (*Group, error) {
	g := &Group{comm: comm, timeout: timeout}
	g.doubt = stream.NewDoubt(doubtful{g})
	if o != nil && comm.Size() > 1 {
		g.order = o
		g.ahead, g.unlead = aheadOf(comm.Device())
		o.join(g)
	}
	if d := comm.Device(); d.Accelerator() {
		var err error
		if g.stream, g.give, err = takeStream(d); err != nil {
			if g.unlead != nil {
				g.unlead()
			}
			return nil, errors.Join(err, comm.Close())
		}
		if g.order != nil {
			g.untie = stream.Tie(d)
		}
	}
	return g, nil
}

// Rank returns which rank of the group this is, from 0.
func (g *Group) Rank() int {
	if !g.made() {
		return 0
	}
	return g.comm.Rank()
}

// Size returns the number of ranks.
func (g *Group) Size() int {
	if !g.made() {
		return 0
	}
	return g.comm.Size()
}

// Device returns the rank's device, which the tensors of its calls are on.
func (g *Group) Device() device.Device {
	if !g.made() {
		return device.CPU
	}
	return g.comm.Device()
}

// made reports whether this package made g.
func (g *Group) made() bool { return g != nil && g.comm != nil }

// Err returns why the group is of no more use, or nil.
func (g *Group) Err() error {
	if !g.made() {
		return errNil
	}
	if err := g.comm.Err(); err != nil {
		return g.named(err)
	}
	return nil
}

// errNil is the error of calls of a nil Group.
var errNil = fmt.Errorf("dist: %w: a nil or zero *dist.Group; Init, Local and Run make groups", ErrCall)

// named is an error for the one who uses the group.
func (g *Group) named(err error) error {
	if g.made() && g.comm.Err() != nil {
		g.doubt.Told()
	}
	return g.of(err)
}

// A doubtful is what a group gave streams.
type doubtful struct{ *Group }

// Failure is the group's.
func (d doubtful) Failure() error {
	if err := d.failure(); err != nil {
		return d.of(err)
	}
	return nil
}

// of says whose error it is.
func (g *Group) of(err error) error { return fmt.Errorf("dist: rank %d: %w", g.Rank(), err) }

// failure returns why calls and replays that are under way end with values of no use, or nil.
func (g *Group) failure() error {
	if err := g.comm.Err(); err != collective.ErrClosed { // which is this rank's Close
		return err
	}
	return nil
}

// Abort makes the group of no more use: calls that are under way end with reason, on
// this rank, and on the others where the engine can tell them, which those within a
// process and those with GPUs can. Others notice after their timeout. Groups that were split off from
// this one, and that the rank is in, are given up with it.
func (g *Group) Abort(reason error) {
	if g.made() && reason != nil {
		g.doubt.Told()
		g.comm.Abort(reason)
		g.order.stir()
		g.parts.abort(reason)
	}
}

// Close waits for the calls that are under way and gives up what the rank holds of the
// group. Calls of other ranks that need this one fail, and so do their replays with calls that this rank
// has not made, on accelerators with an error here, too, if they are under way. It returns why the group failed where an
// accelerator was given calls before, and nobody was told. Of a group that failed it waits for what its own device has,
// and for other ranks, which the driver may hold up in the midst of a call, for a second at most: memory that they or the
// library still use is given back in the background once they come back. Closing again gives up what an error said
// could not be.
func (g *Group) Close() error {
	if !g.made() {
		return errNil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed.Load() { // what could not be given back then
		return g.ended(g.comm.Close())
	}
	g.closed.Store(true)
	if g.from != nil {
		g.from.parts.drop(g)
	}
	untold := g.doubt.End() // who reads from now on is told below
	err := g.leave()
	g.queue.wait()
	if g.give != nil {
		err = errors.Join(err, g.end(context.Background())) // ends with the group's timeout
	}
	err = errors.Join(err, g.comm.Close())
	if err == nil && untold {
		err = g.failure()
	}
	if g.give != nil {
		g.giveBack()
	}
	if g.order != nil {
		g.ahead.drop(g)
		g.unlead()
	}
	if g.untie != nil {
		g.untie()
	}
	return g.ended(err)
}

// leave tells other ranks of this process that this one replays nothing more. What they wait for in vain
// ends then, as the group fails.
func (g *Group) leave() error {
	err := g.order.leave(g.Rank())
	if err == nil || g.comm.Err() != nil {
		return nil
	}
	g.order.fail(err)
	return err
}

// ended is named of an error that may be nil.
func (g *Group) ended(err error) error {
	if err != nil {
		return g.named(err)
	}
	return nil
}

// A Batch is calls that are made together. Sends and receives of one batch do not wait
// for one another.
type Batch struct {
	group *Group
	calls []*collective.Call
	held  []*core.Tensor // handles that keep memory until the calls are done
	err   error
}

// Batch calls f to say which calls to make, and makes them together. The ranks make
// alike batches: each has the calls that those of the others have, sends and receives excepted.
func (g *Group) Batch(f func(b *Batch)) *Work {
	if !g.made() {
		return &Work{err: errNil}
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	b := &Batch{group: g}
	switch {
	case g.closed.Load():
		b.err = errLeft
	case f != nil:
		f(b)
	}
	if b.err == nil {
		b.err = g.comm.Err()
	}
	if b.err != nil {
		b.release()
		return &Work{err: g.named(b.err)}
	}
	if len(b.calls) == 0 {
		return &Work{}
	}
	if core.Recording() {
		return g.record(b)
	}
	return g.make(b)
}

// errLeft is the error of calls of a Group that was closed.
var errLeft = fmt.Errorf("%w by this rank", ErrClosed)

// make makes the calls of a batch. The caller holds mu.
func (g *Group) make(b *Batch) *Work {
	if g.give == nil {
		return g.later(b)
	}
	return g.enqueue(b)
}

// rank returns the rank that makes the calls.
func (b *Batch) rank() int {
	if b == nil {
		return 0
	}
	return b.group.Rank()
}

func (b *Batch) release() {
	for _, t := range b.held {
		t.Release()
	}
	b.held = nil
}

// kept are handles whose memory a library may be at until the process ends.
var kept struct {
	sync.Mutex
	handles []*core.Tensor
}

// keep has nobody else get the memory of a batch.
func keep(b *Batch) {
	kept.Lock()
	defer kept.Unlock()
	kept.handles = append(kept.handles, b.held...)
	b.held = nil
}

// later has the host's calls made by the group's goroutine.
func (g *Group) later(b *Batch) *Work {
	w := &Work{done: make(chan struct{})}
	g.queue.push(func() {
		if err := g.comm.Do(0, b.calls...); err != nil {
			w.err = g.named(err)
			if k, ok := g.comm.(collective.Keeper); ok && k.Keeps() {
				keep(b)
			}
		}
		b.release()
		close(w.done)
	})
	return w
}

// enqueue gives an accelerator's calls to a stream of the group's, after what the current
// stream was given so far.
func (g *Group) enqueue(b *Batch) *Work {
	w := &Work{device: g.Device(), group: g}
	defer func() { g.letGo(b, w.err) }()
	c := graph.Current(g.Device())
	if c != nil {
		if w.err = g.capture(c, b.calls); w.err != nil {
			return w
		}
	}
	on, err := g.streamOf(b)
	if err == nil {
		err = on.WaitStream(stream.Current(g.Device()))
	}
	if err == nil && c == nil {
		err = g.count(b.calls)
	}
	if err == nil {
		err = g.comm.Do(on.ID(), b.calls...)
	}
	if err == nil {
		if c == nil { // else replays do
			g.doubt.Cast(on)
		}
		w.event, err = on.RecordEvent(nil)
	}
	if err != nil {
		w.err = g.named(err)
	}
	return w
}

// letGo releases the tensors of a batch, of one that failed once no device is at their memory any more.
func (g *Group) letGo(b *Batch, err error) {
	l, able := g.comm.(collective.Lingerer)
	if err == nil || !able || l.Lingers() == nil {
		b.release()
		return
	}
	over := l.Lingers()
	if b.held != nil {
		go func() { <-over; b.release() }()
		return
	}
	late := time.NewTimer(g.timeout) // whoever lent the memory takes it back then
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
	}
}

// add checks a call and adds it to the batch. in and out are the tensors of its views, the
// zero Tensor for none.
func (b *Batch) add(c collective.Call, in, out tensor.Tensor) {
	if b == nil || b.group == nil || b.err != nil {
		return
	}
	op := &ir.Op{Name: c.Kind.String()}
	if c.In, b.err = b.lend(op, in, false); b.err != nil {
		return
	}
	if c.Out, b.err = b.lend(op, out, true); b.err != nil {
		return
	}
	if b.err = c.Check(b.group.Rank(), b.group.Size()); b.err == nil {
		b.calls = append(b.calls, &c)
	}
}

// lend returns a tensor's elements, and holds them until the call is done.
func (b *Batch) lend(op *ir.Op, t tensor.Tensor, write bool) (v ir.View, err error) {
	if t == (tensor.Tensor{}) {
		return v, nil
	}
	h := t.Handle()
	if err := h.Err(); err != nil {
		return v, err
	}
	if h.Device() != b.group.Device() {
		return v, fmt.Errorf("%s: %w: the tensor is on %s, the group's rank on %s", op.Name, device.ErrMismatch, h.Device(), b.group.Device())
	}
	if v, err = core.Lend(op, h, b.group.stream.ID(), write); err != nil {
		return v, err
	}
	core.OutsideScope(func() { b.held = append(b.held, h.Detach()) })
	return v, nil
}
