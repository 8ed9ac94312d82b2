package sim

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// captures is what is captured of a driver's streams.
type captures struct {
	under atomic.Int32 // captures under way; changed with mu held

	mu  sync.Mutex // guards what follows, and every capture
	all []*capture // under way
}

// A capture is work that is recorded and not done. The nodes are in the order they
// were given, which is one that all streams' orders and events allow.
type capture struct {
	id      device.CaptureID
	dev     *accelerator
	origin  *stream
	options device.CaptureOptions
	nodes   []*node
	members map[*stream][]int // the streams that take part; the nodes that what comes next follows
	failed  error             // of the first call that could not be recorded
}

// A node is a copy, a clearing or a launch: run does it, or where that is nil the
// call is run.
type node struct {
	run     func() error
	call    *ir.Call // in the device's memory, which refresh changes before every launch
	refresh func(*ir.Call) (bool, error)
	after   []int // the nodes that it follows
}

var _ device.Capturer = (*Driver)(nil)

// of returns the capture that s takes part in, or nil. The caller holds mu.
func (k *captures) of(s *stream) *capture {
	for _, c := range k.all {
		if _, in := c.members[s]; in {
			return c
		}
	}
	return nil
}

// find returns the capture that a stream of a device takes part in, and the stream;
// nil where there is none. The device may be lost. The caller holds mu.
func (k *captures) find(a *accelerator, s device.StreamID) (*capture, *stream) {
	for _, c := range k.all {
		for on := range c.members {
			if on.dev == a && on.id == s {
				return c, on
			}
		}
	}
	return nil, nil
}

