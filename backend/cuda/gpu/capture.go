package gpu

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/backend/cuda/launch"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// captures is what is captured of a driver's streams. What the CUDA driver would
// answer by making the capture useless is refused here, before it is asked.
type captures struct {
	under  atomic.Int32  // captures under way, or about to begin
	begun  atomic.Uint64 // captures so far, those about to begin among them; changed after under
	marked atomic.Int32  // entries of events; changed with mu held

	mu     sync.Mutex    // guards what follows
	ended  chan struct{} // closed when a capture ends; nil where nobody waits
	all    []*capture
	events map[driver.Event]*capture // last recorded on a stream of one, which may be over
}

// A capture is one under way.
type capture struct {
	id      uint64 // the CUDA driver's
	dev     int
	origin  device.StreamID
	options device.CaptureOptions

	mu     sync.Mutex // guards what follows
	failed error      // of the first call that could not be recorded
	calls  []*refreshed
	staged []memory.Block // page-locked host memory that the work reads
	faults []int          // the records that its kernels write their faults to
	leases []*code.Lease  // of the device code of its kernels, which stays as long
}

var _ device.Capturer = (*Driver)(nil)

// fail makes the capture fail with err, unless it has before, and returns err.
func (c *capture) fail(err error) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.failed == nil {
		c.failed = err
	}
	return err
}

// captureOf returns the capture that a stream takes part in, or nil.
func (d *Driver) captureOf(dev int, s device.StreamID) *capture {
	if d.captures.under.Load() == 0 || s == 0 || uint(dev) >= uint(len(d.gpus)) {
		return nil
	}
	info, err := d.api.StreamCaptureInfo(dev, driver.Stream(s))
	if err != nil || info.Status == driver.CaptureNone {
		return nil
	}
	k := &d.captures
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.all {
		if c.id == info.ID || info.ID == 0 && c.dev == dev && c.origin == s {
			return c
		}
	}
	return nil
}

// refuse returns the error of a call that needs work of s to be done, where s is
// captured, and makes the capture fail with it.
func (d *Driver) refuse(dev int, s device.StreamID, what string) error {
	if d.captures.under.Load() == 0 {
		return nil
	}
	if c := d.captureOf(dev, s); c != nil {
		return c.fail(fmt.Errorf("%w: stream %#x of cuda:%d cannot be %s, its work is recorded and not done", device.ErrCapturing, uint64(s), dev, what))
	}
	return nil
}

// refuseDevice is refuse for a device of which any stream is captured. A stream of
// another device that joined is the CUDA driver's to notice.
func (d *Driver) refuseDevice(dev int) error {
	k := &d.captures
	if k.under.Load() == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.all {
		if c.dev == dev {
			return c.fail(fmt.Errorf("%w: cuda:%d cannot be waited for, work of stream %#x is recorded and not done", device.ErrCapturing, dev, uint64(c.origin)))
		}
	}
	return nil
}

// noteEvent notes whether an event was recorded on a captured stream.
func (d *Driver) noteEvent(dev int, e device.EventID, s device.StreamID) {
	k := &d.captures
	if k.under.Load() == 0 && k.marked.Load() == 0 {
		return
	}
	c := d.captureOf(dev, s)
	k.mu.Lock()
	defer k.mu.Unlock()
	if c == nil {
		delete(k.events, driver.Event(e))
	} else {
		if k.events == nil {
			k.events = map[driver.Event]*capture{}
		}
		k.events[driver.Event(e)] = c
	}
	k.marked.Store(int32(len(k.events)))
}

// forget notes that an event is no more: its handle may become another's.
func (k *captures) forget(e device.EventID) {
	if k.marked.Load() == 0 {
		return
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.events, driver.Event(e))
	k.marked.Store(int32(len(k.events)))
}

// refuseEvent is refuse for what an event marks in a capture.
func (d *Driver) refuseEvent(dev int, e device.EventID) error {
	k := &d.captures
	if k.marked.Load() == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if c := k.events[driver.Event(e)]; c != nil {
		return c.fail(fmt.Errorf("%w: event %#x of cuda:%d marks work that is recorded and not done", device.ErrCapturing, uint64(e), dev))
	}
	return nil
}

