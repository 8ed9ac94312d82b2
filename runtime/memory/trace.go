package memory

import (
	"fmt"
	"strings"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/local"
)

// A TraceAction is what happened to memory.
type TraceAction uint8

// The actions. A free is requested when the program gives a block back and
// completed when its memory may be reused.
const (
	TraceAlloc TraceAction = iota
	TraceFreeRequested
	TraceFreeCompleted
	TraceSegmentAlloc
	TraceSegmentFree
	TraceSegmentMap
	TraceSegmentUnmap
	TraceSnapshot
	TraceOutOfMemory

	numTraceActions = iota
)

var traceActions = [numTraceActions]string{
	"alloc", "free_requested", "free_completed", "segment_alloc", "segment_free",
	"segment_map", "segment_unmap", "snapshot", "oom",
}

// String returns PyTorch's name of the action.
func (a TraceAction) String() string {
	if int(a) < len(traceActions) {
		return traceActions[a]
	}
	return fmt.Sprintf("action(%d)", uint8(a))
}

// A TraceEntry is one action on one device.
type TraceEntry struct {
	Action   TraceAction
	Addr     uint64
	Free     int64 // bytes the device had left; of TraceOutOfMemory only, in place of Addr
	Size     int64 // bytes of the segment; of blocks as asked for; of TraceOutOfMemory that, rounded
	Stream   device.StreamID
	Device   device.Device
	Pool     PoolID
	Time     time.Time
	Frames   []Frame // innermost first; none where contexts are not recorded
	Metadata string  // of WithMetadata
}

// A HistoryLevel is how much RecordHistory keeps.
type HistoryLevel uint8

// The levels, each with what those after it keep.
const (
	HistoryAll   HistoryLevel = iota // a trace of what happened
	HistoryState                     // where memory in use now was allocated
	HistoryOff                       // nothing
)

// A HistoryContext says what gets a Go stack.
type HistoryContext uint8

// The contexts, each with what those after it have.
const (
	ContextAll   HistoryContext = iota // entries of the trace about frees, which else show where the memory was allocated
	ContextAlloc                       // entries about allocations
	ContextState                       // blocks in use and segments
	ContextNone                        // nothing
)

// DefaultHistory is how many entries a device's trace holds unless
// HistoryOptions says otherwise.
const DefaultHistory = 1 << 20

// HistoryOptions say what RecordHistory records. The zero value records everything, as
// recording does in PyTorch unless it is told otherwise.
type HistoryOptions struct {
	Level      HistoryLevel
	Context    HistoryContext
	MaxEntries int           // of each device's trace, the latest; 0: DefaultHistory
	Skip       []TraceAction // what the trace leaves out
	Clear      bool          // forget what was recorded before
}

// RecordHistory turns recording on or off for all devices. The trace of
// earlier is kept, up to the new size, unless Clear is set.
func RecordHistory(o HistoryOptions) error {
	switch {
	case o.Level > HistoryOff:
		return fmt.Errorf("memory history: level %d, want HistoryAll, HistoryState or HistoryOff", o.Level)
	case o.Context > ContextNone:
		return fmt.Errorf("memory history: context %d, want ContextAll, ContextAlloc, ContextState or ContextNone", o.Context)
	case o.MaxEntries < 0:
		return fmt.Errorf("memory history: %d entries, want a positive number, or 0 for %d", o.MaxEntries, DefaultHistory)
	}
	if o.MaxEntries == 0 {
		o.MaxEntries = DefaultHistory
	}
	var skip [numTraceActions]bool
	for _, a := range o.Skip {
		if a >= numTraceActions {
			return fmt.Errorf("memory history: cannot skip %v, want one of %s", a, strings.Join(traceActions[:], ", "))
		}
		skip[a] = true
	}
	setWatch(func(w *watch) { w.history, w.skip = o, skip })
	for _, a := range everyAllocator() {
		a.trail.limit(o.MaxEntries, o.Clear)
	}
	return nil
}

// everyAllocator returns the allocators of all drivers and devices.
func everyAllocator() []*allocator {
	allocators.mu.Lock()
	defer allocators.mu.Unlock()
	list := make([]*allocator, 0, len(allocators.all))
	for _, a := range allocators.all {
		list = append(list, a)
	}
	return list
}

// metadata is the calling goroutine's, for trace entries.
var metadata = local.NewKey[string]()

// WithMetadata calls f; what the calling goroutine does to memory meanwhile bears
// text in the trace. It returns f's error.
func WithMetadata(text string, f func() error) error { return metadata.Try(text, f) }

// trace records what happened, in the order of the calls. While nothing is
// recorded it costs an atomic load. The caller may hold any lock. For
// TraceOutOfMemory addr is the device's free bytes.
func (a *allocator) trace(what TraceAction, addr uint64, size int64, s device.StreamID, p PoolID) {
	if w := watching.Load(); w != nil {
		a.watch(w, TraceEntry{Action: what, Addr: addr, Size: size, Stream: s, Device: a.dev, Pool: p})
	}
}
