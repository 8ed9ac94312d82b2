package memory

import "github.com/sinter-go/sinter/runtime/device"

// A Snapshot is the state of allocators at one moment of each device, with
// the trace of what led there where history is recorded.
type Snapshot struct {
	Segments []Segment // by device, then address
	Traces   []Trace   // one a device
	Settings string    // of the allocators, as Configure has them
}

// A Trace is what happened on a device, oldest first.
type Trace struct {
	Device  device.Device
	Entries []TraceEntry
}

// A Segment is memory that an allocator holds from the driver in one piece. Of
// memory that is mapped on demand each contiguous mapped part is one.
type Segment struct {
	Device     device.Device
	Address    uint64
	Total      int64 // bytes, which the blocks tile
	Requested  int64 // of blocks that are not inactive, as asked for
	Allocated  int64 // of blocks that the program holds
	Active     int64 // of those and of freed ones that await other streams
	Stream     device.StreamID
	Small      bool // from the pool of small blocks
	Pool       PoolID
	PoolName   string // "" for pools without one
	Expandable bool
	Frames     []Frame // where it was needed first, if history was recorded
	Blocks     []BlockInfo
}

// A BlockState says who uses a block.
type BlockState uint8

// The states.
const (
	BlockInactive     BlockState = iota // nobody
	BlockAllocated                      // the program
	BlockAwaitingFree                   // freed; work of other streams may use it still
)

// String returns PyTorch's name of the state.
func (s BlockState) String() string {
	return [...]string{"inactive", "active_allocated", "active_awaiting_free"}[min(s, BlockAwaitingFree)]
}

// A BlockInfo is one block of a segment.
type BlockInfo struct {
	Address   uint64
	Size      int64
	Requested int64 // bytes asked for; 0 when inactive
	State     BlockState
	Frames    []Frame // where it was allocated, if that was recorded
}

// SnapshotOf returns the state of the accelerators of a kind or, with indices, of
// those. Devices on which nothing was allocated have no segment.
func SnapshotOf(k device.Kind, indices ...int) Snapshot {
	drainDropped(device.CPU)
	if len(indices) == 0 {
		for i := range device.Count(k) {
			indices = append(indices, i)
		}
	}
	s := Snapshot{Settings: Settings()}
	for _, i := range indices {
		d := device.Device{Kind: k, Index: i}
		t := Trace{Device: d}
		if a := existing(d); a != nil {
			s.Segments = append(s.Segments, a.snapshot()...)
			t.Entries = a.trail.list()
		}
		s.Traces = append(s.Traces, t)
	}
	return s
}

// snapshot returns the segments and notes in the trace that it did.
func (a *allocator) snapshot() []Segment {
	a.mu.Lock()
	defer a.mu.Unlock()
	list := make([]Segment, 0, len(a.segments))
	for _, first := range a.segments {
		for c := first; c != nil; {
			if c.state == chunkUnmapped {
				c = c.next
				continue
			}
			var s Segment
			s, c = a.segmentOf(c)
			list = append(list, s)
		}
	}
	a.trace(TraceSnapshot, 0, a.stats.ActiveBytes.Sum(), 0, PoolID{})
	return list
}

// segmentOf returns the segment that begins with c, and the first chunk after it:
// of memory that is mapped on demand that is unmapped. The caller holds a.mu.
func (a *allocator) segmentOf(c *chunk) (Segment, *chunk) {
	s := Segment{
		Device: a.dev, Address: c.addr, Stream: c.stream, Small: c.pool.small, Pool: c.pool.arena.id, PoolName: c.pool.arena.name,
		Expandable: c.room != nil, Frames: a.trail.segmentFrames(c.addr),
	}
	for ; c != nil && c.state != chunkUnmapped; c = c.next {
		b := BlockInfo{Address: c.addr, Size: c.size}
		if c.state != chunkFree {
			b.State, b.Requested, b.Frames = BlockAllocated, c.requested, a.trail.blockFrames(c.addr)
			s.Active += c.size
			s.Requested += c.requested
			if c.state == chunkWaiting {
				b.State = BlockAwaitingFree
			} else {
				s.Allocated += c.size
			}
		}
		s.Total += c.size
		s.Blocks = append(s.Blocks, b)
	}
	return s, c
}

// blockFrames returns where the block at addr was allocated, if that is known.
func (t *trail) blockFrames(addr uint64) []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.blocks[addr].at.frames()
}

// segmentFrames does so for the segment at addr.
func (t *trail) segmentFrames(addr uint64) []Frame {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.segments[addr].frames()
}
