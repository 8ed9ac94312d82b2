// Package model predicts what the caching allocator of one device does, from the
// statements A1 to A29 alone: which address an allocation gets, what is divided
// and merged, what goes back to the driver, and every figure. It searches lists
// from end to end and counts everything anew after each event, so that it can be
// read against the statements. It shares no code with the allocator and imports
// nothing of the project.
package model

import (
	"cmp"
	"fmt"
	"slices"
)

// Sizes in bytes (section 3.1).
const (
	mib = 1 << 20

	unit           = 512
	largestSmall   = 1 * mib
	smallSegment   = 2 * mib
	largeSegment   = 20 * mib
	direct         = 10 * mib
	directRounding = 2 * mib
	nonSplitSlack  = 20 * mib // max_non_split_rounding
	smallPage      = 2 * mib  // of expandable segments
	largePage      = 20 * mib
	largestRest    = 1 * mib // what a large block may have left over without being divided
)

// A Config is what the allocator was told.
type Config struct {
	Total      int64   // bytes of the device
	Limit      int64   // bytes the allocator may take; 0: Total
	MaxSplit   int64   // 0: no limit
	Divisions  int64   // of roundup_power2_divisions; 0: off
	Collect    float64 // garbage_collection_threshold; 0: off
	Expandable bool
}

// A State is what a block is.
type State int

// The states.
const (
	Free State = iota
	Held
	Awaiting // freed; other streams use it
	Unmapped // addresses of an expandable segment without memory
)

// A Block is a part of a segment.
type Block struct {
	Segment   *Segment
	Offset    int64
	Size      int64
	Requested int64
	State     State

	streams  []uint64 // recorded, while held
	pending  int      // events, while awaiting
	searches int      // of the pool when it became free
}

// A Segment is memory from the driver, or the range of an expandable segment.
type Segment struct {
	Base       uint64 // 0: the driver has not said yet
	Small      bool
	Stream     uint64
	Pool       int // 0 is the default pool
	Expandable bool
	Blocks     []*Block // by offset, tiling it; free neighbours are one
}

// An event is the end of one stream's use of a freed block.
type event struct {
	block *Block
	done  bool
}

// A queue has the events of a stream, oldest first.
type queue struct {
	stream uint64
	events []*event
}

// A Model is one device's allocator.
type Model struct {
	Config
	Sums Sums

	segments []*Segment
	queues   []*queue // in the order in which streams were recorded first
	busy     map[uint64]bool
	released map[int]bool // private pools that nobody refers to
	searches map[poolKey]int
}

// A poolKey names a pool for blocks of one kind.
type poolKey struct {
	pool  int
	small bool
}

// New returns a model of an allocator that has nothing yet.
func New(c Config) *Model {
	if c.Limit == 0 {
		c.Limit = c.Total
	}
	return &Model{Config: c, busy: map[uint64]bool{}, released: map[int]bool{}, searches: map[poolKey]int{}}
}

// Rounded returns the size of the block for n > 0 bytes (A2, A3, A4).
func (c Config) Rounded(n int64) int64 {
	if d := c.Divisions; d > 1 && n > unit*d {
		below := int64(1)
		for below*2 <= n {
			below *= 2
		}
		if below == n {
			return n
		}
		step := below / d
		if step == 0 {
			return below * 2
		}
		return (n + step - 1) / step * step
	}
	if n < unit {
		return unit
	}
	return (n + unit - 1) / unit * unit
}

// segmentFor returns what the driver is asked for to serve a block (A5).
func segmentFor(size int64) int64 {
	switch {
	case size <= largestSmall:
		return smallSegment
	case size < direct:
		return largeSegment
	}
	return (size + directRounding - 1) / directRounding * directRounding
}

// A request is an allocation under way.
type request struct {
	pool   int
	small  bool
	stream uint64
	size   int64
}

