package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/runtime/device"
)

// background is for waits inside an allocation, which has no context.
var background = context.Background()

// errOverLimit is that a segment would exceed the limit on the device's memory.
var errOverLimit = fmt.Errorf("%w: the memory limit", device.ErrOutOfMemory)

// grow serves a request that nothing cached fits, in this order: callbacks,
// old blocks to the driver, the driver, pools that lend when memory is short,
// oversize blocks to the driver, the whole cache to the driver, and that again after
// a collection. After each step that may have made room it tries once more.
func (a *allocator) grow(r request) (*chunk, error) {
	if relieve(a.dev) {
		a.mu.Lock()
		r.pool.searches++
		c := a.find(r)
		if c != nil {
			a.lend(c, r)
		}
		a.mu.Unlock()
		if c != nil {
			return c, nil
		}
	}
	if err := a.retire(r.conf); err != nil {
		return nil, a.failure(r, err)
	}
	c, err := a.attempt(r)
	if !errors.Is(err, device.ErrOutOfMemory) {
		return c, err
	}
	if err == errOverLimit && r.conf.Rejects {
		return nil, a.outOfMemory(r, err)
	}
	if c := a.borrow(r); c != nil {
		return c, nil
	}
	for _, step := range []func(request) (bool, error){a.makeRoom, a.empty, a.collected} {
		again, stepErr := step(r)
		if stepErr != nil {
			return nil, a.failure(r, stepErr)
		}
		if !again {
			continue
		}
		if c, err = a.attempt(r); !errors.Is(err, device.ErrOutOfMemory) {
			return c, err
		}
	}
	return nil, a.outOfMemory(r, err)
}

// failure is the error of a request that is not for lack of memory.
func (a *allocator) failure(r request, err error) error {
	return fmt.Errorf("%s: cannot allocate %d bytes: %w", a.dev, r.bytes, err)
}

// attempt looks for a free chunk once more, since other goroutines free, and asks
// the driver for a segment, or for memory in a room. An error that is about memory
// is not said to be about this allocation yet.
func (a *allocator) attempt(r request) (*chunk, error) {
	a.growing.Lock()
	defer a.growing.Unlock()
	a.mu.Lock()
	a.poll()
	if c := a.find(r); c != nil {
		defer a.mu.Unlock()
		a.lend(c, r)
		return c, nil
	}
	bytes := r.conf.Segment(r.size)
	over := a.limit() > 0 && a.stats.ReservedBytes.Sum()+bytes > a.limit()
	a.mu.Unlock()
	if over {
		return nil, errOverLimit
	}
	c, err := a.extend(r, bytes)
	if err != nil && !errors.Is(err, device.ErrOutOfMemory) {
		return nil, a.failure(r, err)
	}
	return c, err
}

// extend gets memory from the driver and lends of it. The caller holds a.growing.
func (a *allocator) extend(r request, bytes int64) (*chunk, error) {
	if m := a.mapper(r); m != nil {
		return a.expand(r, m)
	}
	m, err := a.drv.Alloc(a.dev.Index, bytes)
	if err != nil {
		return nil, err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.adopt(m.Addr, bytes, r)
	a.lend(c, r)
	return c, nil
}

// adopt makes a segment of the driver's memory one free chunk for r's stream and
// pool. The caller holds a.mu.
func (a *allocator) adopt(addr uint64, bytes int64, r request) *chunk {
	c := a.newChunk()
	c.pool, c.set, c.stream = r.pool, r.pool.set(r.stream), r.stream
	c.addr, c.size = addr, bytes
	c.cache()
	a.list(c)
	a.stats.Segment.Grow(r.pool.kind, 1)
	a.reserve(c, bytes)
	if bytes >= r.conf.MaxSplit {
		c.oversized = true
		a.stats.OversizeSegments.Grow(1)
	}
	a.trace(TraceSegmentAlloc, addr, bytes, r.stream, r.pool.arena.id)
	return c
}

// list adds the first chunk of a segment to the books.
func (a *allocator) list(c *chunk) {
	i, _ := slices.BinarySearchFunc(a.segments, c.addr, byAddress)
	a.segments = slices.Insert(a.segments, i, c)
	c.pool.arena.segments++
}

// reserve notes that bytes more of c's pool come from the driver.
func (a *allocator) reserve(c *chunk, bytes int64) {
	a.stats.ReservedBytes.Grow(c.pool.kind, bytes)
	c.pool.arena.reserved.Grow(c.pool.kind, bytes)
	a.stats.DriverIns++
}

// unreserve notes that bytes of c's pool go back to the driver.
func (a *allocator) unreserve(c *chunk, bytes int64) {
	a.stats.ReservedBytes.Shrink(c.pool.kind, bytes)
	c.pool.arena.reserved.Shrink(c.pool.kind, bytes)
	a.stats.DriverOuts++
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

// syncUses waits for the events behind the uses of freed chunks, unless a capture
// is under way.
func (a *allocator) syncUses() error {
	a.mu.Lock()
	var events []device.EventID
	if a.capturing == 0 {
		for _, q := range a.uses {
			for _, u := range q.uses {
				events = append(events, u.event)
			}
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

// relief has what OnPressure was given.
var relief calls[func(device.Device)]

// OnPressure makes f be called whenever an allocation on an accelerator needs
// more memory from the driver, before the driver is asked: f may free blocks that
// the program can do without. It is called without locks, perhaps by several
// goroutines at a time. Remove ends that. A nil f does nothing.
func OnPressure(f func(device.Device)) (remove func()) {
	if f == nil {
		return func() {}
	}
	return relief.add(f)
}

// relieve makes the calls and reports whether there were any.
func relieve(d device.Device) bool {
	list := relief.now()
	for _, f := range list {
		(*f)(d)
	}
	return len(list) > 0
}
