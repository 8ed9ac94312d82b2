package cuda

import (
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A Stream is a queue of work on a device, [stream.Stream]: a value that can be compared.
// Its methods:
//
//   - Do(f func() error) error makes it the current stream while f runs.
//   - WaitStream(other Stream) error lets its later work wait for the earlier work of another.
//   - WaitEvent(e *Event) error lets its later work wait for an event.
//   - RecordEvent(e *Event) (*Event, error) puts an event, or with nil a new one, behind its
//     work.
//   - Synchronize(ctx) error waits for its work; Query() (bool, error) asks whether it is
//     done.
//   - Capturing() (bool, error) reports whether a graph records it.
//   - Device(), Priority() and ID(), its CUstream, say what it is; String() prints that.
//   - Err() error says why it could not be made. All methods that return an error return
//     this one, too.
type Stream = stream.Stream

// An Event is a point in a stream that can be waited for, [stream.Event]. Its methods:
//
//   - Record(s Stream) error puts it behind the work of a stream.
//   - Synchronize(ctx) error waits for that work; Query() (bool, error) asks whether it is
//     done.
//   - Await(ctx) error does, too, and leaves what went wrong with the work to who waits for the stream.
//   - Elapsed(end *Event) (time.Duration, error) is the time between two timing events.
//   - Device() (device.Device, bool) returns its device, once it was recorded.
type Event = stream.Event

// NewStream returns a stream from the device's pool of 32 a priority, in turn. A stream
// that could not be made carries the reason, which its methods return. Options:
// tensor.On (the current CUDA device), Priority (0).
func NewStream(opts ...Option) Stream {
	o := option.Read(opts)
	d, priority := option.Get(&o, "On", device.CUDA()), o.Int("Priority", 0)
	if err := o.Err("On, Priority"); err != nil {
		return stream.Failed(d, fmt.Errorf("stream: %w", err))
	}
	if _, _, err := find([]device.Device{d}); err != nil {
		return stream.Failed(d, err)
	}
	return stream.New(d, priority)
}

// CurrentStream returns the calling goroutine's current stream of a device.
func CurrentStream(d ...device.Device) Stream {
	on, _, err := find(d)
	if err != nil {
		return stream.Failed(on, err)
	}
	return stream.Current(on)
}

// DefaultStream returns a device's default stream, whose handle is 0.
func DefaultStream(d ...device.Device) Stream {
	on, _, err := find(d)
	if err != nil {
		return stream.Failed(on, err)
	}
	return stream.Default(on)
}

// ExternalStream returns a stream that other code made, by its CUstream handle;
// it stays the other code's to destroy.
func ExternalStream(handle uintptr, d ...device.Device) Stream {
	on, _, err := find(d)
	if err != nil {
		return stream.Failed(on, err)
	}
	return stream.External(on, device.StreamID(handle))
}

// PriorityRange returns the lowest and the highest priority of a device's
// streams; lower numbers are higher.
func PriorityRange(d ...device.Device) (lowest, highest int, err error) {
	on, drv, err := find(d)
	if err != nil {
		return 0, 0, err
	}
	lowest, highest = drv.PriorityRange(on.Index)
	return lowest, highest, nil
}

// NewEvent returns an event for ordering work. It gets its device when it is
// first recorded.
func NewEvent() *Event { return stream.NewEvent() }

// NewTimingEvent returns an event whose time can be asked for.
func NewTimingEvent() *Event { return stream.NewTimingEvent() }
