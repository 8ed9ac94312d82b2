package conformance_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// pin returns page-locked memory of the heap's driver, which the test frees.
func (h *heap) pin(bytes int64) memory.Block {
	h.t.Helper()
	b, err := memory.AllocPinned(h.drv, bytes)
	must(h.t, err)
	h.t.Cleanup(func() {
		if err := b.Free(); err != nil && !errors.Is(err, memory.ErrFreed) {
			h.t.Error(err)
		}
	})
	return b
}

func (h *heap) pinned() figures.PinnedStats { return memory.PinnedStatsOf(h.dev.Kind) }

// Page-locked memory comes in blocks of powers of two, which are not divided; those
// of one size are kept together. No bytes are no memory.
func TestA34(t *testing.T) {
	h := newHeap(t, "")
	for n, want := range map[int64]int64{1: 1, 3: 4, 10 * 1024 * 4: 65536, 20 * 1024 * 4: 131072, 65536: 65536, 65537: 131072} {
		if b := h.pin(n); b.Bytes != want || !b.Pinned() {
			t.Errorf("%d bytes get a block of %d (pinned: %t), want %d", n, b.Bytes, b.Pinned(), want)
		}
	}
	none := h.pin(0)
	if none.Host != nil || none.Bytes != 0 || none.Free() != nil {
		t.Errorf("no bytes are %+v", none)
	}
	large := h.pin(1 << 20)
	h.free(large)
	if small := h.pin(1 << 10); small.Host == large.Host || small.Bytes != 1<<10 {
		t.Errorf("1 KiB is %d bytes of a larger block", small.Bytes)
	}
	if again := h.pin(1<<20 - 5); again.Host != large.Host {
		t.Error("a free block of the right size is not taken")
	}
	if _, err := memory.AllocPinned(h.drv, -1); err == nil {
		t.Error("-1 bytes are allocated")
	}
}

// A page-locked block that a copy uses is kept from reuse by an event on the copy's stream,
// recorded when the block is freed, one a stream. Events are looked at, oldest
// first, when memory is next asked for, or by a goroutine that waits for them.
func TestA35(t *testing.T) {
	h := newHeap(t, "")
	one, two := h.pin(1<<12), h.pin(1<<12)
	h.free(h.pin(1<<12), h.pin(1<<12)) // more, since none can be had while a stream is held
	u, s := h.drv.stream(t), h.holdStream()
	one.RecordUse(h.dev, s)
	one.RecordUse(h.dev, s)
	two.RecordUse(h.dev, u)
	h.free(one, two)
	equal(t, "events", len(h.drv.recorded), 2)
	equal(t, "active blocks", h.pinned().ActiveRequests.Current, int64(2))
	if b := h.pin(1 << 12); b.Host == one.Host || b.Host == two.Host {
		t.Error("a block is reused while the oldest copy goes on")
	}
	h.drv.release(s)
	got := []any{h.pin(1 << 12).Host, h.pin(1 << 12).Host, h.pin(1 << 12).Host}
	if !slices.Contains(got, any(one.Host)) || !slices.Contains(got, any(two.Host)) {
		t.Error("with the copies done the blocks are not reused")
	}
}

// A page-locked block that was freed and that no copy uses is reused at once; while a
// copy on any device uses it, it is not. Emptying the cache gives free blocks back. There
// are figures of the blocks owned and of those in use, and of the driver's calls
// with their times.
func TestA36(t *testing.T) {
	list := devices(t, 2)
	hold(t, stream.New(list[1], 0))() // what the first time takes is not among the figures
	drv, err := device.DriverOf(kind)
	must(t, err)
	if kind == device.KindSim {
		drv = fresh(t, sim.Config{Devices: 2, Async: true})
	}
	must(t, memory.EmptyPinnedCache(kind))
	memory.ResetPinnedPeak(kind)
	memory.ResetPinnedAccumulated(kind)
	start := memory.PinnedStatsOf(kind)
	take := func() memory.Block {
		t.Helper()
		b, err := memory.AllocPinned(drv, 5000)
		must(t, err)
		return b
	}
	a := take()
	must(t, a.Free())
	b := take()
	if b.Host != a.Host {
		t.Error("a free block is not reused at once")
	}
	spare := take() // so that nothing is page-locked while a stream is held
	must(t, spare.Free())
	s := stream.New(list[1], 0)
	release := hold(t, s)
	b.RecordUse(list[1], s.ID())
	must(t, b.Free())
	c := take()
	if c.Host == a.Host {
		t.Error("a block is reused while a copy of another device uses it")
	}
	release()
	must(t, s.Synchronize(context.Background()))
	d := take()
	if d.Host != a.Host {
		t.Error("a block is not reused when the copy is done")
	}
	must(t, c.Free())
	stats := memory.PinnedStatsOf(kind)
	equal(t, "blocks and bytes owned and in use", []int64{
		stats.Allocations.Current - start.Allocations.Current, stats.AllocatedBytes.Current - start.AllocatedBytes.Current,
		stats.ActiveRequests.Current - start.ActiveRequests.Current, stats.ActiveBytes.Current - start.ActiveBytes.Current,
	}, []int64{2, 16384, 1, 8192})
	must(t, d.Free())
	must(t, memory.EmptyPinnedCache(kind))
	stats = memory.PinnedStatsOf(kind)
	equal(t, "calls of the driver", []int64{stats.AllocTime.Count, stats.FreeTime.Count, stats.Allocations.Current}, []int64{2, 2, start.Allocations.Current})
	if x := stats.AllocTime; x.Min > x.Max || x.Max > x.Total || x.Mean() < x.Min || x.Mean() > x.Max {
		t.Errorf("times of allocations: %+v, mean %v", x, x.Mean())
	}
	m := stats.Map()
	for _, key := range []string{
		"allocations.current", "allocated_bytes.peak", "active_requests.allocated", "active_bytes.freed", "num_host_alloc", "num_host_free",
		"host_alloc_time.total", "host_alloc_time.max", "host_alloc_time.min", "host_alloc_time.count", "host_alloc_time.avg", "host_free_time.total",
	} {
		if _, ok := m[key]; !ok {
			t.Errorf("there is no %s", key)
		}
	}
}

