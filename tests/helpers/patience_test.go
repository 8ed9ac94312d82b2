package helpers_test

import (
	"runtime"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/tests/lost"
	"github.com/sinter-go/sinter/tests/patience"
)

// limited is a test whose time is over soon.
type limited struct {
	testing.TB
	deadline time.Time
}

func (l limited) Deadline() (time.Time, bool) { return l.deadline, !l.deadline.IsZero() }

func TestUntil(t *testing.T) {
	calls := 0
	if !patience.Until(t, func() bool { calls++; return calls == 5 }) || calls != 5 {
		t.Errorf("it held after %d calls, want 5", calls)
	}
	if patience.Until(limited{t, time.Now().Add(10 * time.Millisecond)}, func() bool { return false }) {
		t.Error("what is false came to hold")
	}
	for name, deadline := range map[string]time.Time{"no limit": {}, "a day": time.Now().Add(24 * time.Hour)} {
		if left := patience.Left(limited{t, deadline}); left < 20*time.Hour {
			t.Errorf("%s: %v are left", name, left)
		}
	}
}

// A link is garbage that is found when what holds it is gone.
type link struct {
	next *link
	_    [4]int64
}

// TestCollect drops a chain, of which one collection finds one link.
func TestCollect(t *testing.T) {
	const n = 5
	var gone atomic.Int64
	func() {
		var first *link
		for range n {
			first = &link{next: first}
			runtime.SetFinalizer(first, func(*link) {
				time.Sleep(2 * time.Millisecond)
				gone.Add(1)
			})
		}
	}()
	patience.Collect(t)
	if got := gone.Load(); got != n {
		t.Errorf("%d of %d are gone", got, n)
	}
}

// TestLost: cleanups run that Go lost when it had more processors.
func TestLost(t *testing.T) {
	if testing.Short() {
		t.Skip("it waits for seconds")
	}
	for name, wait := range map[string]func(count func() int64){
		"Collect": func(func() int64) { patience.Collect(t) },
		"Settle":  func(count func() int64) { patience.Settle(t, count, 0) },
	} {
		t.Run(name, func(t *testing.T) {
			count, restore, lost := lost.Cleanups()
			defer restore()
			if !lost {
				t.Skip("Go loses no cleanups here")
			}
			wait(count)
			if n := count(); n != 0 {
				t.Errorf("%d cleanups have not run", n)
			}
			if got := runtime.GOMAXPROCS(0); got != 1 {
				t.Errorf("%d processors, there was one before", got)
			}
		})
	}
}
