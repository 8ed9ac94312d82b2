package memory

import (
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// underWay counts the captures of all devices.
var underWay atomic.Int64

// Capturing reports whether a capture is under way on d. Whoever would wait for the
// device, or give memory back to the driver, leaves it until there is none. It costs
// an atomic load while nothing of the process is captured.
func Capturing(d device.Device) bool {
	if underWay.Load() == 0 {
		return false
	}
	a := captured(d)
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.capturing > 0
}
