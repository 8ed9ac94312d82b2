package dist_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestCapturedCopiesClose closes groups whose replays wait for a rank that gave up, in the midst of a
// capture first, which does not close: what both ranks have is given back. The devices have few queues,
// so that much of their work waits for the replay.
func TestCapturedCopiesClose(t *testing.T) {
	for i, queues := range []int{0, 1, 2, 5} {
		if testing.Short() && i%2 > 0 {
			continue
		}
		t.Run(fmt.Sprintf("%d queues", queues), func(t *testing.T) {
			drv := simulating(t, sim.Config{Devices: 2, Async: true, Run: optest.OnCPU, Queues: queues})
			copying(t, 512)
			var left [2][2]sim.Counters
			var host [2]int64
			for round := range 3 { // the first one leaves streams and events that are used again
				now := closedInWaits(t, drv)
				at := min(round, 1)
				left[at], host[at] = now, memory.PinnedStatsOf(device.KindSim).ActiveBytes.Current
				for rank, now := range now {
					was := left[0][rank]
					if now.LiveBytes > was.LiveBytes || now.LiveEvents > was.LiveEvents || now.LiveStreams > was.LiveStreams || host[at] > host[0] {
						t.Errorf("rank %d, round %d: %d bytes, %d of the host, %d events and %d streams are left; %d, %d, %d and %d before", rank, round,
							now.LiveBytes, host[at], now.LiveEvents, now.LiveStreams, was.LiveBytes, host[0], was.LiveEvents, was.LiveStreams)
					}
				}
			}
		})
	}
}

// closedInWaits has one rank replay and the other give up, closes the group, and returns what is left.
func closedInWaits(t *testing.T, drv *sim.Driver) (now [2]sim.Counters) {
	t.Helper()
	others := copiers()
	devices := []device.Device{device.Sim(0), device.Sim(1)}
	groups, err := dist.Local(devices, dist.CapturedCopies(), dist.Timeout(patience.Left(t)))
	must(t, err)
	x, recorded := captureBoth(t, groups)
	must(t, recorded[0].Replay()) // waits for rank 1
	why := errors.New("no more")
	groups[1].Abort(why)
	if err := groups[0].Err(); !errors.Is(err, why) {
		t.Errorf("the group fails with %v", err)
	}
	other := graph.New(devices[1])
	failed := other.Capture(func() error { return groups[1].Close() })
	if !errors.Is(failed, device.ErrCapturing) {
		t.Errorf("closing in the midst of a capture: %v", failed)
	}
	for rank, g := range groups {
		if err := g.Close(); err != nil && !errors.Is(err, why) {
			t.Errorf("rank %d closes with %v", rank, err)
		}
		x[rank].Release()
		must(t, recorded[rank].Reset())
	}
	if !patience.Until(t, func() bool { return copiers() <= others }) {
		t.Errorf("%d goroutines give back what ranks had, %d before", copiers(), others)
	}
	patience.Collect(t) // of works and graphs, whose events are used again then
	for rank, d := range devices {
		must(t, memory.EmptyCache(d))
		now[rank] = drv.Counters(rank)
	}
	return now
}

// TestCapturedCopiesCloseFirst closes a rank whose replays are over, while the other one made a replay
// more that writes to both: both are told, and the memory stays until that one is over.
func TestCapturedCopiesCloseFirst(t *testing.T) {
	simulating(t, sim.Config{Devices: 2, Async: true, Run: optest.OnCPU, Queues: 1})
	copying(t, 512)
	groups, err := dist.Local([]device.Device{device.Sim(0), device.Sim(1)}, dist.CapturedCopies(), dist.Timeout(patience.Left(t)))
	must(t, err)
	x, recorded := captureBoth(t, groups)
	defer x[0].Release()
	defer x[1].Release()
	for rank := range groups {
		must(t, recorded[rank].Replay())
	}
	must(t, recorded[1].Replay())
	boxes := memory.Allocated(device.Sim(0))
	wantErrors(t, []error{groups[0].Close()}, dist.ErrClosed, "call 2 of the group, of graph 1 with all-reduce(sum) of float32 [3000], which rank 1 replays", "by rank 0")
	if now := memory.Allocated(device.Sim(0)); now != boxes {
		t.Errorf("%d bytes of rank 0 are allocated once it is closed, %d before: a replay of rank 1 writes to them", now, boxes)
	}
	contains(t, groups[1].Err(), "rank 1: call 2 of the group")
	must(t, groups[1].Close()) // the replay ends without anybody's help
	if !patience.Until(t, func() bool { return memory.Allocated(device.Sim(0)) < boxes }) {
		t.Errorf("%d bytes of rank 0 are allocated once both are closed, %d before", memory.Allocated(device.Sim(0)), boxes)
	}
	for rank := range groups {
		must(t, recorded[rank].Reset())
	}
}

