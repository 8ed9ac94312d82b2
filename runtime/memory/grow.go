package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
)

// background is for waits inside an allocation, which has no context.
var background = context.Background()

// grow serves a request that nothing cached fits, in the order of A17: callbacks,
// the driver, the driver after the cache was released, and that again after a
// collection.
func (a *allocator) grow(r request) (*chunk, error) {
	relieve(a.dev)
	c, err := a.attempt(r)
	if !errors.Is(err, device.ErrOutOfMemory) {
		return c, err
	}
	a.mu.Lock()
	a.stats.AllocRetries++
	a.stats.SyncAllStreams++
	a.mu.Unlock()
	for _, step := range []func(){func() {}, collect} {
		step()
		if err := a.release(); err != nil {
			return nil, fmt.Errorf("%s: cannot allocate %d bytes: %w", a.dev, r.bytes, err)
		}
		if c, err = a.attempt(r); !errors.Is(err, device.ErrOutOfMemory) {
			return c, err
		}
	}
	return nil, a.outOfMemory(r, err)
}

// attempt looks for a free chunk once more, since other goroutines free, and asks
// the driver for a segment. An error that is about memory is not said to be about
// this allocation yet.
func (a *allocator) attempt(r request) (*chunk, error) {
	a.growing.Lock()
	defer a.growing.Unlock()
	a.mu.Lock()
	a.poll()
	if c := r.pool.set(r.stream).bestFit(r.size); c != nil {
		defer a.mu.Unlock()
		a.lend(c, r)
		return c, nil
	}
	bytes := segmentSize(r.size)
	over := a.limit() > 0 && a.stats.ReservedBytes.All.Current+bytes > a.limit()
	a.mu.Unlock()
	if over { // A18
		return nil, device.ErrOutOfMemory
	}
	m, err := a.drv.Alloc(a.dev.Index, bytes)
	if errors.Is(err, device.ErrOutOfMemory) {
		return nil, err
	}
	if err != nil {
		return nil, fmt.Errorf("%s: cannot allocate %d bytes: %w", a.dev, r.bytes, err)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.adopt(m.Addr, bytes, r)
	a.lend(c, r)
	return c, nil
}

// adopt makes a segment of the driver's memory one free chunk for r's stream and
// pool (A19). The caller holds a.mu.
func (a *allocator) adopt(addr uint64, bytes int64, r request) *chunk {
	c := a.newChunk()
	c.pool, c.set, c.stream = r.pool, r.pool.set(r.stream), r.stream
	c.addr, c.size, c.state = addr, bytes, chunkFree
	c.set.insert(c)
	i, _ := slices.BinarySearchFunc(a.segments, addr, byAddress)
	a.segments = slices.Insert(a.segments, i, c)
	a.stats.Segment.grow(r.pool.small, 1)
	a.stats.ReservedBytes.grow(r.pool.small, bytes)
	a.stats.DeviceAllocs++
	return c
}

func byAddress(c *chunk, addr uint64) int {
	switch {
	case c.addr < addr:
		return -1
	case c.addr > addr:
		return 1
	}
	return 0
}

// release waits for the uses of freed chunks and gives the segments that are free
// as a whole back to the driver. Neither the wait nor the driver's calls hold
// a.mu.
func (a *allocator) release() error {
	if err := a.syncUses(); err != nil {
		return err
	}
	a.growing.Lock()
	defer a.growing.Unlock()
	var free []device.Memory
	a.mu.Lock()
	a.poll()
	a.segments = slices.DeleteFunc(a.segments, func(c *chunk) bool {
		if c.state != chunkFree || c.divided() {
			return false
		}
		c.set.remove(c)
		free = append(free, device.Memory{Addr: c.addr, Bytes: c.size})
		a.stats.Segment.shrink(c.pool.small, 1)
		a.stats.ReservedBytes.shrink(c.pool.small, c.size)
		a.stats.DeviceFrees++
		a.drop(c)
		return true
	})
	a.mu.Unlock()
	var errs []error
	for _, m := range free {
		errs = append(errs, a.drv.Free(a.dev.Index, m))
	}
	return errors.Join(errs...)
}

// syncUses waits for the events behind the uses of freed chunks.
func (a *allocator) syncUses() error {
	a.mu.Lock()
	var events []device.EventID
	for _, q := range a.uses {
		for _, u := range q.uses {
			events = append(events, u.event)
		}
	}
	a.mu.Unlock()
	for _, e := range events {
		if err := a.drv.SyncEvent(background, a.dev.Index, e); err != nil {
			return err
		}
	}
	return nil
}

// allocRaw allocates from the driver, with caching off.
func (a *allocator) allocRaw(bytes int64) (Block, error) {
	if bytes >= maxRequest {
		return Block{}, a.tooLarge(bytes)
	}
	m, err := a.drv.Alloc(a.dev.Index, bytes)
	if errors.Is(err, device.ErrOutOfMemory) {
		collect()
		m, err = a.drv.Alloc(a.dev.Index, bytes)
	}
	switch {
	case errors.Is(err, device.ErrOutOfMemory):
		return Block{}, a.outOfMemory(request{bytes: bytes, size: bytes}, err)
	case err != nil:
		return Block{}, fmt.Errorf("%s: cannot allocate %d bytes: %w", a.dev, bytes, err)
	}
	return Block{Memory: m, Device: a.dev, owner: &raw{of: a, memory: m}}, nil
}

// A raw is memory of the driver, which nothing caches.
type raw struct {
	of     *allocator
	memory device.Memory
	mu     sync.Mutex
	freed  bool
}

// free gives the memory to the driver, which waits for the device's work.
func (r *raw) free(uint64) error {
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
func (*raw) use(uint64, device.Device, device.StreamID) {}

// relief has what OnPressure was given.
var relief struct {
	mu    sync.Mutex
	calls []*func(device.Device)
}

// OnPressure makes f be called whenever an allocation on an accelerator needs
// more memory from the driver, before the driver is asked: f may free blocks that
// the program can do without. It is called without locks, perhaps by several
// goroutines at a time. Remove ends that.
func OnPressure(f func(device.Device)) (remove func()) {
	relief.mu.Lock()
	defer relief.mu.Unlock()
	call := &f
	relief.calls = append(relief.calls, call)
	return func() {
		relief.mu.Lock()
		defer relief.mu.Unlock()
		relief.calls = slices.DeleteFunc(slices.Clone(relief.calls), func(c *func(device.Device)) bool { return c == call })
	}
}

func relieve(d device.Device) {
	relief.mu.Lock()
	calls := relief.calls
	relief.mu.Unlock()
	for _, f := range calls {
		(*f)(d)
	}
}
