package conformance_test

import (
	"slices"
	"testing"

	"github.com/sinter-go/sinter/runtime/memory"
)

// newRoomy returns a heap whose segments expand; without memory that is mapped on
// demand the test is skipped.
func newRoomy(t testing.TB) *heap {
	t.Helper()
	h := newHeap(t, "expandable_segments:True")
	if !h.drv.CanMap(0) {
		t.Skip("the device does not map memory on demand")
	}
	return h
}

// totals returns the bytes of the segments, by address.
func (h *heap) totals() (list []int64) {
	for _, s := range h.snapshot().Segments {
		list = append(list, s.Total)
	}
	return list
}

// With expandable_segments, each pool and stream has one range of addresses behind
// which memory is mapped at the lowest ones that do, 2 or 20 MiB at a time: blocks
// that do not fit extend the segment. When the cache is given up, free pages go back
// once the work of their stream is done, and what is left around a gap counts as
// several segments in a snapshot. Only mapped bytes are reserved; no segment is
// counted, no free block as part of one, and every mapping as a call of the driver.
// Devices that were given access to the memory have it to new pages too.
//
// Differs: memory is not shared with other processes, in this form as in any.
func TestA22(t *testing.T) {
	t.Run("growing", growing)
	t.Run("gaps", gaps)
	t.Run("pressure", underPressure)
}

func growing(t *testing.T) {
	h := newRoomy(t)
	a, b := h.take(15*mib), h.take(15*mib)
	h.wantCalls("two blocks", "map 20971520", "map 20971520")
	if b.Addr != a.Addr+15*mib {
		t.Errorf("the second block is at +%d, want +15 MiB: the range grows", b.Addr-a.Addr)
	}
	s := h.stats()
	equal(t, "segments and maps", []int64{s.Segment.All.Current, s.DeviceAllocs}, []int64{0, 2})
	h.want("with two blocks", heapFigures{30 * mib, 30 * mib, 30 * mib, 40 * mib, 0, 0})
	c := h.take(50 * mib)
	if c.Addr != b.Addr+15*mib {
		t.Errorf("the third block is at +%d, want +30 MiB: behind the free part that it takes too", c.Addr-a.Addr)
	}
	h.wantCalls("a block larger than what is free", "map 41943040")
	got := h.snapshot().Segments
	if len(got) != 1 || !got[0].Expandable || got[0].Total != 80*mib {
		t.Errorf("segments %+v, want one of 80 MiB", got)
	}
	small := h.take(512)
	h.wantCalls("a small block", "map 2097152")
	if small.Addr > a.Addr && small.Addr < a.Addr+80*mib {
		t.Error("a small block is in the segment of large ones")
	}
	h.free(a, b, c, small)
	h.empty()
	h.want("with none left", heapFigures{})
	if s := h.stats(); s.DeviceFrees < 2 || s.DeviceAllocs != 4 {
		t.Errorf("%d maps and %d unmaps", s.DeviceAllocs, s.DeviceFrees)
	}
}

// gaps has free pages among others go back, and their addresses get memory again
// before higher ones do.
func gaps(t *testing.T) {
	h := newRoomy(t)
	s := h.drv.stream(t)
	a, b, c := h.takeOn(s, 20*mib), h.takeOn(s, 20*mib), h.takeOn(s, 15*mib)
	h.free(b)
	h.drv.calls()
	h.empty()
	h.wantCalls("emptying the cache", "sync stream", "unmap 20971520")
	equal(t, "segments around a gap", h.totals(), []int64{20 * mib, 20 * mib})
	h.want("with a gap", heapFigures{35 * mib, 35 * mib, 35 * mib, 40 * mib, 0, 0})
	if d := h.takeOn(s, 18*mib); d.Addr != b.Addr {
		t.Errorf("a block is at +%d, want +20 MiB, the gap", d.Addr-a.Addr)
	} else {
		h.wantCalls("a block in the gap", "map 20971520")
		h.free(d)
	}
	equal(t, "segments with the gap filled", h.totals(), []int64{60 * mib})
	h.free(a, c)
}

// underPressure has a device without room for a block before free pages go back.
func underPressure(t *testing.T) {
	h := newRoomy(t)
	h.limit(64 * mib)
	other := h.drv.stream(t)
	kept, cached := h.take(15*mib), h.takeOn(other, 30*mib)
	h.free(cached)
	h.drv.calls()
	h.take(40 * mib)
	h.wantCalls("a block for which there is no room", "sync stream", "unmap 41943040", "map 41943040")
	equal(t, "retries", h.stats().AllocRetries, int64(1))
	h.free(kept)
}

// TestStreamOfCacheDestroyed has a stream destroyed on which memory is cached, that
// uses freed memory, and that copies page-locked memory: the memory goes back like
// any other, and no call fails.
func TestStreamOfCacheDestroyed(t *testing.T) {
	for _, settings := range []string{"", "expandable_segments:True"} {
		h := newHeap(t, settings)
		s, err := h.drv.NewStream(0, 0)
		must(t, err)
		cached, later, used, host := h.takeOn(s, 3*mib), h.takeOn(s, 100), h.take(5*mib), h.pin(4096)
		used.RecordStream(s)
		host.RecordUse(h.dev, s)
		h.free(cached)
		must(t, h.drv.DestroyStream(0, s))
		h.free(later, used, host)
		if again := h.pin(4096); again.Host != host.Host {
			t.Error("page-locked memory is lost with the stream that copied it")
		}
		if again := h.take(5 * mib); again.Addr != used.Addr {
			t.Error("memory is lost with the stream that used it")
		} else {
			h.free(again)
		}
		h.empty()
		h.want("with the cache empty", heapFigures{})
		equal(t, "segments", slices.ContainsFunc(h.snapshot().Segments, func(g memory.Segment) bool { return g.Device == h.dev }), false)
		if _, err := h.try(s, 100); err != nil {
			t.Errorf("memory for a stream that is gone: %v", err)
		}
	}
	must(t, memory.EmptyPinnedCache(kind))
}
