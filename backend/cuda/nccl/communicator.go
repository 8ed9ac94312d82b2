package nccl

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"
	"unsafe"

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
// are none between ranks: one that makes another call than the others is found by the
// timeout of those that wait for it.
type Communicator struct {
	lib        *nccl
	rank, size int
	device     device.Device
	driver     gpus
	timeout    time.Duration
	spare      device.Memory // a byte for barriers; it is cleared, and stays so

	mu      sync.Mutex // held in calls of the library
	comm    uintptr    // ncclComm_t; 0 once it was given back
	err     error      // why the group is of no more use
	pending []pending  // calls that were given to the GPU and not seen to be done
	watched bool       // a goroutine looks after them
}

var _ collective.Communicator = (*Communicator)(nil)

// A pending is calls that were given to a stream.
type pending struct {
	what  string
	event device.EventID
	since time.Time
}

// New returns the ends of the group id for some of its ranks: devices has the GPU of each,
// all of this process, by rank from first on, of size in all. It returns once all ranks of
// the group have come, or with an error after timeout. A rank that waits for others longer
// than that fails the group.
func New(id ID, devices []device.Device, first, size int, timeout time.Duration) ([]*Communicator, error) {
	if len(devices) == 0 || first < 0 || first+len(devices) > size || timeout <= 0 {
		return nil, fmt.Errorf("%w: %d ranks from %d of %d, with a timeout of %v", collective.ErrCall, len(devices), first, size, timeout)
	}
	l, err := process()
	if err != nil {
		return nil, err
	}
	out := make([]*Communicator, len(devices))
	for i, d := range devices {
		d, drv, err := device.Find(d)
		if err != nil {
			return nil, fmt.Errorf("rank %d: %w", first+i, err)
		}
		on, ok := drv.(gpus)
		if !ok {
			return nil, fmt.Errorf("rank %d: %w: NCCL is for GPUs, not %s", first+i, device.ErrUnavailable, d)
		}
		out[i] = &Communicator{lib: l, rank: first + i, size: size, device: d, driver: on, timeout: timeout}
	}
	if err := begin(id, out); err != nil {
		for _, c := range out {
			c.Abort(err)
			err = errors.Join(err, c.Close())
		}
		return nil, err
	}
	return out, nil
}

// begin makes the communicators, which do not wait for one another as they begin, and then
// waits for all.
func begin(id ID, list []*Communicator) error {
	for _, c := range list {
		var err error
		if c.spare, err = c.driver.Alloc(c.device.Index, 1); err == nil {
			err = c.driver.Zero(c.device.Index, 0, c.spare, 1)
		}
		if err != nil {
			return fmt.Errorf("rank %d on %s: %w", c.rank, c.device, err)
		}
		err = c.driver.InContext(c.device.Index, func() error {
			f := dl.Get()
			defer f.Free()
			code := c.lib.f[fInit].Call(f, f.Addr(0), uintptr(c.size), uintptr(c.rank), 1,
				f.Keep(unsafe.Pointer(&id)), f.Keep(unsafe.Pointer(newConfig())))
			c.comm = f.Words[0]
			return c.started(fInit, code)
		})
		if err != nil {
			return fmt.Errorf("rank %d on %s: %w", c.rank, c.device, err)
		}
	}
	for _, c := range list {
		c.mu.Lock()
		err := c.settle("joining the group")
		c.mu.Unlock()
		if err != nil {
			return fmt.Errorf("rank %d on %s: %w", c.rank, c.device, err)
		}
	}
	return nil
}

// started returns the error of a call that may go on by itself.
func (c *Communicator) started(f int, code uintptr) error {
	if r := int32(code); r == success || r == inProgress {
		return nil
	}
	return c.lib.error(f, code)
}

// settle waits until what was begun is in the hands of the GPU. The caller holds mu.
func (c *Communicator) settle(what string) error {
	for began := time.Now(); ; time.Sleep(20 * time.Microsecond) {
		code, err := c.state()
		switch {
		case err != nil || code == success:
			return err
		case time.Since(began) > c.timeout:
			return fmt.Errorf("%s: rank %d waited %v for the others: %w", what, c.rank, c.timeout, collective.ErrTimeout)
		}
	}
}

// state returns whether anything is under way (inProgress), and what went wrong. The caller
// holds mu.
func (c *Communicator) state() (int32, error) {
	f := dl.Get()
	defer f.Free()
	if code := c.lib.f[fAsyncError].Call(f, c.comm, f.Addr(0)); int32(code) != success {
		return 0, c.lib.error(fAsyncError, code)
	}
	code := int32(f.Words[0])
	return code, c.started(fAsyncError, uintptr(code))
}

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
	ends, err := New(id, []device.Device{c.device}, rank, len(members), c.timeout)
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