// BeginCapture makes a stream record what it is given.
func (d *Driver) BeginCapture(dev int, s device.StreamID, o device.CaptureOptions) (device.CaptureID, error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, err
	}
	if s == 0 {
		return 0, fmt.Errorf("%w: the default stream of cuda:%d cannot be captured", device.ErrCapturing, dev)
	}
	if d.captureOf(dev, s) != nil {
		return 0, fmt.Errorf("%w: stream %#x of cuda:%d is captured already", device.ErrCapturing, uint64(s), dev)
	}
	k := &d.captures
	k.under.Add(1)
	k.begun.Add(1)
	if err := api.StreamBeginCapture(dev, driver.Stream(s)); err != nil {
		k.end()
		return 0, d.failed(dev, err)
	}
	info, err := api.StreamCaptureInfo(dev, driver.Stream(s))
	if err != nil {
		_, gone := api.StreamEndCapture(dev, driver.Stream(s))
		k.end()
		return 0, d.failed(dev, errors.Join(err, gone))
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	k.all = append(k.all, &capture{id: info.ID, dev: dev, origin: s, options: o})
	return device.CaptureID(info.ID), nil
}

// CaptureOf returns the capture that a stream takes part in.
func (d *Driver) CaptureOf(dev int, s device.StreamID) device.CaptureID {
	if c := d.captureOf(dev, s); c != nil {
		return device.CaptureID(c.id)
	}
	return 0
}

// EndCapture ends the capture that began on s.
func (d *Driver) EndCapture(dev int, s device.StreamID) (device.Recording, error) {
	c := d.captures.remove(dev, s) // also of a device that was lost meanwhile
	if c == nil {
		return nil, fmt.Errorf("no capture began on stream %#x of cuda:%d", uint64(s), dev)
	}
	r, failed := c.take(d)
	api, err := d.use(dev)
	if err == nil {
		if r.graph, err = api.StreamEndCapture(dev, driver.Stream(s)); err != nil {
			err = fmt.Errorf("%w: %w", device.ErrCapturing, d.failed(dev, err))
		}
		if failed != nil {
			err = failed
		}
	}
	d.captures.end()
	if err == nil {
		err = d.failed(dev, r.instantiate(api))
	}
	if len(r.calls) == 0 {
		err = errors.Join(err, r.destroyGraph())
	}
	if err != nil {
		return nil, errors.Join(err, r.Destroy())
	}
	return r, nil
}

// take returns what was recorded, or why it is of no use. It leaves nothing behind:
// events refer to c until they are recorded again.
func (c *capture) take(d *Driver) (*recording, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	r := &recording{d: d, dev: c.dev, calls: c.calls, staged: c.staged, faults: c.faults, leases: c.leases}
	c.calls, c.staged, c.faults, c.leases = nil, nil, nil, nil
	return r, c.failed
}

// end counts a capture that is over for the CUDA driver, too.
func (k *captures) end() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.under.Add(-1)
	if k.ended != nil {
		close(k.ended)
		k.ended = nil
	}
}

// wait returns when a capture has ended, at once where none is under way.
func (k *captures) wait() {
	k.mu.Lock()
	if k.under.Load() == 0 {
		k.mu.Unlock()
		return
	}
	if k.ended == nil {
		k.ended = make(chan struct{})
	}
	ended := k.ended
	k.mu.Unlock()
	<-ended
}

// remove takes out the capture that began on a stream, which counts until it ends; nil
// where there is none.
func (k *captures) remove(dev int, s device.StreamID) *capture {
	k.mu.Lock()
	defer k.mu.Unlock()
	for i, c := range k.all {
		if c.dev == dev && c.origin == s {
			k.all = append(k.all[:i:i], k.all[i+1:]...)
			return c
		}
	}
	return nil
}

// captureCall enqueues a call on a stream that may be captured, and reports whether
// it did: it leaves calls whose attributes stay as they are to others.
func (d *Driver) captureCall(dev int, s device.StreamID, c *ir.Call) (bool, error) {
	into := d.captureOf(dev, s)
	if into == nil {
		return false, nil
	}
	into.uses(d.gpus[dev].states.of(s).record, launch.LeaseOf(c.Kernel))
	if into.options.Refresh == nil {
		return false, nil
	}
	refresh := into.options.Refresh(c)
	if refresh == nil {
		return false, nil
	}
	call, err := d.recordCall(dev, s, c)
	if err != nil {
		return true, d.failed(dev, err)
	}
	call.refresh = refresh
	into.mu.Lock()
	defer into.mu.Unlock()
	into.calls = append(into.calls, call)
	return true, nil
}

