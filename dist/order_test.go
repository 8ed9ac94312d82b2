package dist_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

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
			[]string{"call 3 of the group: the ranks make different calls: rank 1 replays graph 1 with all-reduce(sum) of float32 [200], rank 0 makes barrier at once"}},
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

// TestReplayBesideFree has ranks capture other graphs that devices do not wait for beside those that they do wait
// for, and not as many: the latter are each other's counterparts.
func TestReplayBesideFree(t *testing.T) {
	copying(t, 512)
	errs := withOptions(t, accelerators(t, 2), func(g *dist.Group) error {
		x := tensor.Ones([]int{4}, tensor.On(g.Device()))
		var free []*graph.Graph
		for range 1 + g.Rank() {
			free = append(free, graph.New(g.Device()))
			if err := free[len(free)-1].Capture(func() error { return g.AllReduce(x, dist.Max).Wait(context.Background()) }); err != nil {
				return err
			}
		}
		graphs, err := captureLists(g, [][]int{{4, 200}, {300}})
		if err != nil {
			return err
		}
		last := free[len(free)-1]
		return errors.Join(last.Replay(), graphs[0].Replay(), graphs[1].Replay(), last.Replay(), graphs[0].Replay(),
			g.Barrier().Synchronize(context.Background()), reset(free), reset(graphs))
	}, dist.CapturedCopies())
	must(t, errors.Join(errs...))
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
// likes: where ranks do not wait for one another in a batch itself they are each other's counterparts, however
// large sums beside them travel.
func TestReplaysBesideCalls(t *testing.T) {
	copying(t, 512)
	for way, opts := range ways {
		t.Run(way, func(t *testing.T) {
			groups, err := dist.Local(accelerators(t, 2), append(opts, dist.Timeout(patience.Left(t)))...)
			must(t, err)
			errs := make([]error, 2)
			var all sync.WaitGroup
			for rank, g := range groups {
				all.Go(func() { errs[rank] = device.With(g.Device(), func() error { return besideCalls(t, g) }) })
			}
			all.Wait()
			must(t, errors.Join(errs...))
			if n := dist.Remembered(groups[0]); n != 0 {
				t.Errorf("%d replays and calls are remembered", n)
			}
			for _, g := range groups {
				must(t, g.Close())
			}
		})
	}
}

// besideCalls makes calls at once or by replays, and a sum from time to time that travels by copies.
func besideCalls(t *testing.T, g *dist.Group) error {
	const steps = 3000
	rank, on := g.Rank(), tensor.On(g.Device())
	x, y := tensor.Full([]int{4}, rank, tensor.OfType(tensor.Float32), on), tensor.Zeros([]int{4}, on)
	sum := func() error { return g.AllReduce(y, dist.Sum).Wait(context.Background()) }
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
		if rank == 1 && (i/7%3 == 0 || i > steps/2 && i < steps-10) || rank == 0 && i%100 == 0 {
			step = largest
		}
		if err := step(); err != nil {
			return err
		}
		if i%50 == 49 {
			if err := sum(); err != nil {
				return err
			}
		}
	}
	got, err := tensor.Data[float32](x)
	equal(t, "the largest", got, []float32{1, 1, 1, 1})
	return errors.Join(err, recorded.Reset(), g.Barrier().Synchronize(context.Background()))
}

// TestReplayOrCall has a rank replay what another one makes at once, and both go on: with sums that ranks wait for
// one another in, and with others in their place or in other batches, both are told.
func TestReplayOrCall(t *testing.T) {
	copying(t, 512)
	one := func(op dist.Op, n int) func(g *dist.Group) *dist.Work {
		return func(g *dist.Group) *dist.Work { return g.AllReduce(tensor.Ones([]int{n}, tensor.On(g.Device())), op) }
	}
	two := func(g *dist.Group) *dist.Work {
		x := tensor.Ones([]int{200}, tensor.On(g.Device()))
		return g.Batch(func(b *dist.Batch) {
			b.AllReduce(x, dist.Max)
			b.Broadcast(x, 0)
		})
	}
	for _, c := range []callOrReplay{
		{"a sum by copies", one(dist.Sum, 200), one(dist.Sum, 200), true,
			"rank 0 replays graph 1 with all-reduce(sum) of float32 [200], rank 1 makes all-reduce(sum) of float32 [200] at once: all ranks replay it, or none does"},
		{"another shape", one(dist.Max, 200), one(dist.Max, 300), false,
			"rank 0 replays graph 1 with all-reduce(max) of float32 [200], rank 1 makes all-reduce(max) of float32 [300] at once"},
		{"another batch", one(dist.Max, 200), two, false, "the first of 1 calls together there and of 2 here: batches are alike"},
	} {
		for way, opts := range ways {
			if c.copied && way == "engine" {
				continue
			}
			for first := range 2 { // who comes first
				if *kindName == "cuda" && first == 1 && !c.copied { // a group takes a while
					continue
				}
				t.Run(fmt.Sprintf("%s/%s/rank %d first", c.name, way, first), func(t *testing.T) { c.test(t, first, opts) })
			}
		}
	}
}

// A callOrReplay is calls that rank 0 captures and replays, and those that rank 1 makes at once then.
type callOrReplay struct {
	name             string
	captured, atOnce func(g *dist.Group) *dist.Work
	copied           bool // where sums travel by copies alone
	text             string
}

// test has both ranks do so, and go on, where one of them comes first.
func (c callOrReplay) test(t *testing.T, first int, opts []dist.Option) {
	come := make(chan struct{})
	errs := withOptions(t, accelerators(t, 2), func(g *dist.Group) error {
		recorded := graph.New(g.Device())
		err := recorded.Capture(func() error { return c.captured(g).Wait(context.Background()) })
		if err = errors.Join(err, g.Barrier().Synchronize(context.Background())); err != nil {
			return err
		}
		if g.Rank() == first {
			time.AfterFunc(5*time.Millisecond, func() { close(come) }) // a sum by copies does not return
		} else {
			<-come
		}
		if g.Rank() == 0 {
			_ = recorded.Replay()
		} else {
			_ = c.atOnce(g).Wait(context.Background())
		}
		err = g.Barrier().Wait(context.Background())
		if !patience.Until(t, func() bool { return g.Err() != nil }) {
			t.Error("the group has no error")
		}
		_ = stream.Current(g.Device()).Synchronize(context.Background())
		return errors.Join(err, g.Err(), recorded.Reset())
	}, opts...)
	wantErrors(t, errs[:2], dist.ErrMismatch, "call 2 of the group: the ranks make different calls: ", c.text)
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
	replay := func(c graph.Checker) error {
		if err := c.Check(); err != nil {
			return err
		}
		return c.Note()
	}
	for _, n := range []int{2, 8} {
		groups, err := dist.Local(accelerators(b, n), dist.CopyEngines(false))
		must(b, err)
		list := dist.Replays(groups)
		whole := func(b *testing.B) int { return (b.N + n - 1) / n * n }
		b.Run(fmt.Sprintf("in turn %d", n), func(b *testing.B) {
			b.ReportAllocs()
			for i := range whole(b) {
				if err := replay(list[i%n]); err != nil {
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
						if err := replay(c); err != nil {
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
