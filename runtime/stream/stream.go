// Package stream provides streams of work and events on devices of any kind: the
// calling goroutine's current stream, streams from pools, waiting, timing. It
// knows nothing of tensors or memory, and of devices only their drivers.
//
//	s := stream.New(device.Best(), 0)
//	if err := s.WaitStream(stream.Current(s.Device())); err != nil { // x was made there
//		return err
//	}
//	if err := s.Do(func() error { y = x.Exp(); return y.Err() }); err != nil {
//		return err
//	}
//	if err := s.Synchronize(ctx); err != nil {
//		return err
//	}
//
// Nothing here holds a lock while it waits, and waits on the host end with their
// context.
package stream

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
)

// A Stream is a linear sequence of work that belongs to one device. Streams
// are comparable values: two are equal when device and handle are. The zero
// Stream is the host's, whose work is done when the call that gives it returns.
//
// A Stream that could not be made carries the reason: Err and every method that
// returns an error return it.
type Stream struct {
	dev device.Device
	id  device.StreamID
	bad *failure
}

// A failure is why there is no stream.
type failure struct{ err error }

// Failed returns a stream of d that carries err.
func Failed(d device.Device, err error) Stream {
	return Stream{dev: d, bad: &failure{fmt.Errorf("stream on %s: %w", d, err)}}
}

// Default returns a device's default stream, which exists without being made.
func Default(d device.Device) Stream {
	d, _, err := device.Find(d)
	if err != nil {
		return Failed(d, err)
	}
	return Stream{dev: d}
}

// External returns a stream that other code made on a device by its handle, which
// stays the other code's to destroy.
func External(d device.Device, handle device.StreamID) Stream {
	d, _, err := device.Find(d)
	if err != nil {
		return Failed(d, err)
	}
	return Stream{dev: d, id: handle}
}

// Err returns why the stream could not be made, or nil.
func (s Stream) Err() error {
	if s.bad != nil {
		return s.bad.err
	}
	return nil
}

// Device returns the device whose work the stream orders.
func (s Stream) Device() device.Device { return s.dev }

// ID returns the driver's handle; 0 for a default stream.
func (s Stream) ID() device.StreamID { return s.id }

// String returns "stream 0 of cuda:1".
func (s Stream) String() string {
	if s.bad != nil {
		return "no stream: " + s.bad.err.Error()
	}
	return fmt.Sprintf("stream %#x of %s", uint64(s.id), s.dev)
}

// driver returns the driver of the stream's device.
func (s Stream) driver() (device.Driver, error) {
	if s.bad != nil {
		return nil, s.bad.err
	}
	_, drv, err := device.Find(s.dev)
	return drv, err
}

// Query reports whether all work given to the stream is done, not whether it is right: a Doubt is for those who wait.
func (s Stream) Query() (bool, error) {
	drv, err := s.driver()
	if err != nil {
		return false, err
	}
	done, err := drv.StreamIdle(s.dev.Index, s.id)
	if err != nil {
		return false, fmt.Errorf("query %s: %w", s, err)
	}
	return done, nil
}

// Synchronize waits on the host for all work given to the stream so far, and
// returns what went wrong with it: that the device is lost (device.ErrLost), what
// the kernels of this stream, and no other, found wrong with their operands' values
// since somebody last waited for it, or why there is a Doubt. The work goes on when ctx ends the wait.
func (s Stream) Synchronize(ctx context.Context) error {
	drv, err := s.driver()
	if err != nil {
		return err
	}
	return Settle(ctx, drv, s.dev, s.id)
}

// WaitEvent makes work given to the stream from now on wait for what e marks now. It
// returns at once; an event that was never recorded is not waited for. The event
// may be of another device of the same kind.
func (s Stream) WaitEvent(e *Event) error {
	drv, err := s.driver()
	if err != nil {
		return err
	}
	return e.delay(drv, s)
}

// WaitStream makes work given to the stream from now on wait for all work given
// to other so far. It returns at once, unless one of the two is the host's,
// whose work is not queued: the host waits for other, and nobody for the host.
func (s Stream) WaitStream(other Stream) error {
	if err := s.Err(); err != nil {
		return err
	}
	if err := other.Err(); err != nil {
		return err
	}
	switch {
	case s == other || !other.dev.Accelerator():
		return nil
	case !s.dev.Accelerator():
		return other.Synchronize(context.Background())
	case s.dev.Kind != other.dev.Kind:
		return fmt.Errorf("%w: %s cannot wait for %s", device.ErrMismatch, s, other)
	}
	drv, err := s.driver()
	if err != nil {
		return err
	}
	h, err := obtain(drv, other.dev, false)
	if err != nil {
		return err
	}
	defer giveBack(h)
	if err := drv.RecordEvent(other.dev.Index, h.id, other.id); err != nil {
		return err
	}
	if err := drv.WaitEvent(s.dev.Index, s.id, other.dev.Index, h.id); err != nil {
		return err
	}
	inherit(line{drv, s.dev, s.id}, line{drv, other.dev, other.id}, latest)
	return nil
}

// RecordEvent makes e mark the end of the work given to the stream so far, and returns
// e, a new event if e is nil.
func (s Stream) RecordEvent(e *Event) (*Event, error) {
	if e == nil {
		e = NewEvent()
	}
	return e, e.Record(s)
}

// Synchronize waits on the host for all work given to a device's streams so far,
// and returns what went wrong with it, on whatever stream.
func Synchronize(ctx context.Context, d device.Device) error {
	if ctx == nil {
		ctx = context.Background()
	}
	d, drv, err := device.Find(d)
	if err != nil {
		return err
	}
	doubts := doubtsOf(func(l line) bool { return l.drv == drv && l.dev == d })
	quiet := waitsOf(d)
	quiet.RLock()
	err = drv.SyncDevice(ctx, d.Index)
	quiet.RUnlock()
	if err != nil {
		return fmt.Errorf("synchronize %s: %w", d, err)
	}
	if r, ok := drv.(device.Reporter); ok {
		err = r.DeviceFault(d.Index)
	}
	return settled(doubts, all, err)
}
