package sim

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/shm"
)

const (
	// A device's range has 1<<rangeBits addresses. The ranges lie from firstAddr
	// on, where no host has memory for programs.
	rangeBits = 44
	firstAddr = 1 << 60
	// alignment is what addresses are multiples of. Blocks are as far apart at
	// least, so that an access past the end of one is not in the next.
	alignment = 512
	// garbage is what every byte of memory holds before it is written.
	garbage = 0xa5
)

// memory is one device's memory.
type memory struct {
	device   int
	capacity int64

	mu     sync.Mutex // guards what follows
	used   int64
	next   uint64   // lowest address that was never used
	blocks []*block // live, by ascending address
}

// A block is one allocation. Its bytes exist from the first access on.
type block struct {
	addr  uint64
	bytes int64
	parts *reservation // nil: all of it is memory

	mu      sync.Mutex // guards what follows
	data    []uint64
	host    []byte       // that data is in, outside of Go's heap; nil: data is in the heap
	release func()       // keeps host: the system has it back when the collector finds the block
	filled  []bool       // by part: it holds garbage, or what was written since
	segment *shm.Segment // that the bytes are in; nil: they are this process's alone
}

func (m *memory) init(dev int, capacity int64) {
	m.device, m.capacity, m.next = dev, capacity, rangeStart(dev)
}

func rangeStart(dev int) uint64 { return firstAddr + uint64(dev)<<rangeBits }

// owner returns the device whose range holds addr; nil for none.
func (d *Driver) owner(addr uint64) *accelerator {
	if dev := (addr - firstAddr) >> rangeBits; dev < uint64(len(d.devices)) {
		return d.devices[dev]
	}
	return nil
}

func (m *memory) alloc(bytes int64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if bytes > m.capacity-m.used {
		return 0, fmt.Errorf("%w: %d bytes were asked for, and %d of %d are free", device.ErrOutOfMemory, bytes, m.capacity-m.used, m.capacity)
	}
	b := &block{addr: m.next, bytes: bytes}
	m.next += uint64(bytes+2*alignment-1) / alignment * alignment
	m.used += bytes
	m.blocks = append(m.blocks, b)
	return b.addr, nil
}

// find returns the index of the last block that begins at addr or before it.
func (m *memory) find(addr uint64) int {
	i, exact := slices.BinarySearchFunc(m.blocks, addr, func(b *block, addr uint64) int {
		switch {
		case b.addr < addr:
			return -1
		case b.addr > addr:
			return 1
		}
		return 0
	})
	if exact {
		return i
	}
	return i - 1
}

func (m *memory) free(addr uint64) (bytes int64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i := m.find(addr)
	if i < 0 || m.blocks[i].addr != addr || m.blocks[i].parts != nil {
		return 0, fmt.Errorf("address %#x is not the start of an allocation, or was freed", addr)
	}
	bytes = m.blocks[i].bytes
	m.blocks[i].forget()
	m.used -= bytes
	m.blocks = slices.Delete(m.blocks, i, i+1)
	return bytes, nil
}

// at returns where n bytes at addr are in host memory. They must lie in one
// block.
func (m *memory) at(addr uint64, n int64) (unsafe.Pointer, error) {
	m.mu.Lock()
	i := m.find(addr)
	var b *block
	if i >= 0 {
		b = m.blocks[i]
	}
	if b != nil && b.parts != nil && n <= b.bytes-int64(addr-b.addr) && int64(addr-b.addr) < b.bytes {
		defer m.mu.Unlock()
		return b.parts.at(int64(addr-b.addr), n)
	}
	m.mu.Unlock()
	if b == nil || int64(addr-b.addr) >= b.bytes {
		return nil, fmt.Errorf("address %#x is not allocated, or was freed", addr)
	}
	if off := int64(addr - b.addr); n > b.bytes-off {
		return nil, fmt.Errorf("%d bytes at address %#x reach past the end of an allocation of %d bytes at %#x", n, addr, b.bytes, b.addr)
	}
	return b.at(int64(addr-b.addr), n), nil
}

// at returns where n bytes at off, which the block has, are in host memory. The first is 8-byte
// aligned.
func (b *block) at(off, n int64) unsafe.Pointer {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.data == nil {
		b.make()
	}
	first := unsafe.Pointer(&b.data[0])
	if b.segment == nil {
		all := unsafe.Slice((*byte)(first), 8*len(b.data))
		for i := off / part; i*part < off+n; i++ {
			fillPart(all, i, &b.filled[i])
		}
	}
	return unsafe.Add(first, off)
}

// make gets host memory. What is large lies outside of Go's heap, where only what is
// written takes up room and the collector's pace does not depend on it: but for programs with
// the race detector, which sees the heap alone.
func (b *block) make() {
	words := (b.bytes + 7) / 8
	b.filled = make([]bool, (b.bytes+part-1)/part)
	if words*8 >= device.MapUnit && !raced {
		if host, release, err := reserveHost(words * 8); err == nil {
			b.data, b.host, b.release = unsafe.Slice((*uint64)(unsafe.Pointer(&host[0])), words), host, release
			return
		}
	}
	b.data = make([]uint64, words)
}

