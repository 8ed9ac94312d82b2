package figures

import "time"

// Times sums up how long calls of the driver took.
type Times struct {
	Total, Min, Max time.Duration
	Count           int64
}

// Add counts a call.
func (t *Times) Add(d time.Duration) {
	if t.Count == 0 || d < t.Min {
		t.Min = d
	}
	t.Max = max(t.Max, d)
	t.Total += d
	t.Count++
}

// Mean returns the mean; 0 without a call.
func (t Times) Mean() time.Duration {
	if t.Count == 0 {
		return 0
	}
	return t.Total / time.Duration(t.Count)
}

// PinnedStats are the figures of the page-locked memory of one kind of device.
type PinnedStats struct {
	Allocations    Stat // blocks held from the driver, in use or cached
	AllocatedBytes Stat
	ActiveRequests Stat // blocks the program holds, or freed and awaiting copies
	ActiveBytes    Stat
	AllocTime      Times // of the driver's allocations, with their number
	FreeTime       Times
}

// Map returns the figures under PyTorch's names, as in "active_bytes.current" and
// "host_alloc_time.max", the times in microseconds.
func (s PinnedStats) Map() map[string]int64 {
	out := map[string]int64{"num_host_alloc": s.AllocTime.Count, "num_host_free": s.FreeTime.Count}
	s.Allocations.addTo(out, "allocations")
	s.AllocatedBytes.addTo(out, "allocated_bytes")
	s.ActiveRequests.addTo(out, "active_requests")
	s.ActiveBytes.addTo(out, "active_bytes")
	for name, t := range map[string]Times{"host_alloc_time": s.AllocTime, "host_free_time": s.FreeTime} {
		out[name+".count"] = t.Count
		for part, d := range map[string]time.Duration{"total": t.Total, "min": t.Min, "max": t.Max, "avg": t.Mean()} {
			out[name+"."+part] = d.Microseconds()
		}
	}
	return out
}
