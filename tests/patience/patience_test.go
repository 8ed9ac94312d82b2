package patience_test

import (
	"testing"
	"time"

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
