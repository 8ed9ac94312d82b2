package dist_test

import (
	"context"
	"errors"
	"runtime"
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
// capture first, which does not close: the memory and the events of both ranks are given back.
func TestCapturedCopiesClose(t *testing.T) {
	onSimulated(t)
	copying(t, 512)
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	t.Cleanup(func() { device.Install(before) })
	drv := sim.New(sim.Config{Devices: 2, Async: true, Run: optest.OnCPU})
	device.Install(drv)
	devices := []device.Device{device.Sim(0), device.Sim(1)}
	var live [2]sim.Counters
	for round := range 3 { // the first one leaves streams and events that are used again
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
			must(t, errors.Join(recorded[rank].Reset(), memory.EmptyCache(devices[rank])))
			runtime.GC()
			now := drv.Counters(rank)
			if round == 0 {
				live[rank] = now
			}
			if was := live[rank]; round > 0 && (now.LiveBytes > was.LiveBytes || now.LiveEvents > was.LiveEvents || now.LiveStreams > was.LiveStreams) {
				t.Errorf("rank %d, round %d: %d bytes, %d events and %d streams are left, %d, %d and %d before", rank, round,
					now.LiveBytes, now.LiveEvents, now.LiveStreams, was.LiveBytes, was.LiveEvents, was.LiveStreams)
			}
		}
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
		if captured {
			want(0, "rank 0: group closed by rank 1")
		}
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
	errs := within(t, time.Second, devices, func(g *dist.Group) error {
		if g.Rank() == 2 {
			x := tensor.Ones([]int{3000}, tensor.On(g.Device()))
			for range calls / 2 {
				g.AllReduce(x, dist.Average)
			}
			runtime.Goexit()
		}
		return sums(g, calls)
	})
	wantErrors(t, errs[:2], dist.ErrTimeout, "rank 2", "all-reduce(average) of float32 [3000]")
	must(t, errors.Join(together(t, devices, func(g *dist.Group) error { return sums(g, calls) })...))
}
