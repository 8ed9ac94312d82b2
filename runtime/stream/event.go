package stream

import (
	"context"
	"fmt"
	goruntime "runtime"
	"sync"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Errors about the time between events.
const (
	ErrNotTiming   ir.Error = "elapsed time: both events must be made by NewTimingEvent"
	ErrNotRecorded ir.Error = "elapsed time: both events must be recorded first"
)

// An Event marks a place in a stream's work. It gets its device when it is first
// recorded, and belongs to it from then on: only streams of that device record
// it, streams of any device of the kind wait for it. Any goroutine may use
// it at any time. A nil Event cannot be recorded or waited for by a stream, and
// otherwise is like one that never was recorded.
type Event struct {
	timing bool

	mu     sync.Mutex // guards what follows; not held in waits
	handle *handle    // nil before the first record
	last   mark
}

// A mark is where an event was last recorded.
type mark struct {
	stream device.StreamID
	work   uint64 // the number of the latest work of which there were doubts then
}

// A handle is a driver's event.
type handle struct {
	drv    device.Driver
	dev    device.Device
	id     device.EventID
	timing bool
}

// NewEvent returns an event for ordering work.
func NewEvent() *Event { return new(Event) }

// NewTimingEvent returns an event whose time can be asked for.
func NewTimingEvent() *Event { return &Event{timing: true} }

// spare has the driver's events whose Event was collected, for reuse.
var spare struct {
	mu     sync.Mutex
	events map[spareKey][]*handle
}

type spareKey struct {
	place
	timing bool
}

// obtain returns an event of the driver.
func obtain(drv device.Driver, d device.Device, timing bool) (*handle, error) {
	key := spareKey{place{drv, d.Index}, timing}
	spare.mu.Lock()
	if have := spare.events[key]; len(have) > 0 {
		h := have[len(have)-1]
		spare.events[key] = have[:len(have)-1]
		spare.mu.Unlock()
		return h, nil
	}
	spare.mu.Unlock()
	id, err := drv.NewEvent(d.Index, timing)
	if err != nil {
		return nil, err
	}
	return &handle{drv, d, id, timing}, nil
}

// giveBack keeps an event for reuse. It calls no driver, so it may run in a
// cleanup. Streams that wait for the event wait for what it marked when the wait was
// given to them.
func giveBack(h *handle) {
	key := spareKey{place{h.drv, h.dev.Index}, h.timing}
	spare.mu.Lock()
	defer spare.mu.Unlock()
	if spare.events == nil {
		spare.events = map[spareKey][]*handle{}
	}
	spare.events[key] = append(spare.events[key], h)
}

// current returns the driver's event and where it was last recorded; nil before the first record.
func (e *Event) current() (*handle, mark) {
	if e == nil {
		return nil, mark{}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.handle, e.last
}

// Device returns the device of the event; false before the first record.
func (e *Event) Device() (device.Device, bool) {
	if h, _ := e.current(); h != nil {
		return h.dev, true
	}
	return device.Device{}, false
}

// Record makes e mark the end of the work given to s so far, and no longer what
// it marked before.
func (e *Event) Record(s Stream) error {
	drv, err := s.driver()
	if err != nil {
		return err
	}
	if e == nil {
		return fmt.Errorf("%s: recording a nil event", s)
	}
	h, err := e.bind(drv, s.dev)
	if err != nil {
		return err
	}
	defer goruntime.KeepAlive(e)
	work := cases.number.Load() // before the event
	if err := drv.RecordEvent(s.dev.Index, h.id, s.id); err != nil {
		return fmt.Errorf("record an event on %s: %w", s, err)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.last = mark{s.id, work}
	return nil
}

// bind gives the event its device at the first record.
func (e *Event) bind(drv device.Driver, d device.Device) (*handle, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if h := e.handle; h != nil {
		if h.dev != d {
			return nil, fmt.Errorf("%w: Event device %s does not match recording stream's device %s", device.ErrMismatch, h.dev, d)
		}
		return h, nil
	}
	h, err := obtain(drv, d, e.timing)
	if err != nil {
		return nil, err
	}
	e.handle = h
	goruntime.AddCleanup(e, giveBack, h)
	return h, nil
}

// delay makes later work of s wait for the event.
func (e *Event) delay(drv device.Driver, s Stream) error {
	if e == nil {
		return fmt.Errorf("%s: waiting for a nil event", s)
	}
	h, at := e.current()
	if h == nil {
		return nil
	}
	defer goruntime.KeepAlive(e)
	switch {
	case !s.dev.Accelerator(): // its work is not queued
		return e.Synchronize(context.Background())
	case h.dev.Kind != s.dev.Kind:
		return fmt.Errorf("%w: %s cannot wait for an event of %s", device.ErrMismatch, s, h.dev)
	}
	if err := drv.WaitEvent(s.dev.Index, s.id, h.dev.Index, h.id); err != nil {
		return err
	}
	inherit(line{drv, s.dev, s.id}, line{h.drv, h.dev, at.stream}, at.work)
	return nil
}

// Query reports whether the work before what e marks is done; true when it was
// never recorded.
func (e *Event) Query() (bool, error) {
	h, _ := e.current()
	if h == nil {
		return true, nil
	}
	defer goruntime.KeepAlive(e)
	done, err := h.drv.EventDone(h.dev.Index, h.id)
	if err != nil {
		return false, fmt.Errorf("query an event of %s: %w", h.dev, err)
	}
	return done, nil
}

// Synchronize waits on the host for the work before what e marks, and returns what
// went wrong with work of the stream that e was recorded on. The work goes on when
// ctx ends the wait.
func (e *Event) Synchronize(ctx context.Context) error {
	if err := e.Await(ctx); err != nil {
		return err
	}
	h, at := e.current()
	if h == nil {
		return nil
	}
	defer goruntime.KeepAlive(e)
	l := line{h.drv, h.dev, at.stream}
	// What the stream waits for may be behind the event.
	return settled(doubtsAbout(l, at.work), func(c cast) bool { return c.origin == l }, fault(h.drv, h.dev, at.stream))
}

// Await is Synchronize of one who has no use for the results: what went wrong with the work is left to those who have.
func (e *Event) Await(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	h, _ := e.current()
	if h == nil {
		return nil
	}
	defer goruntime.KeepAlive(e)
	if err := h.drv.SyncEvent(ctx, h.dev.Index, h.id); err != nil {
		return fmt.Errorf("synchronize an event of %s: %w", h.dev, err)
	}
	return nil
}

// Elapsed returns the time from e to end, whose work must be done. Both must have
// been made by NewTimingEvent and recorded on one device.
func (e *Event) Elapsed(end *Event) (time.Duration, error) {
	if e != nil && !e.timing || end != nil && !end.timing {
		return 0, ErrNotTiming
	}
	from, _ := e.current()
	to, _ := end.current()
	switch {
	case from == nil || to == nil:
		return 0, ErrNotRecorded
	case from.dev != to.dev:
		return 0, fmt.Errorf("%w: the time from an event of %s to one of %s", device.ErrMismatch, from.dev, to.dev)
	}
	defer goruntime.KeepAlive(e)
	defer goruntime.KeepAlive(end)
	return from.drv.Elapsed(from.dev.Index, from.id, to.id)
}
