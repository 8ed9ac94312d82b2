package sim

import (
	"context"
	"encoding/binary"
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/shm"
)

var _ device.Sharer = (*Driver)(nil)

// AllocShared returns memory of a device that other processes, which simulate one of the same
// index, can open.
func (d *Driver) AllocShared(dev int, bytes int64) (device.Memory, []byte, error) {
	s, err := shm.Create(bytes)
	if err != nil {
		return device.Memory{}, nil, err
	}
	m, err := d.allocIn(dev, bytes, s)
	if err != nil {
		return device.Memory{}, nil, err
	}
	return m, append(binary.LittleEndian.AppendUint32(nil, uint32(dev)), s.Name...), nil
}

// OpenShared opens memory of another process.
func (d *Driver) OpenShared(handle []byte, bytes int64) (int, device.Memory, error) {
	if len(handle) < 4 {
		return 0, device.Memory{}, fmt.Errorf("%w: a handle of %d bytes", device.ErrInvalid, len(handle))
	}
	dev := int(binary.LittleEndian.Uint32(handle))
	s, err := shm.Open(string(handle[4:]), bytes)
	if err != nil {
		return 0, device.Memory{}, err
	}
	m, err := d.allocIn(dev, bytes, s)
	return dev, m, err
}

// allocIn allocates memory of a device that is s.
func (d *Driver) allocIn(dev int, bytes int64, s *shm.Segment) (device.Memory, error) {
	m, err := d.Alloc(dev, bytes)
	if err != nil {
		_ = s.Close()
		return m, err
	}
	mem := &d.devices[dev].memory
	mem.mu.Lock()
	defer mem.mu.Unlock()
	b := mem.blocks[mem.find(m.Addr)]
	b.mu.Lock()
	defer b.mu.Unlock()
	b.data, b.segment = unsafe.Slice((*uint64)(s.Data), 1), s
	return m, nil
}

// FreeShared gives shared memory back.
func (d *Driver) FreeShared(dev int, m device.Memory) error {
	a, err := d.working(dev)
	if err != nil {
		return err
	}
	a.memory.mu.Lock()
	var s *shm.Segment
	if i := a.memory.find(m.Addr); i >= 0 && a.memory.blocks[i].addr == m.Addr {
		s = a.memory.blocks[i].segment
	}
	a.memory.mu.Unlock()
	if s == nil {
		return fmt.Errorf("%s: %w: memory at %#x is not shared", a, device.ErrInvalid, m.Addr)
	}
	if err := d.SyncDevice(context.Background(), dev); err != nil {
		return err
	}
	if err := d.Free(dev, m); err != nil {
		return err
	}
	return s.Close()
}
