package cuda

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/figures"
	"github.com/sinter-go/sinter/runtime/option"
)

// An OutOfMemoryError says that a device has no room for an allocation; errors.As finds it
// as a *cuda.OutOfMemoryError. It is [memory.OutOfMemoryError], which wraps
// device.ErrOutOfMemory. Its fields, in bytes:
//
//   - Device, and Cause, the driver's error; nil if the driver was not asked.
//   - Requested by the program; Tried, what the driver was asked for.
//   - Total and Free: of the device. Process: what this process holds, 0 if not known.
//   - Limit: what the program may take; 0 without SetMemoryFraction.
//   - Allocated: held by tensors, Private of it in pools. Reserved: held from the driver.
//
// Error() is the message, with all of these; Unwrap() is for package errors.
type OutOfMemoryError = memory.OutOfMemoryError

// figuresOf returns the figures of a device; zero where there is none.
func figuresOf(d []device.Device) figures.Stats {
	on, _, err := find(d)
	if err != nil {
		return figures.Stats{}
	}
	return memory.StatsOf(on)
}

// MemoryAllocated returns the bytes that tensors hold now.
func MemoryAllocated(d ...device.Device) int64 { return figuresOf(d).AllocatedBytes.All.Current }

// MaxMemoryAllocated returns the most bytes that tensors held at a time, since
// the process began or ResetPeakMemoryStats.
func MaxMemoryAllocated(d ...device.Device) int64 { return figuresOf(d).AllocatedBytes.All.Peak }

// MemoryReserved returns the bytes that the allocator holds from the driver now,
// in use or cached.
func MemoryReserved(d ...device.Device) int64 { return figuresOf(d).ReservedBytes.All.Current }

// MaxMemoryReserved returns the most bytes that the allocator held at a time.
func MaxMemoryReserved(d ...device.Device) int64 { return figuresOf(d).ReservedBytes.All.Peak }

// MemoryStats returns the allocator's figures under PyTorch's names, as in
// "allocated_bytes.all.peak"; none before the first allocation.
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

func each(d []device.Device, f func(device.Device)) error {
	on, _, err := find(d)
	if err != nil {
		return err
	}
	f(on)
	return nil
}

// EmptyCache gives the memory that no tensor uses back to the driver, on the
// given devices or on all. What tensors hold stays, so there is no more for
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
// to 1 of it.
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
// counted.
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

// HostMemory has the figures of page-locked host memory, [figures.PinnedStats]. Each has the
// Current value, the Peak, and the totals Allocated and Freed. Its fields:
//
//   - Allocations and AllocatedBytes: held from the driver, in use or cached.
//   - ActiveRequests and ActiveBytes: held by the program, or waiting for copies.
//   - AllocTime and FreeTime: how long the driver took, with the number of calls.
//
// Map() returns them under PyTorch's names.
type HostMemory = figures.PinnedStats

// HostMemoryStats returns the figures of page-locked host memory.
func HostMemoryStats() HostMemory { return memory.PinnedStatsOf(device.KindCUDA) }

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
// SINTER_ALLOC_CONF does: see [memory.Configure].
func SetAllocatorSettings(text string) error { return memory.Configure(text) }

// AllocatorBackend returns the name of the allocator of device memory, which is
// this project's own: "native".
func AllocatorBackend() string { return "native" }

// CachingAllocatorEnable turns the caching of device memory on or off.
func CachingAllocatorEnable(on bool) { memory.SetCaching(on) }

// CachingAllocatorAlloc returns the address of device memory for work on a stream,
// or on the current stream of the current device, until CachingAllocatorDelete.
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
// those free, as [memory.OnOutOfMemory] does. Remove ends that.
func OnOutOfMemory(f func(d device.Device, requested, limit, free int64)) (remove func()) {
	return memory.OnOutOfMemory(func(d device.Device, requested, limit, free int64) {
		if d.Kind == device.KindCUDA {
			f(d, requested, limit, free)
		}
	})
}

// A MemPool is device memory that is kept apart from the rest, [memory.Pool]. Its methods:
//
//   - Do(f func() error) error is UseMemPool. Route(match) is the same for all goroutines that
//     allocate on the streams that match, until the function that it returns is called.
//   - Release() error ends the caller's hold: memory without tensors goes back to the device
//     when nobody holds the pool. Retain() error is another hold.
//   - Device() and ID() say what it is; UseCount() int counts its holds.
type MemPool = memory.Pool

// NewMemPool returns a pool, which the caller holds until Release. Options: tensor.On
// (the current CUDA device), UseOnOOM, NoSplit.
func NewMemPool(opts ...Option) (*MemPool, error) {
	o := option.Read(opts)
	on, _, err := find([]device.Device{option.Get(&o, "On", device.CUDA())})
	p := memory.PoolOptions{UseOnOOM: o.Flag("UseOnOOM", false), NoSplit: o.Flag("NoSplit", false)}
	if given := o.Err("On, UseOnOOM, NoSplit"); given != nil {
		return nil, fmt.Errorf("memory pool: %w", given)
	}
	if err != nil {
		return nil, err
	}
	return memory.NewPool(on, p), nil
}

// UseMemPool calls f; what the calling goroutine allocates on the pool's device
// meanwhile comes from the pool. It returns f's error, or that the pool is in use
// already, and then f is not called.
func UseMemPool(p *MemPool, f func() error) error { return p.Do(f) }
