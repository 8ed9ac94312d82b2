package memory

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/figures"
)

// A pinned is page-locked memory, lent out again and again. The cache's lock
// guards all but of, memory and class, which are fixed.
type pinned struct {
	of     *pinnedCache
	memory piece
	class  int // that of its bytes: 1<<class, or not rounded, more than half of that
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
// of two that are never divided, but where the settings say otherwise. Its
// lock is held for bookkeeping and for asking events whether they are done, never
// while waiting or in another call of the driver.
type pinnedCache struct {
	drv device.Driver

	mu      sync.Mutex
	free    [61][]*pinned // by class
	waiting []pinnedUse   // oldest first
	events  map[int][]device.EventID
	stats   figures.PinnedStats
	late    error // of freeing, for the next allocation to return

	capturing int       // captures under way
	deferred  []*pinned // freed meanwhile, with copies
	doomed    []*pinned // free, and too large to be kept
	watching  bool      // a goroutine waits for copies
	reserve   reserve

	reserving sync.Mutex // held while the reserve is made, and taken before mu
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
	conf, err := configuration()
	if err != nil {
		return Block{}, fmt.Errorf("cannot allocate %d bytes of pinned memory: %w", bytes, err)
	}
	class := bits.Len64(uint64(bytes - 1))
	p.mu.Lock()
	p.poll()
	gone := p.takeDoomed()
	if err := p.late; err != nil {
		p.late = nil
		p.doomed = append(p.doomed, gone...)
		p.mu.Unlock()
		return Block{}, err
	}
	if b := p.reusable(class, bytes); b != nil {
		block := p.lend(b)
		p.mu.Unlock()
		p.note(p.discard(gone))
		return block, nil
	}
	p.mu.Unlock()
	p.note(p.discard(gone))
	size := bytes
	if size <= conf.Pinned.MaxRound {
		size = 1 << class
	}
	m, err := p.get(size, &conf.Pinned)
	if errors.Is(err, device.ErrOutOfMemory) {
		collect(device.CPU)
		if err = p.release(); err == nil {
			m, err = p.get(size, &conf.Pinned)
		}
	}
	if err != nil {
		return Block{}, fmt.Errorf("cannot allocate %d bytes of pinned memory: %w", bytes, err)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stats.Allocations.Grow(1)
	p.stats.AllocatedBytes.Grow(size)
	return p.lend(&pinned{of: p, memory: m, class: class}), nil
}

// reusable takes the latest free block of a class that has bytes; nil if there is
// none. The caller holds p.mu.
func (p *pinnedCache) reusable(class int, bytes int64) *pinned {
	free := p.free[class]
	for i := len(free) - 1; i >= 0; i-- {
		if b := free[i]; b.memory.Bytes >= bytes {
			p.free[class] = slices.Delete(free, i, i+1)
			if b.memory.cut {
				p.reserve.lent++
			}
			return b
		}
	}
	return nil
}

// lend hands out b. The caller holds p.mu.
func (p *pinnedCache) lend(b *pinned) Block {
	b.lent = true
	b.loan++
	p.stats.ActiveRequests.Grow(1)
	p.stats.ActiveBytes.Grow(b.memory.Bytes)
	return Block{Memory: b.memory.Memory, Device: device.CPU, owner: b, hold: b.loan}
}

// use notes a copy on a stream.
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
	b.lent, b.left = false, len(copies)
	if len(copies) > 0 && p.capturing > 0 {
		p.deferred = append(p.deferred, b)
		p.mu.Unlock()
		return nil
	}
	b.copies = nil
	if len(copies) == 0 {
		p.reuse(b)
	}
	gone := p.takeDoomed()
	p.mu.Unlock()
	for _, c := range copies {
		p.await(b, c)
	}
	return p.discard(gone)
}

// reuse puts b into its free list, or among those that go back. The caller holds
// p.mu.
func (p *pinnedCache) reuse(b *pinned) {
	p.stats.ActiveRequests.Shrink(1)
	p.stats.ActiveBytes.Shrink(b.memory.Bytes)
	if b.memory.cut {
		p.reserve.lent--
	} else if conf := inForce.Load(); conf != nil && b.memory.Bytes > conf.Pinned.MaxCached {
		p.doomed = append(p.doomed, b)
		return
	}
	p.free[b.class] = append(p.free[b.class], b)
}

// await queues an event behind the work given to a stream, which uses b. Without
// an event a goroutine waits for the device, as whoever frees may be at work for another.
func (p *pinnedCache) await(b *pinned, at place) {
	e, err := p.newEvent(at.dev.Index)
	if err == nil {
		err = p.drv.RecordEvent(at.dev.Index, e, at.stream)
	}
	unrecorded(p.drv, at.dev.Index, err, func(failed error) { p.awaited(b, at, e, err, failed) })
}

// awaited notes that b waits for event e, or that the device was waited for where err is why
// there is no event, and failed what the program must hear of.
func (p *pinnedCache) awaited(b *pinned, at place, e device.EventID, err, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		p.waiting = append(p.waiting, pinnedUse{at.dev.Index, e, b})
		if conf := inForce.Load(); conf != nil && conf.Pinned.Background && !p.watching {
			p.watching = true
			go p.watch()
		}
		return
	}
	if failed != nil {
		p.late = errors.Join(p.late, fmt.Errorf("freeing pinned memory that stream %#x of %s uses: %w", uint64(at.stream), at.dev, failed))
	}
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

// poll ends the uses whose events are done, up to the first that is not; none
// while a capture is under way. The caller holds p.mu.
func (p *pinnedCache) poll() {
	if p.capturing > 0 {
		return
	}
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
