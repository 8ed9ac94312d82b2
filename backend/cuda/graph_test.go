package cuda_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
)

func TestGraphs(t *testing.T) {
	d := install(2)
	pool := cuda.GraphPoolHandle(cuda.Device(1))
	g := cuda.NewGraph(cuda.Device(1))
	m, err := d.Alloc(1, 8)
	must(t, err)
	must(t, g.Capture(func() error {
		if !cuda.IsCurrentStreamCapturing() || cuda.IsCurrentStreamCapturing(cuda.Device(0)) {
			t.Error("the captured stream is not the current one of its device alone")
		}
		return d.Zero(1, cuda.CurrentStream().ID(), m, 8)
	}, cuda.CapturePool(pool)))
	if g.Device() != cuda.Device(1) || g.Pool() != pool || cuda.IsCurrentStreamCapturing(cuda.Device(1)) {
		t.Errorf("a graph of %s", g.Device())
	}
	must(t, g.Replay())
	must(t, cuda.Synchronize(ctx, cuda.Device(1)))
	must(t, errors.Join(g.Reset(), pool.Release()))
	if err := cuda.NewGraph(device.CPU).Replay(); err == nil || !strings.Contains(err.Error(), "Expected a cuda device, but got: cpu") {
		t.Errorf("a graph of the host: %v", err)
	}
	nothing := func() error { return nil }
	if err := cuda.NewGraph(cuda.Device(7)).Capture(nothing); !errors.Is(err, device.ErrUnavailable) {
		t.Errorf("a graph of no device: %v", err)
	}
	err = g.Capture(nothing, cuda.CaptureStream(cuda.DefaultStream(cuda.Device(1))))
	if !errors.Is(err, graph.ErrDefaultStream) {
		t.Errorf("capture on the default stream: %v", err)
	}
	if err := g.Capture(nothing, cuda.CapturePool(pool)); !errors.Is(err, memory.ErrPoolReleased) {
		t.Errorf("a pool that was released: %v", err)
	}
	if cuda.IsCurrentStreamCapturing(cuda.Device(7)) {
		t.Error("a stream of no device is captured")
	}
}
