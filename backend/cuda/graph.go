package cuda

import (
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A Graph is recorded work of a device, [graph.Graph]. Its methods:
//
//   - Capture(f func() error, opts ...Option) error records what f gives to the device
//     and does not do it. Options: CaptureStream, CapturePool.
//   - Replay() error gives the recorded work to the current stream, and does not wait.
//   - Reset() error frees the recorded work; then the graph can be captured again.
//   - Pool() *MemPool returns where its memory is, for CapturePool of another graph.
//   - Nodes() int counts the copies, clearings and kernels that were recorded.
//   - Device() returns the device.
type Graph = graph.Graph

// CaptureStream sets the stream that a capture records on. Without it that is the current
// stream or, where this is the default stream, one that all captures share. It is an option
// of Graph.Capture.
func CaptureStream(s Stream) Option { return graph.CaptureStream(s) }

// CapturePool makes graphs share memory: p is GraphPoolHandle, or the Pool of another graph.
// Such graphs are replayed in the order of their captures, one at a time. It is an option of
// Graph.Capture.
func CapturePool(p *MemPool) Option { return graph.CapturePool(p) }

// NewGraph returns an empty CUDA graph of a device. Its Capture records what a
// function gives the device, Replay does it again in one call of the driver. A
// graph that could not be made carries the reason, which its methods return.
func NewGraph(d ...device.Device) *Graph {
	on, _, err := find(d)
	if err != nil {
		return graph.Failed(on, err)
	}
	return graph.New(on)
}

// GraphPoolHandle returns a pool for graphs to share, see CapturePool. The caller
// holds it until its Release.
func GraphPoolHandle(d ...device.Device) *MemPool {
	on, _, _ := find(d) // the capture says what is wrong with the device
	return memory.NewPool(on, memory.PoolOptions{})
}

// IsCurrentStreamCapturing reports whether what the calling goroutine's current
// stream of a device is given is recorded and not done; false where there is no
// device.
func IsCurrentStreamCapturing(d ...device.Device) bool {
	on, _, err := find(d)
	if err != nil {
		return false
	}
	capturing, err := stream.Current(on).Capturing()
	return err == nil && capturing
}
