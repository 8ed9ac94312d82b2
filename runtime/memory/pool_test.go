package memory

import (
	"errors"
	"fmt"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
)

// within calls f in a pool and reports errors.
func within(t testing.TB, p *Pool, f func()) {
	t.Helper()
	if err := p.Do(func() error { f(); return nil }); err != nil {
		t.Fatal(err)
	}
}

func segments(d device.Device) int64 { return StatsOf(d).Segment.All.Current }

// TestPoolSegments is P70, with what becomes of the memory (P69, P73, A24).
func TestPoolSegments(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	p := NewPool(cuda0, PoolOptions{})
	if Used(cuda0) || p.UseCount() != 1 {
		t.Errorf("a new pool has used the device, or is used by %d", p.UseCount())
	}
	outside := take(t, drv, 0, mib)
	var blocks []Block
	within(t, p, func() {
		if n := p.UseCount(); n != 2 {
			t.Errorf("in its scope the pool is used by %d", n)
		}
		for _, want := range []int64{1, 1, 2} {
			blocks = append(blocks, take(t, drv, 0, mib))
			if got := segments(cuda0) - 1; got != want {
				t.Errorf("%d blocks of 1 MiB are in %d segments, want %d", len(blocks), got, want)
			}
		}
		if err := EmptyCache(cuda0); err != nil {
			t.Error(err)
		}
	})
	later := take(t, drv, 0, mib) // from the rest of the segment outside
	if later.Addr != outside.Addr+mib {
		t.Error("an allocation outside of the pool is from its segments")
	}
	free(t, blocks[2], blocks[1])
	if err := EmptyCache(cuda0); err != nil {
		t.Fatal(err)
	}
	if got := segments(cuda0); got != 3 {
		t.Errorf("%d segments while the pool is held, want 3", got)
	}
	want := map[PoolID]figures.Metric{p.ID(): {All: figures.Stat{Current: 4 * mib, Peak: 4 * mib, Allocated: 4 * mib}, Small: figures.Stat{Current: 4 * mib, Peak: 4 * mib, Allocated: 4 * mib}}}
	if diff := cmp.Diff(want, PrivateReserved(cuda0)); diff != "" {
		t.Error(diff)
	}
	if got := StatsMap(cuda0)[fmt.Sprintf("reserved_bytes_by_private_pools.0_%d.all.current", p.ID().B)]; got != 4*mib {
		t.Errorf("reserved by the pool: %d", got)
	}
	if err := p.Release(); err != nil {
		t.Fatal(err)
	}
	if got := segments(cuda0); got != 2 { // the segment with a block in it is left
		t.Errorf("%d segments after the pool was released, want 2", got)
	}
	free(t, blocks[0])
	if got := segments(cuda0); got != 2 {
		t.Errorf("%d segments after the pool's last block was freed, want 2", got)
	}
	if err := EmptyCache(cuda0); err != nil || segments(cuda0) != 1 || len(PrivateReserved(cuda0)) != 0 {
		t.Errorf("%d segments are left, %v, %v", segments(cuda0), PrivateReserved(cuda0), err)
	}
	for _, err := range []error{p.Release(), p.Retain(), p.Do(func() error { return nil })} {
		if !errors.Is(err, ErrPoolReleased) {
			t.Errorf("of a pool that was released: %v", err)
		}
	}
	free(t, outside, later)
}

// TestPoolInUse is A23's rule, and P69's counts.
func TestPoolInUse(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	p := NewPool(cuda0, PoolOptions{})
	other := NewPool(cuda0, PoolOptions{})
	within(t, p, func() {
		if err := p.Do(func() error { t.Error("a pool was entered twice"); return nil }); !errors.Is(err, ErrPoolInUse) {
			t.Errorf("entered twice: %v", err)
		}
		if _, err := p.Route(func(device.StreamID) bool { return true }); !errors.Is(err, ErrPoolInUse) {
			t.Errorf("entered and routed to: %v", err)
		}
		a := take(t, drv, 0, 100)
		within(t, other, func() {
			if b := take(t, drv, 0, 100); b.Addr == a.Addr+512 {
				t.Error("an inner pool's block is the outer one's")
			}
		})
		if b := take(t, drv, 0, 100); b.Addr != a.Addr+512 {
			t.Error("after an inner pool, the outer one is not back")
		}
	})
	func() {
		defer func() { _ = recover() }()
		_ = p.Do(func() error { panic("out of it") })
	}()
	if n := p.UseCount(); n != 1 {
		t.Errorf("after a panic the pool is used by %d", n)
	}
	var wg sync.WaitGroup
	ids := make([]PoolID, 16)
	for i := range ids {
		wg.Go(func() { ids[i] = NewPool(cuda0, PoolOptions{}).ID() })
	}
	wg.Wait()
	seen := map[PoolID]bool{{}: true}
	for _, id := range ids {
		if seen[id] {
			t.Errorf("pool %v is there twice", id)
		}
		seen[id] = true
	}
	if err := NewPool(device.CPU, PoolOptions{}).Do(func() error { return nil }); !errors.Is(err, device.ErrUnavailable) && !errors.Is(err, device.ErrInvalid) {
		t.Errorf("a pool of host memory: %v", err)
	}
	if err := NewPool(device.CUDA(7), PoolOptions{}).Do(func() error { return nil }); !errors.Is(err, device.ErrUnavailable) {
		t.Errorf("a pool of no device: %v", err)
	}
}

