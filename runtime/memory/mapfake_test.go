package memory

import (
	"context"
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
)

// mapping is a fake that maps memory, page by page, and remembers which.
type mapping struct {
	*fake
	rooms map[uint64]int64 // bytes, by address
	pages map[uint64]int64
	syncs int
}

func newMapping(capacity int64) *mapping {
	return &mapping{fake: newFake(capacity), rooms: map[uint64]int64{}, pages: map[uint64]int64{}}
}

func (m *mapping) CanMap(int) bool { return true }

func (m *mapping) Reserve(_ int, bytes int64) (uint64, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	addr := (m.next + device.MapUnit - 1) / device.MapUnit * device.MapUnit
	m.next = addr + uint64(bytes) + device.MapUnit
	m.rooms[addr] = bytes
	return addr, nil
}

func (m *mapping) Unreserve(_ int, addr uint64, bytes int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.rooms[addr] != bytes {
		return fmt.Errorf("fake: %d bytes at %#x are no room", bytes, addr)
	}
	delete(m.rooms, addr)
	return nil
}

func (m *mapping) Map(_ int, addr uint64, bytes, page int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.used+bytes > m.capacity {
		return fmt.Errorf("fake: %w", device.ErrOutOfMemory)
	}
	for off := int64(0); off < bytes; off += page {
		if m.pages[addr+uint64(off)] != 0 {
			return fmt.Errorf("fake: page %#x is mapped twice", addr+uint64(off))
		}
		m.pages[addr+uint64(off)] = page
	}
	m.used += bytes
	return nil
}

func (m *mapping) Unmap(_ int, addr uint64, bytes, page int64) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for off := int64(0); off < bytes; off += page {
		if m.pages[addr+uint64(off)] != page {
			return fmt.Errorf("fake: page %#x is not mapped", addr+uint64(off))
		}
		delete(m.pages, addr+uint64(off))
	}
	m.used -= bytes
	return nil
}

func (m *mapping) SyncStream(context.Context, int, device.StreamID) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.syncs++
	return nil
}
