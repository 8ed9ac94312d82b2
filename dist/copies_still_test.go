package dist_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestCopiesUnderWayAtClose has a rank close a group that failed while the other one's device has yet to copy to its
// memory: that stays until it did, and goes back by itself.
func TestCopiesUnderWayAtClose(t *testing.T) {
	drv := simulating(t, sim.Config{Devices: 2, Async: true})
	copying(t, 1<<16)
	devices := []device.Device{device.Sim(0), device.Sim(1)}
	groups, err := dist.Local(devices, dist.Timeout(patience.Left(t)))
	must(t, err)
	held := func() int64 { return memory.Allocated(devices[0]) }
	before := held()
	both := func(f func(g *dist.Group) error) (errs [2]error) {
		var all sync.WaitGroup
		for rank, g := range groups {
			all.Go(func() {
				errs[rank] = device.With(g.Device(), func() error { return tensor.Scope(func() error { return f(g) }) })
			})
		}
		all.Wait()
		return errs
	}
	sum := func(g *dist.Group) error {
		return g.AllReduce(tensor.Ones([]int{1 << 14}, tensor.On(g.Device())), dist.Sum).Wait(context.Background())
	}
	errs := both(sum)
	must(t, errors.Join(errs[:]...))
	must(t, drv.SyncDevice(t.Context(), 1))
	release, err := drv.Hold(1, stream.Current(devices[1]).ID()) // and with it what sends its elements
	must(t, err)
	defer release()
	broken := errors.New("broken")
	must(t, drv.Fail(0, sim.FaultCopy, 1, broken))
	for rank, err := range both(sum) {
		if !errors.Is(err, broken) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
	least := held() // with what the failed call was lent
	if err := groups[0].Close(); err != nil || held() < least || least <= before {
		t.Errorf("Close: %v; %d bytes are held, %d before it, %d at first", err, held(), least, before)
	}
	release()
	if !patience.Until(t, func() bool { return held() <= before }) {
		t.Errorf("%d bytes are held, %d before", held(), before)
	}
	for rank, g := range groups {
		if err := g.Close(); err != nil && !errors.Is(err, broken) {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}
