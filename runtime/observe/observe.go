// Package observe shows an observer the work that the program gives to its devices:
// kernels, copies, zeroing and graphs, as it is given. It costs one atomic load where
// nobody observes. It knows nothing of what observers make of it.
package observe

import (
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Work is something that is given to a stream of a device.
type Work struct {
	Driver device.Driver
	Device device.Device
	Stream device.StreamID
	Call   *ir.Call // of a kernel, valid while it is given; nil for other work
	What   string   // of work that is no kernel: "copy to host", "graph"
	Line   string   // of the program, of work that was recorded there; "" for that of the caller
	Bytes  int64    // that work which is no kernel moves; 0 where that is not known
}

// An Observer is told of all work from all goroutines.
type Observer interface {
	// Give calls give once, which gives w to its stream, and returns its error.
	Give(w Work, give func() error) error
}

// ErrObserved is returned while there is another observer.
const ErrObserved ir.Error = "another observer has not ended"

var now atomic.Pointer[Observer]

// Now returns the observer, or nil.
func Now() Observer {
	if o := now.Load(); o != nil {
		return *o
	}
	return nil
}

// Start makes o the observer until end is called. There is one at a time.
func Start(o Observer) (end func(), err error) {
	if !now.CompareAndSwap(nil, &o) {
		return nil, ErrObserved
	}
	return func() { now.CompareAndSwap(&o, nil) }, nil
}

// Give gives w to its stream by give, before the eyes of the observer if there is one.
// Callers on hot paths ask Now first, so that they make no closure for nothing.
func Give(w Work, give func() error) error {
	if o := Now(); o != nil {
		return o.Give(w, give)
	}
	return give()
}