// TestOtherGoroutine sees that a scope is of its goroutine alone.
func TestOtherGoroutine(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	outside := take(t, drv, 0, 100)
	within(t, NewPool(cuda0, PoolOptions{}), func() {
		var wg sync.WaitGroup
		wg.Go(func() {
			if b := take(t, drv, 0, 100); b.Addr != outside.Addr+512 {
				t.Error("another goroutine allocates from the pool")
			}
		})
		wg.Wait()
	})
}

// TestRoute sends the allocations of one stream to a pool (A23).
func TestRoute(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	p := NewPool(cuda0, PoolOptions{})
	outside := take(t, drv, 5, 100)
	if _, err := p.Route(nil); !errors.Is(err, device.ErrInvalid) {
		t.Errorf("a route of no streams: %v", err)
	}
	end, err := p.Route(func(s device.StreamID) bool { return s == 5 })
	if err != nil {
		t.Fatal(err)
	}
	a, b := take(t, drv, 5, 100), take(t, drv, 6, 100)
	within(t, NewPool(cuda0, PoolOptions{}), func() {
		if c := take(t, drv, 5, 100); c.Addr != a.Addr+512 {
			t.Error("a scope comes before a route")
		}
	})
	if err := p.Release(); err != nil || p.UseCount() != 1 {
		t.Errorf("released in use: %v, used by %d", err, p.UseCount())
	}
	free(t, a)
	a = take(t, drv, 5, 100)
	end()
	end()
	if c := take(t, drv, 5, 100); c.Addr != outside.Addr+512 || p.UseCount() != 0 {
		t.Errorf("after the route an allocation is at +%d, the pool is used by %d", int64(c.Addr-outside.Addr), p.UseCount())
	}
	if b.Addr == outside.Addr+512 || a.Addr == outside.Addr+512 {
		t.Error("streams or pools share segments")
	}
}

// TestNoSplit is P72.
func TestNoSplit(t *testing.T) {
	drv := newFake(1 << 30)
	start(t, drv)
	within(t, NewPool(cuda0, PoolOptions{NoSplit: true}), func() {
		for n := range int64(3) {
			if b := take(t, drv, 0, 1000); b.Bytes != 2*mib || segments(cuda0) != n+1 {
				t.Errorf("block %d is of %d bytes, of %d segments", n, b.Bytes, segments(cuda0))
			}
		}
	})
}

// TestUseOnOOM is P71: the pool's free blocks serve before the cache goes back.
func TestUseOnOOM(t *testing.T) {
	for _, lends := range []bool{true, false} {
		drv := newFake(100 * mib)
		start(t, drv)
		p := NewPool(cuda0, PoolOptions{UseOnOOM: lends})
		var inPool Block
		within(t, p, func() { inPool = take(t, drv, 0, 40*mib) })
		free(t, inPool, take(t, drv, 0, 30*mib))
		b, err := Alloc(cuda0, drv, 0, 35*mib)
		if lends && (err != nil || b.Addr != inPool.Addr || StatsOf(cuda0).AllocRetries != 0) {
			t.Errorf("the pool does not lend: %v", err)
		}
		if !lends && (err != nil || b.Addr == inPool.Addr || StatsOf(cuda0).AllocRetries != 1) {
			t.Errorf("without leave the pool lends, or the cache does not go back: %v", err)
		}
		if err == nil {
			free(t, b)
		}
	}
}

// TestCapture has what must not happen during a capture (A16, A25, P90).
func TestCapture(t *testing.T) {
	drv := newFake(100 * mib)
	start(t, drv)
	cached, kept, early := take(t, drv, 0, 30*mib), take(t, drv, 0, 100), take(t, drv, 0, 100)
	early.RecordStream(3)
	drv.setBusy(3, true)
	free(t, cached, early)
	drv.setBusy(3, false)
	events := len(drv.events)

	CaptureBegun(cuda0)
	CaptureBegun(cuda0)
	kept.RecordStream(4)
	free(t, kept)
	if b := take(t, drv, 0, 100); b.Addr == early.Addr || b.Addr == kept.Addr || len(drv.events) != events {
		t.Error("an event was recorded or asked during a capture")
	}
	if err := EmptyCache(cuda0); err != nil || segments(cuda0) != 2 || StatsOf(cuda0).SyncAllStreams != 0 {
		t.Errorf("the cache was emptied during a capture: %d segments, %v", segments(cuda0), err)
	}
	if _, err := Alloc(cuda0, drv, 0, 90*mib); !errors.Is(err, device.ErrOutOfMemory) || StatsOf(cuda0).AllocRetries != 0 || segments(cuda0) != 2 {
		t.Errorf("out of memory during a capture: %v, %d retries", err, StatsOf(cuda0).AllocRetries)
	}
	CaptureEnded(cuda0)
	if len(drv.events) != events {
		t.Error("the first of two captures ended all waiting")
	}
	CaptureEnded(cuda0)
	CaptureEnded(cuda0) // one too many
	if len(drv.events)-events != 1 {
		t.Errorf("%d events after the capture", len(drv.events)-events)
	}
	a, b := take(t, drv, 0, 100), take(t, drv, 0, 100)
	if a.Addr != kept.Addr || b.Addr != early.Addr {
		t.Errorf("after the capture blocks are at +%d and +%d", int64(a.Addr-kept.Addr), int64(b.Addr-early.Addr))
	}
	free(t, take(t, drv, 0, 90*mib))
}
