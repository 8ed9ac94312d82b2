package memory_test

import (
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// configured sets the allocators' settings for a test.
func (r rig) configured(t *testing.T, text string) {
	t.Helper()
	r.must(memory.Configure(text))
	t.Cleanup(func() { r.must(memory.Configure("")) })
}

// TestPinnedSizes has blocks above a size not rounded, and not kept.
func TestPinnedSizes(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	r.configured(t, "pinned_max_round_threshold_mb:1,pinned_max_cached_size_mb:4")
	a, b, c := r.pin(700<<10), r.pin(3<<20+5), r.pin(5<<20)
	if a.Bytes != 1<<20 || b.Bytes != 3<<20+5 || c.Bytes != 5<<20 {
		t.Errorf("blocks of %d, %d and %d bytes", a.Bytes, b.Bytes, c.Bytes)
	}
	r.must(a.Free())
	r.must(b.Free())
	r.must(c.Free())
	if s := memory.PinnedStatsOf(device.KindSim); s.Allocations.Current != 2 || s.FreeTime.Count != 1 || s.AllocatedBytes.Current != 4<<20+5 {
		t.Errorf("%+v", s)
	}
	if d := r.pin(3<<20 + 6); d.Host == b.Host {
		t.Error("a block serves a request that is larger")
	}
	if d := r.pin(3 << 20); d.Host != b.Host {
		t.Error("a block does not serve a request that it fits")
	}
	d := r.pin(5 << 20)
	release := r.hold(0, 0)
	d.RecordUse(sim0, 0)
	r.must(d.Free())
	if s := memory.PinnedStatsOf(device.KindSim); s.FreeTime.Count != 1 {
		t.Error("a block went back under a copy")
	}
	release()
	r.must(r.SyncStream(t.Context(), 0, 0))
	r.pin(100)
	if s := memory.PinnedStatsOf(device.KindSim); s.FreeTime.Count != 2 {
		t.Error("a block did not go back after its copy")
	}
}

// TestPinnedReserve cuts blocks from memory that was locked at once.
func TestPinnedReserve(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	r.configured(t, "pinned_reserve_segment_size_mb:1")
	a, b, big := r.pin(400<<10), r.pin(400<<10), r.pin(2<<20)
	over := r.pin(400 << 10)
	s := memory.PinnedStatsOf(device.KindSim)
	if uintptr(b.Host)-uintptr(a.Host) != 512<<10 || s.AllocTime.Count != 3 || s.AllocatedBytes.Current != 3<<19+2<<20 {
		t.Errorf("blocks are %d apart, %d calls of the driver for %d bytes", uintptr(b.Host)-uintptr(a.Host), s.AllocTime.Count, s.AllocatedBytes.Current)
	}
	r.must(a.Free())
	r.must(memory.EmptyPinnedCache(device.KindSim))
	if c := r.pin(400 << 10); c.Host != a.Host {
		t.Error("a part of the reserve went back alone")
	} else {
		r.must(c.Free())
	}
	r.must(b.Free())
	r.must(big.Free())
	r.must(over.Free())
	r.must(memory.EmptyPinnedCache(device.KindSim))
	if s := memory.PinnedStatsOf(device.KindSim); s.Allocations.Current != 0 || s.AllocatedBytes.Current != 0 || s.FreeTime.Count != 3 {
		t.Errorf("after emptying the cache: %+v", s)
	}
}

// A freeing is a driver with a hook in FreeHost.
type freeing struct {
	*sim.Driver
	before func(device.Memory)
}

func (d *freeing) FreeHost(m device.Memory) error {
	if d.before != nil {
		d.before(m)
	}
	return d.Driver.FreeHost(m)
}

// TestPinnedReserveInUse allocates while the cache is emptied: what is cut from a
// reserve stays locked.
func TestPinnedReserveInUse(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	r.configured(t, "pinned_reserve_segment_size_mb:1")
	d := &freeing{Driver: r.Driver}
	device.Install(d)
	pin := func(bytes int64) memory.Block {
		b, err := memory.AllocPinned(d, bytes)
		r.must(err)
		return b
	}
	r.must(pin(400 << 10).Free())
	r.must(pin(2 << 20).Free()) // not of the reserve
	var during memory.Block
	gone := map[uintptr]int64{}
	d.before = func(m device.Memory) {
		gone[uintptr(m.Host)] = m.Bytes
		if during.Host == nil {
			during = pin(300 << 10)
		}
	}
	r.must(memory.EmptyPinnedCache(device.KindSim))
	for at, bytes := range gone {
		if p := uintptr(during.Host); p >= at && p < at+uintptr(bytes) {
			t.Errorf("a block in use was in %d bytes that went back", bytes)
		}
	}
	if len(gone) != 2 {
		t.Errorf("%d pieces went back, want 2", len(gone))
	}
	r.must(during.Free())
}

// TestPinnedRegistered locks memory of the program's, which goroutines touched.
func TestPinnedRegistered(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	r.configured(t, "pinned_use_cuda_host_register:True,pinned_num_register_threads:4")
	for _, bytes := range []int64{1, 5000, 1 << 20} {
		a := r.pin(bytes)
		if uintptr(a.Host)%4096 != 0 || !a.Pinned() {
			t.Errorf("%d bytes at %p", bytes, a.Host)
		}
		data := fill(int(bytes), 7)
		dev := r.take(0, bytes)
		r.put(0, dev, data)
		r.must(r.CopyToHost(0, 0, a.Host, dev.Addr, bytes))
		r.must(r.SyncStream(t.Context(), 0, 0))
		if got := *(*byte)(a.Host); got != 7 {
			t.Errorf("%d bytes: copied %d", bytes, got)
		}
		r.must(a.Free())
	}
	r.must(memory.EmptyPinnedCache(device.KindSim))
	if s := memory.PinnedStatsOf(device.KindSim); s.Allocations.Current != 0 || s.FreeTime.Count != 3 {
		t.Errorf("%+v", s)
	}
}

// TestPinnedWatched has a goroutine wait for a copy, so that its block is free
// without another allocation.
func TestPinnedWatched(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	r.configured(t, "pinned_use_background_threads:True")
	a := r.pin(100)
	release := r.hold(0, 0)
	a.RecordUse(sim0, 0)
	r.must(a.Free())
	if s := memory.PinnedStatsOf(device.KindSim); s.ActiveRequests.Current != 1 {
		t.Errorf("a block is free under a copy: %+v", s.ActiveRequests)
	}
	release()
	if !patience.Until(t, func() bool { return memory.PinnedStatsOf(device.KindSim).ActiveRequests.Current == 0 }) {
		t.Error("a block is not free after its copy")
	}
}

// TestPinnedInCapture has a block freed with a copy wait for the capture's end.
func TestPinnedInCapture(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1})
	memory.CaptureBegun(sim0)
	a := r.pin(100)
	a.RecordUse(sim0, 0)
	r.must(a.Free())
	r.must(memory.EmptyPinnedCache(device.KindSim))
	if b := r.pin(100); b.Host == a.Host {
		t.Error("a block is reused within the capture")
	}
	memory.CaptureEnded(sim0)
	r.must(r.SyncStream(t.Context(), 0, 0))
	if b := r.pin(100); b.Host != a.Host {
		t.Error("a block is not reused after the capture")
	}
}

// TestRoomData writes and reads blocks of a room that grows, on a simulated device
// that tells memory without pages from memory.
func TestRoomData(t *testing.T) {
	r := newRig(t, sim.Config{Devices: 1, Memory: 200 << 20})
	r.configured(t, "expandable_segments:True")
	for round := range 2 {
		var blocks []memory.Block
		for i := range 4 {
			b := r.take(0, int64(1+i*7)<<20)
			want := fill(int(b.Bytes), byte(i+round))
			r.put(0, b, want)
			blocks = append(blocks, b)
		}
		for i, b := range blocks {
			got := make([]byte, b.Bytes)
			r.get(0, b, got)
			r.must(r.SyncStream(t.Context(), 0, 0))
			if got[0] != byte(i+round) || got[len(got)-1] != byte(i+round) {
				t.Errorf("round %d: block %d holds %d and %d", round, i, got[0], got[len(got)-1])
			}
			r.must(b.Free())
		}
		if round == 0 {
			r.must(memory.EmptyCache(sim0))
			if c := r.Counters(0); c.LiveBytes != 0 || memory.Reserved(sim0) != 0 {
				t.Errorf("%d bytes are left", c.LiveBytes)
			}
		}
	}
	r.must(memory.EmptyCache(sim0))
}
