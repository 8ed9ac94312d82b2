package memory

// A Stat is one number over time. Current is Allocated - Freed plus what it was
// when ResetAccumulated was called last.
type Stat struct {
	Current   int64
	Peak      int64 // the most since the allocator began or ResetPeak
	Allocated int64 // all increases
	Freed     int64 // all decreases
}

func (s *Stat) grow(n int64) {
	s.Current += n
	s.Allocated += n
	s.Peak = max(s.Peak, s.Current)
}

func (s *Stat) shrink(n int64) {
	s.Current -= n
	s.Freed += n
}

// A Metric is a number for the whole device and for each kind of pool; All is
// the sum of the others, except its peak.
type Metric struct{ All, Small, Large Stat }

// of returns the part for one kind of pool.
func (m *Metric) of(small bool) *Stat {
	if small {
		return &m.Small
	}
	return &m.Large
}

func (m *Metric) grow(small bool, n int64) {
	m.All.grow(n)
	m.of(small).grow(n)
}

func (m *Metric) shrink(small bool, n int64) {
	m.All.shrink(n)
	m.of(small).shrink(n)
}

// change grows or shrinks by n.
func (m *Metric) change(small bool, n int64) {
	if n > 0 {
		m.grow(small, n)
	} else if n < 0 {
		m.shrink(small, -n)
	}
}

// Stats are the figures of a device's caching allocator (A27, A28). They are
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

	AllocRetries   int64 // driver allocations repeated after the cache was released
	OutOfMemory    int64 // errors
	SyncAllStreams int64 // releases of the cache
	DeviceAllocs   int64 // driver allocations
	DeviceFrees    int64
}

// each calls f with every metric and its name.
func (s *Stats) each(f func(name string, m *Metric)) {
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

// eachStat calls f with every part of every metric.
func (s *Stats) eachStat(f func(*Stat)) {
	s.each(func(_ string, m *Metric) {
		f(&m.All)
		f(&m.Small)
		f(&m.Large)
	})
}

// Map returns the figures under PyTorch's names, as in
// "allocated_bytes.small_pool.peak" and "num_ooms".
func (s Stats) Map() map[string]int64 {
	out := map[string]int64{
		"num_alloc_retries":    s.AllocRetries,
		"num_ooms":             s.OutOfMemory,
		"num_sync_all_streams": s.SyncAllStreams,
		"num_device_alloc":     s.DeviceAllocs,
		"num_device_free":      s.DeviceFrees,
	}
	s.each(func(name string, m *Metric) {
		for pool, v := range map[string]Stat{"all": m.All, "small_pool": m.Small, "large_pool": m.Large} {
			key := name + "." + pool + "."
			out[key+"current"] = v.Current
			out[key+"peak"] = v.Peak
			out[key+"allocated"] = v.Allocated
			out[key+"freed"] = v.Freed
		}
	})
	return out
}
