package stream

import (
	"context"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/device"
)

// tied are the devices whose work may wait for what this process gives to other devices, by how many say so.
var tied struct {
	any atomic.Int64 // how many say so of any device

	mu sync.RWMutex // guards what follows
	by map[device.Device]int
}

// Tie notes that work of d may wait for what other goroutines of this process are still to give to other devices, as
// ranks of a group do, until what it returns is called. A driver that waits for the device itself, as in a copy
// from memory that is not page-locked, may hold up those goroutines meanwhile.
func Tie(d device.Device) (untie func()) {
	tie := func(n int) {
		tied.mu.Lock()
		defer tied.mu.Unlock()
		if tied.by == nil {
			tied.by = map[device.Device]int{}
		}
		if tied.by[d] += n; tied.by[d] == 0 {
			delete(tied.by, d)
		}
		tied.any.Add(int64(n))
	}
	tie(1)
	return sync.OnceFunc(func() { tie(-1) })
}

// SettleTied is Settle of a device that Tie was called of, and nothing of others: whoever is to have the driver wait
// for the device calls it before.
func SettleTied(ctx context.Context, drv device.Driver, d device.Device, id device.StreamID) error {
	if tied.any.Load() == 0 {
		return nil
	}
	tied.mu.RLock()
	n := tied.by[d]
	tied.mu.RUnlock()
	if n == 0 {
		return nil
	}
	return Settle(ctx, drv, d, id)
}
