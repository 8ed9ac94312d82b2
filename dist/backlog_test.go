package dist_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A dawdling driver takes its time before a device waits for another one, in which that one is given more.
type dawdling struct{ *sim.Driver }

func (d dawdling) WaitEvent(dev int, s device.StreamID, eventDev int, e device.EventID) error {
	if dev != eventDev {
		time.Sleep(time.Millisecond)
	}
	return d.Driver.WaitEvent(dev, s, eventDev, e)
}

// backlogged gives the test devices whose streams take few pieces of work, until it ends.
func backlogged(t *testing.T, drv func(*sim.Driver) device.Driver) {
	t.Helper()
	onSimulated(t)
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	device.Install(drv(sim.New(sim.Config{Devices: 2, Async: true, Run: optest.OnCPU, Backlog: 24})))
	t.Cleanup(func() { device.Install(before) })
}

// TestAheadOfCopies has a rank go on behind a sum that travels by copies, by calls and by replays that the other rank is to
// come to, until its device takes no more: the other one, which waits for events of that device, goes on.
func TestAheadOfCopies(t *testing.T) {
	for _, name := range []string{"calls", "replays"} {
		t.Run(name, func(t *testing.T) {
			backlogged(t, func(d *sim.Driver) device.Driver { return dawdling{d} })
			copying(t, 512)
			must(t, errors.Join(withOptions(t, accelerators(t, 2), func(g *dist.Group) error {
				x, y := tensor.Ones([]int{4}, tensor.On(g.Device())), tensor.Ones([]int{400}, tensor.On(g.Device()))
				largest := func() error { return g.AllReduce(x, dist.Max).Wait(context.Background()) }
				recorded := graph.New(g.Device())
				err := recorded.Capture(largest)
				again := largest
				if name == "replays" {
					again = recorded.Replay
				}
				for range 4 {
					err = errors.Join(err, g.AllReduce(y, dist.Sum).Wait(context.Background()))
					for i := 0; i < 40 && err == nil; i++ {
						err = again()
					}
				}
				return errors.Join(err, g.Barrier().Synchronize(context.Background()), recorded.Reset())
			})...))
		})
	}
}

// TestAheadInReplays has a rank replay calls of the group again and again while the other one touches the first one's
// device: that rank does not come so far that its device takes no more.
func TestAheadInReplays(t *testing.T) {
	backlogged(t, func(d *sim.Driver) device.Driver { return d })
	devices := accelerators(t, 2)
	began := make(chan struct{})
	must(t, errors.Join(withOptions(t, devices, func(g *dist.Group) error {
		x, beside := tensor.Ones([]int{4}, tensor.On(g.Device())), stream.New(devices[0], 0)
		recorded := graph.New(g.Device())
		err := recorded.Capture(func() error { return g.AllReduce(x, dist.Max).Wait(context.Background()) })
		for i := 0; i < 100 && err == nil; i++ {
			if g.Rank() == 1 && i == 0 {
				<-began
				time.Sleep(10 * time.Millisecond) // for the other one to come as far as it does
				err = stream.Current(g.Device()).WaitStream(beside)
			}
			err = errors.Join(err, recorded.Replay())
			if g.Rank() == 0 && i == 0 {
				close(began)
			}
		}
		return errors.Join(err, g.Barrier().Synchronize(context.Background()), recorded.Reset())
	}, dist.CopyEngines(false))...))
}
