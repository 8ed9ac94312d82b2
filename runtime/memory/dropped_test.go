package memory

import (
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// heldUp is a driver of two devices, which lets nobody record an event of the second, or ask for one, before
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

func (h *heldUp) EventDone(dev int, e device.EventID) (bool, error) {
	if dev == 1 {
		<-h.let
	}
	return h.fake.EventDone(dev, e)
}

func (h *heldUp) AllocHost(bytes int64) (device.Memory, error) {
	return device.Memory{Host: unsafe.Pointer(unsafe.SliceData(make([]byte, bytes))), Bytes: bytes}, nil
}

// TestPinnedElsewhere allocates page-locked memory for a device, with some that is free and with none, while nobody
// can ask whether copies of another device are done, and while somebody who does waits. What they used is lent again
// in the end.
func TestPinnedElsewhere(t *testing.T) {
	drv := &heldUp{newFake(64 * mib), make(chan struct{})}
	start(t, drv)
	pin := func(dev device.Device, bytes int64) Block {
		t.Helper()
		b, err := AllocPinnedFor(dev, drv, bytes)
		if err != nil {
			t.Fatal(err)
		}
		return b
	}
	own, other := pin(cuda0, 1000), pin(device.CUDA(1), 3000)
	other.RecordUse(device.CUDA(1), 3)
	free(t, own)
	close(drv.let)
	free(t, other)
	drv.let = make(chan struct{})
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		b, err := AllocPinnedFor(device.CUDA(1), drv, 5000)
		if err == nil {
			err = b.Free()
		}
		if err != nil {
			t.Error(err)
		}
	}()
	cache := pinnedOf(drv)
	patience.Until(t, func() bool {
		cache.mu.Lock()
		defer cache.mu.Unlock()
		return cache.uses[1].asking
	})
	free(t, pin(cuda0, 1000), pin(cuda0, 3000), pin(cuda0, 20000)) // hangs, if that waits for the other device
	close(drv.let)
	<-asked
	if b := pin(device.CUDA(1), 3000); b.Host != other.Host {
		t.Error("what a copy used that is done is not lent again")
	}
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

// TestCaptureBesideFree begins captures while somebody is about to record an event behind what uses a freed block: it
// is recorded before, so that it is none of the graph's. That of another device is not waited for.
func TestCaptureBesideFree(t *testing.T) {
	other := device.CUDA(1)
	for name, alloc := range map[string]func(drv device.Driver) (Block, error){
		"of the device": func(drv device.Driver) (Block, error) { return Alloc(other, drv, 0, 1000) },
		"page-locked":   func(drv device.Driver) (Block, error) { return AllocPinnedFor(other, drv, 1000) },
	} {
		t.Run(name, func(t *testing.T) {
			drv := &heldUp{newFake(64 * mib), make(chan struct{})}
			start(t, drv)
			b, err := alloc(drv)
			if err != nil {
				t.Fatal(err)
			}
			if b.RecordUse(other, 3); b.Host == nil {
				b.RecordStream(3)
			}
			freed, begun := make(chan error, 1), make(chan struct{})
			go func() { freed <- b.Free() }()
			a, p := allocatorOf(other, drv), pinnedOf(drv)
			patience.Until(t, func() bool {
				a.mu.Lock()
				defer a.mu.Unlock()
				p.mu.Lock()
				defer p.mu.Unlock()
				return a.recording.n+p.usesOf(1).recording.n > 0
			})
			CaptureBegun(cuda0)
			CaptureEnded(cuda0)
			go func() {
				CaptureBegun(other)
				close(begun)
			}()
			select {
			case <-begun:
				t.Error("the capture began before the event was recorded")
			case <-time.After(5 * time.Millisecond): // for one that does not wait to show
			}
			close(drv.let)
			<-begun
			if err := <-freed; err != nil {
				t.Error(err)
			}
			CaptureEnded(other)
		})
	}
}
