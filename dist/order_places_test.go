package dist

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/brief"
)

// A step is what a rank does: it replays a graph with some calls, makes one at once, closes the group, or has
// the timeout of who waits be over.
type step struct {
	rank  int
	calls string // of the graph, by spaces
	do    func(g *Group) error
}

func replays(rank int, calls string) step { return step{rank: rank, calls: calls} }
func makes(rank int, calls ...string) step {
	return step{rank, "", func(g *Group) error { return g.count(named(calls)) }}
}

// named returns calls that are called so, those of other roots.
func named(names []string) (calls []*collective.Call) {
	for _, name := range names {
		var root int
		for _, c := range name {
			root = root<<7 | int(c)
		}
		calls = append(calls, &collective.Call{Kind: collective.Broadcast, Root: root})
	}
	return calls
}

// spelt puts names in place of calls.
func spelt(text string) string {
	return regexp.MustCompile(`broadcast from rank (\d+)`).ReplaceAllStringFunc(text, func(call string) (name string) {
		root, _ := strconv.Atoi(call[strings.LastIndexByte(call, ' ')+1:])
		for ; root > 0; root >>= 7 {
			name = string(rune(root&127)) + name
		}
		return name
	})
}

func closes(rank int) step { return step{rank, "", (*Group).Close} }

var elapses = step{0, "", func(g *Group) error { Elapse(g); return g.Err() }}

// take takes a step, of ranks on the host, whose engine has nothing to end.
func (s step) take(g *Group, bound bool) error {
	if s.do != nil {
		return s.do(g)
	}
	r := &replayed{group: g, number: g.free.next(), bound: bound}
	for _, call := range named(strings.Fields(s.calls)) {
		r.add(call.String(), 1)
	}
	return noteReplay(r)
}

