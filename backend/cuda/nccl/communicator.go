package nccl

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// A gpus is a driver of GPUs, which the library shares contexts and streams with.
type gpus interface {
	device.Driver
	InContext(dev int, f func() error) error
}

// A Communicator is one rank's end of a group of GPUs. Beside the library's own checks there
// are none between ranks: one that makes another call than the others is found by whoever makes
// the calls, by the monitor, or by the timeout of those that wait for it.
//
// It is two of the library's. The library would begin a thread for each call of one whose
// calls return at once, which takes longer than a small all-reduce. And one whose calls
// return when the GPU has them cannot be given up while others are waited for. So the root
// is of the first kind and makes no calls: the group meets by it, and its end ends the calls
// of comm, which is made from it, is of the second kind and has its flag for that.
type Communicator struct {
	lib        *nccl
	rank, size int
	device     device.Device
	driver     gpus
	timeout    time.Duration
	spare      device.Memory   // a byte for barriers; it is cleared, and stays so
	fresh      *fresh          // while comm is being made
	ends       []*Communicator // the group's that this process has
	number     uint64          // calls that the monitor was told of; using guards it
	monitor    Monitor         // of a group of several processes, or nil
	name       string          // the group's name to the monitor, which knows it; or ""
	recorded   atomic.Bool     // calls were captured
	telling    sync.Once       // tells the monitor that this rank gives the group up

	using  sync.Mutex // held in calls of the library with comm
	comm   uintptr    // ncclComm_t of the calls; 0 once it was given back, which mu guards too
	giving *giving    // back of comm, of a group that failed; nil before

	answers sync.Mutex // held as the GPU is asked whether calls are done, whose events stay meanwhile; before mu

	mu      sync.Mutex // guards what follows; not held in calls that may wait, as all of the driver's may
	root    uintptr    // ncclComm_t; 0 once it was given back
	err     error      // why the group is of no more use
	told    error      // what telling tells, which err will be
	under   *pending   // calls that are being given to the GPU
	pending []pending  // calls that were given to the GPU and not seen to be done
	asking  *answer    // of the one who asks whether they are; nil: nobody does
	events  []device.EventID
	watched bool // a goroutine looks after them
	closed  bool // Close was called
}

var (
	_ collective.Communicator = (*Communicator)(nil)
	_ collective.Replayer     = (*Communicator)(nil)
)

// Rank returns the rank.
func (c *Communicator) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Communicator) Size() int { return c.size }

// Device returns the rank's GPU.
func (c *Communicator) Device() device.Device { return c.device }

// Seed makes the identifier of a group of which the rank is the first.
func (c *Communicator) Seed() ([]byte, error) {
	id, err := NewID()
	return id[:], err
}

// Split returns the rank's end of a group of some of the ranks.
func (c *Communicator) Split(members []int, seed []byte) (collective.Communicator, error) {
	rank := slices.Index(members, c.rank)
	if rank < 0 {
		return nil, c.Err()
	}
	var id ID
	if copy(id[:], seed) != IDBytes {
		return nil, fmt.Errorf("%w: a seed of %d bytes, want %d", collective.ErrCall, len(seed), IDBytes)
	}
	ends, err := New(id, []device.Device{c.device}, rank, len(members), c.timeout, c.monitor)
	if err != nil {
		return nil, err
	}
	return ends[0], nil
}

// Err returns why the group is of no more use, or nil.
func (c *Communicator) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Abort ends this rank's calls, those that the GPU is at, too, and those of the other ranks of
// this process. Other processes are told by the monitor, before: who gets an error may end at once.
func (c *Communicator) Abort(reason error) {
	_ = c.giveUp(fmt.Errorf("rank %d gave up: %w", c.rank, reason))
}

// giveUp is abort for a reason that other processes have not heard of, who are told first.
func (c *Communicator) giveUp(err error) error {
	if c.name != "" {
		c.telling.Do(func() { // others wait until it is told
			c.mu.Lock()
			known := c.err != nil
			c.told = err
			c.mu.Unlock()
			if !known {
				c.monitor.GaveUp(c.name, err)
			}
		})
	}
	return c.abort(err)
}

