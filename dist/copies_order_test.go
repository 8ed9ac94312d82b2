package dist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/optest"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
)

// TestCapturedCopiesInAnyOrder replays batches that were captured one behind the other, and waited
// for later, on devices that do recorded work in any order that is one of its, and all of their work
// in one queue, in two, or in as many as there are streams: no rank waits for one that waits for it,
// and sums are right.
func TestCapturedCopiesInAnyOrder(t *testing.T) {
	for queues := range 3 {
		t.Run(fmt.Sprintf("%d queues", queues), func(t *testing.T) {
			simulating(t, sim.Config{Devices: 3, Async: true, Run: optest.OnCPU, AnyOrder: true, Queues: queues})
			inAnyOrders(t)
		})
	}
}

// simulating installs simulated devices until the test ends.
func simulating(t testing.TB, c sim.Config) *sim.Driver {
	t.Helper()
	onSimulated(t)
	before, err := device.DriverOf(device.KindSim)
	must(t, err)
	t.Cleanup(func() { device.Install(before) })
	drv := sim.New(c)
	device.Install(drv)
	return drv
}

func inAnyOrders(t *testing.T) {
	copying(t, 512)
	replays := 200
	if testing.Short() {
		replays = 6
	}
	for _, n := range []int{2, 3} {
		for _, apart := range []int{1, 2, 3, 7} { // batches that are under way at once
			for name, gathers := range mixtures {
				t.Run(fmt.Sprintf("%d ranks, %d batches at once, %s", n, apart, name), func(t *testing.T) {
					must(t, errors.Join(withOptions(t, accelerators(t, n), func(g *dist.Group) error {
						return inAnyOrder(t, g, apart, replays, gathers)
					}, dist.CapturedCopies())...))
				})
			}
		}
	}
}

// mixtures are which of the batches are all-gathers; the others are sums.
var mixtures = map[string]func(k int) bool{
	"sums":            func(int) bool { return false },
	"gathers":         func(int) bool { return true },
	"each in turn":    func(k int) bool { return k%2 == 1 },
	"gathers by twos": func(k int) bool { return k%4 < 2 },
}

// inAnyOrder replays seven batches of sums, of one piece up to six, or of all-gathers. An element is
// the sum over ranks of what it was, less what makes that the same again.
func inAnyOrder(t testing.TB, g *dist.Group, apart, replays int, gathers func(k int) bool) error {
	on := []tensor.Option{tensor.On(g.Device()), tensor.OfType(tensor.Float32)}
	var list, all []T
	for _, size := range []int{128, 16, 300, 700, 1, 128, 257} {
		x := tensor.Full([]int{size}, g.Rank(), on...)
		list, all = append(list, x), append(all, tensor.Zeros([]int{g.Size(), size}, on...))
	}
	recorded := graph.New(g.Device())
	defer recorded.Reset()
	err := recorded.Capture(func() error {
		var works []*dist.Work
		for k, x := range list {
			if gathers(k) {
				works = append(works, g.AllGather(all[k], x))
			} else {
				works = append(works, g.AllReduce(x, dist.Sum))
			}
			if len(works) < apart && k < len(list)-1 {
				continue
			}
			for i, w := range works {
				k := k + 1 - len(works) + i
				y, err := list[k], w.Wait(context.Background())
				if gathers(k) {
					err = errors.Join(err, y.CopyFrom(all[k].Sum(tensor.Dim(0))))
				}
				if err := errors.Join(err, y.DivScalarInPlace(float64(g.Size())), y.AddScalarInPlace(1)); err != nil {
					return err
				}
			}
			works = nil
		}
		return nil
	})
	err = errors.Join(err, g.Barrier().Synchronize(context.Background()))
	for range replays {
		err = errors.Join(err, recorded.Replay())
	}
	for k, x := range list {
		got, e := tensor.Data[float32](x)
		err = errors.Join(err, e)
		for _, v := range got {
			if want := float32(g.Size()-1)/2 + float32(replays); v != want {
				t.Errorf("rank %d, batch %d has %v, want %v", g.Rank(), k, v, want)
				break
			}
		}
	}
	return err
}
