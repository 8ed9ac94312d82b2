package dist_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// A dawdling driver takes its time before a device waits for another one, in which that one is given more.
type dawdling struct{ *sim.Driver }

func (d dawdling) WaitEvent(dev int, s device.StreamID, eventDev int, e device.EventID) error {
	if dev != eventDev {
		time.Sleep(time.Millisecond)
	}
	return d.Driver.WaitEvent(dev, s, eventDev, e)
}

// backlogged gives the test devices whose streams take so many pieces of work, until it ends.
func backlogged(t *testing.T, most int, drv func(*sim.Driver) device.Driver) {
	t.Helper()
	onSimulated(t)
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	device.Install(drv(sim.New(sim.Config{Devices: 2, Async: true, Run: optest.OnCPU, Backlog: most})))
	t.Cleanup(func() { device.Install(before) })
}

// TestAheadOfCopies has a rank go on behind a sum that travels by copies, by calls and by replays that the other rank is to
// come to, until its device takes no more: the other one, which waits for events of that device, goes on.
func TestAheadOfCopies(t *testing.T) {
	for _, name := range []string{"calls", "replays"} {
		t.Run(name, func(t *testing.T) {
			backlogged(t, 24, func(d *sim.Driver) device.Driver { return dawdling{d} })
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

// TestAheadOfGroups has a rank go on in one group or in several in turn, by replays or by calls, while the other one touches
// the first one's device: that rank does not come so far that its device takes no more.
func TestAheadOfGroups(t *testing.T) {
	for _, c := range []struct {
		groups, backlog int
		again           func(g *dist.Group, x T, recorded *graph.Graph) error
	}{
		{1, 24, byReplay},
		{2, 24, byReplay},
		{12, 24, byReplay},
		{1, 200, byCall},
		{3, 200, byCall},
	} {
		t.Run(fmt.Sprintf("%d of a backlog of %d", c.groups, c.backlog), func(t *testing.T) {
			backlogged(t, c.backlog, func(d *sim.Driver) device.Driver { return d })
			devices := accelerators(t, 2)
			var ends [2][]*dist.Group // by rank
			for range c.groups {
				groups, err := dist.Local(devices, dist.CopyEngines(false), dist.Timeout(patience.Left(t)))
				must(t, err)
				for rank, g := range groups {
					ends[rank] = append(ends[rank], g)
				}
			}
			began := make(chan struct{})
			var errs [2]error
			var all sync.WaitGroup
			for rank, groups := range ends {
				all.Go(func() {
					errs[rank] = device.With(devices[rank], func() error { return inTurn(groups, c.again, began, devices[0]) })
				})
			}
			all.Wait()
			must(t, errors.Join(errs[:]...))
			for _, groups := range ends {
				for _, g := range groups {
					must(t, g.Close())
				}
			}
		})
	}
}

func byReplay(_ *dist.Group, _ T, recorded *graph.Graph) error { return recorded.Replay() }

func byCall(g *dist.Group, x T, _ *graph.Graph) error {
	return g.AllReduce(x, dist.Max).Wait(context.Background())
}

// inTurn makes a call of each group again and again. Rank 1 comes late, and touches the other one's device before.
func inTurn(groups []*dist.Group, again func(*dist.Group, T, *graph.Graph) error, began chan struct{}, other device.Device) error {
	xs, list := make([]T, len(groups)), make([]*graph.Graph, len(groups))
	var err error
	for k, g := range groups {
		xs[k], list[k] = tensor.Ones([]int{4}, tensor.On(g.Device())), graph.New(g.Device())
		err = errors.Join(err, list[k].Capture(func() error { return g.AllReduce(xs[k], dist.Max).Wait(context.Background()) }))
	}
	rank := groups[0].Rank()
	for i := 0; i < 300 && err == nil; i++ {
		if rank == 1 && i == 0 {
			<-began
			time.Sleep(10 * time.Millisecond) // for the other one to come as far as it does
			err = stream.Current(groups[0].Device()).WaitStream(stream.New(other, 0))
		}
		for k, g := range groups {
			err = errors.Join(err, again(g, xs[k], list[k]))
			if rank == 0 && i+k == 0 {
				close(began)
			}
		}
	}
	for k, g := range groups {
		err = errors.Join(err, g.Barrier().Synchronize(context.Background()), list[k].Reset())
	}
	return err
}
