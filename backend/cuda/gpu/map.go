package gpu

import (
	"errors"
	"sync"

	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/runtime/device"
)

var _ device.Mapper = (*Driver)(nil)

// mapped is the pages of a GPU's memory that are mapped, by address. Access of other
// GPUs is a matter of each page, so both a new page and a new peer have it set.
type mapped struct {
	mu    sync.Mutex
	pages map[uint64]int64 // bytes
}

// CanMap reports whether the GPU maps memory on demand.
func (d *Driver) CanMap(dev int) bool {
	api, err := d.use(dev)
	if err != nil {
		return false
	}
	v, err := api.DeviceAttribute(dev, driver.VirtualMemoryManagement)
	return err == nil && v != 0
}

// Reserve sets addresses aside.
func (d *Driver) Reserve(dev int, bytes int64) (uint64, error) {
	api, err := d.use(dev)
	if err != nil {
		return 0, err
	}
	p, err := api.MemAddressReserve(dev, bytes, device.MapUnit)
	return uint64(p), noRoom(d.failed(dev, err))
}

// Unreserve gives addresses back.
func (d *Driver) Unreserve(dev int, addr uint64, bytes int64) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	return d.failed(dev, api.MemAddressFree(dev, driver.Ptr(addr), bytes))
}

// Map makes pages of memory and puts them behind addresses, for the GPU and those
// that were given access to it.
func (d *Driver) Map(dev int, addr uint64, bytes, page int64) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	m := &d.gpus[dev].mapped
	m.mu.Lock()
	defer m.mu.Unlock()
	users := []int{dev}
	for i := range d.gpus {
		if _, has := d.gpus[i].peers.Load(dev); has {
			users = append(users, i)
		}
	}
	done := int64(0)
	for err == nil && done < bytes {
		if err = mapPage(api, dev, driver.Ptr(addr+uint64(done)), page); err == nil {
			done += page
		}
	}
	if err == nil {
		err = api.MemSetAccess(dev, driver.Ptr(addr), bytes, users...)
	}
	if err != nil {
		for done > 0 {
			done -= page
			err = errors.Join(err, api.MemUnmap(dev, driver.Ptr(addr+uint64(done)), page))
		}
		return noRoom(d.failed(dev, err))
	}
	if m.pages == nil {
		m.pages = map[uint64]int64{}
	}
	for off := int64(0); off < bytes; off += page {
		m.pages[addr+uint64(off)] = page
	}
	return nil
}

// mapPage maps one piece of memory, which lives until it is unmapped.
func mapPage(api driver.API, dev int, p driver.Ptr, bytes int64) error {
	physical, err := api.MemCreate(dev, bytes)
	if err != nil {
		return err
	}
	return errors.Join(api.MemMap(dev, p, bytes, physical), api.MemRelease(dev, physical))
}

// Unmap gives pages back.
func (d *Driver) Unmap(dev int, addr uint64, bytes, page int64) error {
	api, err := d.use(dev)
	if err != nil {
		return err
	}
	m := &d.gpus[dev].mapped
	m.mu.Lock()
	defer m.mu.Unlock()
	var errs []error
	for off := int64(0); off < bytes; off += page {
		if err := api.MemUnmap(dev, driver.Ptr(addr+uint64(off)), page); err != nil {
			errs = append(errs, d.failed(dev, err))
			continue
		}
		delete(m.pages, addr+uint64(off))
	}
	return errors.Join(errs...)
}

// shareMapped lets dev use the pages of peer that are mapped already.
func (d *Driver) shareMapped(api driver.API, dev, peer int) error {
	m := &d.gpus[peer].mapped
	m.mu.Lock()
	defer m.mu.Unlock()
	for addr, bytes := range m.pages {
		if err := api.MemSetAccess(peer, driver.Ptr(addr), bytes, dev); err != nil {
			return d.failed(peer, err)
		}
	}
	return nil
}
