package memory

import (
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"time"

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
// lock is held for bookkeeping, never in a call of the driver: that may wait for a device,
// and other goroutines allocate for what the device waits for.
type pinnedCache struct {
	drv device.Driver

	mu     sync.Mutex
	free   [61][]*pinned // by class
	uses   map[int]*pinnedUses
	events map[int][]device.EventID
	stats  figures.PinnedStats
	late   error // of freeing, for the next allocation to return

	capturing int       // captures under way
	deferred  []*pinned // freed meanwhile, with copies
	doomed    []*pinned // free, and too large to be kept
	reserve   reserve

	reserving sync.Mutex // held while the reserve is made, and taken before mu
}

// A pinnedUse is the end of a copy that uses a freed block.
type pinnedUse struct {
	event device.EventID
	block *pinned
}

// pinnedUses are those of one device. The cache's lock guards them.
type pinnedUses struct {
	waiting   []pinnedUse // oldest first; who asks takes them out
	asking    bool        // somebody asks whether they are done
	watching  bool        // a goroutine waits for copies
	recording recordings  // of events to wait for
}

var pinnedCaches sync.Map // device.Driver to *pinnedCache

func pinnedOf(drv device.Driver) *pinnedCache {
	if c, ok := pinnedCaches.Load(drv); ok {
		return c.(*pinnedCache)
	}
	c, _ := pinnedCaches.LoadOrStore(drv, &pinnedCache{drv: drv, uses: map[int]*pinnedUses{}, events: map[int][]device.EventID{}})
	return c.(*pinnedCache)
}

// alloc returns a block of 0 < bytes < maxRequest, for whoever is at work for a device.
func (p *pinnedCache) alloc(dev int, bytes int64) (Block, error) {
	conf, err := configuration()
	if err != nil {
		return Block{}, fmt.Errorf("cannot allocate %d bytes of pinned memory: %w", bytes, err)
	}
	class := bits.Len64(uint64(bytes - 1))
	p.poll(dev)
	block, err := p.cached(class, bytes)
	if err == nil && block.owner == nil && p.pollOthers(dev) {
		block, err = p.cached(class, bytes)
	}
	if err != nil || block.owner != nil {
		return block, err
	}
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

// cached returns a block that is free, without an owner where there is none, or what freeing others failed with. Those
// that are too large to be kept go back to the driver.
func (p *pinnedCache) cached(class int, bytes int64) (block Block, err error) {
	p.mu.Lock()
	if err := p.late; err != nil {
		p.late = nil
		p.mu.Unlock()
		return Block{}, err
	}
	gone := p.takeDoomed()
	if b := p.reusable(class, bytes); b != nil {
		block = p.lend(b)
	}
	p.mu.Unlock()
	p.note(p.discard(gone))
	return block, nil
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
	p.record(copies)
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

// usesOf returns those of a device. The caller holds p.mu.
func (p *pinnedCache) usesOf(dev int) *pinnedUses {
	u := p.uses[dev]
	if u == nil {
		u = new(pinnedUses)
		p.uses[dev] = u
	}
	return u
}

// record notes that events are to be recorded behind copies. The caller holds p.mu.
func (p *pinnedCache) record(copies []place) {
	for _, c := range copies {
		p.usesOf(c.dev.Index).recording.n++
	}
}

// await queues an event behind the work given to a stream, which uses b and is one of the recordings. It
// holds no lock in calls of the driver: b is in no list meanwhile, and what the stream is given before the
// event makes it later only. Without an event a goroutine waits for the device, as whoever frees may be at work for another.
func (p *pinnedCache) await(b *pinned, at place) {
	e, err := p.newEvent(at.dev.Index)
	if err == nil {
		err = p.drv.RecordEvent(at.dev.Index, e, at.stream)
	}
	p.mu.Lock()
	p.usesOf(at.dev.Index).recording.end()
	p.mu.Unlock()
	unrecorded(p.drv, at.dev.Index, err, func(failed error) { p.awaited(b, at, e, err, failed) })
}

// awaited notes that b waits for event e, or that the device was waited for where err is why
// there is no event, and failed what the program must hear of.
func (p *pinnedCache) awaited(b *pinned, at place, e device.EventID, err, failed error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err == nil {
		u := p.usesOf(at.dev.Index)
		u.waiting = append(u.waiting, pinnedUse{e, b})
		if conf := inForce.Load(); conf != nil && conf.Pinned.Background && !u.watching {
			u.watching = true
			go p.watch(at.dev.Index)
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

// devices returns those whose copies somebody waits for and nobody asks of. The caller holds p.mu.
func (p *pinnedCache) devices() (list []int) {
	for dev, u := range p.uses {
		if len(u.waiting) > 0 && !u.asking {
			list = append(list, dev)
		}
	}
	return list
}

// othersWait bounds the wait for what other devices say: an answer takes microseconds, or as long as they are held up.
const othersWait = 10 * time.Millisecond

// pollOthers is poll of all devices but one, by goroutines, which are waited for for a while: a driver lets nobody
// call a device that a copy to memory of the host waits for, and that device may wait for what the caller is
// about to give to its own. It reports whether any was asked.
func (p *pinnedCache) pollOthers(dev int) bool {
	p.mu.Lock()
	list := slices.DeleteFunc(p.devices(), func(other int) bool { return other == dev })
	p.mu.Unlock()
	if len(list) == 0 {
		return false
	}
	asked := make(chan struct{}, len(list))
	for _, other := range list {
		go func() {
			p.poll(other)
			asked <- struct{}{}
		}()
	}
	late := time.NewTimer(othersWait)
	defer late.Stop()
	for range list {
		select {
		case <-asked:
		case <-late.C:
			return true
		}
	}
	return true
}

// poll ends the uses of a device whose events are done, up to the first that is not; none
// while a capture is under way, or while somebody else asks.
func (p *pinnedCache) poll(dev int) {
	p.mu.Lock()
	u := p.uses[dev]
	if u == nil || len(u.waiting) == 0 || u.asking || p.capturing > 0 {
		p.mu.Unlock()
		return
	}
	u.asking = true
	waiting := u.waiting
	p.mu.Unlock()
	n := 0
	for ; n < len(waiting); n++ {
		if done, err := p.drv.EventDone(dev, waiting[n].event); !done || err != nil {
			break
		}
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	u.asking = false
	for _, w := range waiting[:n] {
		p.events[dev] = append(p.events[dev], w.event)
		p.used(w.block)
	}
	if n > 0 {
		left := copy(u.waiting, u.waiting[n:])
		clear(u.waiting[left:])
		u.waiting = u.waiting[:left]
	}
}
