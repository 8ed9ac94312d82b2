package cuda

import (
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/option"
)

// An Option is an optional argument, of the type of those of package tensor. Each
// function says which it takes, and returns an error for others.
type Option = option.Option

// Priority is a stream's: lower numbers are higher, and the nearest in PriorityRange
// counts. It is an option of NewStream, 0 unless given.
func Priority(n int) Option { return option.Int("Priority", n) }

// UseOnOOM lets allocations outside of a pool have its free blocks when the driver has no
// more memory, before cached memory goes back to it. It is an option of NewMemPool.
func UseOnOOM(on ...bool) Option { return option.Flag("UseOnOOM", on) }

// NoSplit gives every block of a pool a segment of its own. It is an option of
// NewMemPool.
func NoSplit(on ...bool) Option { return option.Flag("NoSplit", on) }

// A HistoryLevel is how much RecordMemoryHistory keeps. Its values are options.
type HistoryLevel memory.HistoryLevel

// The levels of history.
const (
	HistoryAll   = HistoryLevel(memory.HistoryAll)   // what is held, and a trace of what happens
	HistoryState = HistoryLevel(memory.HistoryState) // what is held
	HistoryOff   = HistoryLevel(memory.HistoryOff)   // nothing
)

// OptionName makes the levels options.
func (HistoryLevel) OptionName() string { return "HistoryLevel" }

// A HistoryContext is what RecordMemoryHistory keeps the Go stack of. Its values are
// options.
type HistoryContext memory.HistoryContext

// The contexts of history, each with what those after it have.
const (
	ContextAll   = HistoryContext(memory.ContextAll)   // frees
	ContextAlloc = HistoryContext(memory.ContextAlloc) // allocations in the trace
	ContextState = HistoryContext(memory.ContextState) // what is held
	ContextNone  = HistoryContext(memory.ContextNone)  // nothing
)

// OptionName makes the contexts options.
func (HistoryContext) OptionName() string { return "HistoryContext" }

// MaxEntries is how many entries, the latest, a device's trace holds;
// memory.DefaultHistory unless given. It is an option of RecordMemoryHistory.
func MaxEntries(n int) Option { return option.Int("MaxEntries", n) }

// A TraceAction is something that happens to memory, as a trace records it. String() is
// PyTorch's name of it.
type TraceAction = memory.TraceAction

// The actions. A free is requested when the program gives a block back, and completed when
// its memory may be used again.
const (
	TraceAlloc         = memory.TraceAlloc
	TraceFreeRequested = memory.TraceFreeRequested
	TraceFreeCompleted = memory.TraceFreeCompleted
	TraceSegmentAlloc  = memory.TraceSegmentAlloc
	TraceSegmentFree   = memory.TraceSegmentFree
	TraceSegmentMap    = memory.TraceSegmentMap
	TraceSegmentUnmap  = memory.TraceSegmentUnmap
	TraceSnapshot      = memory.TraceSnapshot
	TraceOutOfMemory   = memory.TraceOutOfMemory
)

// Skip is what a trace leaves out. It is an option of RecordMemoryHistory.
func Skip(actions ...TraceAction) Option { return option.Value("Skip", actions) }

// ClearHistory forgets what was recorded before. It is an option of RecordMemoryHistory.
func ClearHistory(on ...bool) Option { return option.Flag("ClearHistory", on) }
