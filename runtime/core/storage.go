package core

import (
	goruntime "runtime"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// A Storage is the memory behind one or more tensors. It is given back when the
// last handle is released, or after the collector found it unreachable.
type Storage struct {
	dev   device.Device
	drv   device.Driver
	block memory.Block
	bytes int64

	refs    atomic.Int64 // handles and saved values that were not released
	version atomic.Int64 // writes in place so far
	epoch   atomic.Int64 // recorded writes in place so far
	shared  atomic.Bool  // a second handle was made

	cleanup goruntime.Cleanup
}

// newStorage allocates bytes on dev, which drv provides.
func newStorage(dev device.Device, drv device.Driver, bytes int64) (*Storage, error) {
	s := &Storage{dev: dev, drv: drv, bytes: bytes}
	if bytes == 0 {
		return s, nil
	}
	b, err := memory.Alloc(dev, drv, bytes)
	if err != nil {
		return nil, err
	}
	s.own(b)
	return s, nil
}

// newPinned allocates page-locked host memory for accelerators of the given kind.
// Drv provides the host.
func newPinned(kind device.Kind, drv device.Driver, bytes int64) (*Storage, error) {
	of, err := device.DriverOf(kind)
	if err != nil {
		return nil, err
	}
	s := &Storage{dev: device.CPU, drv: drv, bytes: bytes}
	if bytes == 0 {
		return s, nil
	}
	b, err := memory.AllocPinned(of, bytes)
	if err != nil {
		return nil, err
	}
	s.own(b)
	return s, nil
}

// own makes s the holder of b, with the collector as the net.
func (s *Storage) own(b memory.Block) {
	s.block = b
	if !b.Collected() {
		s.cleanup = goruntime.AddCleanup(s, memory.Drop, b)
	}
}

// unref drops one reference and frees the block with the last.
func (s *Storage) unref() error {
	if s.refs.Add(-1) != 0 || s.bytes == 0 {
		return nil
	}
	if !s.block.Collected() {
		s.cleanup.Stop()
	}
	b := s.block
	s.block = memory.Block{}
	return b.Free()
}

// view returns the elements of layout as a kernel sees them.
func (s *Storage) view(l ir.Layout, dt ir.DType) ir.View {
	v := ir.View{DType: dt, Shape: l.Shape, Strides: l.Strides}
	offset := l.Offset * dt.Size()
	switch {
	case s.bytes == 0:
		v.Ptr = unsafe.Pointer(&noElements)
	case s.block.Host != nil:
		v.Ptr = unsafe.Add(s.block.Host, offset)
	default:
		v.Addr = s.block.Addr + uint64(offset)
	}
	return v
}

// noElements is what views of empty storages point to.
var noElements [16]byte

// host returns the storage's bytes; only for storages in host memory.
func (s *Storage) host() []byte {
	if s.bytes == 0 {
		return nil
	}
	return unsafe.Slice((*byte)(s.block.Host), s.bytes)
}

// Release gives up the handle: using t afterwards is an error. The memory goes
// back when no other handle, view or saved value holds it. Releasing twice, or
// an error tensor, does nothing.
func (t *Tensor) Release() {
	if t == nil || t.storage == nil || t.released.Swap(true) {
		return
	}
	_ = t.storage.unref() // a driver that cannot free reports it at the next synchronisation
}
