package driver

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// checkSize refuses sizes that would be read as enormous ones.
func (b *binding) checkSize(s symbol, dev int, bytes int64) error {
	if bytes < 0 {
		return b.refuse(s, dev, InvalidValue, "%d bytes", bytes)
	}
	return nil
}

func (b *binding) MemGetInfo(dev int) (free, total int64, err error) {
	c := dl.Get()
	defer c.Free()
	err = b.onFrame(cuMemGetInfo, dev, c, c.Addr(0), c.Addr(1))
	return int64(c.Words[0]), int64(c.Words[1]), err
}

func (b *binding) MemAlloc(dev int, bytes int64) (Ptr, error) {
	if err := b.checkSize(cuMemAlloc, dev, bytes); err != nil {
		return 0, err
	}
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuMemAlloc, dev, c, c.Addr(0), uintptr(bytes)); err != nil {
		return 0, detailed(err, "%d bytes", bytes)
	}
	return Ptr(c.Words[0]), nil
}

func (b *binding) MemFree(dev int, p Ptr) error { return b.on(cuMemFree, dev, uintptr(p)) }

func (b *binding) MemHostAlloc(dev int, bytes int64, flags HostFlags) (unsafe.Pointer, error) {
	if err := b.checkSize(cuMemHostAlloc, dev, bytes); err != nil {
		return nil, err
	}
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuMemHostAlloc, dev, c, c.Addr(0), uintptr(bytes), uintptr(flags)); err != nil {
		return nil, detailed(err, "%d bytes", bytes)
	}
	return c.Pointer(0), nil
}

func (b *binding) MemFreeHost(dev int, p unsafe.Pointer) error {
	return b.on(cuMemFreeHost, dev, uintptr(p))
}

func (b *binding) HostRegister(dev int, p unsafe.Pointer, bytes int64, flags HostFlags) error {
	if err := b.checkSize(cuMemHostRegister, dev, bytes); err != nil {
		return err
	}
	c := dl.Get()
	defer c.Free()
	err := b.onFrame(cuMemHostRegister, dev, c, c.Keep(p), uintptr(bytes), uintptr(flags))
	return detailed(err, "%d bytes", bytes)
}

func (b *binding) HostUnregister(dev int, p unsafe.Pointer) error {
	c := dl.Get()
	defer c.Free()
	return b.onFrame(cuMemHostUnregister, dev, c, c.Keep(p))
}

// The copies hand Go memory to the frame, which keeps it off the stack, where it
// could move while the driver reads it.

func (b *binding) MemcpyHtoDAsync(dev int, dst Ptr, src unsafe.Pointer, bytes int64, s Stream) error {
	if err := b.checkSize(cuMemcpyHtoDAsync, dev, bytes); err != nil {
		return err
	}
	c := dl.Get()
	defer c.Free()
	return b.onFrame(cuMemcpyHtoDAsync, dev, c, uintptr(dst), c.Keep(src), uintptr(bytes), uintptr(s))
}

func (b *binding) MemcpyDtoHAsync(dev int, dst unsafe.Pointer, src Ptr, bytes int64, s Stream) error {
	if err := b.checkSize(cuMemcpyDtoHAsync, dev, bytes); err != nil {
		return err
	}
	c := dl.Get()
	defer c.Free()
	return b.onFrame(cuMemcpyDtoHAsync, dev, c, c.Keep(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (b *binding) MemcpyDtoDAsync(dev int, dst, src Ptr, bytes int64, s Stream) error {
	if err := b.checkSize(cuMemcpyDtoDAsync, dev, bytes); err != nil {
		return err
	}
	return b.on(cuMemcpyDtoDAsync, dev, uintptr(dst), uintptr(src), uintptr(bytes), uintptr(s))
}

func (b *binding) MemcpyPeerAsync(dev int, dst Ptr, dstDev int, src Ptr, srcDev int, bytes int64, s Stream) error {
	if err := b.checkSize(cuMemcpyPeerAsync, dev, bytes); err != nil {
		return err
	}
	to, err := b.PrimaryContext(dstDev)
	if err != nil {
		return err
	}
	from, err := b.PrimaryContext(srcDev)
	if err != nil {
		return err
	}
	return b.on(cuMemcpyPeerAsync, dev, uintptr(dst), uintptr(to), uintptr(src), uintptr(from), uintptr(bytes), uintptr(s))
}

func (b *binding) MemsetD8Async(dev int, dst Ptr, value uint8, bytes int64, s Stream) error {
	if err := b.checkSize(cuMemsetD8Async, dev, bytes); err != nil {
		return err
	}
	return b.on(cuMemsetD8Async, dev, uintptr(dst), uintptr(value), uintptr(bytes), uintptr(s))
}

func (b *binding) MemsetD32Async(dev int, dst Ptr, value uint32, count int64, s Stream) error {
	if err := b.checkSize(cuMemsetD32Async, dev, count); err != nil {
		return err
	}
	return b.on(cuMemsetD32Async, dev, uintptr(dst), uintptr(value), uintptr(count), uintptr(s))
}

func (b *binding) CanAccessPeer(dev, peer int) (bool, error) {
	d, err := b.device(dev)
	if err != nil {
		return false, err
	}
	p, err := b.device(peer)
	if err != nil {
		return false, err
	}
	c := dl.Get()
	defer c.Free()
	err = b.directFrame(cuDeviceCanAccessPeer, dev, c, c.Addr(0), d.handle, p.handle)
	return int32(c.Words[0]) != 0, err
}

func (b *binding) EnablePeerAccess(dev, peer int) error {
	return b.peerAccess(cuCtxEnablePeerAccess, dev, peer, PeerAccessAlreadyEnabled)
}

func (b *binding) DisablePeerAccess(dev, peer int) error {
	return b.peerAccess(cuCtxDisablePeerAccess, dev, peer, PeerAccessNotEnabled)
}

// peerAccess changes dev's access to peer; already is the answer that it was so.
func (b *binding) peerAccess(s symbol, dev, peer int, already Code) error {
	context, err := b.PrimaryContext(peer)
	if err != nil {
		return err
	}
	c := dl.Get()
	defer c.Free()
	code, err := b.enter(s, dev, c, uintptr(context), 0) // no flags; the other has one parameter
	if err != nil || code == already {
		return err
	}
	return detailed(b.failure(s, dev, code), "access to cuda:%d", peer)
}