// TestReplayPlaces has ranks make calls by graphs of other lengths, and at once: those of one number are the
// same call, and all ranks come to the last.
func TestReplayPlaces(t *testing.T) {
	cases := []struct {
		name  string
		bound bool
		steps []step
		want  error // of the last step, and of the group
		text  string
	}{
		{"at once before, then nothing", false, []step{makes(1, "a"), replays(0, "a b c"), elapses}, ErrTimeout, "call 2 of the group, of graph 1 with a and 2 more calls: rank 0 waited "},
		{"at once before, then closes", false, []step{makes(1, "a"), replays(0, "a b c"), closes(1)}, ErrClosed, "call 2 of the group, of graph 1 with a and 2 more calls, which rank 0 replays"},
		{"at once after, then nothing", false, []step{replays(0, "a b c"), makes(1, "a"), makes(1, "b"), elapses}, ErrTimeout, "call 3 of the group, of graph 1"},
		{"at once", false, []step{makes(1, "a"), replays(0, "a b c"), makes(1, "b"), makes(1, "c"), elapses, closes(1)}, nil, ""},
		{"at once, and then more", false, []step{makes(1, "a"), replays(0, "a b"), makes(1, "b"), makes(1, "c"), makes(0, "c"), replays(0, "d"), makes(1, "d"), elapses, closes(1)}, nil, ""},
		{"another at once before", false, []step{makes(1, "a"), makes(1, "d"), replays(0, "a b c")}, ErrMismatch,
			"call 2 of the group: the ranks make different calls: rank 0 replays b of graph 1 with a and 2 more calls, rank 1 makes d at once"},
		{"another at once after", false, []step{replays(0, "a b c"), makes(1, "d")}, ErrMismatch,
			"call 1 of the group: the ranks make different calls: rank 0 replays graph 1 with a and 2 more calls, rank 1 makes d at once"},
		{"another at once of a third", false, []step{replays(0, "a b"), makes(1, "a"), makes(2, "a"), makes(1, "b"), makes(2, "c")}, ErrMismatch,
			"call 2 of the group: the ranks make different calls: rank 1 makes b, rank 2 c"},
		{"one at once, two replay", false, []step{makes(0, "a"), replays(1, "a b"), replays(2, "a"), makes(2, "b"), makes(0, "b"), elapses}, nil, ""},
		{"both at once, another", false, []step{makes(0, "a"), makes(1, "b")}, ErrMismatch, "call 1 of the group: the ranks make different calls: rank 0 makes a, rank 1 b"},
		{"both at once, other batches", false, []step{makes(0, "a", "b"), makes(1, "a")}, ErrMismatch, "rank 0 makes 2 calls together, the first of them a, rank 1 makes 1: batches are alike"},
		{"other batches", false, []step{replays(0, "a b"), makes(1, "a", "b")}, ErrMismatch, "rank 0 replays graph 1 with a and 1 more calls, rank 1 makes a at once, the first of 1 calls together there and of 2 here: batches are alike"},
		{"at once beyond one that closed", false, []step{makes(0, "a"), closes(0), makes(1, "a"), makes(1, "b")}, ErrClosed, "b, call 2 of the group: group closed by rank 0"},
		{"closes before others' calls", false, []step{makes(0, "a"), makes(1, "a"), makes(1, "b"), closes(0)}, ErrClosed, "b, call 2 of the group: group closed by rank 0"},
		{"other calls before", false, []step{makes(0, "a"), replays(0, "b"), elapses}, ErrTimeout, "call 1 of the group, before graph 1 with b: rank 0 waited "},
		{"a beginning, then nothing", false, []step{replays(0, "a"), replays(1, "a b c"), elapses}, ErrTimeout, "call 2 of the group, of graph 1 with a and 2 more calls: rank 1 waited "},
		{"a beginning, then closes", false, []step{replays(0, "a"), replays(1, "a b c"), closes(0)}, ErrClosed, "which rank 1 replays"},
		{"a beginning after", false, []step{replays(1, "a b c"), replays(0, "a"), elapses}, ErrTimeout, "rank 1 waited "},
		{"beyond one that closed", false, []step{replays(0, "a"), closes(0), replays(1, "a b c")}, ErrClosed, "call 2 of the group, of graph 1 with a and 2 more calls: "},
		{"parts", false, []step{replays(1, "a b"), replays(0, "a"), replays(1, "c d"), replays(0, "b c"), makes(0, "d"), elapses}, nil, ""},
		{"other parts", false, []step{replays(1, "a b"), replays(0, "a"), replays(1, "c d"), replays(0, "b z")}, ErrMismatch,
			"call 3 of the group: the ranks make different calls: rank 1 replays graph 2 with c and 1 more calls, rank 0 graph 2 with b and 1 more calls"},
		{"another rest", false, []step{replays(1, "a b"), replays(0, "a"), replays(0, "z")}, ErrMismatch, "call 2 of the group: "},
		{"another rest of a third", false, []step{replays(0, "a"), replays(1, "a b"), replays(2, "a c")}, ErrMismatch, "call 1 of the group: "},
		{"bound", true, []step{replays(0, "a b"), replays(1, "a b"), replays(2, "a b"), elapses}, nil, ""},
		{"bound, at once before", true, []step{makes(1, "a"), replays(0, "a b")}, ErrMismatch, "rank 0 replays graph 1 with a and 1 more calls, rank 1 makes a at once: all ranks replay it, or none does"},
		{"bound, at once after", true, []step{replays(0, "a b"), makes(1, "a")}, ErrMismatch, "rank 1 makes a at once: all ranks replay it, or none does"},
		{"bound, a part", true, []step{replays(0, "a b"), replays(1, "b")}, ErrMismatch, "call 1 of the group: "},
		{"bound, a beginning", true, []step{replays(0, "a b"), replays(1, "a")}, ErrMismatch, "call 1 of the group: "},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			size := 2
			for _, s := range c.steps {
				size = max(size, s.rank+1)
			}
			groups, err := Local(make([]device.Device, size))
			for i, s := range c.steps {
				if err != nil {
					t.Fatalf("before step %d: %v", i+1, err)
				}
				err = s.take(groups[s.rank], c.bound)
			}
			if !errors.Is(err, c.want) || err != nil && !strings.Contains(spelt(err.Error()), c.text) {
				t.Errorf("%v; want %v: %s", err, c.want, c.text)
			}
			for _, g := range groups {
				_ = g.Close() // of a group that failed
			}
		})
	}
}

