package conformance_test

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/figures"
)

// current returns the metrics' current values, which must be those of one kind of
// pool: where everything is.
func (h *heap) current(large bool) map[string]int64 {
	out := map[string]int64{}
	of := "small_pool"
	if large {
		of = "large_pool"
	}
	for key, v := range memory.StatsMap(h.dev) {
		metric, rest, _ := strings.Cut(key, ".")
		switch rest {
		case of + ".current":
			out[metric] = v
		case "all.current":
			if all := memory.StatsMap(h.dev)[metric+"."+of+".current"]; all != v {
				h.t.Errorf("%s: %d in all, %d in %s, where everything is", metric, v, all, of)
			}
		}
	}
	return out
}

// Each metric is for all memory, for small blocks and for large ones, with its
// current value, its peak, and its total rise and fall. Allocations and their bytes
// fall when a free is requested; requested bytes, active blocks and active bytes
// when it is completed; segments and reserved bytes with the driver's memory;
// inactive splits are the free blocks of segments partly in use.
func TestA27(t *testing.T) {
	for _, c := range []struct {
		large          bool
		bytes, segment int64
	}{{false, 1000, 2 * mib}, {true, 3*mib - 100, 20 * mib}} {
		h := newHeap(t, "")
		block := (c.bytes + 511) / 512 * 512
		want := func(what string, allocation, active, segment, split int64) {
			t.Helper()
			splitBytes := int64(0)
			if split > 0 {
				splitBytes = c.segment - active*block
			}
			equal(t, what, h.current(c.large), map[string]int64{
				"allocation": allocation, "allocated_bytes": allocation * block, "requested_bytes": active * c.bytes,
				"active": active, "active_bytes": active * block, "segment": segment, "reserved_bytes": segment * c.segment,
				"inactive_split": split, "inactive_split_bytes": splitBytes,
			})
		}
		a := h.take(c.bytes)
		want("after an allocation", 1, 1, 1, 1)
		b := h.take(c.bytes)
		want("after another", 2, 2, 1, 1)
		h.free(b)
		want("after a free", 1, 1, 1, 1)
		s := h.holdStream()
		a.RecordStream(s)
		h.free(a)
		want("after a free that a stream delays", 0, 1, 1, 1)
		h.drv.release(s)
		h.empty()
		want("after the stream is done and the cache empty", 0, 0, 0, 0)
		all := h.stats()
		for name, m := range map[string]figures.Metric{"allocation": all.Allocation, "segment": all.Segment, "active": all.Active} {
			rises := int64(2)
			if name == "segment" {
				rises = 1
			}
			equal(t, name, m.All, figures.Stat{Peak: rises, Allocated: rises, Freed: rises})
			if sum := m.Small.Allocated + m.Large.Allocated; sum != m.All.Allocated {
				t.Errorf("%s rose by %d in all, by %d in both pools", name, m.All.Allocated, sum)
			}
		}
	}
}

// The figures have counts too: retries, errors, rejections, releases, calls of the
// driver, what is oversize, and what private pools hold. Before the first allocation
// there are no figures.
func TestA28(t *testing.T) {
	h := newHeap(t, "max_split_size_mb:20")
	equal(t, "figures before the first allocation", memory.StatsMap(h.dev), map[string]int64{})
	equal(t, "allocated before", memory.Allocated(h.dev), int64(0))
	h.limit(64 * mib)
	big := h.take(30 * mib)
	h.take(512)
	_, err := h.try(0, 50*mib)
	if !errors.Is(err, device.ErrOutOfMemory) {
		t.Errorf("over the limit: %v", err)
	}
	h.free(big)
	h.empty()
	got := memory.StatsMap(h.dev)
	for key, want := range map[string]int64{
		"num_alloc_retries": 1, "num_ooms": 1, "num_oom_rejections": 0, "num_sync_all_streams": 2,
		"num_device_alloc": 2, "num_device_free": 1, "max_split_size": 20 * mib,
		"oversize_allocations.current": 0, "oversize_allocations.peak": 1, "oversize_allocations.allocated": 1, "oversize_allocations.freed": 1,
		"oversize_segments.current": 0, "oversize_segments.peak": 1, "oversize_segments.allocated": 1, "oversize_segments.freed": 1,
	} {
		if v, ok := got[key]; !ok || v != want {
			t.Errorf("%s is %d (there: %t), want %d", key, v, ok, want)
		}
		delete(got, key)
	}
	for _, metric := range []string{
		"allocation", "allocated_bytes", "requested_bytes", "active", "active_bytes", "segment", "reserved_bytes", "inactive_split", "inactive_split_bytes",
	} {
		for _, pool := range []string{"all", "small_pool", "large_pool"} {
			for _, kind := range []string{"current", "peak", "allocated", "freed"} {
				key := metric + "." + pool + "." + kind
				if _, ok := got[key]; !ok {
					t.Errorf("there is no %s", key)
				}
				delete(got, key)
			}
		}
	}
	equal(t, "other figures", slices.Collect(maps.Keys(got)), []string(nil))
	pool := memory.NewPool(h.dev, memory.PoolOptions{})
	must(t, pool.Do(func() error { h.free(h.take(512)); return nil }))
	key := fmt.Sprintf("reserved_bytes_by_private_pools.%d_%d.all.current", pool.ID().A, pool.ID().B)
	equal(t, key, memory.StatsMap(h.dev)[key], int64(2*mib))
	must(t, pool.Release())
}

