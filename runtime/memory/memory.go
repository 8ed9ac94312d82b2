// Package memory hands out and takes back the memory of devices. Host blocks
// are recycled by package host. Accelerators have a caching allocator: memory that
// is freed is reused in stream order, without a call to the driver and without
// waiting. Page-locked host memory has one too. What they count is in package
// figures. The package knows nothing of tensors.
//
//	dev := device.Best()
//	fmt.Print(memory.Summary(dev, false)) // a table
//	fmt.Println(memory.Allocated(dev), memory.MaxReserved(dev))
//	if err := memory.EmptyCache(dev); err != nil {
//		return err
//	}
package memory

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/host"
)

// A Block is memory on one device. Its holder owns it and calls Free once; the
// zero Block is no memory. Bytes may be more than was asked for.
type Block struct {
	device.Memory
	Device device.Device
	owner  owner
	hold   uint64 // which of the owner's loans this is
}

// An owner is the memory behind a block, which outlives it.
type owner interface {
	// free ends the loan; ErrFreed if it has ended.
	free(hold uint64) error
	// use notes that work given to stream s of dev uses the memory, as long as
	// the loan lasts.
	use(hold uint64, dev device.Device, s device.StreamID)
	// waits reports whether free, called for work of device at, may wait for another one, or
	// for any.
	waits(at device.Device) bool
}

// ErrFreed is wrapped when a block is freed twice.
const ErrFreed ir.Error = "the memory was freed before"

// Alloc returns a block of at least bytes uninitialised bytes on dev, which drv
// provides, for work on stream s of dev; none where bytes is 0. Work on
// other streams must be ordered by the caller and told by RecordStream. On the
// host s makes no difference.
//
// An error is an *OutOfMemoryError when the device has no room; before that the
// collector gets a chance to find blocks that the program dropped.
func Alloc(dev device.Device, drv device.Driver, s device.StreamID, bytes int64) (Block, error) {
	switch {
	case bytes < 0:
		return Block{}, fmt.Errorf("%s: cannot allocate %d bytes", dev, bytes)
	case bytes == 0:
		return Block{Device: dev}, nil
	case drv == nil || dev.Index < 0 || dev.Index >= maxDevices:
		return Block{}, fmt.Errorf("%s: %w: memory is of a device that device.Find has found, with its driver", dev, device.ErrInvalid)
	case dev.Kind == device.KindCPU:
		return allocHost(drv, bytes)
	case dev.Kind != drv.Kind():
		return Block{}, fmt.Errorf("%s: %w: the driver is of %s devices", dev, device.ErrInvalid, drv.Kind())
	}
	drainDropped(dev)
	a := allocatorOf(dev, drv)
	if !a.caching || cachingOff.Load() {
		return a.allocDirect(bytes)
	}
	c, err := a.alloc(s, bytes)
	if err != nil {
		return Block{}, err
	}
	return c.block(), nil
}

// mostOutside is how many bytes of temporaries lie outside of Go's heap at most: of more it is
// asked first whether the machine has them.
const mostOutside = 16 << 20

// AllocTemporaries is Alloc of memory that no tensor gets, and whose holder keeps the block until
// its last use. On the host it lies outside of Go's heap, which would grow by as much again before
// it is collected.
func AllocTemporaries(dev device.Device, drv device.Driver, s device.StreamID, bytes int64) (Block, error) {
	if dev != device.CPU || bytes < 1 || bytes > mostOutside {
		return Alloc(dev, drv, s, bytes)
	}
	b, loan := host.AllocOutside(bytes)
	return Block{Memory: b.Memory, Device: device.CPU, owner: (*hosted)(b), hold: loan}, nil
}

// AllocPinned returns page-locked host memory of the driver that provides the
// accelerators it is for; none where bytes is 0. The goroutine is at work for its current one.
func AllocPinned(drv device.Driver, bytes int64) (Block, error) {
	if drv == nil {
		return Block{}, fmt.Errorf("%w: pinned memory is of a driver, which is not nil", device.ErrInvalid)
	}
	return AllocPinnedFor(device.Current(drv.Kind()), drv, bytes)
}

