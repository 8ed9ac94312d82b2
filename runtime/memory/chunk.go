package memory

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory/settings"
)

// A chunk is a part of a segment, or of a room, which is a segment whose memory is
// mapped in parts. The chunks of a segment tile it, linked in address order; no two
// neighbours are free. The record of the first one stays the first. Segments are
// never divided between streams or pools. The allocator's lock guards all but of,
// which is fixed.
type chunk struct {
	of         *allocator
	pool       *pool
	set        *freeSet // of the stream, in the pool
	room       *room    // nil in other segments
	addr       uint64
	size       int64
	requested  int64 // what the program asked for, while lent or waiting
	prev, next *chunk

	left, right *chunk // in the free set
	rank        uint64
	bin         int
	cached      uint64 // while free: the pool's searches when it became so

	loan      uint64 // how often it was lent
	stream    device.StreamID
	state     chunkState
	oversize  bool              // while lent: counted as such
	oversized bool              // the first of a segment that is counted as such
	streams   []device.StreamID // others that use it, while lent
	uses      int               // of them not done, while waiting
}

type chunkState uint8

const (
	chunkSpare    chunkState = iota // a record that stands for no memory
	chunkFree                       // in its free set
	chunkLent                       // the program holds it
	chunkWaiting                    // freed; work of other streams may use it still
	chunkUnmapped                   // addresses of a room without memory
)

// divided reports whether the chunk is a part of its segment only.
func (c *chunk) divided() bool { return c.prev != nil || c.next != nil }

// splits reports whether the chunk is divided when it is lent for size bytes, which
// leaves rest bytes of it.
func (c *chunk) splits(size, rest int64, conf *settings.Settings) bool {
	switch {
	case c.pool.arena.noSplit:
		return false
	case c.pool.small || c.room != nil:
		return rest >= unit
	}
	return size < conf.MaxSplit && rest > settings.SmallSize
}

// newChunk returns a record without memory.
func (a *allocator) newChunk() *chunk {
	c := a.spare
	if c == nil {
		return &chunk{of: a}
	}
	a.spare, c.next = c.next, nil
	return c
}

// drop keeps the record of c for reuse.
func (a *allocator) drop(c *chunk) {
	c.state, c.pool, c.set, c.room, c.prev, c.oversized = chunkSpare, nil, nil, nil, nil, false
	c.next, a.spare = a.spare, c
}

// cache puts c into its free set.
func (c *chunk) cache() {
	c.state, c.cached = chunkFree, c.pool.searches
	c.set.insert(c)
}

// tail returns a chunk for the bytes of c from size on, behind c, whose own size is
// the caller's to change. It is in no set.
func (a *allocator) tail(c *chunk, size int64) *chunk {
	t := a.newChunk()
	t.pool, t.set, t.stream, t.room = c.pool, c.set, c.stream, c.room
	t.addr, t.size = c.addr+uint64(size), c.size-size
	t.prev, t.next = c, c.next
	if c.next != nil {
		c.next.prev = t
	}
	c.next = t
	return t
}

// cut makes the bytes of c, which is in no set, from size on a chunk of their own.
func (a *allocator) cut(c *chunk, size int64) *chunk {
	t := a.tail(c, size)
	c.size = size
	return t
}

// lend takes the free chunk c for a request, the tail of it divided off where that
// is done. The caller holds a.mu.
func (a *allocator) lend(c *chunk, r request) {
	kind, was := c.pool.kind, c.divided()
	if rest := c.size - r.size; c.splits(r.size, rest, r.conf) {
		t := a.tail(c, r.size)
		c.set.replace(c, t)
		c.size = r.size
		t.state, t.cached = chunkFree, c.pool.searches
		switch {
		case c.room != nil:
		case was:
			a.stats.InactiveSplitBytes.Shrink(kind, r.size)
		default:
			a.stats.InactiveSplit.Grow(kind, 1)
			a.stats.InactiveSplitBytes.Grow(kind, rest)
		}
	} else {
		c.set.remove(c)
		if was && c.room == nil {
			a.stats.InactiveSplit.Shrink(kind, 1)
			a.stats.InactiveSplitBytes.Shrink(kind, c.size)
		}
	}
	c.state, c.requested = chunkLent, r.bytes
	c.loan++
	a.stats.Allocation.Grow(kind, 1)
	a.stats.AllocatedBytes.Grow(kind, c.size)
	a.stats.RequestedBytes.Grow(kind, r.bytes)
	a.stats.Active.Grow(kind, 1)
	a.stats.ActiveBytes.Grow(kind, c.size)
	if c.size >= r.conf.MaxSplit {
		c.oversize = true
		a.stats.OversizeAllocations.Grow(1)
	}
	if watching.Load() != nil {
		a.trace(TraceAlloc, c.addr, c.requested, c.stream, c.pool.arena.id)
	}
	if a.stats.AllocatedBytes.Sum() >= a.collectAt {
		a.pace()
	}
}

