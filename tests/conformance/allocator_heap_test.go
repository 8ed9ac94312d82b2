package conformance_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/figures"
)

// A heap is an allocator that has nothing yet, of the first device under test, with
// what a test does to it.
type heap struct {
	t   testing.TB
	dev device.Device
	drv *gated
	// spare streams, made two at a time: none is held while another is made
	spare []device.StreamID
}

// settingsGiven says that the settings are those of an earlier heap of the same test.
var settingsGiven bool

// newHeap returns a heap with the given settings. On the simulated accelerator the
// device has so many bytes, 0 for the usual number. When the test ends, all that
// was taken goes back, and it is an error if anything is left.
func newHeap(t testing.TB, settings string, bytes ...int64) *heap {
	t.Helper()
	if settings != "" || settingsGiven { // those of the environment stay until then
		must(t, memory.Configure(settings))
		settingsGiven = true
		t.Cleanup(func() {
			must(t, memory.Configure(""))
			settingsGiven = false
		})
	}
	h := &heap{t: t, dev: one(t)}
	if kind == device.KindSim {
		c := sim.Config{Devices: 1, Async: true}
		if len(bytes) > 0 {
			c.Memory = bytes[0]
		}
		h.drv = gateDriver(t, fresh(t, c))
	} else {
		inner, err := device.DriverOf(kind)
		must(t, err)
		h.drv = gateDriver(t, inner)
	}
	t.Cleanup(func() {
		h.drv.open()
		must(t, memory.EmptyCache(h.dev))
		if left := memory.Reserved(h.dev); left != 0 {
			t.Errorf("%d bytes are left when the test ends", left)
		}
	})
	return h
}

// limit lets the allocator have so many bytes of the device.
func (h *heap) limit(bytes int64) {
	h.t.Helper()
	p, err := h.drv.Properties(0)
	must(h.t, err)
	must(h.t, memory.SetMemoryFraction(h.dev, (float64(bytes)+0.5)/float64(p.TotalMemory)))
	h.t.Cleanup(func() { must(h.t, memory.SetMemoryFraction(h.dev, 1)) })
}

// try allocates on a stream. The block is freed when the test ends, if not before.
func (h *heap) try(s device.StreamID, bytes int64) (memory.Block, error) {
	b, err := memory.Alloc(h.dev, h.drv, s, bytes)
	if err == nil {
		h.t.Cleanup(func() {
			if err := b.Free(); err != nil && !errors.Is(err, memory.ErrFreed) {
				h.t.Error(err)
			}
		})
	}
	return b, err
}

// take is try on the default stream, which must succeed.
func (h *heap) take(bytes int64) memory.Block {
	h.t.Helper()
	return h.takeOn(0, bytes)
}

func (h *heap) takeOn(s device.StreamID, bytes int64) memory.Block {
	h.t.Helper()
	b, err := h.try(s, bytes)
	must(h.t, err)
	return b
}

func (h *heap) free(blocks ...memory.Block) {
	h.t.Helper()
	for _, b := range blocks {
		must(h.t, b.Free())
	}
}

func (h *heap) empty() {
	h.t.Helper()
	must(h.t, memory.EmptyCache(h.dev))
}

func (h *heap) stats() figures.Stats { return memory.StatsOf(h.dev) }

// The figures that most tests are about.
type heapFigures struct{ Allocated, Requested, Active, Reserved, Split, SplitBytes int64 }

func (h *heap) figures() heapFigures {
	s := h.stats()
	return heapFigures{
		s.AllocatedBytes.All.Current, s.RequestedBytes.All.Current, s.ActiveBytes.All.Current, s.ReservedBytes.All.Current,
		s.InactiveSplit.All.Current, s.InactiveSplitBytes.All.Current,
	}
}

// want compares the figures.
func (h *heap) want(what string, f heapFigures) {
	h.t.Helper()
	equal(h.t, what, h.figures(), f)
}

// wantCalls compares the calls of the driver since the last time.
func (h *heap) wantCalls(what string, calls ...string) {
	h.t.Helper()
	if diff := cmp.Diff(calls, h.drv.calls()); diff != "" {
		h.t.Errorf("%s: calls of the driver (-want +got):\n%s", what, diff)
	}
}

// holdStream keeps a new stream of the heap from going on.
func (h *heap) holdStream() device.StreamID {
	h.t.Helper()
	if len(h.spare) == 0 {
		h.spare = []device.StreamID{h.drv.stream(h.t), h.drv.stream(h.t)}
	}
	s := h.spare[0]
	h.spare = h.spare[1:]
	must(h.t, h.drv.gates[s].hold())
	return s
}

// finish waits for the device, whose streams are let go.
func (h *heap) finish() {
	h.t.Helper()
	h.drv.open()
	must(h.t, h.drv.Driver.SyncDevice(context.Background(), 0))
}
