package memory

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
)

// cachingOff is what SetCaching says.
var cachingOff atomic.Bool

// SetCaching turns the caching of device memory on or off for all devices.
// While it is off every allocation is one of the driver, which no figure counts;
// blocks from before stay what they are. Where the environment turned it off, it
// stays off.
func SetCaching(on bool) { cachingOff.Store(!on) }

// Caching reports whether device memory is cached, as far as SetCaching decides.
func Caching() bool { return !cachingOff.Load() }

// allocDirect allocates from the driver, with caching off.
func (a *allocator) allocDirect(bytes int64) (Block, error) {
	if bytes >= maxRequest {
		return Block{}, a.tooLarge(bytes)
	}
	a.mu.Lock()
	capturing := a.capturing > 0
	a.mu.Unlock()
	if capturing {
		return Block{}, fmt.Errorf("%s: cannot allocate %d bytes: memory is not cached, which a capture needs", a.dev, bytes)
	}
	m, err := a.drv.Alloc(a.dev.Index, bytes)
	if errors.Is(err, device.ErrOutOfMemory) {
		collect(a.dev)
		m, err = a.drv.Alloc(a.dev.Index, bytes)
	}
	switch {
	case errors.Is(err, device.ErrOutOfMemory):
		return Block{}, a.outOfMemory(request{bytes: bytes, size: bytes}, err)
	case err != nil:
		return Block{}, fmt.Errorf("%s: cannot allocate %d bytes: %w", a.dev, bytes, err)
	}
	return Block{Memory: m, Device: a.dev, owner: &direct{of: a, memory: m}}, nil
}

// A direct is memory of the driver, which nothing caches.
type direct struct {
	of     *allocator
	memory device.Memory
	mu     sync.Mutex
	freed  bool
}

// free gives the memory to the driver, which waits for the device's work.
func (r *direct) free(uint64) error {
	r.mu.Lock()
	freed := r.freed
	r.freed = true
	r.mu.Unlock()
	if freed {
		return ErrFreed
	}
	return r.of.drv.Free(r.of.dev.Index, r.memory)
}

// use does nothing, since free waits.
func (*direct) use(uint64, device.Device, device.StreamID) {}

// ErrInvalidPointer is wrapped when an address is freed that AllocRaw did not
// return, or that was freed before.
const ErrInvalidPointer ir.Error = "invalid device pointer"

// raws has the blocks of AllocRaw.
var raws struct {
	mu     sync.Mutex
	blocks map[rawKey]Block
}

type rawKey struct {
	drv  device.Driver
	addr uint64
}

// AllocRaw returns the address of a block of d's caching allocator, for work on
// stream s of d, for code that manages memory by address: it is the
// caller's until FreeRaw. No bytes have address 0.
func AllocRaw(d device.Device, s device.StreamID, bytes int64) (uint64, error) {
	d, drv, err := device.Find(d)
	if err != nil {
		return 0, err
	}
	if !d.Accelerator() {
		return 0, fmt.Errorf("%w: %s: its memory has no device addresses, want an accelerator", device.ErrInvalid, d)
	}
	b, err := Alloc(d, drv, s, bytes)
	if err != nil || b.Addr == 0 {
		return 0, err
	}
	raws.mu.Lock()
	defer raws.mu.Unlock()
	if raws.blocks == nil {
		raws.blocks = map[rawKey]Block{}
	}
	raws.blocks[rawKey{drv, b.Addr}] = b
	return b.Addr, nil
}

// FreeRaw frees what AllocRaw returned for a device of kind k, as Block.Free does.
// Address 0 is nothing to free.
func FreeRaw(k device.Kind, addr uint64) error {
	if addr == 0 {
		return nil
	}
	drv, err := device.DriverOf(k)
	if err != nil {
		return err
	}
	raws.mu.Lock()
	b, known := raws.blocks[rawKey{drv, addr}]
	delete(raws.blocks, rawKey{drv, addr})
	raws.mu.Unlock()
	if !known {
		return fmt.Errorf("%w: %#x", ErrInvalidPointer, addr)
	}
	return b.Free()
}
