package conformance_test

import (
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// In a fresh private pool b = a.clone() and five times b = b.clone() + 1 need as many
// segments as three tensors at a time, and leave one block; when the pool is
// released and the cache empty, only that block's segment is left.
func TestClonesInPool(t *testing.T) {
	for _, c := range []struct{ bytes, segments, reserved, after, reservedAfter int64 }{
		{512, 1, 2097152, 1, 2097152},
		{1048576, 2, 4194304, 1, 2097152},
		{1049088, 1, 20971520, 1, 20971520},
		{10485248, 2, 41943040, 1, 20971520},
		{10486272, 3, 37748736, 1, 12582912},
	} {
		h := newHeap(t, "")
		pool := memory.NewPool(h.dev, memory.PoolOptions{})
		var b memory.Block
		must(t, pool.Do(func() error {
			b = h.take(c.bytes)
			for range 5 {
				clone := h.take(c.bytes)
				sum := h.take(c.bytes)
				h.free(clone, b)
				b = sum
			}
			return nil
		}))
		figures := func() []int64 {
			s := h.stats()
			return []int64{s.Segment.All.Current, s.ReservedBytes.All.Current, s.Active.All.Current, s.RequestedBytes.All.Current}
		}
		equal(t, "in the pool", figures(), []int64{c.segments, c.reserved, 1, c.bytes})
		equal(t, "active bytes", h.stats().ActiveBytes.All.Current, b.Bytes)
		must(t, pool.Release())
		h.empty()
		equal(t, "after the pool", figures(), []int64{c.after, c.reservedAfter, 1, c.bytes})
		h.free(b)
	}
}

// Inside a pool's scope, what the calling goroutine allocates on its device comes
// from the pool, and what others allocate does not. The pool's use count is 1, and
// 2 inside. Its segments go back when nobody refers to it and its tensors are gone.
//
// Differs: a pool has no allocator of its own: its memory is the device's.
func TestP69(t *testing.T) {
	t.Run("devices", poolOfOneDevice)
	h := newHeap(t, "")
	pool := memory.NewPool(h.dev, memory.PoolOptions{})
	equal(t, "use count", pool.UseCount(), 1)
	var inside, outside memory.Block
	must(t, pool.Do(func() error {
		equal(t, "use count inside", pool.UseCount(), 2)
		inside = h.take(100)
		var wg sync.WaitGroup
		wg.Go(func() { outside = h.take(100) })
		wg.Wait()
		return nil
	}))
	equal(t, "use count after", pool.UseCount(), 1)
	ids := map[uint64]memory.PoolID{}
	for _, s := range h.snapshot().Segments {
		ids[s.Address] = s.Pool
	}
	equal(t, "pools", []memory.PoolID{ids[inside.Addr], ids[outside.Addr]}, []memory.PoolID{pool.ID(), {}})
	h.free(inside)
	h.drv.calls()
	if b := h.take(100); b.Addr == inside.Addr {
		t.Error("a block of the pool serves an allocation outside of it")
	}
	must(t, pool.Do(func() error {
		if b := h.take(100); b.Addr != inside.Addr {
			t.Error("a free block of the pool is not used in it")
		} else {
			h.free(b)
		}
		return nil
	}))
	must(t, pool.Release())
	h.wantCalls("the pool's end", "free 2097152")
	if err := pool.Do(func() error { t.Error("a released pool was entered"); return nil }); !errors.Is(err, memory.ErrPoolReleased) {
		t.Errorf("entering a released pool: %v", err)
	}
}

// poolOfOneDevice allocates on another device than the pool's.
func poolOfOneDevice(t *testing.T) {
	list := devices(t, 2)
	pool := memory.NewPool(list[0], memory.PoolOptions{})
	must(t, pool.Do(func() error {
		x := tensor.Zeros([]int{4}, tensor.On(list[1]))
		must(t, x.Err())
		for _, s := range memory.SnapshotOf(kind, 0, 1).Segments {
			if s.Pool == pool.ID() {
				t.Errorf("the pool of %v has memory of %v: only another device was allocated on", list[0], s.Device)
			}
		}
		x.Release()
		return nil
	}))
	must(t, pool.Release())
}

// Of three tensors of 1 MiB in a pool, the first makes a segment, the second fits in
// it, and the third makes another.
func TestP70(t *testing.T) {
	dev := one(t)
	live(t, dev)
	pool := memory.NewPool(dev, memory.PoolOptions{})
	segments := func() (n int) {
		for _, s := range memory.SnapshotOf(dev.Kind, dev.Index).Segments {
			if s.Pool == pool.ID() {
				n++
			}
		}
		return n
	}
	var list []T
	must(t, pool.Do(func() error {
		for _, want := range []int{1, 1, 2} {
			x := tensor.Zeros([]int{mib / 4}, tensor.On(dev))
			must(t, x.Err())
			list = append(list, x)
			equal(t, "segments", segments(), want)
		}
		return nil
	}))
	must(t, pool.Release())
	for _, x := range list {
		x.Release()
	}
	must(t, memory.EmptyCache(dev))
	equal(t, "segments at the end", segments(), 0)
}

// A pool that may be used when memory runs out lends its free blocks to others
// after the driver has none, before caches go back; nothing is allocated for it.
func TestP71(t *testing.T) {
	for _, use := range []bool{true, false} {
		h := newHeap(t, "")
		h.limit(60 * mib)
		pool := memory.NewPool(h.dev, memory.PoolOptions{UseOnOOM: use})
		var b memory.Block
		must(t, pool.Do(func() error { b = h.take(40 * mib); return nil }))
		h.free(b)
		h.drv.calls()
		c, err := h.try(0, 35*mib)
		if (err == nil) != use || use && c.Addr != b.Addr {
			t.Errorf("with the option %t: at %#x, %v", use, c.Addr, err)
		}
		if use {
			h.wantCalls("an allocation that the pool serves")
			equal(t, "retries", h.stats().AllocRetries, int64(0))
			h.free(c)
		}
		must(t, pool.Release())
	}
}

// In a pool without division every block has a segment to itself.
func TestP72(t *testing.T) {
	h := newHeap(t, "")
	pool := memory.NewPool(h.dev, memory.PoolOptions{NoSplit: true})
	var list []memory.Block
	must(t, pool.Do(func() error { list = append(list, h.take(512), h.take(512), h.take(5*mib)); return nil }))
	h.wantCalls("three blocks", "alloc 2097152", "alloc 2097152", "alloc 20971520")
	for _, s := range h.snapshot().Segments {
		equal(t, "blocks of a segment", len(s.Blocks), 1)
	}
	h.free(list...)
	must(t, pool.Release())
}

// Emptying the cache inside a pool's scope leaves the pool's memory; scopes of
// several pools nest, and the innermost counts.
func TestP73(t *testing.T) {
	h := newHeap(t, "")
	outer, inner := memory.NewPool(h.dev, memory.PoolOptions{}), memory.NewPool(h.dev, memory.PoolOptions{})
	of := func(b memory.Block) memory.PoolID {
		for _, s := range h.snapshot().Segments {
			if b.Addr-s.Address < uint64(s.Total) {
				return s.Pool
			}
		}
		t.Errorf("no segment has %#x", b.Addr)
		return memory.PoolID{}
	}
	var list []memory.Block
	must(t, outer.Do(func() error {
		list = append(list, h.take(512))
		must(t, inner.Do(func() error { list = append(list, h.take(512)); return nil }))
		list = append(list, h.take(512))
		h.free(h.take(20 * mib))
		h.drv.calls()
		h.empty()
		h.wantCalls("emptying the cache inside")
		return nil
	}))
	equal(t, "pools", []memory.PoolID{of(list[0]), of(list[1]), of(list[2])}, []memory.PoolID{outer.ID(), inner.ID(), outer.ID()})
	h.free(list...)
	must(t, outer.Release())
	must(t, inner.Release())
}

// A pool's name is a pair that no other pool has, whatever goroutine made it; that
// of the default pool is (0, 0).
func TestP74(t *testing.T) {
	dev := one(t)
	const n = 100
	ids := make([]memory.PoolID, n)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			p := memory.NewPool(dev, memory.PoolOptions{})
			ids[i] = p.ID()
			must(t, p.Release())
		})
	}
	wg.Wait()
	seen := map[memory.PoolID]bool{{}: true}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("the name %v is another pool's too", id)
		}
		seen[id] = true
	}
	h := newHeap(t, "")
	h.take(1)
	equal(t, "the default pool", h.snapshot().Segments[0].Pool, memory.PoolID{})
	if err := memory.NewPool(device.CPU, memory.PoolOptions{}).Do(func() error { return nil }); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("a pool of host memory: %v", err)
	}
}

