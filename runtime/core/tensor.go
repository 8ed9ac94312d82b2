// Package core holds the tensor handle, the application of operators to
// handles, and reverse-mode differentiation. It knows operators only by their
// descriptors (ir.Op) and devices only by their drivers; it knows neither which
// operators nor which backends there are.
package core

import (
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// A Tensor is a handle on strided elements in a storage, or on an error. It is
// always used through a pointer; a nil *Tensor stands for an operand that was
// not given.
//
// Any number of goroutines may read a tensor. Writing to it (in-place forms,
// Release, RequireGrad, and backward passes that end in the same leaf) is the
// caller's to order.
type Tensor struct {
	// fail is why there are no elements, or beside a storage why a call left them as they
	// were that should have changed them.
	fail     atomic.Pointer[failure]
	storage  *Storage // nil once the handle is released
	layout   ir.Layout
	dev      device.Device
	dtype    ir.DType
	wrapped  bool // a host number: lowest promotion priority
	view     bool // made by a view operator
	detached bool // taken out of the graph on purpose
	released atomic.Bool
	epoch    int64      // storage.epoch when the handle's place in the graph was set
	grad     *gradState // nil until the tensor takes part in differentiation
}

// newTensor returns a handle on elements of s, which is on dev. It takes over one
// reference to s.
func newTensor(s *Storage, dev device.Device, layout ir.Layout, dtype ir.DType) *Tensor {
	var t *Tensor
	if r := recorderNow(); r != nil { // whose handles all end with it
		t = &r.tensors.take(1)[0]
	} else {
		t = new(Tensor)
	}
	t.storage, t.layout, t.dev, t.dtype, t.epoch = s, layout, dev, dtype, s.epoch.Load()
	if scopes.Held() {
		scopeAdd(t)
	}
	return t
}

// again returns a second handle on t's elements, of the given layout.
func (t *Tensor) again(layout ir.Layout) *Tensor {
	t.storage.ref()
	return newTensor(t.storage, t.dev, layout, t.dtype)
}

// alias returns another handle on t's elements that no scope releases and that
// has no part in differentiation.
func (t *Tensor) alias() *Tensor {
	a := new(Tensor)
	t.aliasTo(a)
	return a
}

// aliasTo makes a, a new Tensor, what alias returns.
func (t *Tensor) aliasTo(a *Tensor) {
	t.storage.ref()
	a.storage, a.layout, a.dev, a.dtype = t.storage, t.layout, t.dev, t.dtype
	a.wrapped, a.view, a.detached, a.epoch = t.wrapped, t.view, t.detached, t.epoch
}

// Err returns the error the tensor carries, or nil. Looking at an error this
// way counts as having handled it, but the tensor goes on carrying it.
func (t *Tensor) Err() error {
	if t == nil {
		return at(errAbsent)
	}
	if f := t.fail.Load(); f != nil {
		return f.report()
	}
	switch {
	case t.released.Load():
		return at(errReleased)
	case t.storage == nil:
		return at(errAbsent)
	case t.storage.away:
		return at(errAway)
	}
	return nil
}

// TakeErr is Err for programs: the error of a call that should have changed the
// elements is gone once it was read, and the tensor is as before that call.
func (t *Tensor) TakeErr() error {
	err := t.Err()
	if err != nil && t != nil && t.storage != nil {
		t.fail.Store(nil)
	}
	return err
}

// NotWritten has dst carry err, of a call that should have changed its elements, until
// TakeErr: a caller who passes over what the call returned finds it at the next use. It
// returns err, and does nothing where that is nil or dst carries an error already.
func NotWritten(dst *Tensor, err error) error {
	if err != nil && dst != nil && dst.storage != nil {
		dst.fail.CompareAndSwap(nil, &failure{err: err, bare: err, seen: new(atomic.Bool)})
	}
	return err
}

// broken returns the failure that makes t unusable as an operand, or nil. It
// does not count as having looked at the error.
func (t *Tensor) broken() *failure {
	if f := t.fail.Load(); f != nil || t.storage != nil && !t.storage.away {
		return f
	}
	return t.why()
}

// why returns the failure of a tensor that carries none and has no storage, or one without
// memory.
func (t *Tensor) why() *failure {
	if t.storage != nil {
		return newFailure(errAway)
	}
	if t.released.Load() {
		return newFailure(errReleased)
	}
	return newFailure(errAbsent)
}

// Shape returns the extents. The slice must not be changed. An error tensor has
// no extents.
func (t *Tensor) Shape() []int {
	if t == nil {
		return nil
	}
	return t.layout.Shape
}

// Strides returns the steps between elements along each axis, in elements. The
// slice must not be changed.
func (t *Tensor) Strides() []int {
	if t == nil {
		return nil
	}
	return t.layout.Strides
}

// Layout returns where the elements lie in the storage.
func (t *Tensor) Layout() ir.Layout {
	if t == nil {
		return ir.Layout{}
	}
	return t.layout
}

// StorageElements returns how many elements of t's dtype its storage holds.
func (t *Tensor) StorageElements() int {
	if t == nil || t.storage == nil {
		return 0
	}
	return int(t.storage.bytes) / t.dtype.Size()
}

// DType returns the element type; an error tensor's is ir.Invalid.
func (t *Tensor) DType() ir.DType {
	if t == nil {
		return ir.Invalid
	}
	return t.dtype
}

// Device returns where the elements are; an error tensor's is the CPU.
func (t *Tensor) Device() device.Device {
	if t == nil {
		return device.CPU
	}
	return t.dev
}

// Rank returns the number of axes.
func (t *Tensor) Rank() int { return len(t.Shape()) }

// NumElements returns the number of elements; an error tensor has none.
func (t *Tensor) NumElements() int {
	if t == nil || t.dtype == ir.Invalid {
		return 0
	}
	return ir.NumElements(t.layout.Shape)
}

// IsContiguous reports whether the elements are row-major without gaps.
func (t *Tensor) IsContiguous() bool { return t != nil && t.layout.IsContiguous() }

// IsPinned reports whether the elements are in page-locked host memory.
func (t *Tensor) IsPinned() bool {
	return t != nil && t.storage != nil && t.storage.pin != device.KindCPU
}

// Version returns how many times the storage was changed in place.
func (t *Tensor) Version() int64 {
	if t == nil || t.storage == nil {
		return 0
	}
	return t.storage.version.Load()
}

// SharesStorage reports whether t and u are handles on the same storage.
func (t *Tensor) SharesStorage(u *Tensor) bool {
	return t != nil && u != nil && t.storage != nil && t.storage == u.storage
}

// kernelView returns t's elements as a kernel sees them.
func (t *Tensor) kernelView() (v ir.View) {
	t.storage.view(&v, &t.layout, t.dtype)
	return v
}

func equalInts(a, b []int) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}
