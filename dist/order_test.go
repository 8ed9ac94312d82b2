package dist_test

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/allocations"
	"github.com/sinter-go/sinter/tests/patience"
)

var replaySeeds = flag.Uint64("replayseeds", 60, "random orders of replays")

// ways are how captured sums travel.
var ways = map[string][]dist.Option{
	"copies":            {dist.CapturedCopies()},
	"uncaptured copies": nil,
	"engine":            {dist.CopyEngines(false)},
}

// captureSums has a rank capture a graph of each number of elements, with a sum of a tensor of so many.
func captureSums(g *dist.Group, sizes ...int) ([]*graph.Graph, error) {
	var lists [][]int
	for _, n := range sizes {
		lists = append(lists, []int{n})
	}
	return captureLists(g, lists)
}

// captureLists has a rank capture a graph of each list, with a sum of a tensor of each number of elements.
func captureLists(g *dist.Group, lists [][]int) (graphs []*graph.Graph, err error) {
	for _, sizes := range lists {
		var x []tensor.Tensor
		for _, n := range sizes {
			x = append(x, tensor.Ones([]int{n}, tensor.On(g.Device())))
		}
		recorded := graph.New(g.Device())
		graphs = append(graphs, recorded)
		err = errors.Join(err, recorded.Capture(func() (err error) {
			for _, x := range x {
				err = errors.Join(err, g.AllReduce(x, dist.Sum).Wait(context.Background()))
			}
			return err
		}))
	}
	return graphs, errors.Join(err, g.Barrier().Synchronize(context.Background()))
}

const barrier = -1 // in place of the number of a graph

// replayOtherwise has a rank replay graphs in an order which is not that of the other one, and frees them.
func replayOtherwise(t *testing.T, g *dist.Group, graphs []*graph.Graph, order []int) (err error) {
	for _, k := range order {
		if k == barrier {
			g.Barrier()
		} else {
			_ = graphs[k].Replay() // the error is the group's
		}
	}
	if !patience.Until(t, func() bool { return g.Err() != nil }) {
		return errors.New("the group has no error")
	}
	_ = stream.Current(g.Device()).Synchronize(context.Background()) // it ends
	for _, k := range graphs {
		if again := k.Replay(); !errors.Is(again, dist.ErrMismatch) {
			t.Errorf("another replay of rank %d: %v", g.Rank(), again)
		}
		err = errors.Join(err, k.Reset())
	}
	return errors.Join(err, g.Err())
}

// TestReplayOrder has ranks replay graphs in other orders, or as often with other calls between: all are told
// what differs, replays that wait end, and a group that is made again serves.
func TestReplayOrder(t *testing.T) {
	copying(t, 512)
	cases := []struct {
		name  string
		sizes []int
		order [2][]int // by rank
		bound bool     // no error but where graphs are bound
		texts []string
	}{
		{"others", []int{200, 300}, [2][]int{{0, 1}, {1, 0}}, false, []string{"call 2 of the group: the ranks make different calls",
			"graph 1 with all-reduce(sum) of float32 [200]", "graph 2 with all-reduce(sum) of float32 [300]"}},
		{"the second", []int{200, 300}, [2][]int{{0, 0}, {0, 1}}, false, []string{"call 3 of the group: the ranks make different calls"}},
		{"alike", []int{200, 200}, [2][]int{{0, 1}, {1, 0}}, true, []string{"call 2 of the group: the ranks make different calls",
			"graph 1 with all-reduce(sum) of float32 [200]", "graph 2 with all-reduce(sum) of float32 [200]"}},
		{"calls between", []int{200}, [2][]int{{0, barrier, 0}, {0, 0, barrier}}, true,
			[]string{"call 3 of the group: the ranks make different calls: rank 1 replays graph 1 with all-reduce(sum) of float32 [200], rank 0 makes another call"}},
	}
	for way, opts := range ways {
		for _, c := range cases {
			t.Run(way+"/"+c.name, func(t *testing.T) {
				if c.bound && way != "copies" {
					t.Skip("other graphs with such calls are each other's counterparts")
				}
				devices := accelerators(t, 2)
				errs := withOptions(t, devices, func(g *dist.Group) error {
					graphs, err := captureSums(g, c.sizes...)
					if err != nil {
						return err
					}
					return replayOtherwise(t, g, graphs, c.order[g.Rank()])
				}, opts...)
				wantErrors(t, errs[:2], dist.ErrMismatch, append(c.texts, "rank 0", "rank 1")...)
				if *kindName == "cuda" && c.name != "others" { // a group takes a while
					return
				}
				must(t, errors.Join(withOptions(t, devices, func(g *dist.Group) error {
					graphs, err := captureSums(g, c.sizes...)
					for _, k := range graphs {
						err = errors.Join(err, k.Replay(), k.Replay(), k.Reset())
					}
					return errors.Join(err, g.Barrier().Synchronize(context.Background()))
				}, opts...)...))
			})
		}
	}
}

