package dist_test

import (
	"context"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestCopiesBeside has batches of sums with sends and receives that only some ranks make, and of
// nothing at all: sums by copies stay in step, and what is sent arrives.
func TestCopiesBeside(t *testing.T) {
	copying(t, 512)
	const n, rounds = 3, 4
	must(t, errors.Join(together(t, accelerators(t, n), func(g *dist.Group) error {
		on := tensor.On(g.Device())
		own := float32(g.Rank())
		for round := range rounds {
			sum, small := tensor.Full([]int{1000}, own+1, on), tensor.Full([]int{2}, int32(g.Rank()), on)
			out, in := tensor.Full([]int{5}, own+float32(round), on), tensor.Zeros([]int{5}, on)
			work := g.Batch(func(b *dist.Batch) {
				if g.Rank() == 0 {
					b.Send(out, 2)
				}
				b.AllReduce(sum, dist.Sum)
				if round == 1 {
					b.AllReduce(small, dist.Max) // the engine under it makes all of this one
				}
				if g.Rank() == 2 {
					b.Receive(in, 0)
				}
			})
			if err := errors.Join(work.Wait(context.Background()), g.Batch(nil).Synchronize(context.Background()),
				g.Batch(func(*dist.Batch) {}).Wait(context.Background())); err != nil {
				return err
			}
			if g.Rank() != 1 { // between two alone
				if g.Rank() == 0 {
					work = g.Send(out, 2)
				} else {
					work = g.Receive(in, 0)
				}
				if err := work.Wait(context.Background()); err != nil {
					return err
				}
			}
			got, err := tensor.Data[float32](tensor.Cat([]T{sum.Narrow(0, 0, 1), sum.Narrow(0, 999, 1), in}, 0))
			if err != nil {
				return err
			}
			want := []float32{6, 6, 0, 0, 0, 0, 0}
			if g.Rank() == 2 {
				for i := range 5 {
					want[2+i] = float32(round)
				}
			}
			equal(t, "sums and what was received", got, want)
		}
		return nil
	})...))
}

// TestEmptyBatch makes batches of no calls on every kind of device.
func TestEmptyBatch(t *testing.T) {
	for name, devices := range kinds(t, 2) {
		t.Run(name, func(t *testing.T) {
			must(t, errors.Join(together(t, devices(t), func(g *dist.Group) error {
				return errors.Join(g.Batch(nil).Synchronize(context.Background()), g.Barrier().Synchronize(context.Background()))
			})...))
		})
	}
}

// TestCopiesMakeRoom has the memory that copies need be there only once what the allocator keeps
// for later is given back; it is counted as the allocator's, and goes with the group.
func TestCopiesMakeRoom(t *testing.T) {
	onSimulated(t)
	device.Install(sim.New(sim.Config{Devices: 2, Async: true, Memory: 24 << 20}))
	defer device.Install(sim.New(sim.Config{Devices: simulated, Async: true}))
	copying(t, 12<<20) // two ranks hold 13.5 MiB each for that
	must(t, errors.Join(together(t, []device.Device{device.Sim(0), device.Sim(1)}, func(g *dist.Group) error {
		if err := tensor.Scope(func() error {
			return tensor.Zeros([]int{14 << 20}, tensor.On(g.Device()), tensor.OfType(tensor.Uint8)).Err()
		}); err != nil {
			return err
		}
		if cached := memory.StatsOf(g.Device()).ReservedBytes.All.Current; cached < 14<<20 {
			t.Errorf("%d bytes are cached", cached)
		}
		return tensor.Scope(func() error {
			x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
			err := g.AllReduce(x, dist.Sum).Synchronize(context.Background())
			if held := memory.Allocated(g.Device()); held < 12<<20 {
				t.Errorf("the allocator counts %d bytes", held)
			}
			return err
		})
	})...))
	for d := range 2 {
		if held := memory.Allocated(device.Sim(d)); held > 1<<20 {
			t.Errorf("device %d: %d bytes are held", d, held)
		}
	}
}

// A halting driver has the waits of one device for events of another halt at a chosen one, and
// counts the events of the latter that are destroyed.
type halting struct {
	*sim.Driver
	mu        sync.Mutex
	waits     int // of device 1 for events of device 0
	destroyed int // events of device 0
	at        int // which wait halts; 0: none
	halted    chan struct{}
	goOn      chan struct{}
}

func (d *halting) WaitEvent(dev int, s device.StreamID, eventDev int, e device.EventID) error {
	if dev == 1 && eventDev == 0 {
		d.mu.Lock()
		d.waits++
		halts := d.waits == d.at
		d.mu.Unlock()
		if halts {
			close(d.halted)
			<-d.goOn
		}
	}
	return d.Driver.WaitEvent(dev, s, eventDev, e)
}

func (d *halting) DestroyEvent(dev int, e device.EventID) error {
	if dev == 0 {
		d.mu.Lock()
		d.destroyed++
		d.mu.Unlock()
	}
	return d.Driver.DestroyEvent(dev, e)
}

// TestCopiesEndTogether has a rank still give its device the last of a call when the other one is done, which it
// names events of: that one does not return before, so that it gives its device nothing more and destroys no event.
func TestCopiesEndTogether(t *testing.T) {
	onSimulated(t)
	drv := &halting{Driver: sim.New(sim.Config{Devices: 2, Async: true}), halted: make(chan struct{}), goOn: make(chan struct{})}
	device.Install(drv)
	defer device.Install(sim.New(sim.Config{Devices: simulated, Async: true}))
	copying(t, 512)
	groups, err := dist.Local([]device.Device{device.Sim(0), device.Sim(1)}, dist.Timeout(patience.Left(t)))
	must(t, err)
	sum := func(g *dist.Group) error {
		return tensor.Scope(func() error {
			x := tensor.Ones([]int{1000}, tensor.On(g.Device()))
			if err := x.Err(); err != nil {
				return err
			}
			return g.AllReduce(x, dist.Sum).Synchronize(context.Background())
		})
	}
	both := func() (ends [2]chan error) {
		for rank, g := range groups {
			ends[rank] = make(chan error, 1)
			go func() { ends[rank] <- sum(g) }()
		}
		return ends
	}
	ends := both()
	must(t, errors.Join(<-ends[0], <-ends[1]))
	drv.mu.Lock()
	drv.at = 2 * drv.waits // the last one of the next call
	drv.mu.Unlock()
	ends = both()
	<-drv.halted
	closed := make(chan error, 1)
	go func() { closed <- groups[0].Close() }()
	time.Sleep(20 * time.Millisecond) // for an end that does not wait to show
	drv.mu.Lock()
	if drv.destroyed != 0 || len(closed)+len(ends[0]) != 0 {
		t.Errorf("%d events were destroyed, %d ends closed, rank 0 has returned %d times", drv.destroyed, len(closed), len(ends[0]))
	}
	drv.mu.Unlock()
	close(drv.goOn)
	must(t, errors.Join(<-ends[0], <-ends[1], <-closed, groups[1].Close()))
	if drv.destroyed == 0 {
		t.Error("no event was destroyed in the end")
	}
}
