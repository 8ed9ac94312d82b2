package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// A stream is work that is done in order. It is given to a queue, which other streams may share.
type stream struct {
	id       device.StreamID
	dev      *accelerator
	priority int
	queue    *queue

	mu    sync.Mutex // guards what follows
	given uint64     // pieces of work so far
	done  uint64     // how many of them are
	waits []wait
	fault error // of work that was done after its call returned, until it is told

	flight device.Flight
}

// A wait is for the first pieces of a stream's work to be done, which closes over.
type wait struct {
	first uint64
	over  chan struct{}
}

// A queue is work of streams that a device does one after the other. A goroutine works on it while
// there is any.
type queue struct {
	mu   sync.Mutex // guards what follows
	list []work
	busy bool // a goroutine works on the list
}

// work is one entry of a queue.
type work struct {
	of   *stream
	run  func() error
	done func(error) // called with what run returned
}

// nextQueue returns the queue of a new stream: one of its own until there are as many as
// Config.Queues, one after the other of them from then on.
func (a *accelerator) nextQueue() *queue {
	most := a.driver.config.Queues
	if most <= 0 {
		return &queue{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if len(a.queues) < most {
		a.queues = append(a.queues, &queue{})
	}
	q := a.queues[a.made%len(a.queues)]
	a.made++
	return q
}

// submit queues work. Without Config.Async it returns when the work is done,
// with its error; otherwise the error is told after a wait for the stream.
func (s *stream) submit(run func() error) error {
	recorded, err := s.dev.driver.capturing.record(s, func(c *capture) error {
		c.add(s, &node{run: run})
		return nil
	})
	if recorded {
		return err
	}
	return s.give(func() error {
		if err := run(); !errors.Is(err, errEnded) {
			return err
		}
		return nil
	})
}

// give is submit for who has seen that the stream is not captured: a capture that another goroutine began
// meanwhile comes after the work.
func (s *stream) give(run func() error) error {
	if s.dev.driver.config.Async {
		s.push(work{s, func() error {
			s.fail(run()) // before the work counts as done
			return nil
		}, func(error) {}})
		return nil
	}
	done := make(chan error, 1)
	s.push(work{s, run, func(err error) { done <- err }})
	return <-done
}

// fail keeps the error of late work. Of several the first is kept, and none once
// the device is lost.
func (s *stream) fail(err error) {
	if err == nil || s.dev.usable() != nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.fault == nil {
		s.fault = err
	}
}

// report returns the error of late work once, with what was given to the stream
// since it was last asked for.
func (s *stream) report() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	err, given := s.fault, s.flight.String()
	s.fault = nil
	s.flight.Land()
	if err == nil {
		return nil
	}
	return fmt.Errorf("%s: %w (in flight on stream %#x: %s)", s.dev, err, uint64(s.id), given)
}

func (s *stream) push(w work) {
	if most := s.dev.driver.config.Backlog; most > 0 {
		s.dev.giving.Lock()
		defer s.dev.giving.Unlock()
		s.room(uint64(most))
	}
	q := s.queue
	q.mu.Lock()
	defer q.mu.Unlock()
	s.mu.Lock()
	s.given++
	s.mu.Unlock()
	q.list = append(q.list, w)
	if !q.busy {
		q.busy = true
		go q.drain()
	}
}

// room waits until the stream has less than so many pieces of work that are not done. The caller holds
// dev.giving, so that nobody takes the room.
func (s *stream) room(most uint64) {
	s.mu.Lock()
	if s.given-s.done < most {
		s.mu.Unlock()
		return
	}
	w := wait{s.given - most + 1, make(chan struct{})}
	s.waits = append(s.waits, w)
	s.mu.Unlock()
	<-w.over
}

// touch waits, of a call of another device, until no call waits for room on this one.
func (a *accelerator) touch() {
	if a.driver.config.Backlog > 0 {
		a.giving.Lock()
		defer a.giving.Unlock()
	}
}

// drain works on the queue until it is empty.
func (q *queue) drain() {
	for {
		q.mu.Lock()
		if len(q.list) == 0 {
			q.busy, q.list = false, nil
			q.mu.Unlock()
			return
		}
		w := q.list[0]
		q.list = q.list[1:]
		q.mu.Unlock()
		err := w.run()
		w.of.passed()
		w.done(err)
	}
}

// passed notes that the next piece of work is done.
func (s *stream) passed() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.done++
	s.waits = slices.DeleteFunc(s.waits, func(w wait) bool {
		if w.first > s.done {
			return false
		}
		close(w.over)
		return true
	})
}

func (s *stream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done == s.given
}

// over reports whether nothing more is to be heard of a destroyed stream.
func (s *stream) over() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.done == s.given && s.fault == nil
}

