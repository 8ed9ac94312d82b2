package memory

import (
	"context"
	"math"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"
)

// dropped holds blocks whose owner the collector found dead. They are freed at
// the next allocation, never in the cleanup itself.
var dropped struct {
	any    atomic.Bool
	mu     sync.Mutex
	blocks []Block
}

// Drop queues b to be freed at the next allocation. It calls no driver and takes
// no allocator's lock, so it may run in a cleanup.
func Drop(b Block) {
	dropped.mu.Lock()
	defer dropped.mu.Unlock()
	dropped.blocks = append(dropped.blocks, b)
	dropped.any.Store(true)
}

// drainDropped frees what was dropped. It costs an atomic load when nothing was.
func drainDropped() {
	if dropped.any.Load() {
		freeDropped()
	}
}

func freeDropped() {
	dropped.mu.Lock()
	blocks := dropped.blocks
	dropped.blocks = nil
	dropped.any.Store(false)
	dropped.mu.Unlock()
	for _, b := range blocks {
		_ = b.Free() // nobody is left to tell
	}
}

// collectWait bounds the wait for what a collection started.
const collectWait = 50 * time.Millisecond

// collections keeps goroutines that find no memory from collecting all at once.
var collections sync.Mutex

// collect runs the collector and frees the blocks that it found dead.
func collect() {
	collections.Lock()
	defer collections.Unlock()
	goruntime.GC()
	// Blocks are dropped by finalizers and by cleanups, which run apart from each
	// other. What is queued now runs after those of the first collection.
	finalized, cleaned := make(chan struct{}), make(chan struct{})
	goruntime.SetFinalizer(&marker{done: finalized}, func(m *marker) { close(m.done) })
	goruntime.AddCleanup(&marker{}, func(done chan struct{}) { close(done) }, cleaned)
	goruntime.GC()
	ctx, cancel := context.WithTimeout(background, collectWait)
	defer cancel()
	for _, done := range []chan struct{}{finalized, cleaned} {
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
	drainDropped()
}

// A marker is garbage whose finalizer or cleanup tells how far those are.
type marker struct {
	done chan struct{}
	_    int64 // too large for an allocation that others share
}

// The collector does not see device memory. It is made to run when the bytes
// held on a device have grown, since it ran for the device last, by half of what
// was left then. Programs that release what they allocate stay below that.

// pace starts a collection, since held bytes are a.collectAt or more. The caller
// holds a.mu.
func (a *allocator) pace() {
	if a.collecting {
		return
	}
	a.collecting = true
	go func() {
		collect()
		a.mu.Lock()
		defer a.mu.Unlock()
		a.collecting = false
		a.setPace()
	}()
}

// setPace decides when to collect next. The caller holds a.mu.
func (a *allocator) setPace() {
	held, room := a.stats.AllocatedBytes.Sum(), a.total
	if l := a.limit(); l > 0 {
		room = l
	}
	if room == 0 { // not known
		a.collectAt = math.MaxInt64
		return
	}
	a.collectAt = held + max((room-held)/2, room/16, 1)
}
