package memory

import (
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
)

// StatsOf returns the figures of an accelerator's allocator; zero for the host,
// whose memory is the collector's. What the program dropped and the collector
// found is freed first.
func StatsOf(d device.Device) Stats {
	drainDropped()
	a := existing(d)
	if a == nil {
		return Stats{}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.stats
}

// Used reports whether anything was allocated on d yet.
func Used(d device.Device) bool { return existing(d) != nil }

// Allocated returns the bytes that are held on an accelerator now (S42).
func Allocated(d device.Device) int64 { return StatsOf(d).AllocatedBytes.All.Current }

// MaxAllocated returns the most bytes that were held at a time since the process
// began or ResetPeak.
func MaxAllocated(d device.Device) int64 { return StatsOf(d).AllocatedBytes.All.Peak }

// Reserved returns the bytes that the allocator of an accelerator holds from the
// driver now, in use or cached (S43).
func Reserved(d device.Device) int64 { return StatsOf(d).ReservedBytes.All.Current }

// MaxReserved returns the most bytes that the allocator held at a time.
func MaxReserved(d device.Device) int64 { return StatsOf(d).ReservedBytes.All.Peak }

// ResetPeak makes the peaks of a device's figures what they are now.
func ResetPeak(d device.Device) {
	resetStats(d, func(s *Stat) { s.Peak = s.Current })
}

// ResetAccumulated makes the totals of a device's figures, and its counts of
// events, zero.
func ResetAccumulated(d device.Device) {
	resetStats(d, func(s *Stat) { s.Allocated, s.Freed = 0, 0 })
	if a := existing(d); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		s := &a.stats
		s.AllocRetries, s.OutOfMemory, s.SyncAllStreams, s.DeviceAllocs, s.DeviceFrees = 0, 0, 0, 0, 0
	}
}

func resetStats(d device.Device, reset func(*Stat)) {
	if a := existing(d); a != nil {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.stats.eachStat(reset)
	}
}

// EmptyCache gives memory that no block uses back to the driver (S44, A21). It
// waits for work of other streams that uses freed blocks. Segments of which a
// part is in use stay.
func EmptyCache(d device.Device) error {
	drainDropped()
	a := existing(d)
	if a == nil || !a.caching {
		return nil
	}
	a.mu.Lock()
	a.stats.SyncAllStreams++
	a.mu.Unlock()
	if err := a.release(); err != nil {
		return fmt.Errorf("%s: emptying the cache: %w", a.dev, err)
	}
	return nil
}

// SetMemoryFraction limits what the program may take of a device's memory, from 0
// to 1 of it (P52). What it has already stays.
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

// MemoryFraction returns what SetMemoryFraction set; 1 before.
func MemoryFraction(d device.Device) float64 {
	a := existing(d)
	if a == nil {
		return 1
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.fraction
}
