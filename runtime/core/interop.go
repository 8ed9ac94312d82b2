package core

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

var (
	pointerOp     = &ir.Op{Name: "device_pointer"}
	fromPointerOp = &ir.Op{Name: "from_device_pointer"}
)

// DevicePointer returns the address of t's first element on its accelerator, for
// code that works on the memory itself; 0 where t has no elements. The elements
// lie as Strides says, not before the first one. The memory stays t's and is valid
// until t is released. It has the elements once the stream that they were made on
// has passed that work; code that uses another stream orders it, and tells
// RecordStream where t may be released before. What such code writes changes no
// Version, so gradients that need the old values do not notice.
//
// Host tensors have no such address: that is an error, which wraps
// device.ErrInvalid.
func (t *Tensor) DevicePointer() (uintptr, error) {
	switch err := t.Err(); {
	case err != nil:
		return 0, err
	case !t.dev.Accelerator():
		return 0, at(fmt.Errorf("%s: %w: the tensor is in host memory; take its elements with Data or Bytes, or move it to an accelerator",
			pointerOp.Name, device.ErrInvalid))
	case t.storage.virtual:
		return 0, at(fmt.Errorf("%s: %w", pointerOp.Name, ErrHostRead))
	case t.NumElements() == 0:
		return 0, nil
	}
	addr := t.kernelView().Addr
	if addr > uint64(^uintptr(0)) { // simulated, where pointers have 32 bits
		return 0, at(fmt.Errorf("%s: %w: no pointer of this platform holds address %#x", pointerOp.Name, device.ErrInvalid, addr))
	}
	return uintptr(addr), nil
}

// FromDevicePointer returns a contiguous tensor of the given shape and dtype over
// memory of dev, an accelerator, that begins at ptr and that the program owns. The
// program keeps it until the tensor, its views and the gradients that need them
// are released and their work is done. It is never freed here, is no part of the
// memory figures, and RecordStream has nothing to note for it. What the
// elements come from must be ordered before the first use on the calling
// goroutine's current stream. Two tensors made over one memory count as apart:
// neither checks of overlap nor Version see through.
//
// A host device, a null or misaligned ptr, or memory past the end of the address
// space is an error. Whether ptr is memory of dev is not checked. For a shape of
// no elements ptr does not matter.
func FromDevicePointer(dev device.Device, ptr uintptr, dt ir.DType, shape []int) *Tensor {
	t, err := fromPointer(dev, uint64(ptr), dt, append([]int{}, shape...))
	if err != nil {
		return Fail(fromPointerOp, err)
	}
	return t
}

func fromPointer(dev device.Device, addr uint64, dt ir.DType, shape []int) (*Tensor, error) {
	dev, drv, err := device.Find(dev)
	switch {
	case err != nil:
		return nil, err
	case !dev.Accelerator():
		return nil, fmt.Errorf("%w: %s has no device pointers, want an accelerator; From and FromBytes copy host memory", device.ErrInvalid, dev)
	case !ir.ClassStored.Has(dt):
		return nil, fmt.Errorf("%w: %s; want %s", ErrDType, dt, dtypeList(ir.ClassStored))
	}
	if err := ir.CheckShape(shape); err != nil {
		return nil, err
	}
	s := empty(drv) // not held: releasing it gives nothing back
	if bytes := ir.NumElements(shape) * dt.Size(); bytes > 0 {
		if err := checkPointer(addr, uint64(bytes), dt); err != nil {
			return nil, err
		}
		s.bytes = int64(bytes)
		s.block = memory.Block{Memory: device.Memory{Addr: addr, Bytes: s.bytes}, Device: dev} // without owner
	}
	return newTensor(s, dev, ir.ContiguousLayout(shape), dt), nil
}

// FromBlock returns a contiguous tensor over b, which it takes over: the block is freed with
// the last handle, view or saved value, or here where there is an error.
func FromBlock(b memory.Block, dt ir.DType, shape []int) (*Tensor, error) {
	t, err := fromBlock(b, dt, append([]int{}, shape...))
	if err != nil {
		return nil, errors.Join(err, b.Free())
	}
	return t, nil
}

func fromBlock(b memory.Block, dt ir.DType, shape []int) (*Tensor, error) {
	dev, drv, err := device.Find(b.Device)
	switch {
	case err != nil:
		return nil, err
	case !ir.ClassStored.Has(dt):
		return nil, fmt.Errorf("%w: %s; want %s", ErrDType, dt, dtypeList(ir.ClassStored))
	}
	if err := ir.CheckShape(shape); err != nil {
		return nil, err
	}
	bytes := int64(ir.NumElements(shape) * dt.Size())
	if bytes == 0 || bytes > b.Bytes {
		return nil, fmt.Errorf("%w: a block of %d bytes for %s %v", ir.ErrShape, b.Bytes, dt, shape)
	}
	return newTensor(own(b, drv, bytes), dev, ir.ContiguousLayout(shape), dt), nil
}

// checkPointer validates the address of bytes > 0 of elements.
func checkPointer(addr, bytes uint64, dt ir.DType) error {
	switch align := uint64(dt.Size()); { // kernels read an element at once, a complex one too
	case addr == 0:
		return fmt.Errorf("a null pointer to %d bytes", bytes)
	case addr%align != 0:
		return fmt.Errorf("address %#x is not a multiple of %d, as %s needs", addr, align, dt)
	case addr > uint64(^uintptr(0))-bytes:
		return fmt.Errorf("%d bytes at address %#x reach past the end of memory", bytes, addr)
	}
	return nil
}
