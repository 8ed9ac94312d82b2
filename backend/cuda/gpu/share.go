package gpu

import (
	"bytes"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
)

var (
	_ device.Sharer      = (*Driver)(nil)
	_ device.EventSharer = (*Driver)(nil)
)

// foreign are the addresses at which this process has memory of others.
type foreign struct{ sync.Map }

// uuidBytes is the size of what says which GPU a handle is of: processes may count them
// differently.
const uuidBytes = 16

// AllocShared returns memory in an allocation of its own: a handle opens all of one.
func (d *Driver) AllocShared(dev int, n int64) (device.Memory, []byte, error) {
	api, err := d.use(dev)
	if err != nil {
		return device.Memory{}, nil, err
	}
	uuid, err := api.DeviceUUID(dev)
	if err != nil {
		return device.Memory{}, nil, d.failed(dev, err)
	}
	p, err := api.MemAlloc(dev, n)
	if err != nil {
		return device.Memory{}, nil, noRoom(d.failed(dev, err))
	}
	h, err := api.IPCMemHandle(dev, p)
	if err != nil {
		_ = api.MemFree(dev, p) // the error is that of what came before
		return device.Memory{}, nil, d.failed(dev, err)
	}
	return device.Memory{Addr: uint64(p), Bytes: n}, append(uuid[:], h[:]...), nil
}

// OpenShared opens memory of another process.
func (d *Driver) OpenShared(handle []byte, n int64) (int, device.Memory, error) {
	dev, h, err := d.find(handle)
	if err != nil {
		return 0, device.Memory{}, err
	}
	api, err := d.use(dev)
	if err != nil {
		return 0, device.Memory{}, err
	}
	p, err := api.IPCOpenMem(dev, h)
	if err != nil {
		return 0, device.Memory{}, d.failed(dev, err)
	}
	d.foreign.Store(uint64(p), true)
	return dev, device.Memory{Addr: uint64(p), Bytes: n}, nil
}

// find returns the GPU that a handle is of.
func (d *Driver) find(handle []byte) (dev int, h driver.IPCHandle, err error) {
	api, err := d.get()
	if err != nil {
		return 0, h, err
	}
	if len(handle) != uuidBytes+len(h) {
		return 0, h, fmt.Errorf("%w: a handle of %d bytes, want %d", device.ErrInvalid, len(handle), uuidBytes+len(h))
	}
	copy(h[:], handle[uuidBytes:])
	for dev := range d.gpus {
		if uuid, err := api.DeviceUUID(dev); err == nil && bytes.Equal(uuid[:], handle[:uuidBytes]) {
			return dev, h, nil
		}
	}
	return 0, h, fmt.Errorf("%w: the memory is of GPU %x, which this process does not see", device.ErrUnavailable, handle[:uuidBytes])
}

// FreeShared gives shared memory back: what this process opened it closes.
func (d *Driver) FreeShared(dev int, m device.Memory) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	if err := api.Synchronize(dev); err != nil {
		return d.failed(dev, err)
	}
	if _, foreign := d.foreign.LoadAndDelete(m.Addr); foreign {
		return d.failed(dev, api.IPCCloseMem(dev, driver.Ptr(m.Addr)))
	}
	return d.failed(dev, api.MemFree(dev, driver.Ptr(m.Addr)))
}

// NewSharedEvent returns an event that other processes can open.
func (d *Driver) NewSharedEvent(dev int) (device.EventID, []byte, error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, nil, err
	}
	e, err := api.EventCreate(dev, driver.EventDisableTiming|driver.EventInterprocess)
	if err != nil {
		return 0, nil, d.failed(dev, err)
	}
	h, err := api.IPCEventHandle(dev, e)
	if err != nil {
		_ = api.EventDestroy(dev, e) // the error is that of what came before
		return 0, nil, d.failed(dev, err)
	}
	return device.EventID(e), h[:], nil
}

// OpenSharedEvent opens an event of another process.
func (d *Driver) OpenSharedEvent(dev int, handle []byte) (device.EventID, error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, err
	}
	var h driver.IPCHandle
	if len(handle) != len(h) {
		return 0, fmt.Errorf("%w: a handle of %d bytes, want %d", device.ErrInvalid, len(handle), len(h))
	}
	copy(h[:], handle)
	e, err := api.IPCOpenEvent(dev, h)
	return device.EventID(e), d.failed(dev, err)
}
