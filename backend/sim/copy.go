package sim

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// What copies are called among the operators of a stream.
var (
	fromHostOp = &ir.Op{Name: "copy from the host"}
	toHostOp   = &ir.Op{Name: "copy to the host"}
	onDeviceOp = &ir.Op{Name: "copy"}
	toPeerOp   = &ir.Op{Name: "copy to a peer"}
	zeroOp     = &ir.Op{Name: "clear"}
)

// move copies n bytes, which may overlap.
func move(dst, src unsafe.Pointer, n int64) error {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
	return nil
}

// start finds the device and the stream of a copy of n bytes.
func (d *Driver) start(dev int, s device.StreamID, n int64) (*accelerator, *stream, error) {
	a, on, err := d.stream(dev, s)
	if err != nil {
		return nil, nil, err
	}
	if n < 0 {
		return nil, nil, fmt.Errorf("%s: a copy of %d bytes", a, n)
	}
	if err := a.inject(FaultCopy); err != nil {
		return nil, nil, fmt.Errorf("%s: %w", a, err)
	}
	return a, on, nil
}

// CopyFromHost copies n bytes of host memory to a device's, in stream order.
func (d *Driver) CopyFromHost(dev int, s device.StreamID, dst uint64, src unsafe.Pointer, n int64) error {
	a, on, err := d.start(dev, s, n)
	if err != nil || n == 0 {
		return err
	}
	to, err := a.at(dst, n, false)
	if err != nil {
		return err
	}
	a.count(func(c *Counters) { c.FromHost.add(n) })
	return a.enqueue(on, fromHostOp, d.holding(func() error { return move(to, src, n) }, dst))
}

// CopyToHost copies n bytes of a device's memory to host memory, in stream
// order.
func (d *Driver) CopyToHost(dev int, s device.StreamID, dst unsafe.Pointer, src uint64, n int64) error {
	a, on, err := d.start(dev, s, n)
	if err != nil || n == 0 {
		return err
	}
	from, err := a.at(src, n, false)
	if err != nil {
		return err
	}
	a.count(func(c *Counters) { c.ToHost.add(n) })
	return a.enqueue(on, toHostOp, d.holding(func() error { return move(dst, from, n) }, src))
}

// CopyOnDevice copies n bytes within a device's memory, in stream order.
func (d *Driver) CopyOnDevice(dev int, s device.StreamID, dst, src uint64, n int64) error {
	a, on, err := d.start(dev, s, n)
	if err != nil || n == 0 {
		return err
	}
	from, err := a.at(src, n, false)
	if err != nil {
		return err
	}
	to, err := a.at(dst, n, false)
	if err != nil {
		return err
	}
	a.count(func(c *Counters) { c.OnDevice.add(n) })
	return a.enqueue(on, onDeviceOp, d.holding(func() error { return move(to, from, n) }, dst, src))
}

// CopyPeer copies n bytes from one device's memory to another's, in the order of
// a stream of the source. It needs no peer access, but where it is captured: GPUs record no other
// copies between devices.
func (d *Driver) CopyPeer(srcDev int, s device.StreamID, dstDev int, dst, src uint64, n int64) error {
	a, on, err := d.start(srcDev, s, n)
	if err != nil || n == 0 {
		return err
	}
	peer, err := d.device(dstDev)
	if err != nil {
		return err
	}
	if peer != a && d.CaptureOf(srcDev, s) != 0 && !device.OpenPeer(d, srcDev, dstDev) {
		return fmt.Errorf("%w: a captured copy from %s, which does not reach the memory of %s", device.ErrUnavailable, a, peer)
	}
	from, err := a.at(src, n, false)
	if err != nil {
		return err
	}
	to, err := peer.at(dst, n, false)
	if err != nil {
		return err
	}
	if peer != a {
		peer.touch()
	}
	a.count(func(c *Counters) { c.ToPeer.add(n) })
	return a.enqueue(on, toPeerOp, d.holding(func() error { return move(to, from, n) }, src, dst))
}

// Zero clears n bytes of device or host memory, in stream order.
func (d *Driver) Zero(dev int, s device.StreamID, m device.Memory, n int64) error {
	a, on, err := d.stream(dev, s)
	if err != nil || n <= 0 {
		return err
	}
	to := m.Host
	if to == nil {
		if to, err = a.at(m.Addr, n, false); err != nil {
			return err
		}
	}
	a.count(func(c *Counters) { c.Zeroed.add(n) })
	return a.enqueue(on, zeroOp, d.holding(func() error {
		clear(unsafe.Slice((*byte)(to), n))
		return nil
	}, m.Addr))
}