// awaitFailed makes the capture of a stream fail that could not wait for an event:
// one from outside, or of another capture.
func (d *Driver) awaitFailed(dev int, s device.StreamID, err error) error {
	if c := d.captureOf(dev, s); c != nil {
		return c.fail(fmt.Errorf("%w: stream %#x of cuda:%d, which is captured, can wait only for work of its capture: %w", device.ErrCapturing, uint64(s), dev, err))
	}
	return err
}

// uses notes a record that the work may write to, and the lease of its device code or nil.
func (c *capture) uses(record int, lease *code.Lease) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !slices.Contains(c.faults, record) {
		c.faults = append(c.faults, record)
	}
	if lease != nil && !slices.Contains(c.leases, lease) {
		c.leases = append(c.leases, lease)
	}
}

// Stage returns a page-locked copy of data for a copy on stream s to read, which
// lives as long as the recording, where s is captured; else nil.
func (s scratch) Stage(dev int, on driver.Stream, data []byte) (unsafe.Pointer, error) {
	c := s.d.captureOf(dev, device.StreamID(on))
	if c == nil {
		return nil, nil
	}
	b, err := memory.AllocPinned(s.d, int64(len(data)))
	if err != nil {
		return nil, err
	}
	copy(unsafe.Slice((*byte)(b.Host), len(data)), data)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.staged = append(c.staged, b)
	return b.Host, nil
}

// A recording is what a capture recorded.
type recording struct {
	d      *Driver
	dev    int
	nodes  int
	exec   driver.GraphExec // 0 where there are no nodes
	graph  driver.Graph     // whose nodes calls names, 0 where there are no calls
	calls  []*refreshed
	staged []memory.Block
	faults []int
	leases []*code.Lease // until the graph is destroyed
}

// replayOp stands for a recording among the operators of a stream.
var replayOp = &ir.Op{Name: "graph replay"}

func (r *recording) instantiate(api driver.API) (err error) {
	if r.nodes, err = api.GraphNodes(r.dev, r.graph); err == nil && r.nodes > 0 {
		r.exec, err = api.GraphInstantiate(r.dev, r.graph)
	}
	return err
}

// destroyGraph destroys what exec was made of, after which no node can be changed.
func (r *recording) destroyGraph() error {
	g := r.graph
	if r.graph = 0; g == 0 {
		return nil
	}
	return r.d.api.GraphDestroy(r.dev, g)
}

// Nodes returns how many nodes the graph has.
func (r *recording) Nodes() int { return r.nodes }

// Handle returns the CUgraphExec.
func (r *recording) Handle() uintptr { return uintptr(r.exec) }

// Launch launches the graph, after its nodes were given what has changed.
func (r *recording) Launch(s device.StreamID) error {
	if r.exec == 0 {
		return nil
	}
	api, err := r.d.on(r.dev, s, replayOp)
	if err == nil {
		err = r.d.refuse(r.dev, s, "given recorded work")
	}
	if err != nil {
		return err
	}
	g := &r.d.gpus[r.dev]
	of := g.states.of(s)
	of.follow(r.faults)
	if of.abroad {
		g.retired.hold(r.leases...)
	}
	for _, c := range r.calls {
		if err := r.d.refreshCall(r.dev, r.exec, c); err != nil {
			return r.d.failed(r.dev, err)
		}
	}
	if err := api.GraphLaunch(r.dev, r.exec, driver.Stream(s)); err != nil {
		return r.d.failed(r.dev, err)
	}
	for _, b := range r.staged {
		b.RecordUse(device.CUDA(r.dev), s)
	}
	return nil
}

// Destroy destroys the graph, whose launches under way go on.
func (r *recording) Destroy() error {
	err := r.destroyGraph()
	if r.exec != 0 {
		err = errors.Join(err, r.d.api.GraphExecDestroy(r.dev, r.exec))
		r.exec = 0
	}
	for _, b := range r.staged {
		err = errors.Join(err, b.Free())
	}
	r.staged, r.calls, r.leases = nil, nil, nil
	return err
}
