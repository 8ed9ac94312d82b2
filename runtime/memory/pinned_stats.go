package memory

import (
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
)

// PinnedStatsOf returns the figures of the page-locked memory for a kind of
// accelerator.
func PinnedStatsOf(k device.Kind) figures.PinnedStats {
	drainDropped(device.CPU)
	p := existingPinned(k)
	if p == nil {
		return figures.PinnedStats{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// ResetPinnedPeak makes the peaks of the figures what they are now.
func ResetPinnedPeak(k device.Kind) {
	resetPinned(k, func(s *figures.Stat) { s.Peak = s.Current }, func(*figures.Times) {})
}

// ResetPinnedAccumulated makes the totals of the figures, and the times, zero.
func ResetPinnedAccumulated(k device.Kind) {
	resetPinned(k, func(s *figures.Stat) { s.Allocated, s.Freed = 0, 0 }, func(t *figures.Times) { *t = figures.Times{} })
}

func resetPinned(k device.Kind, stat func(*figures.Stat), times func(*figures.Times)) {
	p := existingPinned(k)
	if p == nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range []*figures.Stat{&p.stats.Allocations, &p.stats.AllocatedBytes, &p.stats.ActiveRequests, &p.stats.ActiveBytes} {
		stat(s)
	}
	times(&p.stats.AllocTime)
	times(&p.stats.FreeTime)
}

// EmptyPinnedCache gives the page-locked memory for a kind of accelerator that no
// block and no copy uses back to the driver.
func EmptyPinnedCache(k device.Kind) error {
	drainDropped(device.CPU)
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