// block returns the loan of c, which the caller has just got.
func (c *chunk) block() Block {
	return Block{Memory: device.Memory{Addr: c.addr, Bytes: c.size}, Device: c.of.dev, owner: c, hold: c.loan}
}

// use notes that stream s uses the chunk; its own does anyway.
func (c *chunk) use(hold uint64, _ device.Device, s device.StreamID) {
	a := c.of
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.loan != hold || c.state != chunkLent || s == c.stream {
		return
	}
	for _, have := range c.streams {
		if have == s {
			return
		}
	}
	c.streams = append(c.streams, s)
}

// waited takes back that stream s uses the chunk, where its own is now behind that.
func (c *chunk) waited(hold uint64, now, s device.StreamID) {
	a := c.of
	a.mu.Lock()
	defer a.mu.Unlock()
	if c.loan == hold && c.state == chunkLent && now == c.stream {
		c.streams = slices.DeleteFunc(c.streams, func(have device.StreamID) bool { return have == s })
	}
}

// free ends the loan. Memory that other streams use waits for them.
func (c *chunk) free(hold uint64) error {
	a := c.of
	a.mu.Lock()
	if c.loan != hold || c.state != chunkLent {
		a.mu.Unlock()
		return ErrFreed
	}
	kind := c.pool.kind
	a.stats.Allocation.Shrink(kind, 1)
	a.stats.AllocatedBytes.Shrink(kind, c.size)
	if c.oversize {
		c.oversize = false
		a.stats.OversizeAllocations.Shrink(1)
	}
	if watching.Load() != nil {
		a.trace(TraceFreeRequested, c.addr, c.requested, c.stream, c.pool.arena.id)
	}
	if len(c.streams) == 0 {
		a.reuse(c)
		a.mu.Unlock()
		return nil
	}
	c.state, c.uses = chunkWaiting, len(c.streams)
	if a.capturing > 0 {
		a.deferred = append(a.deferred, c)
		a.mu.Unlock()
		return nil
	}
	streams := c.streams
	c.streams = nil
	a.recording.n += len(streams)
	a.mu.Unlock()
	for _, s := range streams {
		a.await(c, s)
	}
	return nil
}

// reuse puts c, which nothing uses any more, into its free set, as one with the
// free neighbours. The caller holds a.mu.
func (a *allocator) reuse(c *chunk) {
	kind := c.pool.kind
	a.stats.RequestedBytes.Shrink(kind, c.requested)
	a.stats.Active.Shrink(kind, 1)
	a.stats.ActiveBytes.Shrink(kind, c.size)
	if watching.Load() != nil {
		a.trace(TraceFreeCompleted, c.addr, c.requested, c.stream, c.pool.arena.id)
	}
	inRoom := c.room != nil // where what is free counts as no part of a divided segment
	_, blocks, bytes := a.merge(c)
	if inRoom {
		return
	}
	a.stats.InactiveSplit.Change(kind, blocks)
	a.stats.InactiveSplitBytes.Change(kind, bytes)
}

// merge makes c free, as one with its free neighbours, and returns that one, and by
// how much what is free in divided segments changes. The caller holds a.mu.
func (a *allocator) merge(c *chunk) (whole *chunk, blocks, bytes int64) {
	if p := c.prev; p != nil && p.state == chunkFree {
		p.set.remove(p)
		blocks, bytes = blocks-1, bytes-p.size
		a.join(p, c)
		c = p
	}
	c.state, c.cached = chunkFree, c.pool.searches
	if n := c.next; n != nil && n.state == chunkFree {
		blocks, bytes = blocks-1, bytes-n.size
		c.size += n.size
		c.set.replace(n, c)
		a.unlink(c, n)
	} else {
		c.set.insert(c)
	}
	if c.divided() {
		blocks, bytes = blocks+1, bytes+c.size
	}
	return c, blocks, bytes
}