// Alloc returns the block that bytes > 0 of a pool get on a stream; nil when there
// is no memory (A17).
func (m *Model) Alloc(pool int, stream uint64, bytes int64) *Block {
	size := m.Rounded(bytes)
	r := request{pool, size <= largestSmall, stream, size}
	m.poll()
	b := m.search(r)
	if b == nil {
		m.collect()
		b = m.attempt(r)
	}
	if b == nil && m.releaseOversize(r) {
		b = m.attempt(r)
	}
	if b == nil {
		m.Sums.Retries++
		m.Empty()
		b = m.attempt(r)
	}
	if b == nil {
		m.Sums.OutOfMemory++
		return nil
	}
	m.take(b, size, bytes)
	return b
}

// attempt asks the driver for memory, unless something fits that was awaited before
// the allocation waited for the device itself.
func (m *Model) attempt(r request) *Block {
	m.poll()
	if b := m.fit(r); b != nil {
		return b
	}
	return m.obtain(r)
}

// search counts a search of the pool and looks for a block.
func (m *Model) search(r request) *Block {
	m.searches[poolKey{r.pool, r.small}]++
	return m.fit(r)
}

// fit returns the best free block of the pool and stream, unless that one is kept
// for others (A7, A8). In an expandable segment a block counts as what it can grow
// to: the next larger one is better as long as that is less (A22).
func (m *Model) fit(r request) *Block {
	var fits []*Block
	for _, s := range m.segments {
		if s.Pool != r.pool || s.Small != r.small || s.Stream != r.stream {
			continue
		}
		for _, b := range s.Blocks {
			if b.State == Free && b.Size >= r.size {
				fits = append(fits, b)
			}
		}
	}
	if len(fits) == 0 {
		return nil
	}
	slices.SortFunc(fits, bySize)
	best := fits[0]
	for _, b := range fits[1:] {
		if !best.Segment.Expandable || b.growable() >= best.growable() {
			break
		}
		best = b
	}
	if m.MaxSplit > 0 && (r.size < m.MaxSplit && best.Size >= m.MaxSplit || r.size >= m.MaxSplit && best.Size >= r.size+nonSplitSlack) {
		return nil
	}
	return best
}

// bySize orders blocks by size, then address.
func bySize(a, b *Block) int {
	return cmp.Or(cmp.Compare(a.Size, b.Size), cmp.Compare(a.address(), b.address()))
}

func (b *Block) address() uint64 { return b.Segment.Base + uint64(b.Offset) }

// growable returns what a block can become when the addresses behind it get memory.
func (b *Block) growable() int64 {
	blocks := b.Segment.Blocks
	if i := slices.Index(blocks, b) + 1; i < len(blocks) && blocks[i].State == Unmapped {
		return b.Size + blocks[i].Size
	}
	return b.Size
}

// take hands out the front of a free block, the rest divided off where the pool
// does so (A9, A10).
func (m *Model) take(b *Block, size, bytes int64) {
	s, rest := b.Segment, b.Size-size
	divide := rest > largestRest && (m.MaxSplit == 0 || size < m.MaxSplit)
	if s.Small || s.Expandable {
		divide = rest >= unit
	}
	if divide {
		tail := &Block{Segment: s, Offset: b.Offset + size, Size: rest, searches: m.searches[s.key()]}
		i := slices.Index(s.Blocks, b)
		s.Blocks = slices.Insert(s.Blocks, i+1, tail)
		b.Size = size
	}
	b.State, b.Requested = Held, bytes
	m.count()
}

func (s *Segment) key() poolKey { return poolKey{s.Pool, s.Small} }

// Record notes that a stream uses a held block (A14).
func (m *Model) Record(b *Block, stream uint64) {
	if b.State == Held && stream != b.Segment.Stream && !slices.Contains(b.streams, stream) {
		b.streams = append(b.streams, stream)
	}
}

// Uses reports whether a stream was recorded for a held block.
func (m *Model) Uses(b *Block, stream uint64) bool { return slices.Contains(b.streams, stream) }

