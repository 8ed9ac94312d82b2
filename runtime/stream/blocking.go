package stream

import (
	"context"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// blocking says that what gives a stream work waits for it.
var blocking atomic.Bool

// SetBlocking has what gives devices work wait for it. It only says so: those
// that give the work ask, and call Settle.
func SetBlocking(on bool) { blocking.Store(on) }

// Blocking reports whether what gives a device work is to wait for it.
func Blocking() bool { return blocking.Load() }

// SettleIfBlocking is Settle where Blocking says so.
func SettleIfBlocking(drv device.Driver, d device.Device, id device.StreamID) error {
	if !blocking.Load() || !d.Accelerator() {
		return nil
	}
	return Settle(context.Background(), drv, d, id)
}
