package sim

import (
	"context"
	"testing"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestBacklog gives a stream more than it takes: the call waits for room, and with it calls of other devices that
// name one of this one's events or its memory. Calls beside it do not.
func TestBacklog(t *testing.T) {
	r := rig{New(Config{Devices: 2, Async: true, Backlog: 3}), t}
	events, at := [2]device.EventID{r.event(0), r.event(1)}, [2]uint64{r.alloc(0, 8), r.alloc(1, 8)}
	full, other := r.stream(0), r.stream(1)
	check(t, r.RecordEvent(0, events[0], full))
	check(t, r.SyncStream(context.Background(), 0, full))
	release, err := r.Hold(0, full)
	check(t, err)
	for range 2 {
		check(t, r.RecordEvent(0, events[0], full))
	}
	calls := map[string]func() error{
		"more":                     func() error { return r.RecordEvent(0, events[0], full) },
		"a wait of another device": func() error { return r.WaitEvent(1, other, 0, events[0]) },
		"a copy of another device": func() error { return r.CopyPeer(1, other, 0, at[0], at[1], 8) },
	}
	ended := make(chan error, len(calls))
	go func() { ended <- calls["more"]() }()
	patience.Until(t, func() bool {
		if r.devices[0].giving.TryLock() {
			r.devices[0].giving.Unlock()
			return false
		}
		return true
	})
	for name, call := range calls {
		if name != "more" {
			go func() { ended <- call() }()
		}
	}
	check(t, r.RecordEvent(1, events[1], other))
	check(t, r.SyncEvent(context.Background(), 1, events[1]))
	time.Sleep(5 * time.Millisecond) // for a call that does not wait to show
	if n := len(ended); n != 0 {
		t.Errorf("%d calls have ended", n)
	}
	release()
	for range calls {
		check(t, <-ended)
	}
}
