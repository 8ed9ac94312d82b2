// Package figures has what an allocator counts: figures over time, by kind of pool, as
// it keeps them and as programs read them, under PyTorch's names and as a table. It knows
// nothing of memory.
//
//	stats := memory.StatsOf(device.Best())
//	held := stats.AllocatedBytes.All
//	fmt.Println(held.Current, held.Peak, stats.AllocRetries)
package figures

import "maps"

// A Stat is one number over time. Current is Allocated - Freed plus what it was
// when ResetAccumulated was called last.
type Stat struct {
	Current   int64
	Peak      int64 // the most since the allocator began or ResetPeak
	Allocated int64 // all increases
	Freed     int64 // all decreases
}

// Grow adds n.
func (s *Stat) Grow(n int64) {
	s.Current += n
	s.Allocated += n
	s.Peak = max(s.Peak, s.Current)
}

// Shrink takes n away.
func (s *Stat) Shrink(n int64) {
	s.Current -= n
	s.Freed += n
}

// A Metric is a number for the whole device and for each kind of pool; All is
// the sum of the others, except its peak.
type Metric struct{ All, Small, Large Stat }

// Stats are the figures of a device's caching allocator. They are
// zero before the first allocation and where caching is off.
type Stats struct {
	Allocation         Metric // blocks held by the program
	AllocatedBytes     Metric // their sizes
	RequestedBytes     Metric // their sizes as asked for, until their memory is reusable
	Active             Metric // blocks held, or freed and awaiting other streams
	ActiveBytes        Metric
	Segment            Metric // driver allocations held
	ReservedBytes      Metric
	InactiveSplit      Metric // free blocks that are part of a segment partly in use
	InactiveSplitBytes Metric

	OversizeAllocations Stat // blocks held of the size from which on blocks are not divided
	OversizeSegments    Stat // driver allocations held of that size

	AllocRetries   int64 // driver allocations repeated after the cache was released
	OutOfMemory    int64 // errors
	Rejections     int64 // errors for the memory limit's sake without an attempt to make room
	SyncAllStreams int64 // releases of the cache
	DeviceAllocs   int64 // driver allocations, and mappings of memory
	DeviceFrees    int64
	MaxSplitSize   int64 // bytes from which on blocks are not divided; 0: no limit
}

// Each calls f with every metric and its name.
func (s *Stats) Each(f func(name string, m *Metric)) {
	if f == nil {
		return
	}
	f("allocation", &s.Allocation)
	f("allocated_bytes", &s.AllocatedBytes)
	f("requested_bytes", &s.RequestedBytes)
	f("active", &s.Active)
	f("active_bytes", &s.ActiveBytes)
	f("segment", &s.Segment)
	f("reserved_bytes", &s.ReservedBytes)
	f("inactive_split", &s.InactiveSplit)
	f("inactive_split_bytes", &s.InactiveSplitBytes)
}

// Map returns the figures under PyTorch's names, as in
// "allocated_bytes.small_pool.peak" and "num_ooms". The max_split_size is -1 where
// there is no limit.
func (s Stats) Map() map[string]int64 {
	out := map[string]int64{
		"num_alloc_retries":    s.AllocRetries,
		"num_ooms":             s.OutOfMemory,
		"num_oom_rejections":   s.Rejections,
		"num_sync_all_streams": s.SyncAllStreams,
		"num_device_alloc":     s.DeviceAllocs,
		"num_device_free":      s.DeviceFrees,
		"max_split_size":       s.MaxSplitSize,
	}
	if s.MaxSplitSize == 0 {
		out["max_split_size"] = -1
	}
	s.Each(func(name string, m *Metric) { maps.Copy(out, m.Map(name)) })
	s.OversizeAllocations.addTo(out, "oversize_allocations")
	s.OversizeSegments.addTo(out, "oversize_segments")
	return out
}

// Map returns the metric under names that begin with the given one.
func (m Metric) Map(name string) map[string]int64 {
	out := map[string]int64{}
	m.All.addTo(out, name+".all")
	m.Small.addTo(out, name+".small_pool")
	m.Large.addTo(out, name+".large_pool")
	return out
}

func (s *Stat) addTo(out map[string]int64, name string) {
	out[name+".current"] = s.Current
	out[name+".peak"] = s.Peak
	out[name+".allocated"] = s.Allocated
	out[name+".freed"] = s.Freed
}
