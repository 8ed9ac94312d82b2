package core

import (
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
)

// recordable returns why a copy between host memory and stream q of dev cannot be
// recorded, where the stream is captured. A copy that can be has the recording
// hold the host memory, which each replay reads or writes.
func recordable(drv device.Driver, dev device.Device, q device.StreamID, host *Storage, nonBlocking bool) error {
	c := graph.Of(drv, dev.Index, q)
	switch {
	case c == nil:
		return nil
	case host.pin != dev.Kind:
		return c.Refuse(fmt.Errorf("%w: Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned (PinMemory)", device.ErrCapturing))
	case !nonBlocking:
		return c.Refuse(fmt.Errorf("%w: a copy between the host and %s cannot be waited for while a graph is captured; make it NonBlocking", device.ErrCapturing, dev))
	}
	host.ref()
	c.Keep(func() { _ = host.unref() }) // a driver that cannot free reports it with the next allocation
	return nil
}
