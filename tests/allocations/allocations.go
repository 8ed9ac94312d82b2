// Package allocations bounds what a call asks of Go's memory. Under the race detector
// nothing is bounded: there a sync.Pool loses a part of what it is given, on purpose.
// It knows nothing of what it measures.
package allocations

import "testing"

// AtMost fails t if a call makes more allocations than most, after a first call that
// may fill pools. It takes the fewest of three averages, since allocations of other
// goroutines and pools that the collector has emptied count too.
func AtMost(t testing.TB, most float64, call func()) {
	t.Helper()
	call()
	if RaceDetector {
		return
	}
	var got float64
	for range 3 {
		if got = testing.AllocsPerRun(100, call); got <= most {
			return
		}
	}
	t.Errorf("%v Go allocations a call, want at most %v", got, most)
}