// While a pool is routed to, the allocations that match come from it, on whatever
// goroutine; the same pool twice at once is an error.
func TestA23(t *testing.T) {
	h := newHeap(t, "")
	s := h.drv.stream(t)
	pool := memory.NewPool(h.dev, memory.PoolOptions{})
	end, err := pool.Route(func(id device.StreamID) bool { return id == s })
	must(t, err)
	if _, err := pool.Route(func(device.StreamID) bool { return true }); !errors.Is(err, memory.ErrPoolInUse) {
		t.Errorf("routed to twice at once: %v", err)
	}
	if err := pool.Do(func() error { return nil }); !errors.Is(err, memory.ErrPoolInUse) {
		t.Errorf("entered while it is routed to: %v", err)
	}
	equal(t, "use count while routed to", pool.UseCount(), 2)
	in := make(chan memory.Block)
	go func() { in <- h.takeOn(s, 100) }()
	matched, other := <-in, h.take(100)
	end()
	after := h.takeOn(s, 100)
	pools := map[uint64]memory.PoolID{}
	for _, g := range memory.SnapshotOf(h.dev.Kind, 0).Segments {
		pools[g.Address] = g.Pool
	}
	for b, want := range map[memory.Block]memory.PoolID{matched: pool.ID(), other: {}, after: {}} {
		if got, known := pools[b.Addr]; !known || got != want {
			t.Errorf("a block is in pool %v, want %v", got, want)
		}
	}
	equal(t, "use count", pool.UseCount(), 1)
	h.free(matched)
	must(t, pool.Release())
}

