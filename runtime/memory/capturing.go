package memory

import "github.com/sinter-go/sinter/runtime/device"

// Capturing reports whether a capture is under way on d. Whoever would wait for the
// device, or give memory back to the driver, leaves it until there is none.
func Capturing(d device.Device) bool {
	a := captured(d)
	if a == nil {
		return false
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.capturing > 0
}