// TestReplayWhileOtherCloses has a rank make the replay that one which is being closed waits for: it is made,
// and the one after it is not.
func TestReplayWhileOtherCloses(t *testing.T) {
	copying(t, 512)
	groups, err := dist.Local(accelerators(t, 2), dist.CapturedCopies(), dist.Timeout(patience.Left(t)))
	must(t, err)
	x, recorded := captureBoth(t, groups)
	must(t, recorded[0].Replay())
	closed := make(chan error, 1)
	go func() { closed <- groups[0].Close() }()
	patience.Until(t, func() bool { return dist.HasLeft(groups[0]) })
	must(t, recorded[1].Replay())
	wantErrors(t, []error{recorded[1].Replay()}, dist.ErrClosed, "call 2 of the group", "by rank 0")
	equal(t, "the sum", data[float32](t, x[1].Narrow(0, 2999, 1)), []float32{2})
	must(t, errors.Join(<-closed, groups[1].Close()))
	for rank := range groups {
		must(t, recorded[rank].Reset())
		x[rank].Release()
	}
}

// TestReplayAlone has a rank not replay what another one does: both are told who did not come.
func TestReplayAlone(t *testing.T) {
	copying(t, 512)
	for way, opts := range ways {
		t.Run(way, func(t *testing.T) {
			errs, captured := make([]error, 2), make(chan bool)
			err := dist.Run(accelerators(t, 2), func(g *dist.Group) error {
				graphs, err := captureSums(g, 200)
				if err == nil && g.Rank() == 0 {
					err = graphs[0].Replay()
				}
				if err != nil {
					return err
				}
				if g.Rank() == 1 {
					close(captured)
				} else {
					<-captured
					dist.Elapse(g)
				}
				if !patience.Until(t, func() bool { return g.Err() != nil }) {
					t.Error("the group has no error")
				}
				_ = stream.Current(g.Device()).Synchronize(context.Background())
				errs[g.Rank()] = g.Err()
				return graphs[0].Reset()
			}, append(opts, dist.Timeout(patience.Left(t)))...)
			_ = err // closing says so again
			wantErrors(t, errs, dist.ErrTimeout, "call 2 of the group, of graph 1 with all-reduce(sum) of float32 [200]: rank 0 waited ", "rank 1 did not come")
		})
	}
}

// TestReplaysOfParts replays graphs of groups that are split off, in other orders in one of them: the ranks
// of that one are told, and the other one serves on.
func TestReplaysOfParts(t *testing.T) {
	copying(t, 512)
	var left sync.WaitGroup // the ranks that the others of their part are to see
	left.Add(2)
	errs := withOptions(t, accelerators(t, 4), func(g *dist.Group) error {
		part, err := g.Split(g.Rank()/2, 0)
		if err != nil {
			return err
		}
		graphs, err := captureSums(part, 200, 300)
		if err != nil {
			return err
		}
		first := 0
		if g.Rank() == 3 {
			first = 1
		}
		err = errors.Join(graphs[first].Replay(), graphs[1-first].Replay())
		if g.Rank() >= 2 {
			if !patience.Until(t, func() bool { return part.Err() != nil }) {
				t.Error("the part has no error")
			}
			wantErrors(t, []error{part.Err()}, dist.ErrMismatch, "call 2 of the group")
			err = nil
			left.Done()
		}
		left.Wait()
		_ = stream.Current(g.Device()).Synchronize(context.Background())
		for _, k := range graphs {
			err = errors.Join(err, k.Reset())
		}
		_ = part.Close() // a part that failed says so again
		return err
	})
	must(t, errors.Join(errs...))
}

