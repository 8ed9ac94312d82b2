package cuda

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// An OutOfMemoryError says that a device has no room for an allocation.
type OutOfMemoryError = memory.OutOfMemoryError

// figures returns the figures of a device; zero where there is none.
func figures(d []device.Device) memory.Stats {
	on, _, err := find(d)
	if err != nil {
		return memory.Stats{}
	}
	return memory.StatsOf(on)
}

// MemoryAllocated returns the bytes that tensors hold now (S42).
func MemoryAllocated(d ...device.Device) int64 { return figures(d).AllocatedBytes.All.Current }

// MaxMemoryAllocated returns the most bytes that tensors held at a time, since
// the process began or ResetPeakMemoryStats.
func MaxMemoryAllocated(d ...device.Device) int64 { return figures(d).AllocatedBytes.All.Peak }

// MemoryReserved returns the bytes that the allocator holds from the driver now,
// in use or cached (S43).
func MemoryReserved(d ...device.Device) int64 { return figures(d).ReservedBytes.All.Current }

// MaxMemoryReserved returns the most bytes that the allocator held at a time.
func MaxMemoryReserved(d ...device.Device) int64 { return figures(d).ReservedBytes.All.Peak }

// MemoryCached returns what MemoryReserved does.
//
// Deprecated: Use [MemoryReserved].
func MemoryCached(d ...device.Device) int64 { return MemoryReserved(d...) }

// MaxMemoryCached returns what MaxMemoryReserved does.
//
// Deprecated: Use [MaxMemoryReserved].
func MaxMemoryCached(d ...device.Device) int64 { return MaxMemoryReserved(d...) }

// MemoryStats returns the allocator's figures under PyTorch's names, as in
// "allocated_bytes.all.peak" (S46); none before the first allocation (A28).
func MemoryStats(d ...device.Device) map[string]int64 {
	on, _, err := find(d)
	if err != nil {
		return map[string]int64{}
	}
	return memory.StatsMap(on)
}

// ResetPeakMemoryStats makes the peaks of the figures what they are now.
func ResetPeakMemoryStats(d ...device.Device) error { return each(d, memory.ResetPeak) }

// ResetAccumulatedMemoryStats makes the totals and counts in the figures zero.
func ResetAccumulatedMemoryStats(d ...device.Device) error {
	return each(d, memory.ResetAccumulated)
}

// ResetMaxMemoryAllocated resets all peaks, not only that of allocated bytes (P56).
//
// Deprecated: Use [ResetPeakMemoryStats].
func ResetMaxMemoryAllocated(d ...device.Device) error { return ResetPeakMemoryStats(d...) }

// ResetMaxMemoryCached resets all peaks, not only that of reserved bytes (P56).
//
// Deprecated: Use [ResetPeakMemoryStats].
func ResetMaxMemoryCached(d ...device.Device) error { return ResetPeakMemoryStats(d...) }

func each(d []device.Device, f func(device.Device)) error {
	on, _, err := find(d)
	if err != nil {
		return err
	}
	f(on)
	return nil
}

