package device

import "time"

// A Tracer is a Driver that can say when each kernel ran on its devices.
type Tracer interface {
	// Trace begins to note what devices do. There is one trace at a time. The error says what
	// is missing; without it the caller can still measure by events.
	Trace() (Trace, error)
}

// A Trace notes what the devices of a driver do until it is closed. Any goroutine may use it.
type Trace interface {
	// Given calls give once and returns its error. What give gives to devices counts as work of
	// that number, which is not 0.
	Given(work uint64, give func() error) error
	// Ran tells each of what devices have done and nobody was told of, from one goroutine at a
	// time. With all set that is everything that ended before the call.
	Ran(all bool, each func(Run)) error
	// Close ends the trace. What nobody was told of is lost.
	Close() error
}

// A Run is a kernel, a copy or a clearing that a device has done.
type Run struct {
	Work         uint64 // the number that it was given under; 0 where there is none
	Device       int    // index
	Stream       uint64 // the device's number of the stream, which is no StreamID
	Name         string // of a kernel, as its compiler has it; "copy" or "clear"
	Bytes        int64  // of a copy or a clearing
	Began, Ended time.Time
}