// When nobody refers to a pool any more its free segments go back: at once, or
// with the next emptying of the cache when their blocks are freed later; without a
// segment it is forgotten.
//
// Differs: PyTorch gives back at once what is free in a MemPool (P69), and leaves a
// graph's pool to the next emptying of the cache; here every pool is a MemPool.
func TestA24(t *testing.T) {
	h := newHeap(t, "")
	pool := memory.NewPool(h.dev, memory.PoolOptions{})
	var kept, freed memory.Block
	must(t, pool.Do(func() error { kept, freed = h.take(mib+1), h.take(512); return nil }))
	h.free(freed)
	h.drv.calls()
	h.empty()
	h.wantCalls("emptying the cache while the pool is held")
	must(t, pool.Release())
	h.wantCalls("its release", "free 2097152")
	if err := pool.Release(); !errors.Is(err, memory.ErrPoolReleased) {
		t.Errorf("released twice: %v", err)
	}
	h.free(kept)
	h.wantCalls("the last block's free")
	equal(t, "private pools", len(memory.PrivateReserved(h.dev)), 1)
	h.empty()
	h.wantCalls("emptying the cache", "free 20971520")
	equal(t, "private pools", len(memory.PrivateReserved(h.dev)), 0)

	h = newHeap(t, "expandable_segments:True")
	pool = memory.NewPool(h.dev, memory.PoolOptions{})
	must(t, pool.Do(func() error { h.free(h.take(512)); return nil }))
	must(t, pool.Release())
	equal(t, "reserved bytes and private pools, of segments that expand",
		[]int64{h.figures().Reserved, int64(len(memory.PrivateReserved(h.dev)))}, []int64{0, 0})
}

// During a capture the driver gives memory, and nothing goes back to it. Later, memory
// that is free in a graph's pool stays there as long as the graph may be replayed.
func TestA25(t *testing.T) {
	h := newHeap(t, "")
	h.free(h.take(12 * mib))
	pool, graphs := memory.NewPool(h.dev, memory.PoolOptions{}), memory.NewPool(h.dev, memory.PoolOptions{})
	for _, p := range []*memory.Pool{pool, graphs} {
		must(t, p.Do(func() error { h.free(h.take(512)); return nil }))
	}
	h.drv.calls()
	memory.CaptureBegun(h.dev)
	h.empty()
	must(t, pool.Release())
	h.wantCalls("emptying the cache and releasing a pool during a capture")
	h.take(30 * mib)
	h.wantCalls("growing during a capture", "alloc 31457280")
	memory.CaptureEnded(h.dev)
	h.empty()
	calls := h.drv.calls()
	slices.Sort(calls)
	equal(t, "emptying the cache after the capture, with a graph left", calls, []string{"free 12582912", "free 2097152"})
	must(t, graphs.Release())
	h.wantCalls("the end of the graph", "free 2097152")
}
