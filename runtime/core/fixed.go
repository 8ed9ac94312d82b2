package core

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// ErrReadOnly is wrapped when a tensor is to be changed whose memory cannot be.
const ErrReadOnly ir.Error = "the tensor's memory is read-only"

// Fixed returns a contiguous host tensor over raw, which has its elements row-major in this
// machine's byte order and must not change: writing to the tensor in place is an error that
// wraps ErrReadOnly. Keep, which must not be nil, is what raw stays for. Where raw is not
// aligned for the dtype and the processor does not read such numbers, the tensor is a copy,
// which is read-only, too. Where the calling goroutine records, it is a copy that each run
// makes, and may change.
func Fixed(raw []byte, dt ir.DType, shape []int, keep any) *Tensor {
	if len(raw) == 0 || !ir.ClassStored.Has(dt) || recorderNow() != nil {
		return FromBytes(raw, dt, shape, Placement{})
	}
	if !readsAnywhere && uintptr(unsafe.Pointer(unsafe.SliceData(raw)))%uintptr(dt.Size()) != 0 {
		t := FromBytes(raw, dt, shape, Placement{})
		if t.storage != nil {
			t.storage.fixed = ownCopy{}
		}
		return t
	}
	if err := ir.CheckShape(shape); err != nil {
		return Fail(fromOp, err)
	}
	if want := ir.NumElements(shape) * dt.Size(); len(raw) != want {
		return FromBytes(raw, dt, shape, Placement{}) // which says what is wrong
	}
	dev, drv, err := device.Find(device.CPU)
	if err != nil {
		return Fail(fromOp, err)
	}
	s := empty(drv) // not held: releasing it gives nothing back
	s.bytes, s.fixed = int64(len(raw)), keep
	s.block = memory.Block{Memory: device.Memory{Host: unsafe.Pointer(&raw[0]), Bytes: s.bytes}, Device: dev}
	return newTensor(s, dev, ir.ContiguousLayout(append([]int{}, shape...)), dt)
}

// readsAnywhere reports whether processors read numbers at every address. These are the ones
// that Go's compiler reads several bytes of at once wherever they lie (Alignment is 1 in its
// package internal/sys). Kernels read operands only so; what is written is always aligned.
const readsAnywhere = runtime.GOARCH == "386" || runtime.GOARCH == "amd64" || runtime.GOARCH == "arm64" || runtime.GOARCH == "ppc64" ||
	runtime.GOARCH == "ppc64le" || runtime.GOARCH == "s390x" || runtime.GOARCH == "wasm"

// ownCopy is what memory stays for that is a copy of what must not change: nothing but itself.
type ownCopy struct{}

// changeable returns an error where t's memory is read-only.
func (t *Tensor) changeable() error {
	if t.storage == nil || t.storage.fixed == nil {
		return nil
	}
	return fmt.Errorf("%w: %s %v with the contents of a file; Clone makes a copy that can be changed", ErrReadOnly, t.dtype, t.layout.Shape)
}
