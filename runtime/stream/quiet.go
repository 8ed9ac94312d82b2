package stream

import (
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
)

// waits has a lock for each device that is held for reading by those who wait for all of
// it.
var waits struct {
	mu  sync.Mutex
	all map[device.Device]*sync.RWMutex
}

func waitsOf(d device.Device) *sync.RWMutex {
	waits.mu.Lock()
	defer waits.mu.Unlock()
	m := waits.all[d]
	if m == nil {
		if waits.all == nil {
			waits.all = map[device.Device]*sync.RWMutex{}
		}
		m = new(sync.RWMutex)
		waits.all[d] = m
	}
	return m
}

// Quietly calls f while nobody waits for all of a device, and returns whether it did, and
// f's error: it does not where somebody waits now. Those who begin to meanwhile do when f has
// returned. It is for captures that the program did not ask for, during which a device cannot
// be waited for. F must not wait for the device.
func Quietly(d device.Device, f func() error) (done bool, err error) {
	m := waitsOf(d)
	if f == nil || !m.TryLock() {
		return false, nil
	}
	defer m.Unlock()
	return true, f()
}