// A registrar is a driver that locks memory of the program, and counts.
type registrar struct {
	*gated
	device.HostRegistrar
	locked, unlocked, asked atomic.Int64
}

func (r *registrar) RegisterHost(m device.Memory) error {
	r.locked.Add(m.Bytes)
	return r.HostRegistrar.RegisterHost(m)
}

func (r *registrar) UnregisterHost(m device.Memory) error {
	r.unlocked.Add(m.Bytes)
	return r.HostRegistrar.UnregisterHost(m)
}

func (r *registrar) AllocHost(bytes int64) (device.Memory, error) {
	r.asked.Add(bytes)
	return r.gated.AllocHost(bytes)
}

// newRegistrar makes the heap's driver a registrar.
func newRegistrar(t *testing.T, h *heap) *registrar {
	t.Helper()
	inner, ok := h.drv.Driver.(device.HostRegistrar)
	if !ok {
		t.Fatal("the driver does not page-lock memory of the program")
	}
	r := &registrar{gated: h.drv, HostRegistrar: inner}
	device.Install(r)
	t.Cleanup(func() {
		must(t, memory.EmptyPinnedCache(h.dev.Kind))
		device.Install(h.drv)
	})
	return r
}

// Page-locked memory can be the program's own, locked after a power of two of
// goroutines touched it; copies can be waited for in the background; a large piece
// can be locked at once to cut blocks from; large blocks can stay as large as asked
// for, and need not be kept.
func TestP50(t *testing.T) {
	for text, names := range map[string]string{
		"pinned_num_register_threads:3": "power of two", "pinned_num_register_threads:256": "128",
		"pinned_use_cuda_host_register:yes": "True or False", "pinned_max_cached_size_mb:x": "whole number",
	} {
		if err := memory.Configure(text); err == nil || !strings.Contains(err.Error(), names) {
			t.Errorf("%s: %v, want an error with %q", text, err, names)
		}
	}
	t.Run("register", func(t *testing.T) {
		r := newRegistrar(t, newHeap(t, "pinned_use_cuda_host_register:True,pinned_num_register_threads:4"))
		b, err := memory.AllocPinned(r, 100_000)
		must(t, err)
		must(t, b.Free())
		must(t, memory.EmptyPinnedCache(r.Kind()))
		equal(t, "bytes locked, unlocked, asked for", []int64{r.locked.Load(), r.unlocked.Load(), r.asked.Load()}, []int64{131072, 131072, 0})
	})
	t.Run("background", func(t *testing.T) {
		h := newHeap(t, "pinned_use_background_threads:True")
		s := h.drv.stream(t)
		b := h.pin(4096)
		b.RecordUse(h.dev, s)
		h.free(b)
		patience.Until(t, func() bool { return h.pinned().ActiveRequests.Current == 0 })
		equal(t, "active blocks with nobody asking", h.pinned().ActiveRequests.Current, int64(0))
	})
	t.Run("reserve", func(t *testing.T) {
		r := newRegistrar(t, newHeap(t, "pinned_reserve_segment_size_mb:4"))
		var list []memory.Block
		for range 3 {
			b, err := memory.AllocPinned(r, mib)
			must(t, err)
			list = append(list, b)
		}
		equal(t, "bytes asked for", r.asked.Load(), int64(4*mib))
		for _, b := range list {
			must(t, b.Free())
		}
	})
	t.Run("rounding", func(t *testing.T) {
		h := newHeap(t, "pinned_max_round_threshold_mb:1")
		for n, want := range map[int64]int64{mib - 5: mib, 3*mib - 7: 3*mib - 7} {
			if b := h.pin(n); b.Bytes != want {
				t.Errorf("%d bytes get a block of %d, want %d", n, b.Bytes, want)
			}
		}
	})
	t.Run("keeping", func(t *testing.T) {
		h := newHeap(t, "pinned_max_cached_size_mb:1")
		h.free(h.pin(mib), h.pin(4*mib))
		if s := h.pinned(); s.AllocatedBytes.Current != mib || s.FreeTime.Count != 1 {
			t.Errorf("%d bytes are kept, %d blocks went back, want 1 MiB and 1", s.AllocatedBytes.Current, s.FreeTime.Count)
		}
	})
}
