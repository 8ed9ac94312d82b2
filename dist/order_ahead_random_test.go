package dist

import (
	"errors"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// leavings are what a rank does at some place, and what others may find then.
var leavings = []struct {
	name string
	do   func(g *Group)
	want error
}{
	{"nothing", func(*Group) {}, nil},
	{"gives up", func(g *Group) { g.Abort(errEnough) }, errEnough},
	{"the engine fails", func(g *Group) { g.comm.Fail(errEnough) }, errEnough},
	{"closes", func(g *Group) { _ = g.Close() }, ErrClosed},
	{"is closed meanwhile", func(g *Group) { go g.Close() }, ErrClosed},
}

var errEnough = errors.New("enough")

// TestAheadAtRandom has ranks, at once, come to the same calls by graphs of other lengths and without, until one of
// them does something else: all come to the end or learn why not, and of those who came nothing is remembered.
func TestAheadAtRandom(t *testing.T) {
	const calls = 120
	for seed := range uint64(200) {
		r := rand.New(rand.NewPCG(seed, 7))
		names := make([]string, calls)
		for i := range names {
			names[i] = string(rune('a' + r.IntN(3)))
		}
		groups, err := Local(make([]device.Device, 2+r.IntN(3)), Timeout(patience.Left(t)))
		if err != nil {
			t.Fatal(err)
		}
		leaving, victim, at := leavings[r.IntN(len(leavings))], r.IntN(len(groups)), 1+r.IntN(calls-1)
		errs := make([]error, len(groups))
		var all sync.WaitGroup
		for rank, g := range groups {
			r := rand.New(rand.NewPCG(seed, uint64(100+rank)))
			all.Go(func() {
				for i, n := 0, 0; i < calls && errs[rank] == nil; i += n {
					if rank == victim && i-n < at && i >= at {
						leaving.do(g)
					}
					n = min(calls-i, 1+r.IntN(7))
					if r.IntN(3) == 0 {
						n = 1
						errs[rank] = g.count(named(names[i : i+1]))
						continue
					}
					graph := &replayed{group: g, number: 1}
					for _, call := range named(names[i : i+n]) {
						graph.add(call.String(), 1)
					}
					if errs[rank] = graph.Check(); errs[rank] == nil {
						errs[rank] = graph.Note()
					}
				}
			})
		}
		all.Wait()
		for rank, err := range errs {
			if err != nil && (leaving.want == nil || !errors.Is(err, leaving.want)) {
				t.Errorf("seed %d, %s: rank %d of %d: %v", seed, leaving.name, rank, len(groups), err)
			}
		}
		if n := Remembered(groups[0]); n != 0 && leaving.want == nil {
			t.Errorf("seed %d: %d replays and calls are remembered", seed, n)
		}
		for _, g := range groups {
			_ = g.Close() // of a group that may have failed
		}
	}
}