// abort makes the group of no more use for all ranks of this process, and returns the first
// reason for that. All have it before one of them is let go: what one GPU is at ends with values of no use
// then, and may end so what others are at.
func (c *Communicator) abort(err error) error {
	for _, end := range c.ends {
		end.failed(err)
	}
	for _, other := range c.ends {
		if other != c {
			other.letGo()
		}
	}
	c.letGo()
	return c.Err()
}

// Fail is Abort for a reason that names the rank, of which a monitor or the caller learned.
func (c *Communicator) Fail(reason error) {
	_ = c.ask() // of calls that are done nobody waits for another rank
	c.mu.Lock()
	call := c.under
	if len(c.pending) > 0 {
		call = &c.pending[0]
	}
	c.mu.Unlock()
	if call != nil {
		reason = fmt.Errorf("%s: %w", call.call, reason)
	}
	_ = c.abort(reason) // calls of the group return it
}

// failed notes why the group is of no more use for this rank, unless that is known.
func (c *Communicator) failed(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return
	}
	if c.err = err; c.told != nil { // the monitor may have it come back in other words
		c.err = c.told
	}
	if c.comm != 0 {
		c.clears()
	}
}

// letGo ends what the rank of a group that failed waits for. Who holds using meanwhile gives comm back as it lets go of it.
func (c *Communicator) letGo() {
	c.mu.Lock()
	root := c.root
	c.root = 0
	c.mu.Unlock()
	if root != 0 {
		_ = c.give(fAbort, root) // there is nothing else to do with it
		c.unpin()                // nothing is written there any more
	}
	if c.using.TryLock() {
		c.drop()
		c.using.Unlock()
	}
}

// leaveLibrary lets go of using, and gives comm back if the group ended meanwhile: letGo found
// using held. Without that, what the GPU is at would wait for other ranks until Close, which waits
// for it.
func (c *Communicator) leaveLibrary() {
	c.using.Unlock()
	if c.Err() != nil && c.using.TryLock() {
		c.drop()
		c.using.Unlock()
	}
}

// drop gives comm back where the group is of no more use. The caller holds using.
func (c *Communicator) drop() {
	c.mu.Lock()
	comm := c.comm
	if c.err == nil {
		comm = 0
	} else {
		c.comm = 0
	}
	c.mu.Unlock()
	if comm != 0 {
		spare := c.spare
		c.spare = device.Memory{}
		c.giving = c.giveBack(fAbort, func() error {
			defer c.isClear()
			return c.release(spare)
		}, comm)
	}
}

// A giving is communicators that are being given back, which the library does once graphs with their calls are
// freed. Who has these may wait for the one that gives up or closes: that one does not wait for the library for long.
type giving struct {
	over chan struct{} // closed when the library has them
	err  error         // valid then
}

// giveBack gives communicators back by one of the library's functions, in the background, and calls then, if it is not nil.
func (c *Communicator) giveBack(f int, then func() error, comms ...uintptr) *giving {
	g := &giving{over: make(chan struct{})}
	go func() {
		defer close(g.over)
		for _, comm := range comms {
			if comm != 0 {
				g.err = errors.Join(g.err, c.give(f, comm))
			}
		}
		if then != nil {
			g.err = errors.Join(g.err, then())
		}
	}()
	return g
}

// lingering is how long one who closes waits for the library, most of the time for less: what it takes back it
// has free then. Tests change it.
var lingering = time.Second

// wait waits for a while, and returns what went wrong so far.
func (g *giving) wait() error {
	if g == nil {
		return nil
	}
	late := time.NewTimer(lingering)
	defer late.Stop()
	select {
	case <-g.over:
		return g.err
	case <-late.C:
		return nil
	}
}

// give gives a communicator back by one of the library's functions.
func (c *Communicator) give(f int, comm uintptr) error {
	return c.driver.InContext(c.device.Index, func() error {
		frame := dl.Get()
		defer frame.Free()
		return c.started(f, c.lib.f[f].Call(frame, comm))
	})
}

// Close gives the communicator back, once the GPU is done with its calls and graphs with some are freed. It does
// not wait for the latter for long.
func (c *Communicator) Close() error {
	late := c.quiet()
	first, err := c.shut()
	err = errors.Join(late, err)
	if first && c.name != "" {
		c.monitor.Left(c.name, c.size)
	}
	return err
}

