package core

import (
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/memory/host"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A Storage is the memory behind one or more tensors. It is given back when the
// last handle is released, or after the collector found it unreachable.
//
// Storages are recycled: one whose last handle was released serves another
// tensor. Only holders of a reference may keep a pointer to one, and a handle
// drops its pointer when it is released.
type Storage struct {
	drv   device.Driver
	block memory.Block // where the memory is
	bytes int64
	held  bool        // block is to be given back, and the storage recycled
	armed bool        // has a finalizer, which gives block back
	pin   device.Kind // of the accelerators it is page-locked for; KindCPU for none
	// virtual: a recording made it, and it has no memory: the block's address names it
	virtual bool
	void    bool  // a recording made it, for no elements: it has no place
	away    bool  // Evict gave the memory back
	fixed   any   // unless nil the memory is read-only, not held, and stays for this
	before  int64 // epoch, while away

	shared  atomic.Bool  // a second reference was made
	refs    atomic.Int64 // handles and saved values that were not released; 1 from the start
	version atomic.Int64 // writes in place so far
	epoch   atomic.Int64 // recorded writes in place so far
	kept    atomic.Pointer[keptForms]
}

// The recycled storages hold nothing, but for those of small blocks of host memory:
// these keep their block, which the collector takes with the storage. Those for
// devices and for pinned memory have a finalizer, which they keep while they are
// recycled: attaching one costs as much as all else about a storage. It is no
// cleanup, because the finalizer of a storage that nobody released recycles it, too.
var (
	hostStorages, deviceStorages sync.Pool
	smallStorages                [smallClass + 1]sync.Pool // of blocks of 1<<index bytes
)

// smallClass is the binary logarithm of the size of the largest block that its
// storage keeps.
const smallClass = 14

func (s *Storage) arm() *Storage {
	s.armed = true
	goruntime.SetFinalizer(s, (*Storage).collected)
	return s
}

// collected is called when the collector found s unreachable.
func (s *Storage) collected() {
	if !s.held { // it was recycled, and nobody wanted it
		return
	}
	memory.Drop(s.block)
	s.reset()
	deviceStorages.Put(s.arm())
}

// reset makes s hold nothing, as if new.
func (s *Storage) reset() {
	s.drv, s.block, s.bytes, s.held, s.pin, s.away = nil, memory.Block{}, 0, false, device.KindCPU, false
	s.count()
}

// count makes s one that has one reference and was never written. A store costs
// more than to find that none is needed.
func (s *Storage) count() {
	if s.shared.Load() {
		s.shared.Store(false)
		s.refs.Store(1)
	}
	if s.version.Load() != 0 {
		s.version.Store(0)
	}
	if s.kept.Load() != nil {
		s.kept.Store(nil)
	}
	if s.epoch.Load() != 0 {
		s.epoch.Store(0)
	}
}

// current returns the calling goroutine's current stream of dev.
func current(dev device.Device) device.StreamID {
	if !dev.Accelerator() {
		return 0
	}
	return stream.CurrentID(dev)
}

// newStorage allocates bytes on dev, which drv provides, for work on stream s.
func newStorage(dev device.Device, drv device.Driver, s device.StreamID, bytes int64) (*Storage, error) {
	if bytes == 0 {
		s := empty(drv)
		s.void = Recording()
		return s, nil
	}
	if recorders.Held() { // looked at before the call, for every result comes here
		if r := recorderNow(); r != nil {
			return r.storage(dev, drv, bytes)
		}
	}
	if dev.Kind == device.KindCPU && bytes <= 1<<smallClass {
		if s, _ := smallStorages[host.Class(bytes)].Get().(*Storage); s != nil && s.drv == drv {
			s.bytes = bytes
			return s, nil
		}
	}
	b, err := memory.Alloc(dev, drv, s, bytes)
	if err != nil {
		return nil, err
	}
	return own(b, drv, bytes), nil
}

// newPinned allocates page-locked host memory for accelerators of the given kind.
// Drv provides the host.
func newPinned(kind device.Kind, drv device.Driver, bytes int64) (*Storage, error) {
	of, err := device.DriverOf(kind)
	if err != nil {
		return nil, err
	}
	if bytes == 0 {
		s := empty(drv)
		s.pin = kind
		return s, nil
	}
	b, err := memory.AllocPinned(of, bytes)
	if err != nil {
		return nil, err
	}
	s := own(b, drv, bytes)
	s.pin = kind
	return s, nil
}

// empty returns a storage without memory.
func empty(drv device.Driver) *Storage {
	s := &Storage{drv: drv}
	s.refs.Store(1)
	return s
}

// recorded reports whether a recording made the storage.
func (s *Storage) recorded() bool { return s.virtual || s.void }

// own returns a storage that holds b, with the collector as the net.
func own(b memory.Block, drv device.Driver, bytes int64) *Storage {
	pool := &deviceStorages
	if b.Collected() {
		pool = &hostStorages
	}
	s, _ := pool.Get().(*Storage)
	if s == nil {
		s = new(Storage)
		s.refs.Store(1)
		if pool == &deviceStorages {
			s.arm()
		}
	}
	s.drv, s.block, s.bytes, s.held = drv, b, bytes, true
	return s
}

// unref drops one reference. With the last it frees the block and recycles the
// storage, which the caller must not use any more. Where no second reference was
// ever made nobody else counts, and the count stays at the 1 that the next use of
// the storage begins with.
func (s *Storage) unref() error {
	if s.shared.Load() && s.refs.Add(-1) != 0 || !s.held {
		if s.virtual && (!s.shared.Load() || s.refs.Load() == 0) {
			s.gone()
		}
		return nil
	}
	if s.small() {
		s.count()
		smallStorages[host.Class(s.block.Bytes)].Put(s)
		return nil
	}
	b, pool := s.block, &hostStorages
	if s.armed {
		pool = &deviceStorages
	}
	s.reset()
	pool.Put(s)
	return b.Free()
}

// small reports whether s keeps its block while it is recycled.
func (s *Storage) small() bool {
	return !s.armed && s.block.Bytes <= 1<<smallClass
}

// ref adds a reference to those there are.
func (s *Storage) ref() {
	if !s.shared.Load() {
		s.shared.Store(true)
	}
	s.refs.Add(1)
}

// view sets v to the elements of layout as a kernel sees them.
func (s *Storage) view(v *ir.View, l *ir.Layout, dt ir.DType) {
	v.DType, v.Shape, v.Strides = dt, l.Shape, l.Strides
	offset := l.Offset * dt.Size()
	switch {
	case s.block.Host != nil:
		v.Ptr, v.Addr = unsafe.Add(s.block.Host, offset), 0
	case s.bytes == 0:
		v.Ptr, v.Addr = unsafe.Pointer(&noElements), 0
	default:
		v.Ptr, v.Addr = nil, s.block.Addr+uint64(offset)
	}
}

// zero clears all of s, which is on dev, in the order of stream q.
func (s *Storage) zero(dev device.Device, q device.StreamID) error {
	if s.bytes == 0 {
		return nil
	}
	if r := recorderNow(); r != nil {
		return r.zero(s, dev)
	}
	err := copied("zero", s.drv, dev, q, s.bytes, func() error { return s.drv.Zero(dev.Index, q, s.block.Memory, s.bytes) })
	if err != nil {
		return err
	}
	return blocked(s.drv, dev, q)
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
	s := t.storage
	t.storage = nil
	_ = s.unref() // what a driver reports of it is the error of the device's next allocation
}
