package memory

import (
	"cmp"
	"errors"
	"slices"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

// This file has the steps of grow that make room, from the mildest to the strongest.
// They give memory back to the driver, but never while a capture is under way: a
// graph may be replayed on what looks free.

// retire gives old blocks back to the driver when segments take more than the
// threshold's part of the limit. A block's age is the searches of its pool
// since it became free. Those of average age and older go, whole rounds, until the
// excess is gone.
func (a *allocator) retire(conf *settings.Settings) error {
	if conf.CollectFrom == 0 {
		return nil
	}
	a.growing.Lock()
	defer a.growing.Unlock()
	a.mu.Lock()
	excess := a.stats.ReservedBytes.Sum() - int64(conf.CollectFrom*float64(a.limit()))
	if a.limit() == 0 || excess <= 0 || a.capturing > 0 {
		a.mu.Unlock()
		return nil
	}
	old := &a.common.large
	blocks := a.whole(func(c *chunk) bool { return c.pool == old })
	var age uint64
	for _, c := range blocks {
		age += old.searches - c.cached
	}
	var gone []*chunk
	for excess > 0 && len(blocks) > 0 {
		before, threshold := len(gone), float64(age)/float64(len(blocks))
		blocks = slices.DeleteFunc(blocks, func(c *chunk) bool {
			if float64(old.searches-c.cached) < threshold {
				return false
			}
			excess -= c.size
			age -= old.searches - c.cached
			gone = append(gone, c)
			return true
		})
		if len(gone) == before {
			break
		}
	}
	free := a.disown(gone)
	a.mu.Unlock()
	return a.returned(free)
}

// whole returns the chunks that are free segments and satisfy a condition, by
// address. The caller holds a.mu.
func (a *allocator) whole(which func(*chunk) bool) []*chunk {
	var list []*chunk
	for _, c := range a.segments {
		if c.state == chunkFree && !c.divided() && c.room == nil && which(c) {
			list = append(list, c)
		}
	}
	return list
}

// borrow serves a request from the free blocks of a pool that lends them when
// memory is short; nil if none fits.
func (a *allocator) borrow(r request) *chunk {
	a.mu.Lock()
	defer a.mu.Unlock()
	if r.pool.arena.private() {
		return nil
	}
	for _, h := range a.arenas {
		if !h.onOOM {
			continue
		}
		from := r
		from.pool = h.poolOf(r.size)
		if c := a.find(from); c != nil {
			a.lend(c, from)
			return c
		}
	}
	return nil
}

// makeRoom gives oversize blocks of the request's pool and stream back to the
// driver: the smallest that suffices, or from the largest down. It
// reports whether that is enough.
func (a *allocator) makeRoom(r request) (bool, error) {
	if r.conf.MaxSplit == settings.Unlimited {
		return false, nil
	}
	a.growing.Lock()
	defer a.growing.Unlock()
	need := max(r.size, r.conf.MaxSplit)
	a.mu.Lock()
	if a.capturing > 0 {
		a.mu.Unlock()
		return false, nil
	}
	blocks := a.whole(func(c *chunk) bool {
		return c.pool == r.pool && c.stream == r.stream && c.size >= r.conf.MaxSplit
	})
	slices.SortFunc(blocks, func(c, d *chunk) int { return cmp.Or(cmp.Compare(c.size, d.size), cmp.Compare(c.addr, d.addr)) })
	var gone []*chunk
	if i := slices.IndexFunc(blocks, func(c *chunk) bool { return c.size >= need }); i >= 0 {
		gone, need = blocks[i:i+1], 0
	} else {
		slices.Reverse(blocks)
		n := 0
		for ; n < len(blocks) && need > 0; n++ {
			need -= blocks[n].size
		}
		gone = blocks[:n]
	}
	free := a.disown(gone)
	a.mu.Unlock()
	return need <= 0, a.returned(free)
}

// empty gives everything cached back to the driver, which counts as a retry.
// While a capture is under way there is nothing to try again.
func (a *allocator) empty(request) (bool, error) {
	a.mu.Lock()
	if a.capturing > 0 {
		a.mu.Unlock()
		return false, nil
	}
	a.stats.AllocRetries++
	a.stats.Syncs++
	a.mu.Unlock()
	return true, a.release()
}

// collected runs Go's collector, which finds blocks that the program dropped, and
// gives everything cached back to the driver.
func (a *allocator) collected(request) (bool, error) {
	collect(a.dev)
	return true, a.release()
}

// release waits for the uses of freed chunks and gives the segments that are free
// as a whole, and the free pages of rooms, back to the driver, but for those of
// private pools that somebody refers to. Neither the wait nor the driver's calls
// hold a.mu.
func (a *allocator) release() error {
	if err := a.syncUses(); err != nil {
		return err
	}
	return a.giveBack((*arena).cached)
}

// giveBack gives the segments of some arenas that are free as a whole, and the free
// pages of their rooms, back to the driver, unless a capture is under way.
func (a *allocator) giveBack(which func(*arena) bool) error {
	a.growing.Lock()
	defer a.growing.Unlock()
	a.mu.Lock()
	if a.capturing > 0 {
		a.mu.Unlock()
		return nil
	}
	a.poll()
	free := a.disown(a.whole(func(c *chunk) bool { return which(c.pool.arena) }))
	pages := a.evict(which)
	a.forget()
	a.mu.Unlock()
	return errors.Join(a.returned(free), a.unmap(pages))
}

// disown takes segments that are one free chunk each out of the books. The caller
// holds a.mu, and a.growing until it has called returned.
func (a *allocator) disown(gone []*chunk) []device.Memory {
	var free []device.Memory
	for _, c := range gone {
		i, _ := slices.BinarySearchFunc(a.segments, c.addr, byAddress)
		a.segments = slices.Delete(a.segments, i, i+1)
		free = append(free, device.Memory{Addr: c.addr, Bytes: c.size})
		c.set.remove(c)
		c.pool.arena.segments--
		a.stats.Segment.Shrink(c.pool.kind, 1)
		a.unreserve(c, c.size)
		if c.oversized {
			a.stats.OversizeSegments.Shrink(1)
		}
		a.trace(TraceSegmentFree, c.addr, c.size, c.stream, c.pool.arena.id)
		a.drop(c)
	}
	return free
}

// returned gives what disown returned back to the driver.
func (a *allocator) returned(free []device.Memory) error {
	var errs []error
	for _, m := range free {
		errs = append(errs, a.drv.Free(a.dev.Index, m))
	}
	return errors.Join(errs...)
}
