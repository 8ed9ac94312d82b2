// Package pool runs loops on the worker goroutines of the process. All CPU
// kernels share the one pool, so that kernels called from several goroutines, or
// from inside each other, use no more workers than GOMAXPROCS allows. It knows
// nothing of tensors.
//
// A call is offered to the workers and begun by its caller at once. Workers that
// have just worked look out for the next call for some microseconds, so that they
// take part in calls that follow one another closely; then they sleep, and cost
// nothing. What no worker has claimed the caller does itself: a call never waits
// for a worker to wake up.
package pool

import (
	"runtime"
	"sync/atomic"
	"time"
)

// A Runner runs part of a loop: the indices [lo, hi).
type Runner interface{ Run(lo, hi int) }

// A function is a Runner that calls it.
type function func(lo, hi int)

func (f function) Run(lo, hi int) { f(lo, hi) }

// For calls f for consecutive ranges that cover [0, n), on the calling
// goroutine and on idle workers, and returns when all of them have returned.
// Every range starts at a multiple of grain; grain is the least work worth
// handing to another worker, about a microsecond's. Where n is not above grain, or
// one processor is all there is, f runs once, on the calling goroutine.
//
// Goroutines have parts of [0, n) that they begin with, the same ones in every
// call of the same n and grain, so that what one has in its cache is of use again.
//
// A panic in f reaches the caller of For, after every range already begun has
// ended; ranges not begun by then are skipped.
func For(n, grain int, f func(lo, hi int)) { Run(n, grain, function(f)) }

// Run is For with a method in place of f: it allocates nothing, where a function
// that refers to its surroundings is an allocation.
func Run(n, grain int, r Runner) { run(n, grain, r, false) }

// RunBack is Run of goroutines that go through their parts from the end: after a Run of the same
// n and grain a cache still has what it ended with. Within a range the order is r's.
func RunBack(n, grain int, r Runner) { run(n, grain, r, true) }

func run(n, grain int, r Runner, back bool) {
	if n <= 0 {
		return
	}
	grain = max(grain, 1)
	if n <= grain {
		r.Run(0, n)
		return
	}
	procs := runtime.GOMAXPROCS(0)
	if procs == 1 {
		r.Run(0, n)
		return
	}
	t := workers.take()
	if t == nil { // everybody is busy with other calls
		r.Run(0, n)
		return
	}
	t.prepare(n, grain, min(procs, maxRegions), r)
	t.back = back
	t.open()
	defer t.finish()
	t.lead()
}

// maxRegions is the greatest number of goroutines that work on one call.
const maxRegions = 64

// A task is one call of Run. [0, n) is cut into regions, one for each goroutine
// that may take part, and these into pieces of whole grains. Whoever takes part
// claims pieces, first of a region of its own and then of the others.
//
// Tasks are used again and again. What all write as they come and go has a cache line
// of its own, so that it takes what they read from nobody.
type task struct {
	next [maxRegions]counter

	// state is closedBit, waitingBit, the number of workers that may still join
	// from bit seatShift on, and below closedBit that of those that joined and have not
	// left. Who finds no seat has taken one for a moment, and counts as one that joined.
	// The fields that a call sets are written while it is closed and nobody has joined.
	state atomic.Int64
	seats int64 // that the state of a closed task has left over
	_     [6]int64

	run     Runner
	n       int
	grain   int
	grains  int // in n, the last one perhaps smaller
	piece   int // in grains
	regions int32
	back    bool // regions are gone through from the end

	number  int           // on the board
	done    chan struct{} // told by the last to leave, where waitingBit is set
	failure atomic.Pointer[failure]
	_       [5]int64
}

const (
	closedBit  = 1 << 16 // nobody may join
	waitingBit = 1 << 17 // the caller sleeps
	seatShift  = 18
	helperMask = closedBit - 1
	joining    = 1 - 1<<seatShift // what joining adds
)

// A counter has a cache line of its own. It is written plainly while the task is
// closed: a store that is atomic waits for the line.
type counter struct {
	value int64 // the first grain of the region that nobody has claimed, or one after its end
	end   int64 // of the region
	_     [6]int64
}

// A failure is what a piece panicked with.
type failure struct{ value any }

// piecesPerRegion is into how many pieces a region is cut, where it has so many
// grains: what is lost when one goroutine begins late is a piece at most.
const piecesPerRegion = 16

func (t *task) prepare(n, grain, procs int, r Runner) {
	t.run, t.n, t.grain = r, n, grain
	t.grains = (n-1)/grain + 1
	t.regions = int32(min(procs, t.grains))
	t.piece = max(1, t.grains/(int(t.regions)*piecesPerRegion))
	for i := range t.regions {
		t.next[i].value, t.next[i].end = int64(t.start(int(i))), int64(t.start(int(i)+1))
	}
}

