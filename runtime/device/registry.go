package device

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/runtime/local"
)

var registry struct {
	mu      sync.Mutex
	drivers atomic.Pointer[[numKinds]Driver]
	missing [numKinds]error // why there is no driver of a kind, if that is known
}

// Install adds the given backends' drivers to the process, each replacing an
// earlier one of its kind; nil ones are passed over. Package backend/all calls it
// with its list; tests install simulated devices.
func Install(drivers ...Driver) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	var table [numKinds]Driver
	if old := registry.drivers.Load(); old != nil {
		table = *old
	}
	for _, d := range drivers {
		if d != nil && d.Kind() < numKinds {
			if old := table[d.Kind()]; old != nil && old != d {
				forget(old)
			}
			table[d.Kind()] = d
		}
	}
	registry.drivers.Store(&table)
}

// Missing says why the program has no driver of kind k. Errors of that kind's devices say
// it, too.
func Missing(k Kind, why error) {
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if k < numKinds {
		registry.missing[k] = why
	}
}

// DriverOf returns the driver that provides devices of kind k.
func DriverOf(k Kind) (Driver, error) {
	if drv := driverOf(k); drv != nil {
		return drv, nil
	}
	registry.mu.Lock()
	defer registry.mu.Unlock()
	if k < numKinds && registry.missing[k] != nil {
		return nil, fmt.Errorf("%w: no %s backend is part of this program: %w", ErrUnavailable, k, registry.missing[k])
	}
	return nil, fmt.Errorf("%w: no %s backend is part of this program", ErrUnavailable, k)
}

// driverOf returns the driver of devices of kind k, or nil.
func driverOf(k Kind) Driver {
	if table := registry.drivers.Load(); table != nil && k < numKinds {
		return table[k]
	}
	return nil
}

// Find resolves d and returns it with its driver, or why there is no such device.
func Find(d Device) (Device, Driver, error) {
	d = d.Resolve()
	drv, err := DriverOf(d.Kind)
	if err != nil {
		return d, nil, err
	}
	if d.Kind == KindCPU {
		if d.Index != 0 {
			return d, nil, fmt.Errorf("%w: the host is one device, index %d is none of it", ErrInvalid, d.Index)
		}
		return CPU, drv, nil
	}
	n, err := drv.DeviceCount()
	switch {
	case err != nil && n == 0:
		return d, nil, fmt.Errorf("%w: %s: %w", ErrUnavailable, d, err)
	case d.Index < 0 || d.Index >= n:
		return d, nil, fmt.Errorf("%w: %s: this process sees %d %s devices", ErrUnavailable, d, n, d.Kind)
	}
	return d, drv, nil
}

// Count returns how many devices of kind k there are. It never fails: a missing
// backend or driver means none.
func Count(k Kind) int {
	drv := driverOf(k)
	if drv == nil {
		return 0
	}
	n, _ := drv.DeviceCount()
	return n
}

// Best returns cuda:0 if there is one, otherwise the CPU.
func Best() Device {
	if Count(KindCUDA) > 0 {
		return CUDA(0)
	}
	return CPU
}

// selected holds the calling goroutine's current device of each kind.
var selected = local.NewKey[[numKinds]int]()

func current(k Kind) int {
	v, _ := selected.Get()
	return v[k]
}

// Current returns the calling goroutine's current device of kind k: the one of
// the innermost With, or device 0.
func Current(k Kind) Device { return Device{k, CurrentIndex}.Resolve() }

// With calls f with d as the calling goroutine's current device of its kind. Guards
// nest, and the previous device is current again when f returns or
// panics. Other goroutines are not affected, also not those that f starts. It
// returns f's error, or that there is no such device, and then f is not called.
func With(d Device, f func() error) error {
	d, _, err := Find(d)
	if err != nil {
		return err
	}
	v, _ := selected.Get()
	v[d.Kind] = d.Index
	return selected.Try(v, f)
}
