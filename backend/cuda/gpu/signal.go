package gpu

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.Signaler = (*Driver)(nil)

// What waiting by words is called among the operators of a stream.
var (
	writeWordOp = &ir.Op{Name: "write a word"}
	awaitWordOp = &ir.Op{Name: "wait for a word"}
)

// WriteWord writes a word of a device's memory. A fill does, as it lets captured steps of training be
// quicker than the driver's own writing of words.
func (d *Driver) WriteWord(dev int, s device.StreamID, toDev int, addr uint64, value uint32) error {
	api, err := d.on(dev, s, writeWordOp)
	if err != nil {
		return err
	}
	if toDev != dev && !device.OpenPeer(d, dev, toDev) {
		return fmt.Errorf("%w: cuda:%d does not reach the memory of cuda:%d", device.ErrUnavailable, dev, toDev)
	}
	return d.failed(dev, api.MemsetD32Async(dev, driver.Ptr(addr), value, 1, driver.Stream(s)))
}

// AwaitWord has a stream wait for a word. What another device did before it wrote the word can be seen
// then: a piece of work begins once what it follows is done and can be seen in the whole system. A
// device that may still have writes from outside on their way is told to look for them.
func (d *Driver) AwaitWord(dev int, s device.StreamID, addr uint64, value uint32) error {
	api, err := d.on(dev, s, awaitWordOp)
	if err != nil {
		return err
	}
	flush, err := api.DeviceAttribute(dev, driver.CanFlushRemoteWrites)
	if err != nil {
		return d.failed(dev, err)
	}
	return d.failed(dev, api.StreamWaitValue32(dev, driver.Stream(s), driver.Ptr(addr), value, flush != 0))
}