// EmptyCache gives the memory that no tensor uses back to the driver, on the
// given devices or on all (S44). What tensors hold stays, so there is no more for
// this program than before.
func EmptyCache(d ...device.Device) error {
	if len(d) == 0 {
		for i := range DeviceCount() {
			d = append(d, device.CUDA(i))
		}
	}
	var errs []error
	for _, one := range d {
		on, _, err := find([]device.Device{one})
		if err == nil {
			err = memory.EmptyCache(on)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// SetMemoryFraction limits what the program may take of a device's memory, from 0
// to 1 of it (P52).
func SetMemoryFraction(fraction float64, d ...device.Device) error {
	on, _, err := find(d)
	if err != nil {
		return err
	}
	return memory.SetMemoryFraction(on, fraction)
}

// MemoryFraction returns what SetMemoryFraction set; before, what the settings say,
// or 1.
func MemoryFraction(d ...device.Device) (float64, error) {
	on, _, err := find(d)
	if err != nil {
		return 0, err
	}
	return memory.MemoryFraction(on), nil
}

// MemGetInfo returns a device's free and total bytes, all programs and the cache
// counted (P53).
func MemGetInfo(d ...device.Device) (free, total int64, err error) {
	on, drv, err := find(d)
	if err != nil {
		return 0, 0, err
	}
	if free, total, err = drv.MemoryInfo(on.Index); err != nil {
		return 0, 0, fmt.Errorf("%s: %w", on, err)
	}
	return free, total, nil
}

// HostMemoryStats returns the figures of page-locked host memory (A36).
func HostMemoryStats() memory.PinnedStats { return memory.PinnedStatsOf(device.KindCUDA) }

// EmptyHostCache gives the page-locked host memory that no tensor and no copy
// uses back to the driver.
func EmptyHostCache() error { return memory.EmptyPinnedCache(device.KindCUDA) }

// HostMemoryStatsMap returns those figures under PyTorch's names.
func HostMemoryStatsMap() map[string]int64 { return HostMemoryStats().Map() }

// ResetPeakHostMemoryStats makes the peaks of page-locked memory what they are now.
func ResetPeakHostMemoryStats() { memory.ResetPinnedPeak(device.KindCUDA) }

// ResetAccumulatedHostMemoryStats makes the totals of page-locked memory zero.
func ResetAccumulatedHostMemoryStats() { memory.ResetPinnedAccumulated(device.KindCUDA) }

// SetAllocatorSettings sets how memory is cached, as the environment's
// SINTER_ALLOC_CONF does: see [memory.Configure] (P39).
func SetAllocatorSettings(text string) error { return memory.Configure(text) }

// AllocatorBackend returns the name of the allocator of device memory, which is
// this project's own: "native".
func AllocatorBackend() string { return "native" }

// CachingAllocatorEnable turns the caching of device memory on or off (P54).
func CachingAllocatorEnable(on bool) { memory.SetCaching(on) }

// CachingAllocatorAlloc returns the address of device memory for work on a stream,
// or on the current stream of the current device, until CachingAllocatorDelete
// (P55).
func CachingAllocatorAlloc(bytes int64, on ...Stream) (uint64, error) {
	s := CurrentStream()
	switch {
	case len(on) > 1:
		return 0, fmt.Errorf("%w: %d streams, want one or none", device.ErrInvalid, len(on))
	case len(on) == 1:
		s = on[0]
	}
	if err := s.Err(); err != nil {
		return 0, err
	}
	if _, _, err := find([]device.Device{s.Device()}); err != nil {
		return 0, err
	}
	return memory.AllocRaw(s.Device(), s.ID(), bytes)
}

// CachingAllocatorDelete gives memory of CachingAllocatorAlloc back. Any other
// address is an error that wraps [memory.ErrInvalidPointer].
func CachingAllocatorDelete(addr uint64) error { return memory.FreeRaw(device.KindCUDA, addr) }

// OnOutOfMemory makes f be called whenever an allocation fails for lack of memory:
// with the bytes of the segment that was tried, those the program may take, and
// those free, as [memory.OnOutOfMemory] does (P66). Remove ends that.
func OnOutOfMemory(f func(d device.Device, requested, limit, free int64)) (remove func()) {
	return memory.OnOutOfMemory(func(d device.Device, requested, limit, free int64) {
		if d.Kind == device.KindCUDA {
			f(d, requested, limit, free)
		}
	})
}

// A MemPool is device memory that is kept apart from the rest (P69).
type MemPool = memory.Pool

// MemPoolOptions are properties of a MemPool.
type MemPoolOptions = memory.PoolOptions

// NewMemPool returns a pool on a device, which the caller holds until Release.
func NewMemPool(o MemPoolOptions, d ...device.Device) (*MemPool, error) {
	on, _, err := find(d)
	if err != nil {
		return nil, err
	}
	return memory.NewPool(on, o), nil
}

// UseMemPool calls f; what the calling goroutine allocates on the pool's device
// meanwhile comes from the pool (P69).
func UseMemPool(p *MemPool, f func()) error { return p.Do(f) }
