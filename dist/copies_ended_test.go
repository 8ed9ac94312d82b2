package dist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestCopiesEnd has a rank held up as it gives its device the last of a call that the other one is done with: that
// one waits until the group is given up, and learns why. What it lent the call stays until no device
// is at it any more.
func TestCopiesEnd(t *testing.T) {
	why := errors.New("no more")
	for name, by := range map[string]int{"by itself": 0, "by the other": 1} {
		t.Run(name, func(t *testing.T) {
			onSimulated(t)
			drv := &halting{Driver: sim.New(sim.Config{Devices: 2, Async: true}), halted: make(chan struct{}), goOn: make(chan struct{})}
			before, err := device.DriverOf(device.KindSim)
			must(t, err)
			device.Install(drv)
			defer device.Install(before)
			copying(t, 4096)
			drv.at = 4 // for room, for elements, for a sum; the last one is for what is given
			groups, err := dist.Local([]device.Device{device.Sim(0), device.Sim(1)}, dist.Timeout(patience.Left(t)))
			must(t, err)
			var ends [2]chan error
			for rank, g := range groups {
				ends[rank] = make(chan error, 1)
				go func() {
					ends[rank] <- tensor.Scope(func() error {
						x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
						return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
					})
				}()
			}
			<-drv.halted
			groups[by].Abort(why)
			if !patience.Until(t, func() bool { return len(ends[0]) > 0 }) {
				t.Fatal("rank 0 waits on")
			}
			wantErrors(t, []error{<-ends[0]}, why, fmt.Sprintf("rank %d gave up", by))
			held := memory.Allocated(device.Sim(0))
			time.Sleep(5 * time.Millisecond) // for memory that is given back to show
			if now := memory.Allocated(device.Sim(0)); now < held || now < 4000 {
				t.Errorf("%d bytes are allocated, %d at first, while rank 1 is at them", now, held)
			}
			close(drv.goOn)
			if err := <-ends[1]; !errors.Is(err, why) {
				t.Errorf("rank 1: %v", err)
			}
			for _, g := range groups {
				_ = g.Close() // says so again
			}
			if !patience.Until(t, func() bool { return memory.Allocated(device.Sim(0)) == 0 }) {
				t.Errorf("%d bytes are left", memory.Allocated(device.Sim(0)))
			}
		})
	}
}
