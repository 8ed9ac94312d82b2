package core

import (
	goruntime "runtime"
	"slices"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// waitFor makes later work on stream q of dev wait for what stream otherQ of other
// was given so far.
func waitFor(dev device.Device, q device.StreamID, other device.Device, otherQ device.StreamID) error {
	return stream.External(dev, q).WaitStream(stream.External(other, otherQ))
}

// between does work that is given to stream q of dev and touches memory of others: q
// first waits for what their current streams have to do, and these wait for q before
// what they are given next. Nobody waits on the host.
func between(dev device.Device, q device.StreamID, others []device.Device, work func() error) error {
	for _, o := range others {
		if err := waitFor(dev, q, o, current(o)); err != nil {
			return err
		}
	}
	err := work()
	for _, o := range others {
		if late := waitFor(o, current(o), dev, q); err == nil {
			err = late
		}
	}
	return err
}

// copyPeer copies n bytes between two devices of one driver on the source's current
// stream. It works without peer access, too: by way of the host.
func copyPeer(dst, src *Tensor, n int64) error {
	drv, from, to := src.storage.drv, src.dev, dst.dev
	on := current(from)
	device.OpenPeer(drv, from.Index, to.Index) // the copy says what is wrong with a device
	err := between(from, on, []device.Device{to}, func() error {
		return copied("copy to "+to.String(), drv, from, on, n, func() error {
			return drv.CopyPeer(from.Index, on, to.Index, dst.kernelView().Addr, src.kernelView().Addr, n)
		})
	})
	if err == nil {
		err = blocked(drv, from, on)
	}
	goruntime.KeepAlive(src)
	return err
}

// reaches reports whether a kernel of src's device can write the elements of src,
// which need more than a copy of bytes, to a tensor on dev.
func (src *Tensor) reaches(dev device.Device, converted bool) bool {
	return src.dev.Accelerator() && src.dev != dev && src.dev.Kind == dev.Kind && (converted || !src.IsContiguous()) &&
		src.NumElements() > 0 && device.OpenPeer(src.storage.drv, src.dev.Index, dev.Index)
}

// writePeer writes the elements of src to dst, of the same shape on another device,
// by a kernel on the source's current stream, which converts them, too.
func writePeer(dst, src *Tensor) error {
	p := newApplication(&Apply{Op: copyOp, In: []*Tensor{src}})
	defer p.free()
	if err := p.check(false); err != nil {
		return err
	}
	p.others = append(p.others, dst.dev)
	return p.launchElementwise(dst, src.layout.Shape, false)
}

// joins notes that operands of p are on dev, too, where the program allowed
// operators across it and the application's device.
func (p *application) joins(first, dev device.Device) bool {
	if !device.PeerAccessEnabled(first, dev) {
		return false
	}
	if !slices.Contains(p.others, dev) {
		p.others = append(p.others, dev)
	}
	return true
}
