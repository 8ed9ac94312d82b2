package memory

import (
	"errors"
	"fmt"

	"github.com/sinter-go/sinter/runtime/device"
)

// A chunk is a part of a segment. The chunks of a segment tile it, linked in
// address order; no two neighbours are free. Segments are never divided between
// streams or pools. The allocator's lock guards all but of, which is fixed.
type chunk struct {
	of         *allocator
	pool       *pool
	set        *freeSet // of the stream, in the pool
	stream     device.StreamID
	addr       uint64
	size       int64
	requested  int64 // what the program asked for, while lent or waiting
	prev, next *chunk
	state      chunkState
	loan       uint64            // how often it was lent
	streams    []device.StreamID // others that use it, while lent
	uses       int               // of them not done, while waiting

	left, right *chunk // in the free set
	rank        uint64
}

type chunkState uint8

const (
	chunkSpare   chunkState = iota // a record that stands for no memory
	chunkFree                      // in its free set
	chunkLent                      // the program holds it
	chunkWaiting                   // freed; work of other streams may use it still
)

// divided reports whether the chunk is a part of its segment only.
func (c *chunk) divided() bool { return c.prev != nil || c.next != nil }

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
	c.state, c.pool, c.set, c.prev = chunkSpare, nil, nil, nil
	c.next, a.spare = a.spare, c
}

// lend takes the free chunk c for a request, the tail of it divided off where the
// pool does so (A9, A10). The caller holds a.mu.
func (a *allocator) lend(c *chunk, r request) {
	small, was := c.pool.small, c.divided()
	c.set.remove(c)
	if rest := c.size - r.size; c.pool.splits(rest) {
		tail := a.newChunk()
		tail.pool, tail.set, tail.stream = c.pool, c.set, c.stream
		tail.addr, tail.size = c.addr+uint64(r.size), rest
		tail.prev, tail.next = c, c.next
		if c.next != nil {
			c.next.prev = tail
		}
		c.next, c.size = tail, r.size
		tail.state = chunkFree
		tail.set.insert(tail)
		if was {
			a.stats.InactiveSplitBytes.shrink(small, r.size)
		} else {
			a.stats.InactiveSplit.grow(small, 1)
			a.stats.InactiveSplitBytes.grow(small, rest)
		}
	} else if was {
		a.stats.InactiveSplit.shrink(small, 1)
		a.stats.InactiveSplitBytes.shrink(small, c.size)
	}
	c.state, c.requested = chunkLent, r.bytes
	c.loan++
	a.stats.Allocation.grow(small, 1)
	a.stats.AllocatedBytes.grow(small, c.size)
	a.stats.RequestedBytes.grow(small, r.bytes)
	a.stats.Active.grow(small, 1)
	a.stats.ActiveBytes.grow(small, c.size)
	a.pace()
}

// block returns the loan of c, which the caller has just got.
func (c *chunk) block() Block {
	return Block{Memory: device.Memory{Addr: c.addr, Bytes: c.size}, Device: c.of.dev, owner: c, hold: c.loan}
}

// use notes that stream s uses the chunk; its own does anyway (A14).
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

// free ends the loan. Memory that other streams use waits for them (A15).
func (c *chunk) free(hold uint64) error {
	a := c.of
	a.mu.Lock()
	if c.loan != hold || c.state != chunkLent {
		a.mu.Unlock()
		return ErrFreed
	}
	small := c.pool.small
	a.stats.Allocation.shrink(small, 1)
	a.stats.AllocatedBytes.shrink(small, c.size)
	if len(c.streams) == 0 {
		a.reuse(c)
		a.mu.Unlock()
		return nil
	}
	streams := c.streams
	c.state, c.streams, c.uses = chunkWaiting, nil, len(streams)
	a.mu.Unlock()
	for _, s := range streams {
		a.await(c, s)
	}
	return nil
}

// reuse puts c, which nothing uses any more, into its free set, as one with the
// free neighbours (A13). The caller holds a.mu.
func (a *allocator) reuse(c *chunk) {
	small := c.pool.small
	a.stats.RequestedBytes.shrink(small, c.requested)
	a.stats.Active.shrink(small, 1)
	a.stats.ActiveBytes.shrink(small, c.size)
	var blocks, bytes int64 // change of what is free in divided segments
	if p := c.prev; p != nil && p.state == chunkFree {
		p.set.remove(p)
		blocks, bytes = blocks-1, bytes-p.size
		a.join(p, c)
		c = p
	}
	if n := c.next; n != nil && n.state == chunkFree {
		n.set.remove(n)
		blocks, bytes = blocks-1, bytes-n.size
		a.join(c, n)
	}
	c.state = chunkFree
	c.set.insert(c)
	if c.divided() {
		blocks, bytes = blocks+1, bytes+c.size
	}
	a.stats.InactiveSplit.change(small, blocks)
	a.stats.InactiveSplitBytes.change(small, bytes)
}

// join makes c's next neighbour n a part of c. Neither is in a free set.
func (a *allocator) join(c, n *chunk) {
	c.size += n.size
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

// await queues an event behind the work given to stream s, which uses c. Without
// an event it waits for the device: c is reused too late rather than too early.
func (a *allocator) await(c *chunk, s device.StreamID) {
	e, err := a.newEvent()
	if err == nil {
		err = a.drv.RecordEvent(a.dev.Index, e, s)
	}
	if err != nil {
		err = errors.Join(err, a.drv.SyncDevice(background, a.dev.Index))
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	if err != nil {
		a.late = errors.Join(a.late, fmt.Errorf("%s: freeing memory that stream %#x uses: %w", a.dev, uint64(s), err))
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
// is not (A16). The caller holds a.mu. What an event's query may fail with is the
// device's failure, which every wait reports.
func (a *allocator) poll() {
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
