// Package lost makes Go lose cleanups for tests of what then waits for them. Go keeps those that
// it finds in a block of the processor that sweeps, and takes the blocks of all processors when
// all is swept: of those that GOMAXPROCS took away meanwhile, it does not. It finds them again
// when the processors are back. Finalizers are not lost.
package lost

import (
	"runtime"
	"runtime/metrics"
	"sync/atomic"
	"time"
)

// tries bounds the collections in which cleanups might be lost: it takes about fifty.
const tries = 1000

// owners is how many are garbage in each try: more than fit in one block.
const owners = 300

// An owner is large enough for an allocation of its own.
type owner struct{ _ [8]int64 }

// Cleanups leaves a cleanup that has not run although its owner was collected, and reports
// whether it could. GOMAXPROCS is 1 then, until what is returned restores it. The cleanups that
// are not lost run soon; count says how many of all have not.
func Cleanups() (count func() int64, restore func(), lost bool) {
	var waiting atomic.Int64
	procs := runtime.GOMAXPROCS(0)
	restore = func() { runtime.GOMAXPROCS(procs) }
	for range tries {
		runtime.GOMAXPROCS(2)
		waiting.Add(owners)
		drop(&waiting)
		done, before := make(chan struct{}), cycles()
		go func() { runtime.GC(); close(done) }()
		for cycles() == before {
			runtime.Gosched()
		}
		runtime.GOMAXPROCS(1) // while it sweeps
		<-done
		if stays(&waiting) {
			return waiting.Load, restore, true
		}
	}
	return waiting.Load, restore, false
}

// drop makes garbage whose cleanups count down.
//
//go:noinline
func drop(waiting *atomic.Int64) {
	for range owners {
		runtime.AddCleanup(new(owner), func(left *atomic.Int64) { left.Add(-1) }, waiting)
	}
}

// cycles returns how many collections have marked what is in use.
func cycles() uint64 {
	sample := [1]metrics.Sample{{Name: "/gc/cycles/total:gc-cycles"}}
	metrics.Read(sample[:])
	return sample[0].Value.Uint64()
}

// stays reports whether cleanups do not run that others had the time to.
func stays(waiting *atomic.Int64) bool {
	for range 100 {
		if waiting.Load() == 0 {
			return false
		}
		time.Sleep(100 * time.Microsecond)
	}
	runtime.GC()
	time.Sleep(20 * time.Millisecond)
	return waiting.Load() > 0
}
