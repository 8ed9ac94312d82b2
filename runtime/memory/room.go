package memory

import (
	"errors"
	"slices"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

// A room is a range of addresses of one pool and stream, behind which memory is
// mapped page by page, at the lowest addresses that do. Its chunks tile it;
// those without memory are chunkUnmapped, begin and end between pages, and are
// listed in their pool. Chunks become unmapped and mapped only with a.growing held.
type room struct {
	page int64 // bytes, of which memory is mapped in multiples
}

// mapper returns the driver's part for rooms; nil where a request's segments do not
// expand.
func (a *allocator) mapper(r request) device.Mapper {
	if !r.conf.Expandable || r.pool.arena.noSplit {
		return nil
	}
	m, ok := a.drv.(device.Mapper)
	if !ok || !m.CanMap(a.dev.Index) {
		return nil
	}
	return m
}

// growable returns what a free chunk can become when the addresses behind it get
// memory.
func (c *chunk) growable() int64 {
	if n := c.next; n != nil && n.state == chunkUnmapped {
		return c.size + n.size
	}
	return c.size
}

// inRoom makes the choice among free chunks, of which c is the best fit and in a
// room: one that can grow counts with what it can grow to. With rooms turned
// off the next one elsewhere is taken.
func (s *freeSet) inRoom(c *chunk, expandable bool) *chunk {
	next := s.after(c)
	if !expandable {
		for c = next; c != nil && c.room != nil; {
			c = s.after(c)
		}
		return c
	}
	for c.room != nil && next != nil && next.growable() < c.growable() {
		c, next = next, s.after(next)
	}
	return c
}

// expand maps memory for a request and lends it. The caller holds a.growing.
func (a *allocator) expand(r request, m device.Mapper) (*chunk, error) {
	for {
		a.mu.Lock()
		c, bytes := r.pool.site(r.stream, r.size)
		a.mu.Unlock()
		if c == nil {
			if err := a.newRoom(r, m); err != nil {
				return nil, err
			}
			continue
		}
		page := c.room.page
		bytes = min((bytes+page-1)/page*page, c.size)
		if err := m.Map(a.dev.Index, c.addr, bytes, page); err != nil {
			return nil, errors.Join(err, a.vacate(c, m))
		}
		a.mu.Lock()
		if got := a.mapped(c, bytes); got.size >= r.size {
			a.lend(got, r)
			a.mu.Unlock()
			return got, nil
		}
		a.mu.Unlock()
	}
}

// site returns where to map memory for size bytes, and how much at once: the chunk
// at the lowest address from which on, or from the free chunk before it, only free
// and unmapped ones follow for that long. The caller holds the allocator's lock.
func (p *pool) site(s device.StreamID, size int64) (*chunk, int64) {
	for _, c := range p.bare[s] {
		need := size
		if b := c.prev; b != nil && b.state == chunkFree {
			need -= b.size
		}
		room := int64(0)
		for n := c; n != nil && room < need && (n.state == chunkFree || n.state == chunkUnmapped); n = n.next {
			room += n.size
		}
		if need > 0 && room >= need {
			return c, need
		}
	}
	return nil, 0
}

// newRoom reserves a range of an eighth more than the device's memory, which takes
// none.
func (a *allocator) newRoom(r request, m device.Mapper) error {
	page := int64(settings.SmallSegment)
	if !r.pool.small {
		page = r.conf.LargeSegment
	}
	size := max(a.total+a.total/8, r.size)
	size = (size + page - 1) / page * page
	addr, err := m.Reserve(a.dev.Index, size)
	if err != nil {
		return err
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	c := a.newChunk()
	c.pool, c.set, c.stream, c.room = r.pool, r.pool.set(r.stream), r.stream, &room{page}
	c.addr, c.size = addr, size
	a.list(c)
	c.bareIn()
	return nil
}

// bareIn lists c as unmapped.
func (c *chunk) bareIn() {
	c.state = chunkUnmapped
	if c.pool.bare == nil {
		c.pool.bare = map[device.StreamID][]*chunk{}
	}
	list := c.pool.bare[c.stream]
	i, _ := slices.BinarySearchFunc(list, c.addr, byAddress)
	c.pool.bare[c.stream] = slices.Insert(list, i, c)
}

// bareOut takes c off the list of unmapped chunks.
func (c *chunk) bareOut() {
	list := c.pool.bare[c.stream]
	if i, found := slices.BinarySearchFunc(list, c.addr, byAddress); found {
		c.pool.bare[c.stream] = slices.Delete(list, i, i+1)
	}
}

// mapped makes the first bytes of the unmapped chunk c, which have memory now, free,
// and returns the chunk they are part of. The caller holds a.mu.
func (a *allocator) mapped(c *chunk, bytes int64) *chunk {
	c.bareOut()
	if bytes < c.size {
		a.cut(c, bytes).bareIn()
	}
	a.reserve(c, bytes)
	a.trace(TraceSegmentMap, c.addr, bytes, c.stream, c.pool.arena.id)
	whole, _, _ := a.merge(c)
	return whole
}

// evict takes the whole free pages of rooms out of the books and returns them as
// chunks that are unmapped, but on no list yet. The caller holds a.mu, and
// a.growing until it has called unmap.
func (a *allocator) evict(which func(*arena) bool) []*chunk {
	var gone []*chunk
	for _, c := range a.segments {
		if c.room == nil || !which(c.pool.arena) {
			continue
		}
		start := c.addr
		for ; c != nil; c = c.next {
			if c.state != chunkFree {
				continue
			}
			page := uint64(c.room.page)
			from := (c.addr - start + page - 1) / page * page
			to := (c.addr - start + uint64(c.size)) / page * page
			if from >= to {
				continue
			}
			c.set.remove(c)
			if skip := int64(start + from - c.addr); skip > 0 {
				tail := a.cut(c, skip)
				c.cache()
				c = tail
			}
			if rest := int64(to - from); rest < c.size {
				a.cut(c, rest).cache()
			}
			c.state = chunkUnmapped
			a.unreserve(c, c.size)
			a.trace(TraceSegmentUnmap, c.addr, c.size, c.stream, c.pool.arena.id)
			gone = append(gone, c)
		}
	}
	return gone
}

// unmap takes the memory from behind chunks that evict returned, once the work of
// their streams is done, and gives rooms back that have none left. The caller holds
// a.growing. Where the driver fails, the addresses are not used again.
func (a *allocator) unmap(gone []*chunk) error {
	if len(gone) == 0 {
		return nil
	}
	m := a.drv.(device.Mapper) // it has mapped them
	var errs []error
	synced := map[device.StreamID]error{}
	for _, c := range gone {
		err, done := synced[c.stream]
		if !done {
			err = a.drained(c.stream)
			synced[c.stream] = err
			errs = append(errs, err)
		}
		if err == nil {
			err = m.Unmap(a.dev.Index, c.addr, c.size, c.room.page)
			errs = append(errs, err)
		}
		if err == nil {
			errs = append(errs, a.vacate(c, m))
		}
	}
	a.mu.Lock()
	a.forget()
	a.mu.Unlock()
	return errors.Join(errs...)
}

// drained waits for the work of a stream; where the program has destroyed it, for
// the device's.
func (a *allocator) drained(s device.StreamID) error {
	if a.drv.SyncStream(background, a.dev.Index, s) == nil {
		return nil
	}
	return a.drv.SyncDevice(background, a.dev.Index)
}

// vacate lists c as unmapped, as one with its unmapped neighbours, and gives the
// room back if that is all of it.
func (a *allocator) vacate(c *chunk, m device.Mapper) error {
	a.mu.Lock()
	c.bareOut() // if it is on the list
	if p := c.prev; p != nil && p.listed() {
		p.bareOut()
		a.join(p, c)
		c = p
	}
	if n := c.next; n != nil && n.listed() {
		n.bareOut()
		a.join(c, n)
	}
	if c.divided() {
		c.bareIn()
		a.mu.Unlock()
		return nil
	}
	i, _ := slices.BinarySearchFunc(a.segments, c.addr, byAddress)
	a.segments = slices.Delete(a.segments, i, i+1)
	c.pool.arena.segments--
	addr, size := c.addr, c.size
	a.drop(c)
	a.mu.Unlock()
	return m.Unreserve(a.dev.Index, addr, size)
}

// listed reports whether c is unmapped and on its pool's list.
func (c *chunk) listed() bool {
	if c.state != chunkUnmapped {
		return false
	}
	_, found := slices.BinarySearchFunc(c.pool.bare[c.stream], c.addr, byAddress)
	return found
}
