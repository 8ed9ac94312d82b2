package pool

import (
	"math/bits"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// maxTasks is the number of calls that workers take part in at a time. What is
// called beyond that has no need of workers.
const maxTasks = 16

// A board has the tasks, where idle workers look for one that is open.
type board struct {
	free     atomic.Uint32 // tasks that no call has, a bit each
	_        [15]int32     // what follows changes less often
	used     atomic.Int32  // tasks from this one on were never used
	watching atomic.Int32  // workers that look out
	parked   atomic.Int32  // workers that sleep
	live     atomic.Int32  // workers
	tasks    [maxTasks]*task

	mu   sync.Mutex // of wake
	wake *sync.Cond
}

// workers is the one board of the process.
var workers = newBoard()

func newBoard() *board {
	b := &board{}
	b.wake = sync.NewCond(&b.mu)
	for i := range b.tasks {
		t := &task{number: i, done: make(chan struct{}, 1)}
		t.state.Store(closedBit)
		b.tasks[i] = t
	}
	b.free.Store(1<<maxTasks - 1)
	return b
}

// take returns a task that no other call has, or nil.
func (b *board) take() *task {
	for {
		free := b.free.Load()
		if free == 0 {
			return nil
		}
		i := bits.TrailingZeros32(free)
		if !b.free.CompareAndSwap(free, free&(free-1)) {
			continue
		}
		for used := b.used.Load(); int(used) <= i; used = b.used.Load() {
			b.used.CompareAndSwap(used, int32(i)+1)
		}
		return b.tasks[i]
	}
}

// give takes a closed task back, which everybody has left.
func (b *board) give(t *task) { b.free.Or(1 << t.number) }

// rouse starts workers where there are fewer than seats, and wakes those that
// sleep.
func (b *board) rouse(seats int32) {
	for live := b.live.Load(); live < seats; live = b.live.Load() {
		if b.live.CompareAndSwap(live, live+1) {
			go b.work(int(live))
		}
	}
	if b.parked.Load() == 0 {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	for range min(seats-b.watching.Load(), b.parked.Load()) {
		b.wake.Signal()
	}
}

// work is a worker's life: take part in the tasks there are, beginning with the
// region of its number, look out for another for some microseconds, then sleep.
func (b *board) work(number int) {
	defer b.live.Add(-1) // only reached when a piece ended by runtime.Goexit
	for {
		if t := b.watch(); t != nil {
			t.help(number)
		} else {
			b.park()
		}
	}
}

// join returns a task that the caller has taken a seat of, or nil.
func (b *board) join() *task {
	for _, t := range b.tasks[:b.used.Load()] {
		if t.join() {
			return t
		}
	}
	return nil
}

// watch is join, for which it looks out for some time.
func (b *board) watch() *task {
	if t := b.join(); t != nil {
		return t
	}
	b.watching.Add(1)
	defer b.watching.Add(-1)
	for w := (watch{}); w.goesOn(); {
		if t := b.join(); t != nil {
			return t
		}
	}
	return nil
}

// park sleeps until somebody is woken, unless there is a task to join.
func (b *board) park() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.parked.Add(1)
	defer b.parked.Add(-1)
	for _, t := range b.tasks {
		if t.joinable(t.state.Load()) {
			return
		}
	}
	b.wake.Wait()
}

// A watch bounds how long an idle worker looks out, and a caller for workers that
// are not done, before they sleep.
type watch struct {
	looks int
	until time.Time // zero: not yet asked
}

const (
	watchTime = 100 * time.Microsecond
	// yieldEvery is after how many looks, some 20 us, other goroutines and threads may run,
	// and the clock is read. Who lets others run may go on on another processor, whose
	// caches have nothing of its part: with 128 looks operators took twice as long on 16.
	yieldEvery = 512
)

// goesOn waits for some nanoseconds and reports whether to look again.
func (w *watch) goesOn() bool {
	relax()
	if w.looks++; w.looks%yieldEvery != 0 {
		return true
	}
	runtime.Gosched()
	yield()
	now := time.Now()
	if w.until.IsZero() {
		w.until = now.Add(watchTime)
	}
	return now.Before(w.until)
}
