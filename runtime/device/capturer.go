package device

import (
	"github.com/sinter-go/sinter/ir"
)

// ErrCapturing is wrapped when something cannot be done because a stream is being
// captured: what is recorded is not done, so nobody can wait for it or read it.
const ErrCapturing ir.Error = "not possible while a stream is captured"

// ErrOtherKernels is wrapped when recorded work cannot be given what has changed of a call:
// it would be other kernels.
const ErrOtherKernels ir.Error = "the recorded call cannot be changed: its kernels depend on more of it than their parameters"

// A CaptureID names a capture, unique among those of its driver; 0 is none.
type CaptureID uint64

// A Capturer is a Driver that can record the work given to streams, to do it again
// later as one piece.
//
// While a stream is captured, copies, clearings, launches and events given to it
// are recorded and not done. A stream that is made to wait for an event of a
// captured one joins the capture, and must be waited for by the stream it began on
// before the end. What can be known only of work that is done is refused
// with an error that wraps ErrCapturing: StreamIdle, SyncStream, EventDone,
// SyncEvent and Elapsed of what is captured, and SyncDevice of a device of which
// any stream is. A refused call makes the capture fail: EndCapture returns its
// error. So does a stream of a capture waiting for an event from outside of it.
type Capturer interface {
	// BeginCapture makes s, which is not the default stream and is not captured,
	// record what it is given from now on.
	BeginCapture(dev int, s StreamID, o CaptureOptions) (CaptureID, error)
	// CaptureOf returns the capture that s takes part in, 0 for none. It costs an
	// atomic load while no stream of the process is captured.
	CaptureOf(dev int, s StreamID) CaptureID
	// EndCapture ends the capture that began on s, also one that failed.
	EndCapture(dev int, s StreamID) (Recording, error)
}

// CaptureOptions adjust a capture.
type CaptureOptions struct {
	// Refresh, where it is given, is asked for every call that is captured. It
	// returns nil where the call is to stay as it is; otherwise a function that is
	// called before each launch of the recording with a copy of the call, sets
	// attributes and the addresses of views, and reports whether they changed since
	// the last time. Nothing else of the call may be changed. Where other kernels
	// would be needed, the launch fails with an error that wraps ErrOtherKernels,
	// before anything is done; the recording is of no use then.
	Refresh func(c *ir.Call) func(c *ir.Call) (changed bool, err error)
}

// A Recording is captured work, made ready. It is for one goroutine at a time. Its
// memory addresses are those of the capture: whoever launches it sees that they
// are valid.
type Recording interface {
	// Nodes returns how many copies, clearings and launches there are.
	Nodes() int
	// Launch gives the work to a stream of the device, in one call of the driver
	// where no calls changed. Launches do not overlap, whatever their streams.
	Launch(s StreamID) error
	// Handle returns the driver's own name of the work; 0 where it has none.
	Handle() uintptr
	// Destroy gives the recording back. Launches that are under way are finished.
	Destroy() error
}
