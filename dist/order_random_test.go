package dist_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

var replaySeeds = flag.Uint64("replayseeds", 60, "random orders of replays")

// A fate is what a rank does in place of a replay.
type fate struct {
	name string
	way  string // how sums travel, any if empty
	do   func(g *dist.Group, p plan, graphs []*graph.Graph) error
	want error // of all ranks
}

var errNoMore = errors.New("no more")

var replayFates = []fate{
	{"nothing else", "", nil, nil},
	{"another graph", "", func(_ *dist.Group, p plan, graphs []*graph.Graph) error { return graphs[(p.drawn[p.at]+1)%3].Replay() }, dist.ErrMismatch},
	{"a call before", "copies", func(g *dist.Group, _ plan, _ []*graph.Graph) error { g.Barrier(); return nil }, dist.ErrMismatch}, // others may be replayed beside it
	{"closes", "", func(g *dist.Group, _ plan, _ []*graph.Graph) error { return g.Close() }, dist.ErrClosed},
	{"gives up", "", func(g *dist.Group, _ plan, _ []*graph.Graph) error { g.Abort(errNoMore); return nil }, errNoMore},
	{"stops", "engine", func(*dist.Group, plan, []*graph.Graph) error { return nil }, dist.ErrTimeout},
	{"a part at once, then stops", "engine", part, dist.ErrTimeout},
	{"a part at once, then closes", "engine", func(g *dist.Group, p plan, graphs []*graph.Graph) error {
		return errors.Join(part(g, p, graphs), g.Close())
	}, dist.ErrClosed},
	{"a beginning, then stops", "engine", beginning, dist.ErrTimeout},
	{"a beginning, then closes", "engine", func(g *dist.Group, p plan, graphs []*graph.Graph) error {
		return errors.Join(beginning(g, p, graphs), g.Close())
	}, dist.ErrClosed},
}

// part makes the calls of the graph at once, but for the last.
func part(g *dist.Group, p plan, _ []*graph.Graph) (err error) {
	sizes := p.lists[p.drawn[p.at]]
	for _, n := range sizes[:len(sizes)-1] {
		x := tensor.Ones([]int{n}, tensor.On(g.Device()))
		err = errors.Join(err, g.AllReduce(x, dist.Sum).Wait(context.Background()))
	}
	return err
}

// beginning replays the graph with the first call alone, if there are more.
func beginning(_ *dist.Group, p plan, graphs []*graph.Graph) error {
	k := p.drawn[p.at]
	if len(p.lists[k]) == 1 {
		return nil
	}
	return graphs[3+k].Replay()
}

// waiting is how many replays ranks make after one that is missed: a GPU takes some, and has who makes
// more wait until what it waits for has ended.
const waiting = 2

// A plan is who replays what.
type plan struct {
	fate
	ranks, queues int
	victim, at    int     // who does something else, in place of which replay
	lists         [][]int // sizes of the sums of three graphs, and of those with their first alone
	drawn         []int   // which of the three are replayed
}

func draw(seed uint64, most int) plan {
	r := rand.New(rand.NewPCG(seed, 14))
	p := plan{fate: replayFates[r.IntN(len(replayFates))], ranks: 2 + r.IntN(most-1), queues: r.IntN(3), at: r.IntN(20)}
	p.victim = r.IntN(p.ranks)
	if p.way == "" {
		p.way = []string{"copies", "copies", "engine"}[r.IntN(3)]
	}
	for k := range 3 {
		list := []int{200 + 100*k}
		for range r.IntN(4) {
			list = append(list, 200+100*r.IntN(3))
		}
		p.lists = append(p.lists, list)
	}
	for k := range 3 {
		p.lists = append(p.lists, p.lists[k][:1])
	}
	for range 20 {
		p.drawn = append(p.drawn, r.IntN(3))
	}
	return p
}

// run is what a rank does.
func (p plan) run(t *testing.T, g *dist.Group) error {
	graphs, err := captureLists(g, p.lists)
	if err != nil {
		return err
	}
	over, err := p.replay(g, graphs)
	if over {
		return errors.Join(err, reset(graphs))
	}
	if errors.Is(p.want, dist.ErrTimeout) && g.Rank() != p.victim {
		if !patience.Until(t, func() bool { // the victim may still come further, which begins the time anew
			dist.Elapse(g)
			return g.Err() != nil
		}) {
			err = errors.Join(err, errors.New("nobody misses a rank"))
		}
	}
	if p.want != nil && err == nil && !patience.Until(t, func() bool { return g.Err() != nil }) {
		err = errors.Join(err, errors.New("the group has no error"))
	}
	_ = stream.Current(g.Device()).Synchronize(context.Background()) // it ends
	return errors.Join(err, g.Err(), reset(graphs))
}

// replay replays the graphs, and reports whether the rank has closed the group.
func (p plan) replay(g *dist.Group, graphs []*graph.Graph) (over bool, err error) {
	for i, k := range p.drawn {
		if errors.Is(p.want, dist.ErrTimeout) && i > p.at+waiting {
			break
		}
		if p.do != nil && i == p.at && g.Rank() == p.victim {
			err = p.do(g, p, graphs)
			if errors.Is(p.want, dist.ErrClosed) {
				return true, err
			}
			if errors.Is(p.want, dist.ErrTimeout) {
				break
			}
		}
		if err = errors.Join(err, graphs[k].Replay()); err != nil && g.Err() == nil {
			break // another rank closed the group in the middle of the graph; a shorter one is no counterpart
		}
	}
	return false, err
}

// TestReplaysAtRandom has ranks replay graphs as they like, and at some place one do something else than the
// others, or nothing: all are told, and whatever they wait for ends.
func TestReplaysAtRandom(t *testing.T) {
	copying(t, 512)
	seeds, most := *replaySeeds, 8
	if testing.Short() {
		seeds = min(seeds, 12)
	}
	if *kindName == "cuda" {
		seeds, most = min(seeds, 20), 2
	}
	for i := range seeds {
		seed := *firstSeed + i
		p := draw(seed, most)
		t.Run(fmt.Sprintf("seed %d, rank %d of %d, %s, %d queues, replay %d: %s", seed, p.victim, p.ranks, p.way, p.queues, p.at+1, p.name), p.test)
	}
}

// test has all ranks do their part, and looks whether all were told.
func (p plan) test(t *testing.T) {
	if *kindName != "cuda" {
		simulating(t, sim.Config{Devices: p.ranks, Async: true, Run: optest.OnCPU, Queues: p.queues})
	}
	errs := withOptions(t, accelerators(t, p.ranks), func(g *dist.Group) error { return p.run(t, g) }, ways[p.way]...)
	for rank, err := range errs[:p.ranks] {
		closes := errors.Is(p.want, dist.ErrClosed) && rank == p.victim // it is told if others have come further already
		if !errors.Is(err, p.want) && !(closes && err == nil) {
			t.Errorf("rank %d: %v; want %v", rank, err, p.want)
		}
	}
}

func reset(graphs []*graph.Graph) (err error) {
	for _, k := range graphs {
		err = errors.Join(err, k.Reset())
	}
	return err
}
