package mpi

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// used says that MPI was initialised.
var used atomic.Bool

// A Communicator is this process's end of a group of all processes that were started
// together.
type Communicator struct {
	lib     *library
	comm    uintptr // MPI_Comm
	rank    int
	size    int
	device  device.Device
	driver  device.HostCaller
	timeout time.Duration
	made    atomic.Uint64 // collective calls so far
	left    atomic.Bool   // nobody waits any more for calls of the last batch
	near    []neighbour   // does not change

	mu     sync.Mutex
	err    error // why the group is of no more use
	closed bool
}

var (
	_ collective.Communicator = (*Communicator)(nil)
	_ collective.Keeper       = (*Communicator)(nil)
)

// New returns this process's end of a group of all processes that the launcher started,
// each on a device whose memory the host reaches. All call it. A rank that waits for
// others longer than timeout fails the group. The first one of a process waits as long as MPI's initialisation does.
func New(d device.Device, timeout time.Duration) (*Communicator, error) {
	if timeout <= 0 {
		return nil, fmt.Errorf("%w: a timeout of %v, want more than 0", collective.ErrCall, timeout)
	}
	d, drv, err := device.Find(d)
	if err != nil {
		return nil, err
	}
	caller, ok := drv.(device.HostCaller)
	if !ok {
		return nil, fmt.Errorf("%w: MPI does not reach the memory of %s", device.ErrUnavailable, d)
	}
	l, err := world()
	if err != nil {
		return nil, err
	}
	used.Store(true)
	c := &Communicator{lib: l, comm: commWorld, rank: l.rank, size: l.size, device: d, driver: caller, timeout: timeout}
	comm := new(uintptr)
	err = c.do("joining the group", fCommIdup, func(f *dl.Frame) []uintptr { return []uintptr{commWorld, keep(f, unsafe.Pointer(comm))} })
	if err != nil {
		return nil, err
	}
	c.comm = *comm
	if err := c.meet(); err != nil {
		return nil, err // the communicator is MPI's then
	}
	return c, nil
}

// Rank returns the rank.
func (c *Communicator) Rank() int { return c.rank }

// Size returns the number of ranks.
func (c *Communicator) Size() int { return c.size }

// Device returns the rank's device.
func (c *Communicator) Device() device.Device { return c.device }

// Seed returns nothing: MPI's groups need no name.
func (c *Communicator) Seed() ([]byte, error) { return nil, nil }

// Split returns the rank's end of a group of some of the ranks. It waits for all ranks as long
// as MPI does, and MPI is held meanwhile.
func (c *Communicator) Split(members []int, _ []byte) (collective.Communicator, error) {
	if err := c.Err(); err != nil {
		return nil, err
	}
	rank, color := slices.Index(members, c.rank), int32(undefined)
	if rank >= 0 {
		color = int32(members[0])
	}
	c.lib.mu.Lock()
	defer c.lib.mu.Unlock()
	f := dl.Get()
	defer f.Free()
	if err := c.lib.call(f, fCommSplit, c.comm, uintptr(color), uintptr(max(rank, 0)), f.Addr(0)); err != nil {
		return nil, c.fail(err)
	}
	if rank < 0 {
		return nil, nil
	}
	return &Communicator{lib: c.lib, comm: f.Words[0], rank: rank, size: len(members), device: c.device, driver: c.driver, timeout: c.timeout,
		near: among(c.near, members)}, nil
}

// Err returns why the group is of no more use, or nil.
func (c *Communicator) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// fail makes the group of no more use to this rank, for the first reason that there is.
func (c *Communicator) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.err = err
	}
	return c.err
}

// Abort ends this rank's part. The others notice by their timeout.
func (c *Communicator) Abort(reason error) {
	c.Fail(fmt.Errorf("rank %d gave up: %w", c.Rank(), reason))
}

// Fail is Abort for a reason that names the rank by itself.
func (c *Communicator) Fail(reason error) { _ = c.fail(reason) }

// Close gives the communicator back, unless calls of it went wrong: it is MPI's then.
func (c *Communicator) Close() error {
	if c.fail(collective.ErrClosed) != collective.ErrClosed {
		return nil
	}
	c.mu.Lock()
	closed := c.closed
	c.closed = true
	c.mu.Unlock()
	if closed {
		return nil
	}
	c.lib.mu.Lock()
	defer c.lib.mu.Unlock()
	f := dl.Get()
	defer f.Free()
	f.Words[0] = c.comm
	if err := c.lib.call(f, fCommFree, f.Addr(0)); !errors.Is(err, errFinalized) {
		return err
	}
	return nil // it went with MPI
}

// collectiveOp is what calls are called among the operators of a stream.
var collectiveOp = &ir.Op{Name: "collective"}

