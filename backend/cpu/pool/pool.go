// Package pool runs loops on the worker goroutines of the process. All CPU
// kernels share the one pool, so that kernels called from several goroutines, or
// from inside each other, use no more workers than GOMAXPROCS allows. It knows
// nothing of tensors.
package pool

import (
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
)

// A task is one call of For. Whoever takes part claims pieces of it by moving
// next; the caller always takes part, so a task never waits for a free worker.
type task struct {
	f        func(lo, hi int)
	n, grain int
	next     atomic.Int64 // first index nobody has claimed
	seats    int          // workers that may still join; guarded by workers.mu
	helpers  atomic.Int32 // workers that joined and have not left
	done     chan struct{}
	failure  atomic.Pointer[failure]
}

// A failure is what a piece panicked with.
type failure struct{ value any }

// A board is where tasks are offered and idle workers wait.
type board struct {
	mu     sync.Mutex
	open   []*task // tasks with free seats, newest last
	live   int     // worker goroutines
	parked int     // of them, how many wait on wake
	wake   *sync.Cond
	posted atomic.Uint64 // number of tasks ever offered; idle workers watch it
}

// workers is the one board of the process.
var workers = newBoard()

func newBoard() *board {
	b := &board{}
	b.wake = sync.NewCond(&b.mu)
	return b
}

// For calls f for consecutive ranges that cover [0, n), on the calling
// goroutine and on idle workers, and returns when all of them have returned.
// Every range starts at a multiple of grain; grain is the least work worth
// handing to another worker. Where n is not above grain, or one processor is
// all there is, f runs once, on the calling goroutine.
//
// A panic in f reaches the caller of For, after every range already begun has
// ended; ranges not begun by then are skipped.
func For(n, grain int, f func(lo, hi int)) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	if n <= grain {
		f(0, n)
		return
	}
	procs := runtime.GOMAXPROCS(0)
	if procs == 1 {
		f(0, n)
		return
	}
	t := &task{f: f, n: n, grain: grain, seats: min(procs-1, (n-1)/grain), done: make(chan struct{}, 1)}
	workers.offer(t)
	defer t.finish()
	t.run()
}

// offer lets workers join t, and starts workers while there are too few.
func (b *board) offer(t *task) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.open = append(b.open, t)
	b.posted.Add(1)
	for range min(t.seats, b.parked) {
		b.wake.Signal()
	}
	for range t.seats - b.live {
		b.live++
		go b.work()
	}
}

// withdraw lets no more workers join t. The caller holds b.mu.
func (b *board) withdraw(t *task) {
	t.seats = 0
	if i := slices.Index(b.open, t); i >= 0 {
		b.open = slices.Delete(b.open, i, i+1)
	}
}

// finish waits for the helpers and passes on what a piece panicked with. It is
// deferred, so that the helpers are waited for if the caller's own piece ends
// by runtime.Goexit too.
func (t *task) finish() {
	workers.mu.Lock()
	workers.withdraw(t)
	workers.mu.Unlock()
	for spin := 0; t.helpers.Load() > 0; spin++ {
		if spin < spins {
			pause(spin)
			continue
		}
		<-t.done
		break
	}
	if p := t.failure.Load(); p != nil {
		panic(p.value)
	}
}

// run claims and runs pieces until none is left.
func (t *task) run() {
	defer func() {
		if v := recover(); v != nil {
			t.failure.CompareAndSwap(nil, &failure{v})
			t.next.Store(int64(t.n))
		}
	}()
	for {
		lo := int(t.next.Add(int64(t.grain))) - t.grain
		if lo >= t.n {
			return
		}
		t.f(lo, min(lo+t.grain, t.n))
	}
}

// help is run as a worker does it.
func (t *task) help() {
	defer func() {
		if t.helpers.Add(-1) == 0 {
			select {
			case t.done <- struct{}{}:
			default:
			}
		}
	}()
	t.run()
}

// work is a worker's life: help with the newest open task, watch for another
// for some microseconds, then park.
func (b *board) work() {
	defer func() { // only reached when a piece ended by runtime.Goexit
		b.mu.Lock()
		b.live--
		b.mu.Unlock()
	}()
	for {
		t := b.join()
		t.help()
	}
}

// join waits for a task with a free seat and takes the seat.
func (b *board) join() *task {
	b.mu.Lock()
	defer b.mu.Unlock()
	for len(b.open) == 0 {
		seen := b.posted.Load()
		b.mu.Unlock()
		b.watch(seen)
		b.mu.Lock()
		if len(b.open) == 0 && b.posted.Load() == seen {
			b.parked++
			b.wake.Wait()
			b.parked--
		}
	}
	t := b.open[len(b.open)-1]
	t.helpers.Add(1)
	if t.seats--; t.seats == 0 {
		b.withdraw(t)
	}
	return t
}

// spins bounds how long an idle worker, or a caller whose workers are not done,
// looks before it parks: about 30 microseconds, less than a parked goroutine
// takes to run again on another processor.
const spins = 20000

// watch returns when a task was posted after seen, or when it has looked long
// enough.
func (b *board) watch(seen uint64) {
	for spin := range spins {
		if b.posted.Load() != seen {
			return
		}
		pause(spin)
	}
}

// pause lets other goroutines run now and then.
func pause(spin int) {
	if spin%512 == 511 {
		runtime.Gosched()
	}
}
