package cuda

import (
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// The types of package graph.
type (
	Graph        = graph.Graph
	GraphOptions = graph.Options
)

// NewGraph returns an empty CUDA graph of a device. Its Capture records what a
// function gives the device, Replay does it again in one call of the driver (P79). A
// graph that could not be made carries the reason, which its methods return.
func NewGraph(d ...device.Device) *Graph {
	on, _, err := find(d)
	if err != nil {
		return graph.Failed(on, err)
	}
	return graph.New(on)
}

// GraphPoolHandle returns a pool for graphs to share, GraphOptions.Pool (P87). The
// caller holds it until its Release.
func GraphPoolHandle(d ...device.Device) *memory.Pool {
	on, _, _ := find(d) // the capture says what is wrong with the device
	return memory.NewPool(on, memory.PoolOptions{})
}

// IsCurrentStreamCapturing reports whether what the calling goroutine's current
// stream of a device is given is recorded and not done (P83); false where there is no
// device.
func IsCurrentStreamCapturing(d ...device.Device) bool {
	on, _, err := find(d)
	if err != nil {
		return false
	}
	capturing, err := stream.Current(on).Capturing()
	return err == nil && capturing
}