// At any moment reserved bytes are those of the segments, and active bytes, split
// free blocks and unsplit ones together; figures are what a snapshot adds up to.
// Resetting peaks makes them the current values, resetting totals makes totals and
// counts zero and the current value stays.
func TestA29(t *testing.T) {
	h := newHeap(t, "")
	r := rand.New(rand.NewPCG(1, 2))
	var blocks []memory.Block
	check := func() {
		t.Helper()
		if err := identities(h.stats(), memory.SnapshotOf(h.dev.Kind, 0).Segments); err != nil {
			t.Error(err)
		}
	}
	for range 200 {
		if n := len(blocks); n > 0 && r.IntN(3) == 0 {
			i := r.IntN(n)
			h.free(blocks[i])
			blocks = slices.Delete(blocks, i, i+1)
		} else {
			blocks = append(blocks, h.take(1+r.Int64N(mib<<r.IntN(4))))
		}
		check()
	}
	h.free(blocks...)
	kept := h.take(100)
	h.empty()
	check()
	memory.ResetPeak(h.dev)
	memory.ResetAccumulated(h.dev)
	s := h.stats()
	now := memory.StatsMap(h.dev)
	for key, v := range now {
		name, of := key, ""
		if i := strings.LastIndexByte(key, '.'); i >= 0 {
			name, of = key[:i], key[i+1:]
		}
		if of == "peak" && v != now[name+".current"] || (of == "allocated" || of == "freed") && v != 0 {
			t.Errorf("%s is %d after both resets, with %d now", key, v, now[name+".current"])
		}
	}
	equal(t, "allocated bytes after both resets", s.AllocatedBytes.Small, figures.Stat{Current: 512, Peak: 512})
	equal(t, "counts", []int64{s.DeviceAllocs, s.DeviceFrees, s.SyncAllStreams, s.AllocRetries, s.OutOfMemory}, make([]int64, 5))
	h.free(kept)
	h.take(600)
	equal(t, "after a free and an allocation", h.stats().AllocatedBytes.All, figures.Stat{Current: 1024, Peak: 1024, Allocated: 1024, Freed: 512})
	check()
}

// uncached is what a process does whose environment turns caching off.
func uncached(t *testing.T) {
	h := newHeap(t, "")
	b := h.take(1000)
	b.RecordStream(h.holdStream())
	h.free(b, h.take(12*mib))
	memory.CaptureBegun(h.dev)
	_, err := h.try(0, 1)
	memory.CaptureEnded(h.dev)
	fmt.Println(strings.Join(h.drv.calls(), ", "))
	fmt.Println(h.stats() == figures.Stats{}, len(memory.SnapshotOf(h.dev.Kind, 0).Segments), err != nil)
}

// With caching turned off by the environment, every allocation is one of the
// driver's and every free too, which waits for the device; no figure changes, and a
// capture cannot allocate.
func TestA33(t *testing.T) {
	one(t)
	for _, name := range []string{"PYTORCH_NO_CUDA_MEMORY_CACHING", "SINTER_NO_MEMORY_CACHING"} {
		equal(t, name, child(t, "uncached", name+"=1"), "alloc 1000, alloc 12582912, free 1000, free 12582912\ntrue 0 true")
	}
}

func init() { children["uncached"] = uncached }

// The small blocks of one stream, step by step, from an empty cache: what is
// allocated, requested, reserved and split after each, and where a block lands.
func TestConformanceTrace(t *testing.T) {
	h := newHeap(t, "")
	want := func(what string, allocated, requested, split, splitBytes int64) {
		t.Helper()
		h.want(what, heapFigures{allocated, requested, allocated, 2 * mib, split, splitBytes})
	}
	x, y, z := h.take(1000), h.take(1000), h.take(1000)
	want("x, y, z", 3072, 3000, 1, 2094080)
	h.free(y)
	want("without y", 2048, 2000, 2, 2095104)
	h.free(x)
	want("without x and y", 1024, 1000, 2, 2096128)
	w := h.take(2048)
	equal(t, "the place of w", w.Addr, x.Addr)
	want("w, z", 3072, 3048, 1, 2094080)
	h.free(w)
	want("z", 1024, 1000, 2, 2096128)
	h.free(z)
	want("none", 0, 0, 0, 0)
	h.empty()
	h.want("an empty cache", heapFigures{})
	s := h.stats()
	equal(t, "releases, frees", []int64{s.SyncAllStreams, s.DeviceFrees}, []int64{1, 1})
}

// A block that another stream uses, step by step: freed it is not allocated but
// active, the next block comes after it, and once the stream is done it is reused.
func TestConformanceTraceOfStreams(t *testing.T) {
	h := newHeap(t, "")
	one, two := h.drv.stream(t), h.holdStream()
	b := h.takeOn(one, 512)
	b.RecordStream(two)
	h.free(b)
	h.want("awaiting", heapFigures{0, 512, 512, 2 * mib, 1, 2*mib - 512})
	equal(t, "the next block's place", h.takeOn(one, 512).Addr-b.Addr, uint64(512))
	h.drv.release(two)
	equal(t, "the place after that", h.takeOn(one, 512).Addr-b.Addr, uint64(0))
}
