package dist

import (
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestReplaysAhead has rank 0 replay a graph again and again while others do nothing: it comes so far, waits, and
// goes on as they do, by whatever way, or learns why the group is of no more use.
func TestReplaysAhead(t *testing.T) {
	why := errors.New("no more")
	cases := []struct {
		name  string
		ranks int
		made  int // replays of rank 0 that are made, once the steps are
		do    []step
		want  error // of the one after
		text  string
	}{
		{"nothing", 2, 3, nil, nil, ""},
		{"replays", 2, 4, []step{replays(1, "a b")}, nil, ""},
		{"makes both calls at once", 2, 4, []step{makes(1, "a"), makes(1, "b")}, nil, ""},
		{"makes one call", 2, 3, []step{makes(1, "a")}, nil, ""},
		{"replays three of them in one", 2, 6, []step{replays(1, "a b a b a b")}, nil, ""},
		{"one of two comes", 3, 3, []step{replays(1, "a b"), replays(1, "a b")}, nil, ""},
		{"both come", 3, 4, []step{replays(1, "a b"), replays(1, "a b"), replays(2, "a b")}, nil, ""},
		{"closes", 2, 3, []step{closes(1)}, ErrClosed, "call 1 of the group, of graph 1 with a and 1 more calls, which rank 0 replays: group closed by rank 1"},
		{"closes in the midst", 2, 3, []step{makes(1, "a"), closes(1)}, ErrClosed, "call 2 of the group, of graph 1 with a and 1 more calls, which rank 0 replays: group closed by rank 1"},
		{"does not come in time", 2, 3, []step{makes(1, "a"), elapses}, ErrTimeout, "call 2 of the group, of graph 1 with a and 1 more calls: rank 0 waited "},
		{"makes another call", 2, 3, []step{makes(1, "z")}, ErrMismatch, "call 1 of the group: the ranks make different calls: rank 0 replays graph 1 with a and 1 more calls, rank 1 makes z at once"},
		{"gives up", 2, 3, []step{{1, "", func(g *Group) error { g.Abort(why); return nil }}}, why, "rank 1 gave up"},
		{"the engine fails", 2, 3, []step{{1, "", func(g *Group) error { g.comm.Fail(why); return nil }}}, why, "no more"},
		{"closes itself", 2, 3, []step{closes(0)}, ErrClosed, "by this rank"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			groups, err := Local(make([]device.Device, c.ranks))
			if err != nil {
				t.Fatal(err)
			}
			r := &replayed{group: groups[0], number: groups[0].free.next()}
			for _, call := range named([]string{"a", "b"}) {
				r.add(call.String(), 1)
			}
			var made atomic.Int64
			ended := make(chan error, 1)
			go func() {
				for {
					err := r.Note()
					if err != nil {
						ended <- err
						return
					}
					made.Add(1)
				}
			}()
			waits := func(n int) {
				t.Helper()
				if !patience.Until(t, func() bool { return made.Load() >= int64(n) }) {
					t.Fatalf("%d replays were made; want %d", made.Load(), n)
				}
			}
			waits(mostAhead)
			for _, s := range c.do {
				err = s.take(groups[s.rank], false)
			}
			if c.want == nil && err != nil {
				t.Errorf("what others do: %v", err)
			}
			waits(c.made)
			if c.want == nil {
				time.Sleep(5 * time.Millisecond) // for a replay that does not wait to show
				if n := made.Load(); n != int64(c.made) {
					t.Errorf("%d replays were made; want %d", n, c.made)
				}
				groups[0].Abort(why)
			}
			want, text := c.want, c.text
			if want == nil {
				want, text = why, "rank 0 gave up"
			}
			if err := <-ended; !errors.Is(err, want) || !strings.Contains(spelt(err.Error()), text) {
				t.Errorf("%v; want %v: %s", err, want, text)
			}
			for _, g := range groups {
				_ = g.Close() // of a group that failed
			}
		})
	}
}
