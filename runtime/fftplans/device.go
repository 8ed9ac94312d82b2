package fftplans

import (
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
)

// A Planner is a device.Driver whose devices keep plans of Fourier transforms.
type Planner interface {
	// FFTPlans returns the cache of a device, which lives as long as the driver.
	FFTPlans(dev int) (*Cache, error)
}

// A Handle is the cache of one device, or of the calling goroutine's current one
// at each use. Its methods make no context.
type Handle struct{ on device.Device }

// Of returns the cache of a device.
func Of(d device.Device) Handle { return Handle{d} }

// At returns the cache of the device of the same kind with an index.
func (h Handle) At(index int) Handle {
	return Handle{device.Device{Kind: h.on.Kind, Index: index}}
}

// Device returns the device whose cache this is, at this moment.
func (h Handle) Device() device.Device { return h.on.Resolve() }

func (h Handle) cache() (*Cache, error) {
	on, drv, err := device.Find(h.on)
	if err != nil {
		return nil, err
	}
	p, ok := drv.(Planner)
	if !ok {
		return nil, fmt.Errorf("%w: %s keeps no plans of Fourier transforms", device.ErrUnavailable, on)
	}
	return p.FFTPlans(on.Index)
}

// Size returns how many plans the device keeps; 0 where there is no such device.
func (h Handle) Size() int {
	c, err := h.cache()
	if err != nil {
		return 0
	}
	return c.Size()
}

// MaxSize returns how many plans the device may keep; 0 where there is no such
// device.
func (h Handle) MaxSize() int {
	c, err := h.cache()
	if err != nil {
		return 0
	}
	return c.MaxSize()
}

// SetMaxSize says how many plans the device may keep, 0 or more. Those that are
// more go at once, the least recently used first.
func (h Handle) SetMaxSize(n int) error {
	c, err := h.cache()
	if err == nil {
		err = c.SetMaxSize(n)
	}
	if err != nil {
		return fmt.Errorf("plans of %s: %w", h.Device(), err)
	}
	return nil
}

// Clear drops every plan that the device keeps.
func (h Handle) Clear() error {
	c, err := h.cache()
	if err != nil {
		return err
	}
	c.Clear()
	return nil
}