// start returns the first grain of a region.
func (t *task) start(region int) int { return region * t.grains / int(t.regions) }

// open lets workers join.
func (t *task) open() {
	t.state.Add((int64(t.regions-1)-t.seats)<<seatShift - closedBit)
}

// join takes a seat and reports whether there was one. It adds rather than compares and swaps,
// which fails where many join at once. The caller waits for who is refused as for others, which takes
// longer only where the system stops a thread just there. A task that it was refused may be another
// call's by now.
func (t *task) join() bool {
	if !t.joinable(t.state.Load()) {
		return false
	}
	if s := t.state.Add(joining); s&closedBit == 0 && s >= 0 {
		return true
	}
	t.without(joining)
	return false
}

// joinable reports whether somebody may join a task of the given state.
func (*task) joinable(state int64) bool { return state&closedBit == 0 && state>>seatShift > 0 }

// leave ends what join began. The task may be another call's afterwards.
func (t *task) leave() { t.without(1) }

// without takes back what somebody added to the state, and wakes the caller where nobody is left.
func (t *task) without(n int64) {
	if s := t.state.Add(-n); s&waitingBit != 0 && s&helperMask == 0 {
		select {
		case t.done <- struct{}{}:
		default: // somebody has told
		}
	}
}

// lead works as the caller does. Where too few workers look out it wakes some: at
// once where the pieces are few, else once its first piece has told whether the rest
// is worth the time that waking takes.
func (t *task) lead() {
	defer t.catch()
	if seats := t.regions - 1; workers.watching.Load() < seats {
		if pieces := t.grains / t.piece; pieces <= manyPieces*int(t.regions) {
			workers.rouse(seats)
		} else {
			start := time.Now()
			t.claim(0)
			if time.Since(start) > wakeWorth/time.Duration(pieces) {
				workers.rouse(seats)
			}
		}
	}
	t.all(0)
}

// manyPieces is the number of pieces in a region above which one of them is little
// of the whole.
const manyPieces = 4

// wakeWorth is the work that is worth waking somebody, which takes the caller some
// microseconds, and the other more.
const wakeWorth = 10 * time.Microsecond

// help works as a worker does that has joined, beginning with a region.
func (t *task) help(region int) {
	defer t.leave()
	defer t.catch()
	t.all(1 + region%int(t.regions-1))
}

// all claims and runs pieces until none is left, beginning with a region.
func (t *task) all(region int) {
	for range t.regions {
		for t.left(region) && t.claim(region) {
		}
		if region++; region == int(t.regions) {
			region = 0
		}
	}
}

// left reports whether there may be a piece of a region that nobody has claimed. Reading what
// others have written takes less time than writing it, and goes on for several regions at once.
func (t *task) left(region int) bool {
	c := &t.next[region]
	return atomic.LoadInt64(&c.value) < c.end
}

// claim claims and runs a piece of a region, and reports whether there was one.
func (t *task) claim(region int) bool {
	c := &t.next[region]
	end := int(c.end)
	at := int(atomic.AddInt64(&c.value, int64(t.piece))) - t.piece
	if at >= end {
		return false
	}
	last := min(at+t.piece, end)
	if t.back {
		start := t.start(region)
		at, last = start+end-last, start+end-at
	}
	t.run.Run(at*t.grain, min(last*t.grain, t.n))
	return true
}

// catch notes a panic, and has nobody begin another piece. It is deferred.
func (t *task) catch() {
	v := recover()
	if v == nil {
		return
	}
	t.failure.CompareAndSwap(nil, &failure{v})
	for i := range t.regions {
		atomic.StoreInt64(&t.next[i].value, int64(t.grains))
	}
}

// finish waits for those that joined and passes on what a piece panicked with. It
// is deferred, so that they are waited for if the caller's own piece ends by
// runtime.Goexit, too.
func (t *task) finish() {
	t.seats = t.close() >> seatShift
	failed := t.failure.Load()
	if failed != nil {
		t.failure.Store(nil)
	}
	t.run = nil
	workers.give(t)
	if failed != nil {
		panic(failed.value)
	}
}

// close lets nobody join any more and returns the state in which everybody has left.
func (t *task) close() int64 {
	s := t.state.Or(closedBit) | closedBit
	for w := (watch{}); s&helperMask != 0; s = t.state.Load() {
		if w.goesOn() {
			continue
		}
		if t.state.Or(waitingBit)&helperMask != 0 {
			<-t.done // or an earlier call's: who left then had been late
		}
		t.state.And(^int64(waitingBit))
	}
	return s
}
