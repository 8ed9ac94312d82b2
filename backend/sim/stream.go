package sim

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// A stream is a queue of work that is done in order. A goroutine works on it
// while there is any.
type stream struct {
	id       device.StreamID
	dev      *accelerator
	priority int

	mu      sync.Mutex // guards what follows
	queue   []work
	pending int  // work that is not done, in the queue or just out of it
	busy    bool // a goroutine works on the queue
}

// work is one entry of a queue.
type work struct {
	run  func() error
	done func(error) // called with what run returned
}

// submit queues work. Without Config.Async it returns when the work is done,
// with its error; otherwise the error comes from a later call on the device.
func (s *stream) submit(run func() error) error {
	if s.dev.driver.config.Async {
		s.push(work{run, func(err error) {
			if err != nil {
				s.dev.fail(err)
			}
		}})
		return nil
	}
	done := make(chan error, 1)
	s.push(work{run, func(err error) { done <- err }})
	return <-done
}

func (s *stream) push(w work) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.queue = append(s.queue, w)
	s.pending++
	if !s.busy {
		s.busy = true
		go s.drain()
	}
}

// drain works on the queue until it is empty.
func (s *stream) drain() {
	for {
		s.mu.Lock()
		if len(s.queue) == 0 {
			s.busy, s.queue = false, nil
			s.mu.Unlock()
			return
		}
		w := s.queue[0]
		s.queue = s.queue[1:]
		s.mu.Unlock()
		err := w.run()
		s.mu.Lock()
		s.pending--
		s.mu.Unlock()
		w.done(err)
	}
}

func (s *stream) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.pending == 0
}

// wait waits until all work queued so far is done.
func (s *stream) wait(ctx context.Context) error {
	if s.idle() {
		return nil
	}
	done := make(chan struct{})
	s.push(work{func() error { return nil }, func(error) { close(done) }})
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// stream returns a stream of a device.
func (d *Driver) stream(dev int, s device.StreamID) (*accelerator, *stream, error) {
	a, err := d.device(dev)
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
		return nil, nil, fmt.Errorf("%s has no stream %d", a, s)
	case found.dev != a:
		return nil, nil, fmt.Errorf("%w: stream %d was used on %s but is a stream of %s", device.ErrMismatch, s, a, found.dev)
	}
	return a, found, nil
}

// streamsOf returns all streams of a device that may have work.
func (d *Driver) streamsOf(a *accelerator) []*stream {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ending = slices.DeleteFunc(d.ending, (*stream).idle)
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

// enqueue gives a copy or a kernel to a stream, or returns the error of earlier
// work.
func (a *accelerator) enqueue(s *stream, run func() error) error {
	if err := a.lateError(); err != nil {
		return err
	}
	return s.submit(func() error {
		time.Sleep(a.driver.config.Delay)
		return run()
	})
}

// The range of priorities.
const lowestPriority, highestPriority = 0, -2

// NewStream creates a stream that does not wait for the default stream, nor the
// other way round. Priorities are kept but make no difference; those outside of
// the range are moved into it.
func (d *Driver) NewStream(dev, priority int) (device.StreamID, error) {
	a, err := d.device(dev)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nextID++
	s := &stream{id: device.StreamID(d.nextID), dev: a, priority: min(max(priority, highestPriority), lowestPriority)}
	d.streams[s.id] = s
	a.count(func(c *Counters) { c.LiveStreams++ })
	return s.id, nil
}

// DestroyStream gives a stream back. Work given to it is still done.
func (d *Driver) DestroyStream(dev int, s device.StreamID) error {
	a, found, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	if s == 0 {
		return fmt.Errorf("%s: the default stream cannot be destroyed", a)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.streams[s] != found {
		return fmt.Errorf("%s has no stream %d", a, s)
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
	return found.idle(), nil
}

// SyncStream waits for all work given to s, and returns an error of late work on
// the device.
func (d *Driver) SyncStream(ctx context.Context, dev int, s device.StreamID) error {
	a, found, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	return a.sync(ctx, found)
}

// SyncDevice waits for all work given to the device's streams.
func (d *Driver) SyncDevice(ctx context.Context, dev int) error {
	a, err := d.device(dev)
	if err != nil {
		return err
	}
	return a.sync(ctx, d.streamsOf(a)...)
}

func (a *accelerator) sync(ctx context.Context, streams ...*stream) error {
	a.count(func(c *Counters) { c.Syncs++ })
	for _, s := range streams {
		if err := s.wait(ctx); err != nil {
			return fmt.Errorf("%s: waiting for stream %d: %w", a, s.id, err)
		}
	}
	return a.lateError()
}