// TestPlacesAtRandom has ranks make the same calls by graphs of random lengths and at once, in a random order,
// up to a place where one stops: that is missed if, and only if, another one replays calls beyond it or, where it
// closes the group, makes any.
func TestPlacesAtRandom(t *testing.T) {
	const calls = 60
	for seed := range uint64(400) {
		if brief.Skip(int(seed) % 50 / 2) { // both endings, and the large group
			continue
		}
		r := rand.New(rand.NewPCG(seed, 15))
		size := 2 + r.IntN(3)
		if seed%50 == 49 {
			size = 64
		}
		groups, err := Local(make([]device.Device, size))
		if err != nil {
			t.Fatal(err)
		}
		ends, replayed := make([]uint64, size), make([]uint64, size) // to where they go, and went by replays
		for rank := range ends {
			ends[rank] = calls
		}
		victim := r.IntN(size)
		ends[victim] = uint64(r.IntN(calls + 1))
		for range 10 * calls * size {
			rank := r.IntN(size)
			g := groups[rank]
			at := g.place.Load()
			s := makes(rank, fmt.Sprint(at))
			if at == ends[rank] {
				continue
			}
			if r.IntN(3) > 0 {
				var names []string
				for k := at; k < min(at+1+r.Uint64N(4), ends[rank]); k++ {
					names = append(names, fmt.Sprint(k))
				}
				s = replays(rank, strings.Join(names, " "))
			}
			if err := s.take(g, false); err != nil {
				t.Fatalf("seed %d: rank %d at %d: %v", seed, rank, at, err)
			}
			if s.do == nil {
				replayed[rank] = g.place.Load()
			}
		}
		var want error
		for rank, to := range replayed {
			if seed%2 == 0 && to > ends[victim] {
				want = ErrTimeout
			} else if seed%2 == 1 && groups[rank].place.Load() > ends[victim] {
				want = ErrClosed
			}
		}
		if seed%2 == 0 {
			err = elapses.take(groups[0], false)
		} else {
			err = closes(victim).take(groups[victim], false)
		}
		if !errors.Is(err, want) || errors.Is(err, collective.ErrMismatch) {
			t.Errorf("seed %d, rank %d of %d stops at %d: %v; want %v", seed, victim, size, ends[victim], err, want)
		}
		for _, g := range groups {
			_ = g.Close()
		}
	}
}

// TestSplitOfOne has one rank alone come to a group that is split off: nothing is kept when all have left.
func TestSplitOfOne(t *testing.T) {
	groups, err := Local(make([]device.Device, 2))
	if err != nil {
		t.Fatal(err)
	}
	o := groups[0].order
	if o.sub("seed", 2); len(o.subs) != 1 {
		t.Errorf("%d groups are to be joined", len(o.subs))
	}
	if err := errors.Join(groups[0].Close(), groups[1].Close()); err != nil || len(o.subs) != 0 {
		t.Errorf("%d groups are to be joined when all ranks have left; error %v", len(o.subs), err)
	}
}

// TestNobodyLooks has the group fail while a replay waits: nobody looks for the other rank any more.
func TestNobodyLooks(t *testing.T) {
	groups, err := Local(make([]device.Device, 2))
	if err == nil {
		err = replays(0, "a").take(groups[0], false)
	}
	if err != nil {
		t.Fatal(err)
	}
	o := groups[0].order
	o.late()
	if o.look == nil {
		t.Error("nobody looks for rank 1")
	}
	groups[1].Abort(errors.New("no more"))
	if o.late(); o.look != nil {
		t.Error("somebody looks for rank 1 of a group that has failed")
	}
	for _, g := range groups {
		_ = g.Close()
	}
}
