package model

// A Stat is one figure over time (A27).
type Stat struct{ Current, Peak, Allocated, Freed int64 }

func (s *Stat) become(v int64) {
	if d := v - s.Current; d > 0 {
		s.Allocated += d
	} else {
		s.Freed -= d
	}
	s.Current, s.Peak = v, max(s.Peak, v)
}

// A Metric is a figure for all pools, for those of small blocks, and for those of
// large ones.
type Metric [3]Stat

// The metrics, as indices.
const (
	Allocation = iota
	AllocatedBytes
	RequestedBytes
	Active
	ActiveBytes
	Segments
	ReservedBytes
	InactiveSplit
	InactiveSplitBytes

	NumMetrics
)

// Names are PyTorch's names of the metrics.
var Names = [NumMetrics]string{
	"allocation", "allocated_bytes", "requested_bytes", "active", "active_bytes",
	"segment", "reserved_bytes", "inactive_split", "inactive_split_bytes",
}

// Sums are all figures (A27, A28).
type Sums struct {
	Metrics                   [NumMetrics]Metric
	OversizeAllocations       Stat
	OversizeSegments          Stat
	Retries, OutOfMemory      int64
	Syncs                     int64
	DeviceAllocs, DeviceFrees int64
}

// count brings the figures to what the blocks are now. It is called after each
// event, so that rises and falls are those of events.
func (m *Model) count() {
	var now [NumMetrics][3]int64
	var oversize, oversizeSegments int64
	for _, s := range m.segments {
		of := 2
		if s.Small {
			of = 1
		}
		add := func(metric int, n int64) {
			now[metric][0] += n
			now[metric][of] += n
		}
		if !s.Expandable {
			add(Segments, 1)
			if m.MaxSplit > 0 && s.size() >= m.MaxSplit {
				oversizeSegments++
			}
		}
		for _, b := range s.Blocks {
			if b.State != Unmapped {
				add(ReservedBytes, b.Size)
			}
			if b.State == Held {
				add(Allocation, 1)
				add(AllocatedBytes, b.Size)
				if m.MaxSplit > 0 && b.Size >= m.MaxSplit {
					oversize++
				}
			}
			if b.State == Held || b.State == Awaiting {
				add(RequestedBytes, b.Requested)
				add(Active, 1)
				add(ActiveBytes, b.Size)
			}
			if b.State == Free && len(s.Blocks) > 1 && !s.Expandable {
				add(InactiveSplit, 1)
				add(InactiveSplitBytes, b.Size)
			}
		}
	}
	for metric := range now {
		for of, v := range now[metric] {
			m.Sums.Metrics[metric][of].become(v)
		}
	}
	m.Sums.OversizeAllocations.become(oversize)
	m.Sums.OversizeSegments.become(oversizeSegments)
}

// Layout calls f with every contiguous part of every segment that has memory, in
// the order of addresses, and its blocks.
func (m *Model) Layout(f func(s *Segment, address uint64, blocks []*Block)) {
	for _, s := range m.segments {
		for i := 0; i < len(s.Blocks); i++ {
			from := i
			for i < len(s.Blocks) && s.Blocks[i].State != Unmapped {
				i++
			}
			if i > from {
				f(s, s.Blocks[from].address(), s.Blocks[from:i])
			}
		}
	}
}
