package gpu

import (
	"errors"
	"fmt"
	"sync/atomic"
	"unsafe"

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

// wordAt returns the address by which all GPUs know a word. Under unified addressing, which every GPU
// of a 64-bit program has, memory of cuMemHostAlloc is part of the address space of all GPUs, from
// where it is on the host on and whatever its flags. For memory of the program's that was page-locked
// the GPU says so.
func (d *Driver) wordAt(api driver.API, dev int, word *atomic.Uint32) (driver.Ptr, error) {
	p := unsafe.Pointer(word)
	b, known := d.pinned.of(p, int64(unsafe.Sizeof(*word)))
	if !known {
		return 0, fmt.Errorf("%w: the word at %p is not in page-locked memory of the driver", device.ErrInvalid, p)
	}
	if b.registered {
		if same, err := api.DeviceAttribute(dev, driver.RegisteredSameAddress); err != nil || same == 0 {
			return 0, errors.Join(fmt.Errorf("%w: cuda:%d does not reach a word in memory that RegisterHost page-locked", device.ErrUnavailable, dev), d.failed(dev, err))
		}
	}
	return driver.Ptr(uintptr(p)), nil
}

// WriteWord writes a word by a fill. A fill begins once all that it follows is done; and what is done,
// a copy to another GPU above all, can be seen in the whole system, as a stream of any GPU may read it
// that waits for an event behind it. The driver's own writing of words, cuStreamWriteValue32, has a
// fence of the whole system before it besides, which does not add to that, and captured steps of
// training are slower by it. That the destination is page-locked host memory is in order for fills.
func (d *Driver) WriteWord(dev int, s device.StreamID, word *atomic.Uint32, value uint32) error {
	api, err := d.on(dev, s, writeWordOp)
	if err != nil {
		return err
	}
	at, err := d.wordAt(api, dev, word)
	if err != nil {
		return err
	}
	return d.failed(dev, api.MemsetD32Async(dev, at, value, 1, driver.Stream(s)))
}

// AwaitWord has a stream wait for a word, which the GPU looks at where it is. What another GPU did
// before it wrote the word has reached this one then. A GPU that may put writes from outside in another
// order within itself is told to look for them.
func (d *Driver) AwaitWord(dev int, s device.StreamID, word *atomic.Uint32, value uint32) error {
	api, err := d.on(dev, s, awaitWordOp)
	if err != nil {
		return err
	}
	at, err := d.wordAt(api, dev, word)
	if err != nil {
		return err
	}
	flush, err := api.DeviceAttribute(dev, driver.CanFlushRemoteWrites)
	if err != nil {
		return d.failed(dev, err)
	}
	return d.failed(dev, api.StreamWaitValue32(dev, driver.Stream(s), at, value, flush != 0))
}
