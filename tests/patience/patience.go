// Package patience is how long tests wait for what must come, however slow or busy
// the machine is: nearly until go test's own time is over, which -timeout sets. A
// test that waits so long has found something that hangs, and can say what.
package patience

import (
	"testing"
	"time"
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
