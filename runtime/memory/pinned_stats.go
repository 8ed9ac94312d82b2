package memory

import (
	"fmt"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// Times sums up how long calls of the driver took.
type Times struct {
	Total, Min, Max time.Duration
	Count           int64
}

func (t *Times) add(d time.Duration) {
	if t.Count == 0 || d < t.Min {
		t.Min = d
	}
	t.Max = max(t.Max, d)
	t.Total += d
	t.Count++
}

// Mean returns the mean; 0 without a call.
func (t Times) Mean() time.Duration {
	if t.Count == 0 {
		return 0
	}
	return t.Total / time.Duration(t.Count)
}

// PinnedStats are the figures of the page-locked memory of one kind of device
// (A36).
type PinnedStats struct {
	Allocations    Stat // blocks held from the driver, in use or cached
	AllocatedBytes Stat
	ActiveRequests Stat // blocks the program holds, or freed and awaiting copies
	ActiveBytes    Stat
	AllocTime      Times // of the driver's allocations, with their number
	FreeTime       Times
}

// PinnedStatsOf returns the figures of the page-locked memory for a kind of
// accelerator.
func PinnedStatsOf(k device.Kind) PinnedStats {
	drainDropped()
	p := existingPinned(k)
	if p == nil {
		return PinnedStats{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// Map returns the figures under PyTorch's names, as in "active_bytes.current" and
// "host_alloc_time.max", the times in microseconds.
func (s PinnedStats) Map() map[string]int64 {
	out := map[string]int64{"num_host_alloc": s.AllocTime.Count, "num_host_free": s.FreeTime.Count}
	s.Allocations.addTo(out, "allocations")
	s.AllocatedBytes.addTo(out, "allocated_bytes")
	s.ActiveRequests.addTo(out, "active_requests")
	s.ActiveBytes.addTo(out, "active_bytes")
	for name, t := range map[string]Times{"host_alloc_time": s.AllocTime, "host_free_time": s.FreeTime} {
		out[name+".count"] = t.Count
		for part, d := range map[string]time.Duration{"total": t.Total, "min": t.Min, "max": t.Max, "avg": t.Mean()} {
			out[name+"."+part] = d.Microseconds()
		}
	}
	return out
}

// ResetPinnedPeak makes the peaks of the figures what they are now.
func ResetPinnedPeak(k device.Kind) {
	resetPinned(k, func(s *Stat) { s.Peak = s.Current }, func(*Times) {})
}

// ResetPinnedAccumulated makes the totals of the figures, and the times, zero.
func ResetPinnedAccumulated(k device.Kind) {
	resetPinned(k, func(s *Stat) { s.Allocated, s.Freed = 0, 0 }, func(t *Times) { *t = Times{} })
}

func resetPinned(k device.Kind, stat func(*Stat), times func(*Times)) {
	p := existingPinned(k)
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range []*Stat{&p.stats.Allocations, &p.stats.AllocatedBytes, &p.stats.ActiveRequests, &p.stats.ActiveBytes} {
		stat(s)
	}
	times(&p.stats.AllocTime)
	times(&p.stats.FreeTime)
}

// EmptyPinnedCache gives the page-locked memory for a kind of accelerator that no
// block and no copy uses back to the driver.
func EmptyPinnedCache(k device.Kind) error {
	drainDropped()
	p := existingPinned(k)
	if p == nil {
		return nil
	}
	if err := p.release(); err != nil {
		return fmt.Errorf("emptying the cache of pinned memory: %w", err)
	}
	return nil
}

func existingPinned(k device.Kind) *pinnedCache {
	drv, err := device.DriverOf(k)
	if err != nil {
		return nil
	}
	p, ok := pinnedCaches.Load(drv)
	if !ok {
		return nil
	}
	return p.(*pinnedCache)
}