// quiet waits until no replay of this rank goes on. One may wait for another rank, which ends it where that one
// gives the group up: nobody could any more once comm was given back. It does not hold using, which that needs.
func (c *Communicator) quiet() error {
	if !c.recorded.Load() || c.Err() != nil {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), c.timeout)
	defer cancel()
	if err := c.driver.SyncDevice(ctx, c.device.Index); err != nil && ctx.Err() != nil {
		return c.giveUp(fmt.Errorf("rank %d closes, and its replays do not end in %v: %w", c.rank, c.timeout, collective.ErrTimeout))
	}
	return nil // of a device that failed, or that somebody captures
}

// shut is Close without the monitor, and reports whether it is the first one.
func (c *Communicator) shut() (first bool, err error) {
	var comm, root uintptr
	c.using.Lock()
	c.mu.Lock()
	if c.err == nil { // else the group failed
		c.err = collective.ErrClosed
		comm, root = c.comm, c.root
		c.comm, c.root = 0, 0
	}
	first = !c.closed
	c.closed = true
	c.mu.Unlock()
	c.drop()
	giving := c.giving
	c.using.Unlock() // who else calls does not wait for the library, and finds why there is no comm
	_ = giving.wait()
	if comm != 0 || root != 0 {
		err = c.giveBack(fDestroy, nil, comm, root).wait()
	}
	c.using.Lock()
	defer c.using.Unlock()
	return first, errors.Join(err, c.free())
}

// release gives memory for barriers back, for which the driver waits for the GPU.
func (c *Communicator) release(spare device.Memory) error {
	if spare.Addr == 0 {
		return nil
	}
	return c.driver.Free(c.device.Index, spare)
}

// free gives back what was taken of the GPU, which waits for it: an abort does not, as the
// GPU may hang. The caller holds using.
func (c *Communicator) free() (err error) {
	spare := c.spare
	c.spare = device.Memory{}
	err = c.release(spare)
	c.answers.Lock()
	defer c.answers.Unlock()
	c.mu.Lock()
	c.forget(len(c.pending))
	events := c.events
	c.events, c.pending = nil, nil
	c.mu.Unlock()
	for _, e := range events {
		err = errors.Join(err, c.driver.DestroyEvent(c.device.Index, e))
	}
	return err
}

// Do gives calls to a stream, together.
func (c *Communicator) Do(s device.StreamID, calls ...*collective.Call) error {
	c.othersClear()
	c.using.Lock()
	defer c.leaveLibrary()
	if err := c.Err(); err != nil || len(calls) == 0 {
		return err
	}
	for _, call := range calls { // before any is begun
		if call.Kind == collective.AllReduce || call.Kind == collective.Reduce || call.Kind == collective.ReduceScatter {
			if _, _, _, err := reduction(call.Op, call.In.DType); err != nil {
				return err
			}
		}
	}
	c.enter(calls[0])
	c.tell(s, calls)
	err := c.driver.InContext(c.device.Index, func() error { return c.group(s, calls) })
	if failed := c.leave(); failed != nil {
		return failed
	}
	if err == nil {
		err = c.note(s, calls[0])
	}
	if err != nil {
		err = c.fail(fmt.Errorf("%s: %w", calls[0], err))
	}
	return err
}

// fail is giveUp by the one who holds using.
func (c *Communicator) fail(err error) error {
	err = c.giveUp(err)
	c.drop()
	return err
}

// group gives calls to the library, in a group of its own if they are several of the
// library's, all on this thread.
func (c *Communicator) group(s device.StreamID, calls []*collective.Call) error {
	f := dl.Get()
	defer f.Free()
	if len(calls) == 1 && single(calls[0].Kind) {
		return c.make(f, uintptr(s), calls[0])
	}
	if code := c.lib.f[fGroupStart].Call(f); int32(code) != success {
		return c.lib.error(fGroupStart, code)
	}
	var err error
	for _, call := range calls {
		if err = c.make(f, uintptr(s), call); err != nil {
			err = fmt.Errorf("%s: %w", call, err)
			break
		}
	}
	code := c.lib.f[fGroupEnd].Call(f)
	return errors.Join(err, c.started(fGroupEnd, code))
}

// single reports whether a call is one of the library's.
func single(k collective.Kind) bool {
	return k != collective.Gather && k != collective.Scatter && k != collective.AllToAll
}

// bytes returns how many bytes v has.
func bytes(v ir.View) uintptr {
	if !v.Given() {
		return 0
	}
	return uintptr(v.NumElements() * v.DType.Size())
}