// Free gives a held block back (A13, A15).
func (m *Model) Free(b *Block) {
	if len(b.streams) == 0 {
		b.State = Awaiting // of nothing, so that the request and the completion are two events
		m.count()
		m.complete(b)
		return
	}
	b.State, b.pending = Awaiting, len(b.streams)
	for _, s := range b.streams {
		q := m.queue(s)
		q.events = append(q.events, &event{b, !m.busy[s]})
	}
	b.streams = nil
	m.count()
}

func (m *Model) queue(stream uint64) *queue {
	for _, q := range m.queues {
		if q.stream == stream {
			return q
		}
	}
	q := &queue{stream: stream}
	m.queues = append(m.queues, q)
	return q
}

// complete makes b free, as one with its free neighbours.
func (m *Model) complete(b *Block) {
	s := b.Segment
	b.State, b.Requested = Free, 0
	i := slices.Index(s.Blocks, b)
	if i+1 < len(s.Blocks) && s.Blocks[i+1].State == Free {
		b.Size += s.Blocks[i+1].Size
		s.Blocks = slices.Delete(s.Blocks, i+1, i+2)
	}
	if i > 0 && s.Blocks[i-1].State == Free {
		b.Offset, b.Size = s.Blocks[i-1].Offset, b.Size+s.Blocks[i-1].Size
		s.Blocks = slices.Delete(s.Blocks, i-1, i)
	}
	b.searches = m.searches[s.key()]
	m.count()
}

// poll completes frees whose events are done, of each stream up to the first that
// is not (A16).
func (m *Model) poll() {
	for _, q := range m.queues {
		for len(q.events) > 0 && q.events[0].done {
			b := q.events[0].block
			q.events = q.events[1:]
			if b.pending--; b.pending == 0 {
				m.complete(b)
			}
		}
	}
}

// Hold says that a stream is busy from now on: events recorded on it are not done.
func (m *Model) Hold(stream uint64) { m.busy[stream] = true }

// Holds reports whether a stream is busy.
func (m *Model) Holds(stream uint64) bool { return m.busy[stream] }

// Done says that a stream has done everything.
func (m *Model) Done(stream uint64) {
	m.busy[stream] = false
	for _, q := range m.queues {
		for _, e := range q.events {
			if q.stream == stream {
				e.done = true
			}
		}
	}
}

// Release drops the last reference to a private pool: its segments go back to the
// driver as soon as no block is in them (A24, P69).
func (m *Model) Release(pool int) {
	m.released[pool] = true
	m.poll()
	m.giveBackFree(func(s *Segment) bool { return s.Pool == pool })
}

// Place says where the driver put the segment of a new block. Memory that is in
// another segment too, or that is not aligned, is an error (A11).
func (m *Model) Place(b *Block, addr uint64) error {
	base := addr - uint64(b.Offset)
	if b.Segment.Base != 0 {
		return fmt.Errorf("the block is in a segment that the driver gave before, at %#x", b.Segment.Base)
	}
	if base%unit != 0 {
		return fmt.Errorf("a segment at %#x, which is no multiple of %d", base, unit)
	}
	for _, s := range m.segments {
		if s.Base != 0 && base < s.Base+uint64(s.size()) && s.Base < base+uint64(b.Segment.size()) {
			return fmt.Errorf("a segment at %#x overlaps one at %#x", base, s.Base)
		}
	}
	b.Segment.Base = base
	slices.SortFunc(m.segments, func(s, t *Segment) int { return cmp.Compare(s.Base, t.Base) })
	return nil
}

// Address returns where a block is; ok is false when the driver has not said where
// its segment is.
func (b *Block) Address() (addr uint64, ok bool) { return b.address(), b.Segment.Base != 0 }

func (s *Segment) size() (bytes int64) {
	for _, b := range s.Blocks {
		bytes += b.Size
	}
	return bytes
}
