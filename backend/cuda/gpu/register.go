package gpu

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.HostRegistrar = (*Driver)(nil)

// RegisterHost page-locks memory of the program's for every GPU.
func (d *Driver) RegisterHost(m device.Memory) error {
	dev := d.homeDevice()
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	if err := api.HostRegister(dev, m.Host, m.Bytes, driver.HostPortable); err != nil {
		return noRoom(d.failed(dev, err))
	}
	d.pinned.add(span{m.Host, m.Bytes, dev, true})
	return nil
}

// UnregisterHost ends that.
func (d *Driver) UnregisterHost(m device.Memory) error {
	dev, known := d.pinned.remove(m.Host)
	if !known {
		return fmt.Errorf("%w: memory at %p is not page-locked", device.ErrInvalid, m.Host)
	}
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	return d.failed(dev, api.HostUnregister(dev, m.Host))
}