// record calls f with the capture that s takes part in, and reports whether there
// is one.
func (k *captures) record(s *stream, f func(*capture) error) (bool, error) {
	if k.under.Load() == 0 {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.of(s)
	if c == nil {
		return false, nil
	}
	if c.failed != nil {
		return true, fmt.Errorf("%w: the capture on %s has failed: %w", device.ErrCapturing, c.origin.name(), c.failed)
	}
	return true, f(c)
}

// refuse returns the error of a call that needs work of s to be done, where s is
// captured, and makes the capture fail with it.
func (k *captures) refuse(s *stream, what string) error {
	_, err := k.record(s, func(c *capture) error {
		return c.fail("%w: %s cannot be %s, its work is recorded and not done", device.ErrCapturing, s.name(), what)
	})
	return err
}

// refuseDevice is refuse for a device of which any stream is captured.
func (k *captures) refuseDevice(a *accelerator) error {
	if k.under.Load() == 0 {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, c := range k.all {
		for s := range c.members {
			if s.dev == a {
				return c.fail("%w: %s cannot be waited for, work of %s is recorded and not done", device.ErrCapturing, a, s.name())
			}
		}
	}
	return nil
}

// refuseRecord is refuse for what event e marks in a capture.
func (k *captures) refuseRecord(a *accelerator, e device.EventID, r *record) error {
	if r == nil || r.capture == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return r.capture.fail("%w: event %d of %s marks work that is recorded and not done", device.ErrCapturing, e, a)
}

// fail returns an error that is also the capture's, unless it has one.
func (c *capture) fail(format string, args ...any) error {
	err := fmt.Errorf(format, args...)
	if c.failed == nil {
		c.failed = err
	}
	return err
}

// add records a node of stream s.
func (c *capture) add(s *stream, n *node) {
	n.after = c.members[s]
	c.members[s] = []int{len(c.nodes)}
	c.nodes = append(c.nodes, n)
}

// addCall records a launch: its own call, and the one that was given.
func (c *capture) addCall(s *stream, own, given *ir.Call) error {
	drv := s.dev.driver
	n := &node{run: drv.holding(func() error { return drv.config.Run(own) }, addresses(given)...)}
	if c.options.Refresh != nil {
		if f := c.options.Refresh(given); f != nil {
			n = &node{call: inDevice(own, given), refresh: f}
		}
	}
	c.add(s, n)
	return nil
}

// addresses returns where the views of a call are in devices' memory.
func addresses(c *ir.Call) (list []uint64) {
	for _, v := range slices.Concat(c.Out, c.In) {
		if v.Ptr == nil && v.Given() {
			list = append(list, v.Addr)
		}
	}
	return list
}

// inDevice returns its own call with the addresses that were given.
func inDevice(own, given *ir.Call) *ir.Call {
	call := *own
	call.Out, call.In = slices.Clone(own.Out), slices.Clone(own.In)
	for _, l := range [...]struct{ to, from []ir.View }{{call.Out, given.Out}, {call.In, given.In}} {
		for i := range l.to {
			if l.from[i].Ptr == nil {
				l.to[i].Ptr, l.to[i].Addr = nil, l.from[i].Addr
			}
		}
	}
	return &call
}

func (s *stream) name() string { return fmt.Sprintf("stream %d of %s", s.id, s.dev) }

// BeginCapture makes a stream record what it is given.
func (d *Driver) BeginCapture(dev int, s device.StreamID, o device.CaptureOptions) (device.CaptureID, error) {
	a, on, err := d.stream(dev, s)
	if err != nil {
		return 0, err
	}
	if s == 0 {
		return 0, fmt.Errorf("%w: the default stream of %s cannot be captured", device.ErrCapturing, a)
	}
	k := &d.capturing
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.of(on) != nil {
		return 0, fmt.Errorf("%w: %s is captured already", device.ErrCapturing, on.name())
	}
	d.mu.Lock()
	d.nextID++
	id := device.CaptureID(d.nextID)
	d.mu.Unlock()
	k.all = append(k.all, &capture{id: id, dev: a, origin: on, options: o, members: map[*stream][]int{on: nil}})
	k.under.Add(1)
	return id, nil
}

// CaptureOf returns the capture that a stream takes part in.
func (d *Driver) CaptureOf(dev int, s device.StreamID) device.CaptureID {
	if d == nil || d.capturing.under.Load() == 0 {
		return 0
	}
	_, on, err := d.stream(dev, s)
	if err != nil {
		return 0
	}
	d.capturing.mu.Lock()
	defer d.capturing.mu.Unlock()
	if c := d.capturing.of(on); c != nil {
		return c.id
	}
	return 0
}

// EndCapture ends the capture that began on s.
func (d *Driver) EndCapture(dev int, s device.StreamID) (device.Recording, error) {
	a, err := d.device(dev)
	if err != nil {
		return nil, err
	}
	k := &d.capturing
	k.mu.Lock()
	defer k.mu.Unlock()
	c, on := k.find(a, s)
	switch {
	case c == nil:
		return nil, fmt.Errorf("stream %d of %s is not captured", s, a)
	case c.origin != on:
		return nil, c.fail("the capture that %s joined began on %s, and ends there", on.name(), c.origin.name())
	}
	k.all = slices.DeleteFunc(k.all, func(other *capture) bool { return other == c })
	k.under.Add(-1)
	if err := a.usable(); err != nil {
		return nil, err
	}
	if c.failed == nil {
		c.checkJoined()
	}
	if c.failed != nil {
		return nil, c.failed
	}
	a.count(func(n *Counters) { n.LiveGraphs++ })
	return &recording{dev: a, nodes: c.nodes}, nil
}

// checkJoined fails the capture where its first stream does not follow all that
// another one was given.
func (c *capture) checkJoined() {
	before := make([]bool, len(c.nodes))
	todo := slices.Clone(c.members[c.origin])
	for len(todo) > 0 {
		i := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if !before[i] {
			before[i] = true
			todo = append(todo, c.nodes[i].after...)
		}
	}
	for s, last := range c.members {
		if slices.ContainsFunc(last, func(i int) bool { return !before[i] }) {
			_ = c.fail("%w: %s joined the capture on %s, which does not wait for it before the end", device.ErrCapturing, s.name(), c.origin.name())
			return
		}
	}
}

// await makes stream on wait for what an event of a capture marks, so that it joins
// the capture, or returns why not. It reports whether that is all to be done.
func (k *captures) await(on *stream, r *record) (bool, error) {
	if k.under.Load() == 0 && r.capture == nil {
		return false, nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	c := k.of(on)
	switch {
	case r.capture == nil && c == nil:
		return false, nil
	case r.capture == nil:
		return true, c.fail("%w: %s, which is captured, cannot wait for work that is not", device.ErrCapturing, on.name())
	case !slices.Contains(k.all, r.capture):
		return true, fmt.Errorf("%w: the event marks work of a capture that has ended", device.ErrCapturing)
	case c != nil && c != r.capture:
		return true, c.fail("%w: %s cannot wait for work of another capture", device.ErrCapturing, on.name())
	}
	list := r.capture.members[on]
	for _, i := range r.after {
		if !slices.Contains(list, i) {
			list = append(list[:len(list):len(list)], i)
		}
	}
	r.capture.members[on] = list
	return true, nil
}

// replayOp stands for a recording among the operators of a stream.
var replayOp = &ir.Op{Name: "graph replay"}

// A recording is what a capture recorded.
type recording struct {
	dev   *accelerator
	nodes []*node
	last  chan struct{} // closed when the latest launch is done; nil before the first
	gone  bool          // destroyed
}

// Nodes returns how many pieces of work there are.
func (r *recording) Nodes() int { return len(r.nodes) }

// Handle returns 0.
func (*recording) Handle() uintptr { return 0 }

// Launch gives the work to a stream, as one piece.
func (r *recording) Launch(s device.StreamID) error {
	a := r.dev
	_, on, err := a.driver.stream(a.index, s)
	if err != nil {
		return err
	}
	if err := a.driver.capturing.refuse(on, "given recorded work"); err != nil {
		return err
	}
	runs, order := make([]func() error, len(r.nodes)), r.order()
	for i, n := range r.nodes {
		runs[i] = n.run
		if n.refresh == nil {
			continue
		}
		if err := a.inject(FaultRefresh); err != nil {
			return err
		}
		if _, err := n.refresh(n.call); err != nil {
			return err
		}
		call, err := a.copyCall(n.call) // launches that are not done yet keep theirs
		if err != nil {
			return err
		}
		runs[i] = a.driver.holding(func() error { return a.driver.config.Run(call) }, addresses(n.call)...)
	}
	before, done := r.last, make(chan struct{})
	r.last = done
	a.count(func(c *Counters) { c.GraphLaunches++ })
	on.flight.Note(replayOp)
	return on.give(func() error {
		defer close(done)
		if before != nil {
			<-before
		}
		for _, i := range order {
			switch err := runs[i](); {
			case errors.Is(err, errEnded):
				return nil
			case err != nil:
				return fmt.Errorf("%s: %w", replayOp.Name, err)
			}
		}
		return nil
	})
}

// order returns the nodes in the order in which they run: that in which they were recorded, or one
// in which each of those that may come next is taken by chance.
func (r *recording) order() []int {
	list := make([]int, 0, len(r.nodes))
	if !r.dev.driver.config.AnyOrder {
		for i := range r.nodes {
			list = append(list, i)
		}
		return list
	}
	waits, ready := make([]int, len(r.nodes)), []int(nil)
	next := make([][]int, len(r.nodes))
	for i, n := range r.nodes {
		waits[i] = len(n.after)
		for _, before := range n.after {
			next[before] = append(next[before], i)
		}
		if waits[i] == 0 {
			ready = append(ready, i)
		}
	}
	for len(ready) > 0 {
		k := rand.IntN(len(ready))
		i := ready[k]
		ready = slices.Delete(ready, k, k+1)
		list = append(list, i)
		for _, j := range next[i] {
			if waits[j]--; waits[j] == 0 {
				ready = append(ready, j)
			}
		}
	}
	return list
}

// Destroy forgets the work. Launches that are under way go on.
func (r *recording) Destroy() error {
	if r.gone {
		return nil
	}
	r.nodes, r.gone = nil, true
	r.dev.count(func(c *Counters) { c.LiveGraphs-- })
	return nil
}