// AllocPinnedFor is AllocPinned for whoever is at work for a device: it calls no other one.
func AllocPinnedFor(dev device.Device, drv device.Driver, bytes int64) (Block, error) {
	switch {
	case bytes < 0 || bytes >= maxRequest:
		return Block{}, fmt.Errorf("%w: cannot allocate %d bytes of pinned memory", device.ErrOutOfMemory, bytes)
	case bytes == 0:
		return Block{Device: device.CPU}, nil
	case drv == nil:
		return Block{}, fmt.Errorf("%w: pinned memory is of a driver, which is not nil", device.ErrInvalid)
	}
	drainDropped(device.CPU)
	return pinnedOf(drv).alloc(dev.Index, bytes)
}

// Free gives the block back. It waits for nothing, but where the memory goes to the
// driver at once: with caching off, and where the settings say that so large
// a page-locked block is not kept. Memory of a device is reused
// at once by work on its own stream, which comes after what was given to the
// stream before; with other streams recorded, it is reused when their work is
// done. Freeing twice is an error that wraps ErrFreed. What a driver
// reports of earlier work meanwhile is the error of the device's next allocation.
func (b Block) Free() error {
	if b.owner == nil {
		return nil
	}
	if err := b.owner.free(b.hold); err != nil {
		return fmt.Errorf("%s: freeing %d bytes: %w", b.Device, b.Bytes, err)
	}
	return nil
}

// RecordStream says that work on stream s of the block's device uses the block:
// once freed it is not reused before the work given to s until then is done. On the host it does nothing.
func (b Block) RecordStream(s device.StreamID) {
	if b.owner != nil && b.Device.Accelerator() {
		b.owner.use(b.hold, b.Device, s)
	}
}

// Waited takes RecordStream back: stream now was given to wait for all that stream s uses the
// block for. Where it is the one that the block was allocated for, the block is free for its
// later work at once when it is freed; elsewhere it does nothing.
func (b Block) Waited(now, s device.StreamID) {
	if c, ok := b.owner.(*chunk); ok {
		c.waited(b.hold, now, s)
	}
}

// RecordUse says that a copy on stream s of dev uses the block, which is
// page-locked host memory: once freed it is not reused before the work given to
// s until then is done. With other memory it does nothing.
func (b Block) RecordUse(dev device.Device, s device.StreamID) {
	if b.Pinned() {
		b.owner.use(b.hold, dev, s)
	}
}

// Pinned reports whether the block is page-locked host memory.
func (b Block) Pinned() bool {
	_, ok := b.owner.(*pinned)
	return ok
}

// Collected reports whether an unreachable block must not be given back by hand:
// unlocked host memory belongs to Go's collector.
func (b Block) Collected() bool {
	_, apart := b.owner.(*foreign)
	return b.Device.Kind == device.KindCPU && !b.Pinned() && !apart
}

// hosted is a block of host memory as an owner. Streams need not be noted: their work
// reads unlocked host memory before the call that gives it returns.
type hosted host.Block

func (h *hosted) free(hold uint64) error {
	if !(*host.Block)(h).Free(hold) {
		return ErrFreed
	}
	return nil
}

func (*hosted) use(uint64, device.Device, device.StreamID) {}

func allocHost(drv device.Driver, bytes int64) (Block, error) {
	if bytes > maxRequest {
		return Block{}, fmt.Errorf("%w: cpu: cannot allocate %d bytes", device.ErrOutOfMemory, bytes)
	}
	b, loan, err := host.Alloc(drv, bytes)
	if err != nil {
		return Block{}, fmt.Errorf("cpu: cannot allocate %d bytes: %w", bytes, err)
	}
	return Block{Memory: b.Memory, Device: device.CPU, owner: (*hosted)(b), hold: loan}, nil
}