// join makes c's next neighbour n a part of c. Neither is in a free set.
func (a *allocator) join(c, n *chunk) {
	c.size += n.size
	a.unlink(c, n)
}

// unlink takes c's next neighbour n, whose bytes c has, out of the segment.
func (a *allocator) unlink(c, n *chunk) {
	c.next = n.next
	if n.next != nil {
		n.next.prev = c
	}
	a.drop(n)
}

// A useQueue has the ends of one stream's uses of freed chunks, oldest first.
type useQueue struct {
	stream device.StreamID
	uses   []use
}

type use struct {
	event device.EventID
	chunk *chunk
}

// await queues an event behind the work given to stream s, which uses c and is one of a.recording. It
// holds no lock in calls of the driver: c is in no list meanwhile, and what the stream is given before the
// event makes it later only. Without an event a goroutine waits for the device, as whoever frees may be at work for another.
func (a *allocator) await(c *chunk, s device.StreamID) {
	e, err := a.newEvent()
	if err == nil {
		err = a.drv.RecordEvent(a.dev.Index, e, s)
	}
	a.mu.Lock()
	a.recording.end()
	a.mu.Unlock()
	unrecorded(a.drv, a.dev.Index, err, func(failed error) { a.awaited(c, s, e, err, failed) })
}

// awaited notes that c waits for event e on stream s, or that the device was waited for where
// err is why there is no event, and failed what the program must hear of.
func (a *allocator) awaited(c *chunk, s device.StreamID, e device.EventID, err, failed error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if failed != nil {
		a.late = errors.Join(a.late, fmt.Errorf("%s: freeing memory that stream %#x uses: %w", a.dev, uint64(s), failed))
	}
	if err != nil {
		if e != 0 {
			a.events = append(a.events, e)
		}
		a.used(c)
		return
	}
	q := -1
	for i := range a.uses {
		if a.uses[i].stream == s {
			q = i
		}
	}
	if q < 0 {
		q = len(a.uses)
		a.uses = append(a.uses, useQueue{stream: s})
	}
	a.uses[q].uses = append(a.uses[q].uses, use{e, c})
	a.waiting++
}

// shortWait is how long whoever frees memory waits for a device.
const shortWait = 50 * time.Millisecond

// unrecorded calls then, which is told what the program must hear of, at once where err is
// nil: an event was recorded. Without one, memory is to be reused too late rather than too
// early: then is called when the device was waited for, by a goroutine of its own where
// that takes long, as whoever frees may be at work for another device, which this one waits
// for. That a stream was destroyed since it used the memory is no error of anybody's.
func unrecorded(drv device.Driver, dev int, err error, then func(failed error)) {
	if err == nil {
		then(nil)
		return
	}
	wait := func(ctx context.Context) error {
		waited := drv.SyncDevice(ctx, dev)
		if waited == nil && errors.Is(err, device.ErrInvalid) {
			return nil
		}
		return errors.Join(err, waited)
	}
	ctx, cancel := context.WithTimeout(background, shortWait)
	defer cancel()
	failed := wait(ctx)
	if errors.Is(failed, context.DeadlineExceeded) {
		go func() { then(wait(background)) }()
		return
	}
	then(failed)
}

func (a *allocator) newEvent() (device.EventID, error) {
	a.mu.Lock()
	if n := len(a.events); n > 0 {
		e := a.events[n-1]
		a.events = a.events[:n-1]
		a.mu.Unlock()
		return e, nil
	}
	a.mu.Unlock()
	return a.drv.NewEvent(a.dev.Index, false)
}

// used ends one use of a waiting chunk.
func (a *allocator) used(c *chunk) {
	if c.uses--; c.uses == 0 {
		a.reuse(c)
	}
}

// poll ends the uses whose events are done, of each stream up to the first that
// is not; none while a capture is under way, which an event's query could end.
// The caller holds a.mu. What a query may fail with is the device's failure,
// which every wait reports.
func (a *allocator) poll() {
	if a.capturing > 0 {
		return
	}
	for i := range a.uses {
		q := &a.uses[i]
		n := 0
		for ; n < len(q.uses); n++ {
			u := q.uses[n]
			if done, err := a.drv.EventDone(a.dev.Index, u.event); !done || err != nil {
				break
			}
			a.events = append(a.events, u.event)
			a.used(u.chunk)
		}
		if n > 0 {
			a.waiting -= n
			left := copy(q.uses, q.uses[n:])
			clear(q.uses[left:])
			q.uses = q.uses[:left]
		}
	}
}
