package sim

import (
	"context"
	"fmt"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// An event marks a place in a stream's work. Driver.mu guards its fields.
type event struct {
	dev    *accelerator
	timing bool
	last   *record // the latest one; nil before the first
}

// A record is one place that an event marked.
type record struct {
	done chan struct{} // closed when the stream has passed the place
	at   time.Time     // when it did; valid once done is closed

	capture *capture // the place is in this one, and never passed; nil for none
	after   []int    // the nodes that come before it
}

func (r *record) passed() bool {
	select {
	case <-r.done:
		return true
	default:
		return false
	}
}

// event returns an event of a device and its latest record.
func (d *Driver) event(dev int, e device.EventID) (*event, *record, error) {
	a, err := d.working(dev)
	if err != nil {
		return nil, nil, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	found := d.events[e]
	switch {
	case found == nil:
		return nil, nil, fmt.Errorf("%s has no event %d", a, e)
	case found.dev != a:
		return nil, nil, fmt.Errorf("%w: event %d was used on %s but is an event of %s", device.ErrMismatch, e, a, found.dev)
	}
	return found, found.last, nil
}

// NewEvent creates an event. Only one made with timing has a time.
func (d *Driver) NewEvent(dev int, timing bool) (device.EventID, error) {
	a, err := d.working(dev)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.nextID++
	id := device.EventID(d.nextID)
	d.events[id] = &event{dev: a, timing: timing}
	a.count(func(c *Counters) { c.LiveEvents++ })
	return id, nil
}

// DestroyEvent gives an event back. Streams that wait for it still do.
func (d *Driver) DestroyEvent(dev int, e device.EventID) error {
	found, _, err := d.event(dev, e)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.events[e] != found {
		return fmt.Errorf("%s has no event %d", found.dev, e)
	}
	delete(d.events, e)
	found.dev.count(func(c *Counters) { c.LiveEvents-- })
	return nil
}

// RecordEvent makes e mark the end of the work given to s so far.
func (d *Driver) RecordEvent(dev int, e device.EventID, s device.StreamID) error {
	found, _, err := d.event(dev, e)
	if err != nil {
		return err
	}
	_, on, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	r := &record{done: make(chan struct{})}
	recorded, err := d.capturing.record(on, func(c *capture) error {
		r.capture, r.after = c, c.members[on]
		return nil
	})
	if err != nil {
		return err
	}
	d.mu.Lock()
	found.last = r
	d.mu.Unlock()
	if recorded {
		return nil
	}
	// Also after an error of earlier work: a record that is never passed would be
	// waited for in vain.
	return on.give(func() error {
		r.at = time.Now()
		close(r.done)
		return nil
	})
}

// WaitEvent makes later work on s wait for what e marks now. An event that was
// never recorded is not waited for.
func (d *Driver) WaitEvent(dev int, s device.StreamID, eventDev int, e device.EventID) error {
	_, on, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	_, r, err := d.event(eventDev, e)
	if err != nil || r == nil {
		return err
	}
	if recorded, err := d.capturing.await(on, r); recorded {
		return err
	}
	if on.dev.index != eventDev {
		d.devices[eventDev].touch()
	}
	return on.give(func() error {
		<-r.done
		return nil
	})
}

// EventDone reports whether the work before what e marks is done; true when it
// was never recorded.
func (d *Driver) EventDone(dev int, e device.EventID) (bool, error) {
	found, r, err := d.event(dev, e)
	if err == nil {
		err = d.capturing.refuseRecord(found.dev, e, r)
	}
	if err != nil {
		return false, err
	}
	return r == nil || r.passed(), nil
}

// SyncEvent waits for the work before what e marks.
func (d *Driver) SyncEvent(ctx context.Context, dev int, e device.EventID) error {
	if ctx == nil {
		ctx = context.Background()
	}
	found, r, err := d.event(dev, e)
	if err == nil {
		err = d.capturing.refuseRecord(found.dev, e, r)
	}
	if err != nil {
		return err
	}
	if r != nil {
		select {
		case <-r.done:
		case <-ctx.Done():
			return fmt.Errorf("%s: waiting for event %d: %w", found.dev, e, ctx.Err())
		}
	}
	return found.dev.usable()
}

// Elapsed returns the time between two events, which must have been made with
// timing and recorded, and whose work must be done.
func (d *Driver) Elapsed(dev int, start, end device.EventID) (time.Duration, error) {
	var at [2]time.Time
	for i, id := range []device.EventID{start, end} {
		e, r, err := d.event(dev, id)
		switch {
		case err != nil:
			return 0, err
		case !e.timing:
			return 0, fmt.Errorf("%s: event %d was not created with timing", e.dev, id)
		case r == nil:
			return 0, fmt.Errorf("%s: event %d was not recorded", e.dev, id)
		case r.capture != nil:
			return 0, d.capturing.refuseRecord(e.dev, id, r)
		case !r.passed():
			return 0, fmt.Errorf("%s: the work before event %d is not done", e.dev, id)
		}
		at[i] = r.at
	}
	return at[1].Sub(at[0]), nil
}
