package sim

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
)

var (
	_ device.Mapper        = (*Driver)(nil)
	_ device.ProcessMemory = (*Driver)(nil)
	_ device.HostRegistrar = (*Driver)(nil)
)

// A reservation is a block of addresses of which parts have memory. Its host memory
// is address space only, until it is written.
type reservation struct {
	host    []byte
	release func()
	units   []unitState // of device.MapUnit bytes each
	mapped  int         // of them
}

// A unitState says whether a unit has memory, and which parts of it were filled with garbage.
type unitState struct {
	mapped bool
	filled [device.MapUnit / part]bool
}

// CanMap reports that every device maps memory on demand.
func (d *Driver) CanMap(dev int) bool {
	_, err := d.device(dev)
	return err == nil
}

// Reserve sets addresses aside.
func (d *Driver) Reserve(dev int, bytes int64) (uint64, error) {
	a, err := d.working(dev)
	if err != nil {
		return 0, err
	}
	if bytes <= 0 || bytes%device.MapUnit != 0 {
		return 0, fmt.Errorf("%s: %d bytes to reserve, want a multiple of %d", a, bytes, device.MapUnit)
	}
	host, release, err := reserveHost(bytes)
	if err != nil {
		return 0, fmt.Errorf("%s: reserving %d bytes: %w", a, bytes, err)
	}
	m := &a.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	addr := (m.next + device.MapUnit - 1) / device.MapUnit * device.MapUnit
	m.next = addr + uint64(bytes) + device.MapUnit
	m.blocks = append(m.blocks, &block{
		addr: addr, bytes: bytes,
		parts: &reservation{host: host, release: release, units: make([]unitState, bytes/device.MapUnit)},
	})
	return addr, nil
}

// Unreserve takes addresses back.
func (d *Driver) Unreserve(dev int, addr uint64, bytes int64) error {
	a, err := d.device(dev)
	if err != nil {
		return err
	}
	m := &a.memory
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(addr)
	if i < 0 || m.blocks[i].parts == nil || m.blocks[i].addr != addr || m.blocks[i].bytes != bytes {
		return fmt.Errorf("%s: %d bytes at %#x were not reserved", a, bytes, addr)
	}
	if n := m.blocks[i].parts.mapped; n > 0 {
		return fmt.Errorf("%s: reserved addresses at %#x still have %d bytes of memory", a, addr, int64(n)*device.MapUnit)
	}
	m.blocks[i].parts.release()
	m.blocks = slices.Delete(m.blocks, i, i+1)
	return nil
}

// Map puts memory behind reserved addresses.
func (d *Driver) Map(dev int, addr uint64, bytes, page int64) error {
	a, err := d.working(dev)
	if err != nil {
		return err
	}
	if err := a.inject(FaultAlloc); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	if err := a.memory.remap(addr, bytes, page, true); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	a.count(func(c *Counters) {
		c.LiveBytes += bytes
		c.PeakBytes = max(c.PeakBytes, c.LiveBytes)
	})
	return nil
}

// Unmap takes the memory away.
func (d *Driver) Unmap(dev int, addr uint64, bytes, page int64) error {
	a, err := d.device(dev)
	if err != nil {
		return err
	}
	if err := a.memory.remap(addr, bytes, page, false); err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	a.count(func(c *Counters) { c.LiveBytes -= bytes })
	return nil
}

// remap gives reserved addresses memory, or takes it away; all of them change.
func (m *memory) remap(addr uint64, bytes, page int64, on bool) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(addr)
	if i < 0 || m.blocks[i].parts == nil || addr+uint64(bytes) > m.blocks[i].addr+uint64(m.blocks[i].bytes) {
		return fmt.Errorf("%d bytes at %#x are not in one reservation", bytes, addr)
	}
	b, off := m.blocks[i], int64(addr-m.blocks[i].addr)
	if bytes <= 0 || page <= 0 || page%device.MapUnit != 0 || bytes%page != 0 || off%device.MapUnit != 0 {
		return fmt.Errorf("%d bytes at %#x in pages of %d: want whole pages, multiples of %d", bytes, addr, page, device.MapUnit)
	}
	units := b.parts.units[off/device.MapUnit : (off+bytes)/device.MapUnit]
	if slices.ContainsFunc(units, func(u unitState) bool { return u.mapped == on }) {
		return fmt.Errorf("of %d bytes at %#x, some are mapped already, or not to be unmapped", bytes, addr)
	}
	if on && bytes > m.capacity-m.used {
		return fmt.Errorf("%w: %d bytes were asked for, and %d of %d are free", device.ErrOutOfMemory, bytes, m.capacity-m.used, m.capacity)
	}
	sign := 1
	if !on {
		sign = -1
		forgetHost(b.parts.host[off : off+bytes])
	}
	for i := range units {
		units[i] = unitState{mapped: on}
	}
	b.parts.mapped += sign * len(units)
	m.used += int64(sign) * bytes
	return nil
}

// at returns where n bytes at off are in host memory, if all of them are mapped. The
// caller holds the memory's lock.
func (r *reservation) at(off, n int64) (unsafe.Pointer, error) {
	for p := off / part; p*part < off+max(n, 1); p++ {
		u := &r.units[p*part/device.MapUnit]
		if !u.mapped {
			return nil, fmt.Errorf("byte %d of reserved addresses has no memory", max(off, p*part))
		}
		fillPart(r.host, p, &u.filled[p%int64(len(u.filled))])
	}
	return unsafe.Pointer(&r.host[off]), nil
}

func fillGarbage(data []byte) {
	data[0] = garbage
	for n := 1; n < len(data); n *= 2 {
		copy(data[n:], data[:n])
	}
}

// part is how many bytes are filled with garbage at once, when the first of them is used: most
// of what an allocator holds is not.
const part = 32 << 10

// fillPart fills a part of data unless it was.
func fillPart(data []byte, i int64, filled *bool) {
	if !*filled {
		*filled = true
		fillGarbage(data[i*part : min((i+1)*part, int64(len(data)))])
	}
}

// ProcessMemory returns the bytes that are allocated: the simulated devices belong
// to this process alone.
func (d *Driver) ProcessMemory(dev int) (int64, error) {
	a, err := d.device(dev)
	if err != nil {
		return 0, err
	}
	a.memory.mu.Lock()
	defer a.memory.mu.Unlock()
	return a.memory.used, nil
}
