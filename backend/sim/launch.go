package sim

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// Launch runs one kernel in stream order. Views are in the memory of the device,
// or of one whose memory it was given access to; those of one element may be in
// host memory and are read now.
func (d *Driver) Launch(dev int, s device.StreamID, c *ir.Call) error {
	a, on, err := d.stream(dev, s)
	if err != nil {
		return err
	}
	if err := a.inject(FaultLaunch); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	own, err := a.copyCall(c)
	if err != nil {
		return err
	}
	a.count(func(c *Counters) { c.Launches++ })
	if recorded, err := d.capturing.record(on, func(k *capture) error { return k.addCall(on, own, c) }); recorded {
		return err
	}
	late, lost := a.inject(FaultExecute), a.inject(FaultLost)
	return a.enqueue(on, c.Op, func() error {
		switch {
		case lost != nil:
			a.lose(fmt.Errorf("%s: %w (in flight on stream %#x: %s)", own.Op.Name, lost, uint64(on.id), on.flight.String()))
			return a.usable()
		case late != nil:
			return fmt.Errorf("%s: %w", own.Op.Name, late)
		}
		return d.config.Run(own)
	})
}

// copyCall returns c with everything that its sender may change copied, and with
// device addresses replaced by where they are in host memory.
func (a *accelerator) copyCall(c *ir.Call) (*ir.Call, error) {
	own := *c
	own.FFTPlans = a.fftPlans
	own.Space, own.Axes = slices.Clone(c.Space), slices.Clone(c.Axes)
	own.Scalars, own.Attrs = slices.Clone(c.Scalars), slices.Clone(c.Attrs)
	for i, v := range own.Attrs {
		own.Attrs[i].Ints = slices.Clone(v.Ints)
	}
	own.Out, own.In = make([]ir.View, len(c.Out)), make([]ir.View, len(c.In))
	var err error
	for i, v := range c.Out {
		if v.Ptr != nil && v.NumElements() > 0 {
			return nil, fmt.Errorf("%s: result %d is in host memory", a, i)
		}
		if own.Out[i], err = a.view(v); err != nil {
			return nil, fmt.Errorf("result %d: %w", i, err)
		}
	}
	for i, v := range c.In {
		if own.In[i], err = a.view(v); err != nil {
			return nil, fmt.Errorf("operand %d: %w", i, err)
		}
	}
	return &own, nil
}

// view returns v in host memory.
func (a *accelerator) view(v ir.View) (ir.View, error) {
	v.Shape, v.Strides = slices.Clone(v.Shape), slices.Clone(v.Strides)
	if !v.Given() || v.NumElements() == 0 {
		v.Addr = 0
		return v, nil
	}
	low, high := reach(v)
	if v.Ptr != nil {
		if low != high {
			return v, fmt.Errorf("%s: host memory with more than one element, of shape %v", a, v.Shape)
		}
		element := new([2]uint64)
		move(unsafe.Pointer(element), v.Ptr, int64(v.DType.Size()))
		v.Ptr = unsafe.Pointer(element)
		return v, nil
	}
	size := v.DType.Size()
	start := v.Addr + uint64(low*size)
	if start%uint64(size) != 0 { // a GPU is lost by it
		return v, fmt.Errorf("%s: address %#x does not divide by the %d bytes of a %s", a, start, size, v.DType)
	}
	p, err := a.at(start, int64((high-low+1)*size), true)
	if err != nil {
		return v, err
	}
	v.Ptr, v.Addr = unsafe.Add(p, -low*size), 0
	return v, nil
}

// reach returns the distances, in elements, of the lowest and the highest
// element of v from its first.
func reach(v ir.View) (low, high int) {
	for i, d := range v.Shape {
		if far := (d - 1) * v.Strides[i]; far < 0 {
			low += far
		} else {
			high += far
		}
	}
	return low, high
}

// ChannelsLast returns what a convolution or a gradient of one would copy.
func (d *Driver) ChannelsLast(_ int, c *ir.Call) (bytes int64, ok bool) {
	if d == nil || !d.config.ChannelsLast || c == nil || c.Op == nil || len(c.In) == 0 || len(c.Out) == 0 {
		return 0, false
	}
	switch {
	case c.Op.Tags&ir.TagChannels != 0:
		return 0, true
	case c.Op.Tags&ir.TagGradWeight != 0 && len(c.In) > 1:
		return 2 * (c.In[0].Bytes() + c.In[1].Bytes()), true
	}
	return 2 * (c.In[0].Bytes() + c.Out[0].Bytes()), true
}