// TestReplaysAfterClose replays what was captured of a group after one rank closed it, and after both: both
// are told, as the memory that replays reach is given back.
func TestReplaysAfterClose(t *testing.T) {
	onSimulated(t)
	copying(t, 512)
	for _, captured := range []bool{true, false} {
		groups, err := dist.Local([]device.Device{device.Sim(0), device.Sim(1)}, dist.CapturedCopies(captured))
		must(t, err)
		x, recorded := captureBoth(t, groups)
		must(t, groups[1].Close())
		want := func(rank int, text string) {
			t.Helper()
			if err := recorded[rank].Replay(); !errors.Is(err, dist.ErrClosed) || err.Error() != "graph: replay: dist: "+text {
				t.Errorf("a replay of rank %d: %v; want %q", rank, err, text)
			}
		}
		want(1, "rank 1: group closed by this rank")
		want(0, "rank 0: call 1 of the group, of graph 1 with all-reduce(sum) of float32 [3000]: group closed by rank 1")
		must(t, groups[0].Close())
		want(0, "rank 0: group closed by this rank")
		for rank := range groups {
			must(t, recorded[rank].Reset())
			x[rank].Release()
		}
	}
}

// captureBoth has both ranks capture the same sum.
func captureBoth(t testing.TB, groups []*dist.Group) (x [2]T, recorded [2]*graph.Graph) {
	t.Helper()
	errs := make(chan error, len(groups))
	for rank, g := range groups {
		x[rank], recorded[rank] = tensor.Ones([]int{3000}, tensor.On(g.Device())), graph.New(g.Device())
		go func() {
			errs <- device.With(g.Device(), func() error {
				return recorded[rank].Capture(func() error { return g.AllReduce(x[rank], dist.Sum).Wait(context.Background()) })
			})
		}()
	}
	for range groups {
		must(t, <-errs)
	}
	return x, recorded
}

// TestCopiesOfGoneRank has a rank's goroutine end while others copy, without a word: they are told
// which one does not come, and the devices serve a new group.
func TestCopiesOfGoneRank(t *testing.T) {
	copying(t, 512)
	devices := accelerators(t, 3)
	const calls = 20
	sums := func(g *dist.Group, n int) error {
		x := tensor.Ones([]int{3000}, tensor.On(g.Device()))
		for range n {
			if err := g.AllReduce(x, dist.Average).Wait(context.Background()); err != nil {
				return err
			}
		}
		return g.Barrier().Synchronize(context.Background())
	}
	told := false
	for timeout := 20 * time.Millisecond; !told && timeout < patience.Left(t); timeout *= 2 { // a short one ends calls that rank 2 would come to
		errs := within(t, timeout, devices, func(g *dist.Group) error {
			if g.Rank() == 2 {
				x := tensor.Ones([]int{3000}, tensor.On(g.Device()))
				for range calls / 2 {
					g.AllReduce(x, dist.Average)
				}
				runtime.Goexit()
			}
			return sums(g, calls)
		})
		wantErrors(t, errs[:2], dist.ErrTimeout, "all-reduce(average) of float32 [3000]", fmt.Sprintf("waited %v", timeout)) // for others, or for devices where that time is short
		told = strings.Contains(errs[0].Error(), fmt.Sprintf(", batch %d by copies", calls/2+1)) && strings.Contains(errs[0].Error(), " 2: timeout")
	}
	if !told {
		t.Error("rank 2 is not named")
	}
	must(t, errors.Join(together(t, devices, func(g *dist.Group) error { return sums(g, calls) })...))
}
