package profile

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// A timeline measures when an accelerator did its work, by events before and after each
// piece. A nil timeline measures nothing.
type timeline struct {
	drv    device.Driver
	device device.Device
	begin  sync.Once      // start, or that it is too late for it
	base   device.EventID // recorded when the host's clock showed zero
	based  bool           // there is a base
	zero   time.Time

	mu    sync.Mutex // guards what follows; never held in a call of the driver
	spare []device.EventID
	err   error // why events could not be had; the first

	pending []lap // guarded by the profile's lock
}

// errClosed is the error of a timeline that measures no longer.
var errClosed = errors.New("closed")

// A lap is work between two events of a stream.
type lap struct {
	slice
	stream      device.StreamID
	first, last device.EventID
	given       time.Time // when the call began, after first was recorded
	arrow       int       // that joins it with the call
}

// settleAt is how many laps may wait until the ones that are done are written.
const settleAt = 256

// start begins to measure the device. It waits for it once.
func (t *timeline) start() {
	ctx, dev := context.Background(), t.device.Index
	base, err := t.drv.NewEvent(dev, true)
	if err != nil {
		t.fail(err)
		return
	}
	t.base, t.based = base, true
	if err = t.drv.SyncDevice(ctx, dev); err == nil {
		err = t.drv.RecordEvent(dev, base, 0)
	}
	if err == nil {
		err = t.drv.SyncEvent(ctx, dev, base)
	}
	if err != nil {
		t.fail(err)
	}
	t.zero = time.Now()
}

// mark records an event on a stream, and reports whether that was possible.
func (t *timeline) mark(s device.StreamID) (e device.EventID, ok bool) {
	if t == nil {
		return 0, false
	}
	t.mu.Lock()
	if t.err != nil {
		t.mu.Unlock()
		return 0, false
	}
	if n := len(t.spare); n > 0 {
		e, ok = t.spare[n-1], true
		t.spare = t.spare[:n-1]
	}
	t.mu.Unlock()
	var err error
	if !ok {
		e, err = t.drv.NewEvent(t.device.Index, true)
	}
	if err == nil {
		err = t.drv.RecordEvent(t.device.Index, e, s)
	}
	if err != nil {
		t.fail(err)
	}
	return e, err == nil
}

// discard gives back an event that there is, of work that is not shown.
func (t *timeline) discard(e device.EventID, there bool) error {
	if !there {
		return nil
	}
	return t.drv.DestroyEvent(t.device.Index, e)
}

func (t *timeline) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.err == nil {
		t.err = err
	}
}

// settle writes the laps that are done, if many wait.
func (t *timeline) settle(out *writer) {
	if t == nil || len(t.pending) < settleAt {
		return
	}
	n := 0
	for n < len(t.pending) {
		if done, err := t.drv.EventDone(t.device.Index, t.pending[n].last); err != nil || !done {
			break
		}
		t.write(out, &t.pending[n])
		n++
	}
	t.pending = append(t.pending[:0], t.pending[n:]...)
}

// write writes a lap that is done, and keeps its events for others.
func (t *timeline) write(out *writer, l *lap) {
	from, err := t.drv.Elapsed(t.device.Index, t.base, l.first)
	to, late := t.drv.Elapsed(t.device.Index, t.base, l.last)
	if err = errors.Join(err, late); err != nil {
		t.fail(err)
		return
	}
	at := t.zero.Add(from)
	if lead := l.given.Sub(at); lead > 0 { // an idle stream reached the event before the call
		at, from = l.given, min(from+lead, to)
	}
	out.slice(t.device, uint64(l.stream), l.slice, at, to-from)
	out.arrive(t.device, uint64(l.stream), l.arrow, at)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.spare = append(t.spare, l.first, l.last)
}

// close waits for the laps that are left, writes them, and gives the events back.
func (t *timeline) close(out *writer) error {
	t.begin.Do(func() {}) // where a call has not come to it yet, it shall not
	ctx := context.Background()
	for i := range t.pending {
		l := &t.pending[i]
		if err := t.drv.SyncEvent(ctx, t.device.Index, l.last); err != nil {
			t.fail(err)
			t.spare = append(t.spare, l.first, l.last)
			continue
		}
		t.write(out, l)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	err := t.err
	t.err = errClosed
	if t.based {
		t.spare = append(t.spare, t.base)
	}
	for _, e := range t.spare {
		if gone := t.drv.DestroyEvent(t.device.Index, e); err == nil {
			err = gone
		}
	}
	t.pending, t.spare = nil, nil
	if err != nil {
		return fmt.Errorf("measuring %s: %w", t.device, err)
	}
	return nil
}
