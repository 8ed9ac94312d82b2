package dist_test

import (
	"context"
	"errors"
	"runtime"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestGroupsLeaveNothing makes and closes many groups, some of which fail: streams, memory
// and goroutines are then as after the first. Events go back to their pool with the collector.
func TestGroupsLeaveNothing(t *testing.T) {
	onSimulated(t)
	drv := sim.New(sim.Config{Devices: 2, Async: true})
	device.Install(drv)
	defer device.Install(sim.New(sim.Config{Devices: simulated, Async: true}))
	lost := errors.New("lost")
	rounds := 10000
	if testing.Short() {
		rounds = 500
	}
	round := func(i int) {
		err := dist.Run([]device.Device{device.Sim(0), device.Sim(1)}, func(g *dist.Group) error {
			x := tensor.Ones([]int{4}, tensor.On(g.Device()))
			defer x.Release()
			if i%5 == 4 && g.Rank() == 1 {
				return lost
			}
			return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
		}, dist.Timeout(patience.Left(t)))
		if (i%5 == 4) != errors.Is(err, lost) {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	held := func() [2][2]int64 {
		var out [2][2]int64
		for d := range out {
			c := drv.Counters(d)
			out[d] = [2]int64{c.LiveStreams, memory.Allocated(device.Sim(d))}
		}
		return out
	}
	for i := range 10 {
		round(i)
	}
	runtime.GC()
	before, goroutines := held(), runtime.NumGoroutine()
	for i := range rounds {
		round(i)
	}
	if !patience.Until(t, func() bool {
		runtime.GC()
		for d, now := range held() {
			for k := range now {
				if now[k] > before[d][k] {
					return false
				}
			}
		}
		return runtime.NumGoroutine() <= goroutines
	}) {
		t.Errorf("streams and bytes by device: %v, before %v; goroutines: %d, before %d", held(), before, runtime.NumGoroutine(), goroutines)
	}
}

// TestCaptured records a collective call in a graph on every rank, and replays it.
func TestCaptured(t *testing.T) {
	must(t, errors.Join(together(t, accelerators(t, 2), func(g *dist.Group) error {
		x := tensor.Ones([]int{4}, tensor.On(g.Device()))
		if err := g.Barrier().Synchronize(context.Background()); err != nil {
			return err
		}
		recorded := graph.New(g.Device())
		defer recorded.Reset()
		err := recorded.Capture(func() error {
			if err := g.AllReduce(x, dist.Sum).Wait(context.Background()); err != nil {
				return err
			}
			return x.MulScalarInPlace(2)
		})
		if err != nil {
			return err
		}
		for range 3 {
			if err := recorded.Replay(); err != nil {
				return err
			}
		}
		equal(t, "after three replays", data[float32](t, x), []float32{64, 64, 64, 64})
		return nil
	})...))
}
