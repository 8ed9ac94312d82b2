package driver

import (
	"runtime"
	"strings"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

func (b *binding) Version() int { return b.version }

func (b *binding) DeviceCount() int { return len(b.devices) }

// device returns a device's state, or the error that there is none.
func (b *binding) device(dev int) (*deviceState, error) {
	if dev < 0 || dev >= len(b.devices) {
		return nil, b.refuse(cuDeviceGet, dev, InvalidDevice, "there are %d devices", len(b.devices))
	}
	return &b.devices[dev], nil
}

func (b *binding) PrimaryContext(dev int) (Context, error) {
	if uint(dev) < uint(len(b.devices)) {
		if context := b.devices[dev].context.Load(); context != 0 {
			return Context(context), nil
		}
	}
	return b.retain(dev)
}

func (b *binding) retain(dev int) (Context, error) {
	d, err := b.device(dev)
	if err != nil {
		return 0, err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if context := d.context.Load(); context != 0 {
		return Context(context), nil
	}
	c := dl.Get()
	defer c.Free()
	if err := b.directFrame(cuDevicePrimaryCtxRetain, dev, c, c.Addr(0), d.handle); err != nil {
		return 0, err
	}
	d.context.Store(c.Words[0])
	return Context(c.Words[0]), nil
}

func (b *binding) ReleasePrimaryContext(dev int) error {
	d, err := b.device(dev)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.context.Swap(0) == 0 {
		return nil
	}
	return b.direct(cuDevicePrimaryCtxRelease, dev, d.handle)
}

func (b *binding) ContextActive(dev int) (bool, error) {
	d, err := b.device(dev)
	if err != nil {
		return false, err
	}
	c := dl.Get()
	defer c.Free()
	err = b.directFrame(cuDevicePrimaryCtxGetState, dev, c, d.handle, c.Addr(0), c.Addr(1))
	return int32(c.Words[1]) != 0, err
}

func (b *binding) Do(dev int, f func(Context) error) (err error) {
	context, err := b.PrimaryContext(dev)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := b.direct(cuCtxPushCurrent, dev, uintptr(context)); err != nil {
		return err
	}
	defer func() { // runs when f panics, too
		c := dl.Get()
		defer c.Free()
		if popped := b.directFrame(cuCtxPopCurrent, dev, c, c.Addr(0)); err == nil {
			err = popped
		}
	}()
	return f(context)
}

func (b *binding) Enter(dev int) error {
	context, err := b.PrimaryContext(dev)
	if err != nil {
		return err
	}
	runtime.LockOSThread()
	if err := b.direct(cuCtxSetCurrent, dev, uintptr(context)); err != nil {
		runtime.UnlockOSThread()
		return err
	}
	return nil
}

func (b *binding) Leave() { runtime.UnlockOSThread() }

func (b *binding) Synchronize(dev int) error { return b.on(cuCtxSynchronize, dev) }

func (b *binding) DeviceName(dev int) (string, error) {
	d, err := b.device(dev)
	if err != nil {
		return "", err
	}
	c := dl.Get()
	defer c.Free()
	name, address := c.Bytes(256)
	if err := b.directFrame(cuDeviceGetName, dev, c, address, uintptr(len(name)), d.handle); err != nil {
		return "", err
	}
	text, _, _ := strings.Cut(string(name), "\x00")
	return text, nil
}

func (b *binding) DeviceUUID(dev int) (id [16]byte, err error) {
	d, err := b.device(dev)
	if err != nil {
		return id, err
	}
	c := dl.Get()
	defer c.Free()
	bytes, address := c.Bytes(len(id))
	if err := b.directFrame(cuDeviceGetUuid, dev, c, address, d.handle); err != nil {
		return id, err
	}
	return [16]byte(bytes), nil
}

func (b *binding) DeviceTotalMem(dev int) (int64, error) {
	d, err := b.device(dev)
	if err != nil {
		return 0, err
	}
	c := dl.Get()
	defer c.Free()
	err = b.directFrame(cuDeviceTotalMem, dev, c, c.Addr(0), d.handle)
	return int64(c.Words[0]), err
}

func (b *binding) DeviceAttribute(dev int, a Attribute) (int, error) {
	d, err := b.device(dev)
	if err != nil {
		return 0, err
	}
	c := dl.Get()
	defer c.Free()
	if err := b.directFrame(cuDeviceGetAttribute, dev, c, c.Addr(0), uintptr(a), d.handle); err != nil {
		return 0, detailed(err, "attribute %d", a)
	}
	return int(int32(c.Words[0])), nil
}
