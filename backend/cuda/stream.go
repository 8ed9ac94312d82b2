package cuda

import (
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// The types of package stream.
type (
	Stream = stream.Stream
	Event  = stream.Event
)

// StreamOptions say what stream to make.
type StreamOptions struct {
	Device   device.Device // the zero value: the current CUDA device
	Priority int           // lower numbers are higher; the nearest in PriorityRange counts
}

// NewStream returns a stream from the device's pool of 32 a priority, in turn
// (P13). A stream that could not be made carries the reason, which its methods
// return.
func NewStream(o ...StreamOptions) Stream {
	var given StreamOptions
	if len(o) > 0 {
		given = o[0]
	}
	if given.Device == (device.Device{}) {
		given.Device = device.CUDA()
	}
	if _, _, err := find([]device.Device{given.Device}); err != nil {
		return stream.Failed(given.Device, err)
	}
	return stream.New(given.Device, given.Priority)
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
// it stays the other code's to destroy (P16).
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