// TestReplaysBesideCalls has a rank make calls at once that another one replays, and capture them again when it
// likes: where devices do not wait for the graphs themselves they are each other's counterparts.
func TestReplaysBesideCalls(t *testing.T) {
	groups, err := dist.Local(accelerators(t, 2), dist.CopyEngines(false), dist.Timeout(patience.Left(t)))
	must(t, err)
	const steps = 3000
	errs := make([]error, 2)
	var all sync.WaitGroup
	for rank, g := range groups {
		all.Go(func() {
			errs[rank] = device.With(g.Device(), func() error {
				x := tensor.Full([]int{4}, rank, tensor.OfType(tensor.Float32), tensor.On(g.Device()))
				largest := func() error {
					return errors.Join(g.AllReduce(x, dist.Max).Wait(context.Background()), g.Broadcast(x, 1).Wait(context.Background()))
				}
				recorded := graph.New(g.Device())
				for i := range steps {
					if rank == 1 && i%1000 == 999 {
						if err := recorded.Reset(); err != nil {
							return err
						}
					}
					if recorded.Nodes() == 0 {
						if err := recorded.Capture(largest); err != nil {
							return err
						}
					}
					step := recorded.Replay
					if rank == 1 && (i/7%3 == 0 || i > steps/2 && i < steps-10) {
						step = largest
					}
					if err := step(); err != nil {
						return err
					}
				}
				got, err := tensor.Data[float32](x)
				equal(t, "the largest", got, []float32{1, 1, 1, 1})
				return errors.Join(err, recorded.Reset())
			})
		})
	}
	all.Wait()
	must(t, errors.Join(errs...))
	if n := dist.Remembered(groups[0]); n > 1100 {
		t.Errorf("%d replays are remembered", n)
	}
	for _, g := range groups {
		must(t, g.Close())
	}
}

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
const waiting = 6

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
	for allocations.RaceDetector && p.way == "copies" { // it sees that copies whose waits were ended come at the same time
		p.fate = replayFates[r.IntN(len(replayFates))]
	}
	p.victim = r.IntN(p.ranks)
	if p.way == "" {
		p.way = []string{"copies", "copies", "engine"}[r.IntN(3)]
	}
	if allocations.RaceDetector {
		p.way = "engine"
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
	for i, k := range p.drawn {
		if errors.Is(p.want, dist.ErrTimeout) && i > p.at+waiting {
			break
		}
		if p.do != nil && i == p.at && g.Rank() == p.victim {
			err = p.do(g, p, graphs)
			if errors.Is(p.want, dist.ErrClosed) {
				return errors.Join(err, reset(graphs))
			}
			if errors.Is(p.want, dist.ErrTimeout) {
				break
			}
		}
		if err = errors.Join(err, graphs[k].Replay()); err != nil && g.Err() == nil {
			break // another rank closed the group in the middle of the graph; a shorter one is no counterpart
		}
	}
	if errors.Is(p.want, dist.ErrTimeout) && g.Rank() != p.victim {
		dist.Elapse(g)
		if g.Err() == nil {
			err = errors.Join(err, errors.New("nobody misses a rank"))
		}
	}
	if p.want != nil && err == nil && !patience.Until(t, func() bool { return g.Err() != nil }) {
		err = errors.Join(err, errors.New("the group has no error"))
	}
	_ = stream.Current(g.Device()).Synchronize(context.Background()) // it ends
	return errors.Join(err, g.Err(), reset(graphs))
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
	for seed := range seeds {
		p := draw(seed, most)
		t.Run(fmt.Sprintf("seed %d, rank %d of %d, %s, %d queues, replay %d: %s", seed, p.victim, p.ranks, p.way, p.queues, p.at+1, p.name), func(t *testing.T) {
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
		})
	}
}

func reset(graphs []*graph.Graph) (err error) {
	for _, k := range graphs {
		err = errors.Join(err, k.Reset())
	}
	return err
}

// TestReplaysAreForgotten makes replays that other ranks make later, and then they do: nothing of them stays.
func TestReplaysAreForgotten(t *testing.T) {
	groups, err := dist.Local(accelerators(t, 2), dist.CopyEngines(false))
	must(t, err)
	list := dist.Replays(groups)
	for round := range 3 {
		for i := range 1000 {
			must(t, dist.NoteReplay(list[(round+i/500)%2]))
			must(t, dist.NoteReplay(list[(round+i/500)%2]))
		}
		if n := dist.Remembered(groups[0]); n != 0 {
			t.Errorf("%d replays are remembered", n)
		}
	}
	for _, g := range groups {
		must(t, g.Close())
	}
}

// BenchmarkReplayOrder is what a replay costs more, of a group of one process: by one goroutine for all ranks,
// and by one for each.
func BenchmarkReplayOrder(b *testing.B) {
	for _, n := range []int{2, 8} {
		groups, err := dist.Local(accelerators(b, n), dist.CopyEngines(false))
		must(b, err)
		list := dist.Replays(groups)
		whole := func(b *testing.B) int { return (b.N + n - 1) / n * n }
		b.Run(fmt.Sprintf("in turn %d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range whole(b) {
				if err := dist.NoteReplay(list[i%n]); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("whether the group is of use %d", n), func(b *testing.B) { // which is asked as well
			for i := range whole(b) {
				if err := groups[i%n].Err(); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("at once %d", n), func(b *testing.B) {
			b.ReportAllocs()
			var all sync.WaitGroup
			for _, c := range list {
				all.Go(func() {
					for range whole(b) / n {
						if err := dist.NoteReplay(c); err != nil {
							b.Error(err)
						}
					}
				})
			}
			all.Wait()
		})
		for _, g := range groups {
			must(b, g.Close())
		}
	}
}
