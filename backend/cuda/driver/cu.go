//go:build cu && cgo

package driver

import (
	"errors"
	"reflect"
	"runtime"
	"strings"
	"unsafe"

	"gorgonia.org/cu"
)

// cuBinding is the API over gorgonia.org/cu, for programs that live with it. What
// cu lacks comes from the first binding, which it holds: page-locked memory,
// capture, attributes that are set, block sizes, and launches, for cu passes 8
// bytes a parameter. Both have the same library and the same primary contexts.
//
// A build with the tag cu needs cgo, CUDA's headers (12 or 13), and this package's
// folder include before them, for the headers of CUDA 13:
//
//	CGO_ENABLED=1 CGO_CFLAGS="-I<sinter>/backend/cuda/driver/include -I/usr/local/cuda/include" go build -tags cu
//
// Such a program does not start without the driver, and importing cu ends it where
// there is no device.
type cuBinding struct{ *binding }

var _ API = cuBinding{}

// bound returns the API over cu.
func bound(b *binding) API { return cuBinding{b} }

// The handles of both packages are the driver's own, each alone in a struct of cu.

// CUContext returns c as a program's own gorgonia.org/cu code takes it. It stays
// this package's: it must not be destroyed.
func (c Context) CUContext() cu.CUContext { return to[cu.CUContext](c) }

// CUStream returns s as gorgonia.org/cu has it. Whoever made it destroys it.
func (s Stream) CUStream() cu.Stream { return to[cu.Stream](s) }

// CUEvent returns e as gorgonia.org/cu has it. Whoever made it destroys it.
func (e Event) CUEvent() cu.Event { return to[cu.Event](e) }

// CUPtr returns p as gorgonia.org/cu has it. Whoever allocated it frees it.
func (p Ptr) CUPtr() cu.DevicePtr { return cu.DevicePtr(p) }

// ContextOf returns a context of gorgonia.org/cu. Work of this package runs in
// primary contexts, Device.RetainPrimaryCtx's: memory and streams of another one
// of the same device must not meet it.
func ContextOf(c cu.CUContext) Context { return Context(from(c)) }

// StreamOf returns a stream of gorgonia.org/cu, which was made with a primary
// context current. Whoever made it destroys it, after the work given to it.
func StreamOf(s cu.Stream) Stream { return Stream(from(s)) }

// EventOf returns an event of gorgonia.org/cu.
func EventOf(e cu.Event) Event { return Event(from(e)) }

// PtrOf returns an address of gorgonia.org/cu.
func PtrOf(p cu.DevicePtr) Ptr { return Ptr(p) }

type handle interface {
	cu.CUContext | cu.Stream | cu.Event | cu.Module | cu.Function
}

// Each of cu's structs is one pointer.
var _ = [1]struct{}{}[unsafe.Sizeof(cu.CUContext{})+unsafe.Sizeof(cu.Stream{})+unsafe.Sizeof(cu.Event{})+
	unsafe.Sizeof(cu.Module{})+unsafe.Sizeof(cu.Function{})-5*unsafe.Sizeof(uintptr(0))]

func to[H handle, T ~uintptr](v T) H { return *(*H)(unsafe.Pointer(&v)) }

func from[H handle](h H) uintptr { return *(*uintptr)(unsafe.Pointer(&h)) }

// call makes a call of cu with dev's primary context current.
func (b cuBinding) call(s symbol, dev int, f func() error) error {
	context, err := b.PrimaryContext(dev)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cu.SetCurrentContext(context.CUContext()); err != nil {
		return b.failure(cuCtxSetCurrent, dev, codeOf(err))
	}
	return b.failure(s, dev, codeOf(f()))
}

// codeOf returns the driver's code, which is what cu's errors are.
func codeOf(err error) Code {
	if err == nil {
		return Success
	}
	if v := reflect.ValueOf(err); v.CanInt() {
		return Code(v.Int())
	}
	return Unknown
}

// answer is the result of a call that answers with Success or NotReady.
func answer(err error) (bool, error) {
	if errors.Is(err, NotReady) {
		return false, nil
	}
	return err == nil, err
}

// cuDevice checks an ordinal and returns cu's.
func (b cuBinding) cuDevice(dev int) (cu.Device, error) {
	d, err := b.device(dev)
	if err != nil {
		return cu.BadDevice, err
	}
	return cu.Device(d.handle), nil
}

func (b cuBinding) DeviceName(dev int) (string, error) {
	d, err := b.cuDevice(dev)
	if err != nil {
		return "", err
	}
	name, failed := d.Name()
	return strings.TrimRight(name, "\x00"), b.failure(cuDeviceGetName, dev, codeOf(failed))
}

func (b cuBinding) DeviceUUID(dev int) ([16]byte, error) {
	d, err := b.cuDevice(dev)
	if err != nil {
		return [16]byte{}, err
	}
	id, failed := d.UUID()
	return id, b.failure(cuDeviceGetUuid, dev, codeOf(failed))
}

func (b cuBinding) DeviceTotalMem(dev int) (int64, error) {
	d, err := b.cuDevice(dev)
	if err != nil {
		return 0, err
	}
	n, failed := d.TotalMem()
	return n, b.failure(cuDeviceTotalMem, dev, codeOf(failed))
}

func (b cuBinding) DeviceAttribute(dev int, a Attribute) (int, error) {
	d, err := b.cuDevice(dev)
	if err != nil {
		return 0, err
	}
	v, failed := d.Attribute(cu.DeviceAttribute(a))
	return v, detailed(b.failure(cuDeviceGetAttribute, dev, codeOf(failed)), "attribute %d", a)
}

func (b cuBinding) Synchronize(dev int) error {
	return b.call(cuCtxSynchronize, dev, cu.Synchronize)
}

func (b cuBinding) CanAccessPeer(dev, peer int) (bool, error) {
	d, err := b.cuDevice(dev)
	if err != nil {
		return false, err
	}
	p, err := b.cuDevice(peer)
	if err != nil {
		return false, err
	}
	can, failed := d.CanAccessPeer(p)
	return can != 0, b.failure(cuDeviceCanAccessPeer, dev, codeOf(failed))
}

func (b cuBinding) EnablePeerAccess(dev, peer int) error {
	return b.peer(cuCtxEnablePeerAccess, dev, peer, PeerAccessAlreadyEnabled, func(c cu.CUContext) error { return c.EnablePeerAccess(0) })
}

func (b cuBinding) DisablePeerAccess(dev, peer int) error {
	return b.peer(cuCtxDisablePeerAccess, dev, peer, PeerAccessNotEnabled, cu.CUContext.DisablePeerAccess)
}

func (b cuBinding) peer(s symbol, dev, peer int, already Code, f func(cu.CUContext) error) error {
	context, err := b.PrimaryContext(peer)
	if err != nil {
		return err
	}
	err = b.call(s, dev, func() error { return f(context.CUContext()) })
	if errors.Is(err, already) {
		return nil
	}
	return detailed(err, "access to cuda:%d", peer)
}
