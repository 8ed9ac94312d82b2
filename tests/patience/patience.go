// Package patience is how long tests wait for what must come, however slow or busy
// the machine is: nearly until go test's own time is over, which -timeout sets. A
// test that waits so long has found something that hangs, and can say what.
package patience

import (
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/runtime/garbage"
)

// forever is for benchmarks, and for tests whose time has no limit.
const forever = 24 * time.Hour

// Left returns how long t may wait: nine tenths of the time that it has.
func Left(t testing.TB) time.Duration {
	if limited, ok := t.(interface{ Deadline() (time.Time, bool) }); ok {
		if deadline, ok := limited.Deadline(); ok {
			return time.Until(deadline) / 10 * 9
		}
	}
	return forever
}

// Until waits until a condition holds, and reports whether it does: false says that
// it will never.
func Until(t testing.TB, holds func() bool) bool {
	t.Helper()
	for over := time.Now().Add(Left(t)); !holds(); {
		if time.Now().After(over) {
			return false
		}
		time.Sleep(time.Millisecond)
	}
	return true
}

// collections bounds how often Collect collects, where somebody else makes garbage meanwhile.
const collections = 10

// Collect collects garbage until there is nothing more whose finalizer or cleanup tells so, and
// waits for these. What they leave to goroutines may go on.
func Collect(t testing.TB) {
	t.Helper()
	for range collections {
		before := garbage.Queued()
		runtime.GC()
		again := time.Now().Add(lull)
		if !Until(t, func() bool {
			if time.Now().After(again) {
				find()
				again = time.Now().Add(lull)
			}
			return garbage.Told()
		}) {
			t.Error("finalizers or cleanups do not end")
			return
		}
		if garbage.Queued() == before {
			return
		}
	}
}

// Settle collects garbage until a count of what is held is no more than want, and returns it
// then. What programs drop goes back this way: behind the collector, by goroutines.
func Settle(t testing.TB, held func() int64, want int64) int64 {
	t.Helper()
	again := time.Now().Add(lull)
	Until(t, func() bool {
		if held() <= want {
			return true
		}
		if time.Now().After(again) {
			find()
			again = time.Now().Add(lull)
		}
		runtime.GC()
		return false
	})
	return held()
}

// lull is after how long cleanups may be lost: Go does not run those that wait for a processor
// that GOMAXPROCS took away.
const lull = time.Second

// most is more processors than any test asks for.
const most = 16

// finding is held by who changes GOMAXPROCS: what another one would find meanwhile is not what there was before.
var finding sync.Mutex

// find has Go find lost cleanups: all processors are back for one collection.
func find() {
	finding.Lock()
	defer finding.Unlock()
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(most, runtime.NumCPU(), runtime.GOMAXPROCS(0))))
	runtime.GC()
}