// wait waits until all work given so far is done.
func (s *stream) wait(ctx context.Context) error {
	s.mu.Lock()
	if s.done == s.given {
		s.mu.Unlock()
		return nil
	}
	w := wait{s.given, make(chan struct{})}
	s.waits = append(s.waits, w)
	s.mu.Unlock()
	select {
	case <-w.over:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream returns a stream of a device.
func (d *Driver) stream(dev int, s device.StreamID) (*accelerator, *stream, error) {
	a, err := d.working(dev)
	if err != nil {
		return nil, nil, err
	}
	if s == 0 {
		return a, a.first, nil
	}
	d.mu.Lock()
	found := d.streams[s]
	d.mu.Unlock()
	switch {
	case found == nil:
		return nil, nil, fmt.Errorf("%w: %s has no stream %d", device.ErrInvalid, a, s)
	case found.dev != a:
		return nil, nil, fmt.Errorf("%w: stream %d was used on %s but is a stream of %s", device.ErrMismatch, s, a, found.dev)
	}
	return a, found, nil
}

// streamsOf returns all streams of a device that may have work.
func (d *Driver) streamsOf(a *accelerator) []*stream {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ending = slices.DeleteFunc(d.ending, (*stream).over)
	all := []*stream{a.first}
	for _, s := range d.streams {
		if s.dev == a {
			all = append(all, s)
		}
	}
	for _, s := range d.ending {
		if s.dev == a {
			all = append(all, s)
		}
	}
	return all
}

// enqueue gives a copy or a kernel to a stream. A device that is lost meanwhile does
// none of it.
func (a *accelerator) enqueue(s *stream, op *ir.Op, run func() error) error {
	s.flight.Note(op)
	return s.submit(func() error {
		time.Sleep(a.driver.config.Delay)
		if err := a.usable(); err != nil {
			return err
		}
		return run()
	})
}

// The range of priorities.
const lowestPriority, highestPriority = 0, -2

// NewStream creates a stream that does not wait for the default stream, nor the
// other way round. Priorities are kept but make no difference; those outside of
// the range are moved into it.
func (d *Driver) NewStream(dev, priority int) (device.StreamID, error) {
	a, err := d.working(dev)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nextID++
	s := &stream{id: device.StreamID(d.nextID), dev: a, priority: min(max(priority, highestPriority), lowestPriority), queue: a.nextQueue()}
	d.streams[s.id] = s
	a.count(func(c *Counters) { c.LiveStreams++ })
	return s.id, nil
}

// DestroyStream gives a stream back that is not captured. Work given to it is still
// done.
func (d *Driver) DestroyStream(dev int, s device.StreamID) error {
	a, found, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	if s == 0 {
		return fmt.Errorf("%s: the default stream cannot be destroyed", a)
	}
	if err := d.capturing.refuse(found, "destroyed"); err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams[s] != found {
		return fmt.Errorf("%w: %s has no stream %d", device.ErrInvalid, a, s)
	}
	delete(d.streams, s)
	d.ending = append(d.ending, found)
	a.count(func(c *Counters) { c.LiveStreams-- })
	return nil
}

// PriorityRange returns the lowest and the highest priority.
func (d *Driver) PriorityRange(dev int) (lowest, highest int) {
	return lowestPriority, highestPriority
}

// Priority returns the priority of a stream.
func (d *Driver) Priority(dev int, s device.StreamID) (int, error) {
	_, found, err := d.stream(dev, s)
	if err != nil {
		return 0, err
	}
	return found.priority, nil
}

// StreamIdle reports whether all work given to s is done.
func (d *Driver) StreamIdle(dev int, s device.StreamID) (bool, error) {
	_, found, err := d.stream(dev, s)
	if err != nil {
		return false, err
	}
	if err := d.capturing.refuse(found, "asked whether it is done"); err != nil {
		return false, err
	}
	return found.idle(), nil
}

// SyncStream waits for all work given to s.
func (d *Driver) SyncStream(ctx context.Context, dev int, s device.StreamID) error {
	a, found, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	if err := d.capturing.refuse(found, "waited for"); err != nil {
		return err
	}
	return a.sync(ctx, found)
}

// SyncDevice waits for all work given to the device's streams.
func (d *Driver) SyncDevice(ctx context.Context, dev int) error {
	a, err := d.working(dev)
	if err != nil {
		return err
	}
	if err := d.capturing.refuseDevice(a); err != nil {
		return err
	}
	return a.sync(ctx, d.streamsOf(a)...)
}

func (a *accelerator) sync(ctx context.Context, streams ...*stream) error {
	if ctx == nil {
		ctx = context.Background()
	}
	a.count(func(c *Counters) { c.Syncs++ })
	for _, s := range streams {
		if err := s.wait(ctx); err != nil {
			return fmt.Errorf("%s: waiting for stream %d: %w", a, s.id, err)
		}
	}
	return a.usable()
}

// StreamFault returns the error of late work on s, once.
func (d *Driver) StreamFault(dev int, s device.StreamID) error {
	_, found, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	return found.report()
}

// DeviceFault returns the errors of late work on all streams of a device, once.
func (d *Driver) DeviceFault(dev int) error {
	a, err := d.working(dev)
	if err != nil {
		return err
	}
	var errs []error
	for _, s := range d.streamsOf(a) {
		errs = append(errs, s.report())
	}
	return errors.Join(errs...)
}
