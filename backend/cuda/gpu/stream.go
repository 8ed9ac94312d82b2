package gpu

import (
	"context"
	"errors"
	"runtime"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
)

// A StreamID is the CUDA driver's handle; 0 is the device's default stream. So is
// an EventID.

// NewStream creates a stream that does not wait for the default one.
func (d *Driver) NewStream(dev, priority int) (device.StreamID, error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, err
	}
	s, err := api.StreamCreate(dev, driver.StreamNonBlocking, priority)
	if err != nil {
		return 0, d.failed(dev, err)
	}
	g := &d.gpus[dev]
	g.mu.Lock()
	defer g.mu.Unlock()
	g.states.add(device.StreamID(s))
	return device.StreamID(s), nil
}

// DestroyStream destroys a stream when its work is done; what is asked of it from
// now on is refused. The default stream stays.
func (d *Driver) DestroyStream(dev int, s device.StreamID) error {
	api, err := d.on(dev, s, nil)
	if err != nil || s == 0 {
		return err
	}
	if err := d.refuse(dev, s, "destroyed"); err != nil {
		return err
	}
	if own := (*d.gpus[dev].states.own.Load())[s]; own != nil {
		own.life.Lock()
		defer own.life.Unlock()
		if own.gone.Swap(true) {
			return destroyed(dev, s)
		}
	}
	return d.failed(dev, api.StreamDestroy(dev, driver.Stream(s)))
}

// PriorityRange returns the lowest and the highest priority; 0, 0 where they
// cannot be told.
func (d *Driver) PriorityRange(dev int) (lowest, highest int) {
	api, err := d.use(dev)
	if err != nil {
		return 0, 0
	}
	if lowest, highest, err = api.StreamPriorityRange(dev); err != nil {
		return 0, 0
	}
	return lowest, highest
}

// StreamIdle reports whether all work given to s is done.
func (d *Driver) StreamIdle(dev int, s device.StreamID) (bool, error) {
	api, err := d.on(dev, s, nil)
	if err == nil {
		err = d.refuse(dev, s, "asked whether it is done")
	}
	if err != nil {
		return false, err
	}
	done, err := api.StreamQuery(dev, driver.Stream(s))
	return done, d.failed(dev, err)
}

// SyncStream waits for all work given to s, or for ctx.
func (d *Driver) SyncStream(ctx context.Context, dev int, s device.StreamID) error {
	api, err := d.on(dev, s, nil)
	if err == nil {
		err = d.refuse(dev, s, "waited for")
	}
	if err != nil {
		return err
	}
	if ctx.Done() == nil {
		err = api.StreamSynchronize(dev, driver.Stream(s))
	} else {
		err = poll(ctx, func() (bool, error) { return api.StreamQuery(dev, driver.Stream(s)) })
	}
	return d.failed(dev, err)
}

// SyncDevice waits for all work of the device, or for ctx, which then leaves a
// goroutine waiting.
func (d *Driver) SyncDevice(ctx context.Context, dev int) error {
	api, err := d.use(dev)
	if err == nil {
		err = d.refuseDevice(dev)
	}
	if err != nil {
		return err
	}
	if ctx.Done() == nil {
		err = api.Synchronize(dev)
	} else {
		done := make(chan error, 1)
		go func() { done <- api.Synchronize(dev) }()
		select {
		case err = <-done:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return d.failed(dev, err)
}

// Waiting with a context asks again and again: at first at once, then after
// sleeps that grow to longest.
const (
	askAtOnce = 64
	longest   = time.Millisecond
)

// poll calls done until it reports true, or until ctx ends.
func poll(ctx context.Context, done func() (bool, error)) error {
	sleep := 10 * time.Microsecond
	for i := 0; ; i++ {
		if ok, err := done(); ok || err != nil {
			return err
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if i < askAtOnce {
			runtime.Gosched()
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(sleep):
		}
		sleep = min(2*sleep, longest)
	}
}

// NewEvent creates an event, which can be timed where timing is set.
func (d *Driver) NewEvent(dev int, timing bool) (device.EventID, error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, err
	}
	flags := driver.EventDisableTiming
	if timing {
		flags = driver.EventDefault
	}
	e, err := api.EventCreate(dev, flags)
	return device.EventID(e), d.failed(dev, err)
}

// DestroyEvent destroys an event.
func (d *Driver) DestroyEvent(dev int, e device.EventID) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	d.captures.forget(e)
	return d.failed(dev, api.EventDestroy(dev, driver.Event(e)))
}

// RecordEvent records what s was given so far.
func (d *Driver) RecordEvent(dev int, e device.EventID, s device.StreamID) error {
	api, err := d.on(dev, s, nil)
	if err != nil {
		return err
	}
	if err := api.EventRecord(dev, driver.Event(e), driver.Stream(s)); err != nil {
		return d.failed(dev, err)
	}
	d.noteEvent(dev, e, s)
	return nil
}

// WaitEvent makes later work of s wait for e, of whatever device.
func (d *Driver) WaitEvent(dev int, s device.StreamID, _ int, e device.EventID) error {
	api, err := d.on(dev, s, nil)
	if err != nil {
		return err
	}
	if err := api.StreamWaitEvent(dev, driver.Stream(s), driver.Event(e)); err != nil {
		return d.awaitFailed(dev, s, d.failed(dev, err))
	}
	return nil
}

// EventDone reports whether what e recorded is done; true if it recorded nothing.
func (d *Driver) EventDone(dev int, e device.EventID) (bool, error) {
	api, err := d.use(dev)
	if err == nil {
		err = d.refuseEvent(dev, e)
	}
	if err != nil {
		return false, err
	}
	done, err := api.EventQuery(dev, driver.Event(e))
	return done, d.failed(dev, err)
}

// SyncEvent waits for what e recorded, or for ctx.
func (d *Driver) SyncEvent(ctx context.Context, dev int, e device.EventID) error {
	api, err := d.use(dev)
	if err == nil {
		err = d.refuseEvent(dev, e)
	}
	if err != nil {
		return err
	}
	if ctx.Done() == nil {
		err = api.EventSynchronize(dev, driver.Event(e))
	} else {
		err = poll(ctx, func() (bool, error) { return api.EventQuery(dev, driver.Event(e)) })
	}
	return d.failed(dev, err)
}

// Elapsed returns the time between two recorded events made with timing.
func (d *Driver) Elapsed(dev int, start, end device.EventID) (time.Duration, error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, err
	}
	if err := errors.Join(d.refuseEvent(dev, start), d.refuseEvent(dev, end)); err != nil {
		return 0, err
	}
	took, err := api.EventElapsed(dev, driver.Event(start), driver.Event(end))
	return took, d.failed(dev, err)
}
