package memory

import (
	"fmt"
	"maps"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/runtime/memory/host"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

// StatsOf returns the figures of an accelerator's allocator; zero for the host,
// whose memory is the collector's. What the program dropped and the collector
// found is freed first.
func StatsOf(d device.Device) figures.Stats {
	drainDropped(d)
	a := existing(d)
	if a == nil {
		return figures.Stats{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	s := a.stats.Stats()
	if conf := inForce.Load(); a.caching && conf != nil && conf.MaxSplit != settings.Unlimited {
		s.MaxSplitSize = conf.MaxSplit
	}
	return s
}

// PrivateReserved returns the bytes that private pools hold from the driver, by
// pool.
func PrivateReserved(d device.Device) map[PoolID]figures.Metric {
	a := existing(d)
	if a == nil {
		return nil
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	pools := make(map[PoolID]figures.Metric, len(a.arenas))
	for _, h := range a.arenas {
		pools[h.id] = h.reserved.Metric()
	}
	return pools
}

// StatsMap returns the figures under PyTorch's names: those of Stats.Map, and what
// private pools hold, as in "reserved_bytes_by_private_pools.0_1.all.current".
// It is empty before the first allocation.
func StatsMap(d device.Device) map[string]int64 {
	if !Used(d) {
		return map[string]int64{}
	}
	out := StatsOf(d).Map()
	for id, m := range PrivateReserved(d) {
		maps.Copy(out, m.Map(fmt.Sprintf("reserved_bytes_by_private_pools.%d_%d", id.A, id.B)))
	}
	return out
}

// Used reports whether anything was allocated on d yet.
func Used(d device.Device) bool { return existing(d) != nil }

// Allocated returns the bytes that are held on an accelerator now.
func Allocated(d device.Device) int64 { return StatsOf(d).AllocatedBytes.All.Current }

// MaxAllocated returns the most bytes that were held at a time since the process
// began or ResetPeak.
func MaxAllocated(d device.Device) int64 { return StatsOf(d).AllocatedBytes.All.Peak }

// Reserved returns the bytes that the allocator of an accelerator holds from the
// driver now, in use or cached.
func Reserved(d device.Device) int64 { return StatsOf(d).ReservedBytes.All.Current }

// MaxReserved returns the most bytes that the allocator held at a time.
func MaxReserved(d device.Device) int64 { return StatsOf(d).ReservedBytes.All.Peak }

// ResetPeak makes the peaks of a device's figures what they are now.
func ResetPeak(d device.Device) { reset(d, (*figures.Ledger).ResetPeak, (*figures.Gauge).ResetPeak) }

// ResetAccumulated makes the totals of a device's figures, and its counts of
// events, zero.
func ResetAccumulated(d device.Device) {
	reset(d, (*figures.Ledger).ResetTotals, (*figures.Gauge).ResetTotals)
}

func reset(d device.Device, all func(*figures.Ledger), one func(*figures.Gauge)) {
	drainDropped(d)
	if a := existing(d); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		all(&a.stats)
		for _, h := range a.arenas {
			one(&h.reserved)
		}
	}
}

// EmptyCache gives memory that no block uses back to the driver. It
// waits for work of other streams that uses freed blocks. Segments of which a
// part is in use stay, and so does all memory of private pools that somebody refers
// to. While a capture is under way it does nothing. For the host it
// gives the blocks that nobody uses to Go's collector.
func EmptyCache(d device.Device) error {
	if d.Kind == device.KindCPU {
		host.Empty()
		return nil
	}
	drainDropped(d)
	a := existing(d)
	if a == nil || !a.caching {
		return nil
	}
	a.mu.Lock()
	capturing := a.capturing > 0
	if !capturing {
		a.stats.Syncs++
	}
	a.mu.Unlock()
	if capturing {
		return nil
	}
	if err := a.release(); err != nil {
		return fmt.Errorf("%s: emptying the cache: %w", a.dev, err)
	}
	return nil
}

// SetMemoryFraction limits what the program may take of a device's memory, from 0
// to 1 of it. What it has already stays.
func SetMemoryFraction(d device.Device, fraction float64) error {
	d, drv, err := device.Find(d)
	if err != nil {
		return err
	}
	if !d.Accelerator() {
		return fmt.Errorf("%w: the memory of %s has no limit to set", device.ErrInvalid, d)
	}
	if !(fraction >= 0 && fraction <= 1) {
		return fmt.Errorf("%s: invalid memory fraction %v, want 0 to 1", d, fraction)
	}
	a := allocatorOf(d, drv)
	a.mu.Lock()
	defer a.mu.Unlock()
	a.fraction = fraction
	a.setPace()
	return nil
}

// MemoryFraction returns what SetMemoryFraction set; before, what the settings say, or 1.
func MemoryFraction(d device.Device) float64 {
	a := existing(d)
	if a == nil {
		if conf, err := configuration(); err == nil && conf.Fraction >= 0 {
			return conf.Fraction
		}
		return 1
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fraction
}

// Summary returns a table of an accelerator's figures.
func Summary(d device.Device, abbreviated bool) string {
	return StatsOf(d).Table("memory of "+d.Resolve().String(), abbreviated)
}