// Abort ends this rank's calls, those that the GPU is at, too. The others notice by their
// timeout, or by the library as their connection ends.
func (c *Communicator) Abort(reason error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.abort(fmt.Errorf("rank %d gave up: %w", c.rank, reason))
}

// abort is Abort with mu held.
func (c *Communicator) abort(err error) error {
	if c.err == nil {
		c.err = err
	}
	if c.comm != 0 {
		_ = c.give(fAbort) // there is nothing else to do with it
	}
	return c.err
}

// give gives the communicator back by one of the library's functions. The caller holds mu.
func (c *Communicator) give(f int) error {
	return c.driver.InContext(c.device.Index, func() error {
		frame := dl.Get()
		defer frame.Free()
		code := c.lib.f[f].Call(frame, c.comm)
		if f != fFinalize {
			c.comm = 0
		}
		return c.started(f, code)
	})
}

// Close gives the communicator back, once the GPU is done with its calls.
func (c *Communicator) Close() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.comm == 0 {
		return c.free()
	}
	err := c.give(fFinalize)
	if err == nil {
		err = c.settle("closing the group")
	}
	if err != nil {
		return c.abort(err)
	}
	c.err = collective.ErrClosed
	return errors.Join(c.give(fDestroy), c.free())
}

// free gives back the memory of barriers, which waits for the GPU: an abort does not, as the
// GPU may hang. The caller holds mu.
func (c *Communicator) free() error {
	spare := c.spare
	if spare.Addr == 0 {
		return nil
	}
	c.spare = device.Memory{}
	return c.driver.Free(c.device.Index, spare)
}

// Do gives calls to a stream, together.
func (c *Communicator) Do(s device.StreamID, calls ...*collective.Call) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		return c.err
	}
	for _, call := range calls { // before any is begun
		if call.Kind == collective.AllReduce || call.Kind == collective.Reduce || call.Kind == collective.ReduceScatter {
			if _, _, _, err := reduction(call.Op, call.In.DType); err != nil {
				return err
			}
		}
	}
	err := c.driver.InContext(c.device.Index, func() error { return c.group(s, calls) })
	if err == nil {
		err = c.settle(calls[0].String())
	}
	if err != nil {
		return c.abort(err)
	}
	return c.note(s, calls)
}

// group gives calls to the library in a group of its own, all on this thread.
func (c *Communicator) group(s device.StreamID, calls []*collective.Call) error {
	f := dl.Get()
	defer f.Free()
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

// note remembers what was given to a stream, and has it looked after. What is captured is
// not done, and nobody waits for it.
func (c *Communicator) note(s device.StreamID, calls []*collective.Call) error {
	if k, ok := c.driver.(device.Capturer); ok && k.CaptureOf(c.device.Index, s) != 0 {
		return nil
	}
	e, err := c.driver.NewEvent(c.device.Index, false)
	if err == nil {
		err = c.driver.RecordEvent(c.device.Index, e, s)
	}
	if err != nil {
		return err
	}
	c.pending = append(c.pending, pending{calls[0].String(), e, time.Now()})
	if !c.watched {
		c.watched = true
		go c.watch()
	}
	return nil
}

// interval is how often calls that are under way are looked after.
const interval = 10 * time.Millisecond

// watch ends calls that take longer than the timeout, or whose connection broke. It ends
// when none is left.
func (c *Communicator) watch() {
	for {
		time.Sleep(interval)
		c.mu.Lock()
		c.look()
		if len(c.pending) == 0 {
			c.watched = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
	}
}

// look looks after the calls that are under way. The caller holds mu.
func (c *Communicator) look() {
	for len(c.pending) > 0 {
		p := c.pending[0]
		done, err := c.driver.EventDone(c.device.Index, p.event)
		if err == nil && !done && c.err == nil {
			if _, err = c.state(); err == nil && time.Since(p.since) > c.timeout {
				err = fmt.Errorf("rank %d waited %v for the others: %w", c.rank, c.timeout, collective.ErrTimeout)
			}
		}
		if err != nil && c.err == nil {
			_ = c.abort(fmt.Errorf("%s: %w", p.what, err))
		}
		if err == nil && !done && c.err == nil {
			return
		}
		_ = c.driver.DestroyEvent(c.device.Index, p.event)
		c.pending = c.pending[1:]
	}
}

// bytes returns how many bytes v has.
func bytes(v ir.View) uintptr {
	if !v.Given() {
		return 0
	}
	return uintptr(v.NumElements() * v.DType.Size())
}
