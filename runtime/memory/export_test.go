package memory

import "github.com/sinter-go/sinter/runtime/device"

// Collecting reports whether a collection is under way that the bytes held on a device began.
func Collecting(d device.Device) bool {
	a := existing(d)
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.collecting
}
