package memory

import (
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// A pinned is page-locked memory, lent out again and again. The cache's lock
// guards all but of, memory and class, which are fixed.
type pinned struct {
	of     *pinnedCache
	memory device.Memory
	class  int // 1<<class bytes
	loan   uint64
	lent   bool
	copies []place // that use it, while lent
	left   int     // of them not done, once freed
}

// A place is a stream of a device.
type place struct {
	dev    device.Device
	stream device.StreamID
}

// A pinnedCache caches the page-locked memory of one driver, in blocks of powers
// of two that are never divided (A34). Its lock is held for bookkeeping and for
// asking events whether they are done, never while waiting or in another call of
// the driver.
type pinnedCache struct {
	drv device.Driver

	mu      sync.Mutex
	free    [61][]*pinned // by class
	waiting []pinnedUse   // oldest first
	events  map[int][]device.EventID
	stats   PinnedStats
	late    error // of freeing, for the next allocation to return
}

// A pinnedUse is the end of a copy that uses a freed block.
type pinnedUse struct {
	dev   int
	event device.EventID
	block *pinned
}

var pinnedCaches sync.Map // device.Driver to *pinnedCache

func pinnedOf(drv device.Driver) *pinnedCache {
	if c, ok := pinnedCaches.Load(drv); ok {
		return c.(*pinnedCache)
	}
	c, _ := pinnedCaches.LoadOrStore(drv, &pinnedCache{drv: drv, events: map[int][]device.EventID{}})
	return c.(*pinnedCache)
}

// alloc returns a block of 0 < bytes < maxRequest.
func (p *pinnedCache) alloc(bytes int64) (Block, error) {
	class := bits.Len64(uint64(bytes - 1))
	p.mu.Lock()
	p.poll()
	if err := p.late; err != nil {
		p.late = nil
		p.mu.Unlock()
		return Block{}, err
	}
	if n := len(p.free[class]); n > 0 {
		b := p.free[class][n-1]
		p.free[class] = p.free[class][:n-1]
		defer p.mu.Unlock()
		return p.lend(b), nil
	}
	p.mu.Unlock()
	m, err := p.lock(1 << class)
	if errors.Is(err, device.ErrOutOfMemory) {
		collect()
		if err = p.release(); err == nil {
			m, err = p.lock(1 << class)
		}
	}
	if err != nil {
		return Block{}, fmt.Errorf("cannot allocate %d bytes of pinned memory: %w", bytes, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.lend(&pinned{of: p, memory: m, class: class}), nil
}

// lock gets page-locked memory from the driver.
func (p *pinnedCache) lock(bytes int64) (device.Memory, error) {
	start := time.Now()
	m, err := p.drv.AllocHost(bytes)
	took := time.Since(start)
	if err != nil {
		return m, err
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Allocations.grow(1)
	p.stats.AllocatedBytes.grow(bytes)
	p.stats.AllocTime.add(took)
	return m, nil
}

// lend hands out b. The caller holds p.mu.
func (p *pinnedCache) lend(b *pinned) Block {
	b.lent = true
	b.loan++
	p.stats.ActiveRequests.grow(1)
	p.stats.ActiveBytes.grow(1 << b.class)
	return Block{Memory: b.memory, Device: device.CPU, owner: b, hold: b.loan}
}

// use notes a copy on a stream (A35).
func (b *pinned) use(hold uint64, dev device.Device, s device.StreamID) {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	if !b.lent || b.loan != hold {
		return
	}
	for _, c := range b.copies {
		if c == (place{dev, s}) {
			return
		}
	}
	b.copies = append(b.copies, place{dev, s})
}

// free ends the loan; copies that use the block go on.
func (b *pinned) free(hold uint64) error {
	p := b.of
	p.mu.Lock()
	if !b.lent || b.loan != hold {
		p.mu.Unlock()
		return ErrFreed
	}
	copies := b.copies
	b.lent, b.copies, b.left = false, nil, len(copies)
	if len(copies) == 0 {
		p.reuse(b)
	}
	p.mu.Unlock()
	for _, c := range copies {
		p.await(b, c)
	}
	return nil
}

// reuse puts b into its free list. The caller holds p.mu.
func (p *pinnedCache) reuse(b *pinned) {
	p.free[b.class] = append(p.free[b.class], b)
	p.stats.ActiveRequests.shrink(1)
	p.stats.ActiveBytes.shrink(1 << b.class)
}

// await queues an event behind the work given to a stream, which uses b. Without
// an event it waits for the device.
func (p *pinnedCache) await(b *pinned, at place) {
	e, err := p.newEvent(at.dev.Index)
	if err == nil {
		err = p.drv.RecordEvent(at.dev.Index, e, at.stream)
	}
	if err != nil {
		err = errors.Join(err, p.drv.SyncDevice(background, at.dev.Index))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.waiting = append(p.waiting, pinnedUse{at.dev.Index, e, b})
		return
	}
	p.late = errors.Join(p.late, fmt.Errorf("freeing pinned memory that stream %#x of %s uses: %w", uint64(at.stream), at.dev, err))
	if e != 0 {
		p.events[at.dev.Index] = append(p.events[at.dev.Index], e)
	}
	p.used(b)
}

func (p *pinnedCache) newEvent(dev int) (device.EventID, error) {
	p.mu.Lock()
	if have := p.events[dev]; len(have) > 0 {
		e := have[len(have)-1]
		p.events[dev] = have[:len(have)-1]
		p.mu.Unlock()
		return e, nil
	}
	p.mu.Unlock()
	return p.drv.NewEvent(dev, false)
}

func (p *pinnedCache) used(b *pinned) {
	if b.left--; b.left == 0 {
		p.reuse(b)
	}
}

// poll ends the uses whose events are done, up to the first that is not. The
// caller holds p.mu.
func (p *pinnedCache) poll() {
	n := 0
	for ; n < len(p.waiting); n++ {
		u := p.waiting[n]
		if done, err := p.drv.EventDone(u.dev, u.event); !done || err != nil {
			break
		}
		p.events[u.dev] = append(p.events[u.dev], u.event)
		p.used(u.block)
	}
	if n > 0 {
		left := copy(p.waiting, p.waiting[n:])
		clear(p.waiting[left:])
		p.waiting = p.waiting[:left]
	}
}

// release gives the blocks that are free back to the driver.
func (p *pinnedCache) release() error {
	p.mu.Lock()
	p.poll()
	var free []*pinned
	for class := range p.free {
		free = append(free, p.free[class]...)
		p.free[class] = nil
	}
	p.mu.Unlock()
	var errs []error
	for _, b := range free {
		start := time.Now()
		errs = append(errs, p.drv.FreeHost(b.memory))
		took := time.Since(start)
		p.mu.Lock()
		p.stats.Allocations.shrink(1)
		p.stats.AllocatedBytes.shrink(1 << b.class)
		p.stats.FreeTime.add(took)
		p.mu.Unlock()
	}
	return errors.Join(errs...)
}

// Times sums up how long calls of the driver took.
type Times struct {
	Total, Min, Max time.Duration
	Count           int64
}

func (t *Times) add(d time.Duration) {
	if t.Count == 0 || d < t.Min {
		t.Min = d
	}
	t.Max = max(t.Max, d)
	t.Total += d
	t.Count++
}

// Mean returns the mean; 0 without a call.
func (t Times) Mean() time.Duration {
	if t.Count == 0 {
		return 0
	}
	return t.Total / time.Duration(t.Count)
}

// PinnedStats are the figures of the page-locked memory of one kind of device
// (A36).
type PinnedStats struct {
	Allocations    Stat // blocks held from the driver, in use or cached
	AllocatedBytes Stat
	ActiveRequests Stat // blocks the program holds, or freed and awaiting copies
	ActiveBytes    Stat
	AllocTime      Times // of the driver's allocations, with their number
	FreeTime       Times
}

// PinnedStatsOf returns the figures of the page-locked memory for a kind of
// accelerator.
func PinnedStatsOf(k device.Kind) PinnedStats {
	drainDropped()
	p := existingPinned(k)
	if p == nil {
		return PinnedStats{}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stats
}

// EmptyPinnedCache gives the page-locked memory for a kind of accelerator that no
// block and no copy uses back to the driver.
func EmptyPinnedCache(k device.Kind) error {
	drainDropped()
	p := existingPinned(k)
	if p == nil {
		return nil
	}
	if err := p.release(); err != nil {
		return fmt.Errorf("emptying the cache of pinned memory: %w", err)
	}
	return nil
}

func existingPinned(k device.Kind) *pinnedCache {
	drv, err := device.DriverOf(k)
	if err != nil {
		return nil
	}
	p, ok := pinnedCaches.Load(drv)
	if !ok {
		return nil
	}
	return p.(*pinnedCache)
}