// holding returns work that holds the blocks which some addresses are in: their memory is the
// system's again once they were freed and nothing holds them. Free waits for the streams of its own
// device alone, and not for what was recorded.
func (d *Driver) holding(run func() error, addrs ...uint64) func() error {
	held := d.held(addrs...)
	return func() error {
		defer runtime.KeepAlive(held)
		return run()
	}
}

// held returns the blocks that addresses are in, nil where there is none.
func (d *Driver) held(addrs ...uint64) []*block {
	list := make([]*block, len(addrs))
	for i, addr := range addrs {
		if a := d.owner(addr); a != nil {
			list[i] = a.memory.holding(addr)
		}
	}
	return list
}

// holding returns the block that addr is in, nil for none.
func (m *memory) holding(addr uint64) *block {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i := m.find(addr); i >= 0 {
		return m.blocks[i]
	}
	return nil
}

// forget lets the system take the memory of a block that was freed. Its addresses stay while
// something holds the block, which gets zeros.
func (b *block) forget() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.host != nil {
		forgetHost(b.host)
	}
}

// at returns where n bytes of device memory at addr are in host memory. The
// memory must be the device's own or, with peers, of a device whose memory it
// was given access to.
func (a *accelerator) at(addr uint64, n int64, peers bool) (unsafe.Pointer, error) {
	of := a.driver.owner(addr)
	if of == nil {
		return nil, fmt.Errorf("%s: address %#x is no device's memory", a, addr)
	}
	if of != a && !(peers && a.accesses(of.index)) {
		return nil, fmt.Errorf("%w: address %#x was used on %s but is memory of %s", device.ErrMismatch, addr, a, of)
	}
	p, err := of.memory.at(addr, n)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", of, err)
	}
	return p, nil
}

// MemoryInfo returns a device's free and total bytes.
func (d *Driver) MemoryInfo(dev int) (free, total int64, err error) {
	a, err := d.working(dev)
	if err != nil {
		return 0, 0, err
	}
	a.memory.mu.Lock()
	defer a.memory.mu.Unlock()
	return a.memory.capacity - a.memory.used, a.memory.capacity, nil
}

// Alloc returns bytes of a device's memory, full of garbage.
func (d *Driver) Alloc(dev int, bytes int64) (device.Memory, error) {
	a, err := d.working(dev)
	if err != nil {
		return device.Memory{}, err
	}
	if bytes <= 0 {
		return device.Memory{}, fmt.Errorf("%s: an allocation of %d bytes", a, bytes)
	}
	if err := a.inject(FaultAlloc); err != nil {
		return device.Memory{}, fmt.Errorf("%s: %w", a, err)
	}
	addr, err := a.memory.alloc(bytes)
	if err != nil {
		return device.Memory{}, fmt.Errorf("%s: %w", a, err)
	}
	a.count(func(c *Counters) {
		c.Allocs++
		c.LiveAllocs++
		c.LiveBytes += bytes
		c.PeakBytes = max(c.PeakBytes, c.LiveBytes)
	})
	return device.Memory{Addr: addr, Bytes: bytes}, nil
}

// Free returns memory of a device, after all work given to it is done.
func (d *Driver) Free(dev int, m device.Memory) error {
	a, err := d.working(dev)
	if err != nil {
		return err
	}
	if of := d.owner(m.Addr); of != nil && of != a {
		return fmt.Errorf("%w: address %#x was freed on %s but is memory of %s", device.ErrMismatch, m.Addr, a, of)
	}
	for _, s := range d.streamsOf(a) {
		if err := s.wait(context.Background()); err != nil {
			return err
		}
	}
	bytes, err := a.memory.free(m.Addr)
	if err != nil {
		return fmt.Errorf("%s: %w", a, err)
	}
	a.count(func(c *Counters) {
		c.Frees++
		c.LiveAllocs--
		c.LiveBytes -= bytes
	})
	return nil
}

// maxHost is the most that AllocHost asks the Go heap for, which ends the program
// where there is no room.
const maxHost = min(1<<34, math.MaxInt-63)

// AllocHost returns host memory. All of it can be copied from and to
// asynchronously.
func (d *Driver) AllocHost(bytes int64) (device.Memory, error) {
	if bytes <= 0 {
		return device.Memory{}, fmt.Errorf("an allocation of %d bytes of host memory", bytes)
	}
	if bytes > maxHost {
		return device.Memory{}, fmt.Errorf("%w: an allocation of %d bytes of host memory; want at most %d", device.ErrOutOfMemory, bytes, int64(maxHost))
	}
	data := make([]byte, bytes+63)
	skip := -uintptr(unsafe.Pointer(&data[0])) & 63
	return device.Memory{Host: unsafe.Pointer(&data[skip]), Bytes: bytes}, nil
}

// FreeHost returns host memory, which the collector takes back.
func (d *Driver) FreeHost(m device.Memory) error {
	if m.Host == nil {
		return fmt.Errorf("memory to free is not host memory")
	}
	return nil
}

// RegisterHost does nothing: all host memory can be copied from and to
// asynchronously.
func (d *Driver) RegisterHost(m device.Memory) error {
	if m.Host == nil || m.Bytes <= 0 {
		return fmt.Errorf("%d bytes to page-lock are not host memory", m.Bytes)
	}
	return nil
}

// UnregisterHost undoes that.
func (d *Driver) UnregisterHost(m device.Memory) error { return d.FreeHost(m) }
