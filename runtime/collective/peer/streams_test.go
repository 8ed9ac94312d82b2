package peer

import (
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestCloseBesideWaits has ranks give their lanes back while somebody waits for the streams of one, which are at work:
// none of them waits, and the streams are there until nobody waits for them.
func TestCloseBesideWaits(t *testing.T) {
	drv := sim.New(sim.Config{Devices: 2, Async: true})
	device.Install(drv)
	h := newHub(2, patience.Left(t))
	for rank := range h.ends {
		c := &Communicator{hub: h, rank: rank, size: 2, device: device.Sim(rank), driver: drv, set: Settings{Piece: 512}}
		h.ends[rank] = c
		if err := c.lane.ready(c, 0, true); err != nil {
			t.Fatal(err)
		}
	}
	release, err := drv.Hold(1, h.ends[1].lane.back)
	if err != nil {
		t.Fatal(err)
	}
	idle := make(chan bool, 1)
	go func() { idle <- h.idle() }()
	waiting := func() bool {
		h.lanes.Lock()
		defer h.lanes.Unlock()
		return h.ends[1].shown.waits > 0
	}
	if !patience.Until(t, waiting) {
		t.Fatal("nobody waits")
	}
	for rank, want := range []int64{0, 2} {
		if err := h.ends[rank].lane.free(h.ends[rank]); err != nil {
			t.Error(err)
		}
		if n := int64(drv.Counters(rank).LiveStreams); n != want {
			t.Errorf("%d streams of rank %d once it is closed, want %d", n, rank, want)
		}
	}
	if len(idle) > 0 {
		t.Error("the streams are idle")
	}
	release()
	if !<-idle {
		t.Error("they are not")
	}
	if n := drv.Counters(1).LiveStreams; n != 0 {
		t.Errorf("%d streams of rank 1 are left", n)
	}
}