// Do makes calls in the order of a stream.
func (c *Communicator) Do(s device.StreamID, calls ...*collective.Call) error {
	c.left.Store(false)
	if err := c.Err(); err != nil {
		return err
	}
	views := make([]ir.View, 0, 2*len(calls))
	for _, call := range calls {
		views = append(views, call.In, call.Out)
	}
	return c.driver.CallHost(c.device.Index, s, collectiveOp, views, func(host []ir.View) error {
		own := make([]*collective.Call, len(calls))
		for i, call := range calls {
			copied := *call
			copied.In, copied.Out = host[2*i], host[2*i+1]
			own[i] = &copied
		}
		if err := c.run(own); err != nil {
			return c.fail(err)
		}
		return nil
	})
}

// run makes calls on the goroutine that does the stream's work.
func (c *Communicator) run(calls []*collective.Call) error {
	if err := c.Err(); err != nil {
		return err
	}
	var sends []*request
	defer func() { c.abandon(sends...) }()
	for _, call := range calls {
		if call.Kind == collective.Send {
			made, err := c.send(call)
			if sends = append(sends, made...); err != nil {
				return err
			}
		}
	}
	for _, call := range calls {
		var err error
		switch call.Kind {
		case collective.Send:
		case collective.Receive:
			err = c.receive(call)
		default:
			err = c.collective(call)
		}
		if err != nil {
			return err
		}
	}
	for len(sends) > 0 {
		r := sends[0]
		sends = sends[1:]
		if err := c.wait(r); err != nil {
			return err
		}
	}
	return nil
}

// A request is a call of MPI that is under way. Its frame keeps the memory in place.
type request struct {
	what  string
	frame *dl.Frame
}

// abandoned are the frames of calls that never ended: MPI may still use their memory.
var abandoned struct {
	sync.Mutex
	frames []*dl.Frame
}

// abandon keeps the frames of calls that nobody waits for any more.
func (c *Communicator) abandon(list ...*request) {
	if len(list) == 0 {
		return
	}
	c.left.Store(true)
	abandoned.Lock()
	defer abandoned.Unlock()
	for _, r := range list {
		abandoned.frames = append(abandoned.frames, r.frame)
	}
}

// Keeps reports whether the last batch ran out of time or failed while MPI had its memory, which it may read and
// write until the process ends.
func (c *Communicator) Keeps() bool { return c.left.Load() }

// start begins a call. args gives its arguments before the request, whose address is the
// last; the memory of views that it names is kept in place.
func (c *Communicator) start(what string, f int, args func(frame *dl.Frame) []uintptr) (*request, error) {
	frame := dl.Get()
	list := append(args(frame), frame.Addr(0))
	c.lib.mu.Lock()
	defer c.lib.mu.Unlock()
	if err := c.lib.call(frame, f, list...); err != nil {
		frame.Free()
		return nil, fmt.Errorf("%s: %w", what, err)
	}
	c.lib.open++
	return &request{what, frame}, nil
}

// done reports whether a call has ended.
func (c *Communicator) done(r *request) (bool, error) {
	c.lib.mu.Lock()
	defer c.lib.mu.Unlock()
	err := c.lib.call(r.frame, fTest, r.frame.Addr(0), r.frame.Addr(1), 0)
	if err != nil || int32(r.frame.Words[1]) == 0 {
		return false, err
	}
	c.lib.open--
	return true, nil
}

// How a wait asks: at once and again for a moment, which is what a call within a machine
// takes, and then less and less often.
const (
	spinning = 200 * time.Microsecond
	longest  = time.Millisecond
)

// wait waits until a call has ended, or for the group's timeout.
func (c *Communicator) wait(r *request) error {
	began := time.Now()
	pause := 10 * time.Microsecond
	var others watch
	for {
		done, err := c.done(r)
		if err == nil {
			err = c.Err()
		}
		switch {
		case done:
			r.frame.Free()
			return nil
		case err == nil && time.Since(began) > c.timeout:
			err = fmt.Errorf("rank %d waited %v for the others%s: %w", c.Rank(), c.timeout, others.gone(), collective.ErrTimeout)
		case err == nil && pause == longest:
			err = others.look(c.near)
		}
		if err != nil {
			c.abandon(r)
			return fmt.Errorf("%s: %w", r.what, err)
		}
		if time.Since(began) < spinning {
			runtime.Gosched()
			continue
		}
		time.Sleep(pause)
		pause = min(2*pause, longest)
	}
}

// do makes a call and waits for it.
func (c *Communicator) do(what string, f int, args func(frame *dl.Frame) []uintptr) error {
	r, err := c.start(what, f, args)
	if err != nil {
		return err
	}
	return c.wait(r)
}

// keep returns the address of host memory, which stays in place while the frame is held.
func keep(f *dl.Frame, p unsafe.Pointer) uintptr {
	if p == nil {
		return 0
	}
	return f.Keep(p)
}
