// Package garbage has garbage collected, and knows whether what collections found to be garbage
// has been told so: finalizers and cleanups run behind a collection, and only they give memory
// back that Go does not count.
package garbage

import (
	"runtime"
	"runtime/metrics"
	"sync"
	"time"
)

// longest bounds the wait for what a collection started: on a busy machine its cleanups take
// their time, and without them there is no memory. A program's own finalizer may never end, and
// Go loses cleanups where GOMAXPROCS falls while it sweeps, until that rises again: what was waited
// for so long, no other collection waits for.
const longest = 2 * time.Second

// shortest and rarest bound the pause between two looks at what has run.
const (
	shortest = 20 * time.Microsecond
	rarest   = time.Millisecond
)

// Collect collects garbage, and waits until its finalizers and cleanups have run, but not for
// long; then once more, for what these have let go.
func Collect() { within(longest) }

// within is Collect with a bound.
func within(most time.Duration) {
	over := time.Now().Add(most)
	waited.over(pending()) // what has run since is not given up any more
	for range 2 {
		runtime.GC()
		for pause := shortest; ; pause = min(2*pause, rarest) {
			left := pending()
			if waited.over(left) {
				break
			}
			if time.Now().After(over) {
				waited.giveUp(left)
				return
			}
			time.Sleep(pause)
		}
	}
}

// waited is what collections of this process waited for in vain.
var waited patience

// A patience knows how many finalizers and cleanups nobody waits for any more. Go counts them
// and does not name them: while one of these ends at last, another is taken for it, once.
type patience struct {
	mu    sync.Mutex
	given [2]uint64 // no more than were pending at the last look
}

// over reports whether none is left but those that were given up.
func (p *patience) over(left [2]uint64) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	done := true
	for i, n := range left {
		p.given[i] = min(p.given[i], n)
		done = done && n == p.given[i]
	}
	return done
}

// giveUp has nobody wait for those that are left.
func (p *patience) giveUp(left [2]uint64) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.given = left
}

// Told reports whether all finalizers and cleanups have run that were queued before.
func Told() bool { return pending() == [2]uint64{} }

// pending returns how many finalizers and cleanups were queued and have not run.
func pending() (left [2]uint64) {
	queued, executed := counts()
	for i := range left {
		left[i] = queued[i] - min(executed[i], queued[i])
	}
	return left
}

// Queued returns how many finalizers and cleanups were ever queued: as many as before say that
// a collection between found nothing to tell.
func Queued() uint64 {
	queued, _ := counts()
	return queued[0] + queued[1]
}

// counts returns how many finalizers and cleanups were queued ever, and executed. Executed ones are
// counted some time later, never before.
func counts() (queued, executed [2]uint64) {
	samples := [4]metrics.Sample{
		{Name: "/gc/finalizers/queued:finalizers"}, {Name: "/gc/cleanups/queued:cleanups"},
		{Name: "/gc/finalizers/executed:finalizers"}, {Name: "/gc/cleanups/executed:cleanups"},
	}
	metrics.Read(samples[:])
	for i := range 2 {
		queued[i], executed[i] = count(samples[i]), count(samples[i+2])
	}
	return queued, executed
}

// count returns 0 where another Go does not count.
func count(s metrics.Sample) uint64 {
	if s.Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s.Value.Uint64()
}
