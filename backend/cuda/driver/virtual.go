package driver

import (
	"encoding/binary"

	"github.com/sinter-go/sinter/backend/cuda/driver/dl"
)

// A Physical is memory of a device without an address. 0 is none.
type Physical uint64

// VirtualAPI is the part of the driver that maps memory to reserved addresses.
// Sizes and addresses are multiples of the device's granularity, 2 MiB so far.
type VirtualAPI interface {
	// MemAddressReserve sets addresses aside, from a multiple of alignment on.
	MemAddressReserve(dev int, bytes, alignment int64) (Ptr, error)
	// MemAddressFree gives a whole reservation back, in which nothing is mapped.
	MemAddressFree(dev int, p Ptr, bytes int64) error
	// MemCreate makes memory of the device, which other processes cannot share.
	MemCreate(dev int, bytes int64) (Physical, error)
	// MemRelease drops the handle; the memory lives as long as it is mapped.
	MemRelease(dev int, m Physical) error
	// MemMap puts all of m behind addresses, for no device to use yet.
	MemMap(dev int, p Ptr, bytes int64, m Physical) error
	// MemUnmap takes away what one MemMap mapped. It does not wait for work.
	MemUnmap(dev int, p Ptr, bytes int64) error
	// MemSetAccess lets devices read and write mapped addresses.
	MemSetAccess(dev int, p Ptr, bytes int64, devices ...int) error
}

func (b *binding) MemAddressReserve(dev int, bytes, alignment int64) (Ptr, error) {
	if err := b.checkSize(cuMemAddressReserve, dev, bytes); err != nil {
		return 0, err
	}
	c := dl.Get()
	defer c.Free()
	if err := b.onFrame(cuMemAddressReserve, dev, c, c.Addr(0), uintptr(bytes), uintptr(alignment), 0, 0); err != nil {
		return 0, detailed(err, "%d bytes", bytes)
	}
	return Ptr(c.Words[0]), nil
}

func (b *binding) MemAddressFree(dev int, p Ptr, bytes int64) error {
	return detailed(b.on(cuMemAddressFree, dev, uintptr(p), uintptr(bytes)), "%d bytes at %#x", bytes, uint64(p))
}

// The driver's CUmemAllocationProp and CUmemAccessDesc, in bytes, and what is in
// them.
const (
	propType      = 0 // then the kinds of handles, none
	propLocation  = 8 // type and ordinal, then flags, none
	propSize      = 32
	accessSize    = 12 // location, flags
	typePinned    = 1
	locatedDevice = 1
	readWrite     = 3
)

func (b *binding) MemCreate(dev int, bytes int64) (Physical, error) {
	if err := b.checkSize(cuMemCreate, dev, bytes); err != nil {
		return 0, err
	}
	d, err := b.device(dev)
	if err != nil {
		return 0, err
	}
	c := dl.Get()
	defer c.Free()
	prop, at := c.Bytes(propSize)
	clear(prop)
	le := binary.LittleEndian
	le.PutUint32(prop[propType:], typePinned)
	le.PutUint32(prop[propLocation:], locatedDevice)
	le.PutUint32(prop[propLocation+4:], uint32(d.handle))
	if err := b.onFrame(cuMemCreate, dev, c, c.Addr(0), uintptr(bytes), at, 0); err != nil {
		return 0, detailed(err, "%d bytes", bytes)
	}
	return Physical(c.Words[0]), nil
}

func (b *binding) MemRelease(dev int, m Physical) error { return b.on(cuMemRelease, dev, uintptr(m)) }

func (b *binding) MemMap(dev int, p Ptr, bytes int64, m Physical) error {
	err := b.on(cuMemMap, dev, uintptr(p), uintptr(bytes), 0, uintptr(m), 0)
	return detailed(err, "%d bytes at %#x", bytes, uint64(p))
}

func (b *binding) MemUnmap(dev int, p Ptr, bytes int64) error {
	return detailed(b.on(cuMemUnmap, dev, uintptr(p), uintptr(bytes)), "%d bytes at %#x", bytes, uint64(p))
}

func (b *binding) MemSetAccess(dev int, p Ptr, bytes int64, devices ...int) error {
	c := dl.Get()
	defer c.Free()
	desc, at := c.Bytes(accessSize * max(1, len(devices)))
	le := binary.LittleEndian
	for i, who := range devices {
		d, err := b.device(who)
		if err != nil {
			return err
		}
		le.PutUint32(desc[accessSize*i:], locatedDevice)
		le.PutUint32(desc[accessSize*i+4:], uint32(d.handle))
		le.PutUint32(desc[accessSize*i+8:], readWrite)
	}
	err := b.onFrame(cuMemSetAccess, dev, c, uintptr(p), uintptr(bytes), at, uintptr(len(devices)))
	return detailed(err, "%d bytes at %#x", bytes, uint64(p))
}
