package memory

import (
	"testing"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// heldUp is a driver of two devices, which lets nobody record an event of the second before
// it is told to: as a real one while a copy to memory of the host waits for the device.
type heldUp struct {
	*fake
	let chan struct{}
}

func (h *heldUp) DeviceCount() (int, error) { return 2, nil }

func (h *heldUp) RecordEvent(dev int, e device.EventID, s device.StreamID) error {
	if dev == 1 {
		<-h.let
	}
	return h.fake.RecordEvent(dev, e, s)
}

// TestDroppedElsewhere allocates on a device while memory of another one, which was dropped
// and which another stream used, cannot be given back.
func TestDroppedElsewhere(t *testing.T) {
	drv := &heldUp{newFake(64 * mib), make(chan struct{})}
	start(t, drv)
	other := device.CUDA(1)
	b, err := Alloc(other, drv, 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	b.RecordStream(3)
	Drop(b)
	own := take(t, drv, 0, 1000) // hangs, if that waits for the other device
	close(drv.let)
	for StatsOf(other).AllocatedBytes.All.Current != 0 {
		time.Sleep(time.Millisecond)
	}
	free(t, own)
}
