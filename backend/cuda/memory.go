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

// MemoryStats returns the allocator's figures under PyTorch's names, as in
// "allocated_bytes.all.peak" (S46); none before the first allocation (A28).
func MemoryStats(d ...device.Device) map[string]int64 {
	on, _, err := find(d)
	if err != nil || !memory.Used(on) {
		return map[string]int64{}
	}
	return memory.StatsOf(on).Map()
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

// MemoryFraction returns what SetMemoryFraction set; 1 before.
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
