package dist

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
)

// TestRefused has ranks make calls, at once or by replays, that one which left does not make: they are refused, and what
// others have yet to come to before is made. One that left in the midst of them ends the group.
func TestRefused(t *testing.T) {
	cases := []struct {
		name  string
		steps []step // the last one is refused
		rest  []step // what others make yet; nil: the group has ended
	}{
		{"a call", []step{makes(0, "a"), makes(1, "a"), closes(0), makes(1, "b")}, []step{makes(2, "a")}},
		{"a batch", []step{makes(0, "a"), makes(1, "a"), closes(0), makes(1, "b", "c")}, []step{replays(2, "a")}},
		{"a replay", []step{replays(0, "a"), replays(1, "a"), closes(0), replays(1, "b c")}, []step{makes(2, "a")}},
		{"a call behind a replay", []step{replays(0, "a b"), replays(1, "a b"), closes(0), makes(1, "c")}, []step{makes(2, "a"), makes(2, "b")}},
		{"the first call", []step{closes(0), makes(1, "a")}, []step{closes(1)}},
		{"the midst of a replay", []step{makes(0, "a"), closes(0), replays(1, "a b")}, nil},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			groups, err := Local(make([]device.Device, 3))
			for i, s := range c.steps {
				if err != nil {
					t.Fatalf("before step %d: %v", i+1, err)
				}
				err = s.take(groups[s.rank], false)
			}
			if !errors.Is(err, ErrClosed) {
				t.Errorf("%v; want %v", err, ErrClosed)
			}
			if err := groups[2].Err(); (err != nil) != (c.rest == nil) {
				t.Errorf("the group has the error %v", err)
			}
			for _, s := range c.rest {
				if err := s.take(groups[s.rank], false); err != nil {
					t.Errorf("what is before that: %v", err)
				}
			}
			if c.rest != nil {
				if err := makes(2, "z").take(groups[2], false); !errors.Is(err, ErrClosed) {
					t.Errorf("what is behind it: %v", err)
				}
			}
			for _, g := range groups {
				_ = g.Close() // of a group that failed
			}
		})
	}
}
