package memory

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// A watch is what is recorded about allocations. It does not change once
// published.
type watch struct {
	epoch   uint64 // since when something has been recorded all the time
	history HistoryOptions
	skip    [numTraceActions]bool
	profile bool
}

// watching is nil while nothing is recorded.
var watching atomic.Pointer[watch]

var watches = struct {
	mu  sync.Mutex
	now watch
}{now: watch{history: HistoryOptions{Level: HistoryOff}}}

// setWatch changes what is recorded.
func setWatch(change func(*watch)) {
	watches.mu.Lock()
	defer watches.mu.Unlock()
	change(&watches.now)
	if watches.now.history.Level == HistoryOff && !watches.now.profile {
		watching.Store(nil)
		return
	}
	if watching.Load() == nil {
		watches.now.epoch++
	}
	w := watches.now
	watching.Store(&w)
}

// A trail is what was recorded about one device. Its lock is taken last of all.
type trail struct {
	mu      sync.Mutex
	entries []entry // the trace, a ring of the latest
	next    int     // where the oldest is, once the ring is full

	epoch    uint64 // of the watch that what follows is from
	blocks   map[uint64]held
	segments map[uint64]*stack
	profile  profile
}

// entry is a TraceEntry before its stack is resolved.
type entry struct {
	TraceEntry
	at *stack
}

// held is a block that is not reusable yet, by its address.
type held struct {
	at   *stack
	size int64
	site *site // nil: not in the profile
}

// watch records e.
func (a *allocator) watch(w *watch, e TraceEntry) {
	var own *stack // of this call
	if w.wantsStack(e.Action) {
		own = callers()
	}
	if e.Action == TraceOutOfMemory {
		e.Addr, e.Free = 0, int64(e.Addr)
	}
	t := &a.trail
	t.mu.Lock()
	defer t.mu.Unlock()
	if w.epoch < t.epoch {
		return // recording ended and began meanwhile
	}
	if w.epoch > t.epoch {
		t.epoch, t.blocks, t.segments, t.profile = w.epoch, map[uint64]held{}, map[uint64]*stack{}, profile{}
	}
	from := t.note(w, e, own)
	if w.history.Level > HistoryAll || w.skip[e.Action] {
		return
	}
	switch {
	case w.history.Context > ContextAlloc:
		own = nil
	case own == nil:
		own = from
	}
	e.Time = time.Now()
	e.Metadata, _ = metadata.Get()
	t.add(entry{e, own}, w.history.MaxEntries)
}

// wantsStack reports whether an action's own stack is recorded.
func (w *watch) wantsStack(what TraceAction) bool {
	most := ContextAlloc
	switch what {
	case TraceAlloc:
		if w.profile {
			return true
		}
		most = ContextState
	case TraceSegmentAlloc, TraceSegmentMap:
		most = ContextState
	case TraceFreeRequested, TraceFreeCompleted, TraceSegmentFree, TraceSegmentUnmap:
		most = ContextAll
	}
	return w.history.Level < HistoryOff && w.history.Context <= most
}

// note keeps where memory in use came from, and returns that for the memory of e.
// The caller holds t.mu.
func (t *trail) note(w *watch, e TraceEntry, own *stack) (from *stack) {
	switch e.Action {
	case TraceAlloc:
		if own != nil {
			h := held{at: own, size: e.Size}
			if w.profile {
				h.site = t.profile.grow(own, e.Size)
			}
			t.blocks[e.Addr] = h
		}
	case TraceFreeRequested, TraceFreeCompleted:
		h, known := t.blocks[e.Addr]
		from = h.at
		if h.site != nil {
			t.profile.shrink(h.site, h.size)
			h.site = nil
		}
		if e.Action == TraceFreeCompleted {
			delete(t.blocks, e.Addr)
		} else if known {
			t.blocks[e.Addr] = h
		}
	case TraceSegmentAlloc, TraceSegmentMap:
		t.segments[e.Addr] = own
	case TraceSegmentFree, TraceSegmentUnmap:
		from = t.segments[e.Addr]
		delete(t.segments, e.Addr)
	}
	return from
}

// add puts e into a ring of limit entries. The caller holds t.mu.
func (t *trail) add(e entry, limit int) {
	switch {
	case len(t.entries) < limit && t.next == 0:
		t.entries = append(t.entries, e)
	case len(t.entries) != limit:
		t.entries, t.next = append(t.ordered(limit-1), e), 0
	default:
		t.entries[t.next] = e
		t.next = (t.next + 1) % limit
	}
}

// limit forgets the oldest entries above max, or all.
func (t *trail) limit(max int, all bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if all {
		max = 0
	}
	t.entries, t.next = t.ordered(max), 0
}

// ordered returns a copy of the latest entries, no more than max, oldest first.
// The caller holds t.mu.
func (t *trail) ordered(max int) []entry {
	list := slices.Concat(t.entries[t.next:], t.entries[:t.next])
	return list[len(list)-min(max, len(list)):]
}

// list returns the trace, oldest entry first.
func (t *trail) list() []TraceEntry {
	t.mu.Lock()
	entries := t.ordered(len(t.entries))
	t.mu.Unlock()
	list := make([]TraceEntry, len(entries))
	known := map[*stack][]Frame{}
	for i, e := range entries {
		frames, ok := known[e.at]
		if !ok {
			frames = e.at.frames()
			known[e.at] = frames
		}
		list[i] = e.TraceEntry
		list[i].Frames = frames
	}
	return list
}
