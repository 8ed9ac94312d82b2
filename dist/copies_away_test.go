package dist_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// An away driver keeps device 1's goroutine in one of its copies to another device, and sees what is taken of device 0 meanwhile.
type away struct {
	*sim.Driver
	arms   sync.Once
	armed  atomic.Bool
	in     chan struct{} // closed when it is in the driver
	back   chan struct{} // closed to let it come back
	broken atomic.Int64  // events and streams of device 0 that were destroyed meanwhile
}

func newAway() *away {
	return &away{Driver: sim.New(sim.Config{Devices: 2, Async: true, Run: optest.OnCPU}), in: make(chan struct{}), back: make(chan struct{})}
}

func (d *away) CopyPeer(dev int, s device.StreamID, dstDev int, dst, src uint64, n int64) error {
	if dev == 1 && d.armed.Load() {
		d.arms.Do(func() {
			close(d.in)
			<-d.back
		})
	}
	return d.Driver.CopyPeer(dev, s, dstDev, dst, src, n)
}

// away reports whether the goroutine is in the driver.
func (d *away) away() bool {
	select {
	case <-d.back:
		return false
	case <-d.in:
		return true
	default:
		return false
	}
}

func (d *away) DestroyEvent(dev int, e device.EventID) error {
	if dev == 0 && d.away() {
		d.broken.Add(1)
	}
	return d.Driver.DestroyEvent(dev, e)
}

func (d *away) DestroyStream(dev int, s device.StreamID) error {
	if dev == 0 && d.away() {
		d.broken.Add(1)
	}
	return d.Driver.DestroyStream(dev, s)
}

// TestCloseWhileARankIsInItsDriver has a rank give the group up and close it while the driver keeps another one in the midst of a
// call by copies: it does not wait until that one is back. What that one may still use stays until then, and goes back by
// itself, with the goroutine that waits for it.
func TestCloseWhileARankIsInItsDriver(t *testing.T) {
	for name, captured := range map[string]bool{"at once": false, "captured": true} {
		t.Run(name, func(t *testing.T) {
			onSimulated(t)
			before, err := device.DriverOf(device.KindSim)
			must(t, err)
			drv := newAway()
			device.Install(drv)
			defer device.Install(before)
			copying(t, 512)
			others := copiers() // what other tests left
			groups, err := dist.Local([]device.Device{device.Sim(0), device.Sim(1)}, dist.CapturedCopies(captured), dist.Timeout(patience.Left(t)))
			must(t, err)
			drv.armed.Store(true)
			var ends [2]chan error
			for rank, g := range groups {
				ends[rank] = make(chan error, 1)
				go func() { ends[rank] <- summed(g, captured) }()
			}
			<-drv.in
			why := errors.New("no more")
			groups[0].Abort(why)
			if err := <-ends[0]; !errors.Is(err, why) {
				t.Errorf("rank 0: %v", err)
			}
			closed := make(chan error, 1)
			go func() { closed <- groups[0].Close() }()
			if !patience.Until(t, func() bool { return len(closed) > 0 }) {
				t.Fatal("Close waits for rank 1")
			}
			if err := <-closed; err != nil {
				t.Errorf("Close: %v", err)
			}
			if held, broken := memory.Allocated(device.Sim(0)), drv.broken.Load(); held == 0 || broken > 0 {
				t.Errorf("%d bytes are held while rank 1 is in its driver, and %d events and streams were destroyed", held, broken)
			}
			close(drv.back)
			if err := <-ends[1]; !errors.Is(err, why) && (!captured || err != nil) { // what is captured fails as it is replayed
				t.Errorf("rank 1: %v", err)
			}
			_ = groups[1].Close() // says so again
			for d := range 2 {
				patience.Settle(t, func() int64 { return memory.Allocated(device.Sim(d)) }, 0)
				if held := memory.Allocated(device.Sim(d)); held > 0 {
					t.Errorf("%d bytes of device %d are left", held, d)
				}
			}
			if !patience.Until(t, func() bool { return copiers() <= others }) {
				t.Errorf("goroutines are left: %d, there were %d", copiers(), others)
			}
		})
	}
}

// copiers returns how many goroutines there are that groups began which copy.
func copiers() int {
	all := make([]byte, 1<<20)
	return strings.Count(string(all[:runtime.Stack(all, true)]), "created by github.com/sinter-go/sinter/runtime/collective/peer.")
}

// summed sums over ranks, in a graph or at once.
func summed(g *dist.Group, captured bool) error {
	return device.With(g.Device(), func() error {
		return tensor.Scope(func() error {
			x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
			sum := func() error { return g.AllReduce(x, dist.Sum).Wait(context.Background()) }
			if !captured {
				return sum()
			}
			recorded := graph.New(g.Device())
			return errors.Join(recorded.Capture(sum), recorded.Reset())
		})
	})
}
