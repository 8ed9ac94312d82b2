// Package garbage has garbage collected, and knows whether what collections found to be garbage
// has been told so: finalizers and cleanups run behind a collection, and only they give memory
// back that Go does not count.
package garbage

import (
	"runtime"
	"runtime/metrics"
	"time"
)

// longest bounds the wait for what a collection started: on a busy machine its cleanups take
// their time, and without them there is no memory. A program's own finalizer may never end, and
// each collection waits as long for it.
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
	for range 2 {
		runtime.GC()
		for pause := shortest; !Told(); pause = min(2*pause, rarest) {
			if time.Now().After(over) {
				return
			}
			time.Sleep(pause)
		}
	}
}

// Told reports whether all finalizers and cleanups have run that were queued before.
func Told() bool {
	queued, executed := counts()
	return executed[0] >= queued[0] && executed[1] >= queued[1]
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
