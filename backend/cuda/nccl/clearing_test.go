package nccl

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestOthersClear: calls of a group, and replays of them, wait until the library has communicators of groups that failed
// back, as the driver may let nobody call a GPU until then, and not for long where the library waits for something else.
func TestOthersClear(t *testing.T) {
	ways := map[string]func(c *Communicator, s device.StreamID) error{
		"calls": func(c *Communicator, s device.StreamID) error {
			v := ir.View{Addr: 0x70000, DType: ir.Float32, Shape: []int{4}, Strides: []int{1}}
			return c.Do(s, &collective.Call{Kind: collective.AllReduce, In: v, Out: v})
		},
		"replays": func(c *Communicator, _ device.StreamID) error { c.Replayed([]string{"barrier"}); return nil },
	}
	for way, call := range ways {
		for _, linger := range []time.Duration{time.Hour, time.Millisecond} {
			t.Run(fmt.Sprint(way, " for ", linger), func(t *testing.T) {
				was := lingering
				lingering = linger
				t.Cleanup(func() { lingering = was })
				f := newFake(t)
				other := f.group(2, time.Hour)[1]
				c := f.group(1, time.Hour)[0]
				s, err := f.drv.NewStream(1, 0)
				must(t, err)
				f.reset(success, 0)
				f.call("fake_graphs", 1)
				c.Abort(errors.New("no more"))
				done := make(chan error, 1)
				var said string // before
				go func() {
					err := call(other, device.StreamID(s))
					said = f.said()
					done <- err
				}()
				waits := linger == time.Hour
				if waits {
					time.Sleep(20 * time.Millisecond) // for one that does not wait to be over
					f.call("fake_graphs", 0)
				}
				must(t, <-done)
				f.call("fake_graphs", 0)
				if strings.Contains(said, "abort 0\n") != waits {
					t.Errorf("waits %v, and this is there behind it:\n%s", linger, said)
				}
				if !patience.Until(t, func() bool { _, has := latestClearing(); return !has }) {
					t.Error("it is not seen that it was cleared")
				}
			})
		}
	}
}

// TestCloseOfFailing has a group fail as a rank closes it, in the midst: the library is told that it is of no more use, or
// was before, and no call of others waits for it.
func TestCloseOfFailing(t *testing.T) {
	f := newFake(t)
	id, err := NewID()
	must(t, err)
	list, err := New(id, []device.Device{device.CUDA(0)}, 0, 1, time.Hour, nil)
	must(t, err)
	f.reset(success, 0)
	c := list[0]
	var both sync.WaitGroup
	c.mu.Lock()
	closed := make(chan error, 1)
	both.Go(func() { closed <- c.Close() })
	patience.Until(t, func() bool {
		free := c.using.TryLock()
		if free {
			c.using.Unlock()
		}
		return !free
	})
	wait := func() { time.Sleep(3 * time.Millisecond) } // for a goroutine to wait for mu: from then on they have it in turn
	wait()
	both.Go(func() { c.Abort(errors.New("no more")) })
	wait()
	c.mu.Unlock()
	c.mu.Lock()
	wait()
	c.mu.Unlock()
	both.Wait()
	must(t, <-closed)
	patience.Until(t, func() bool { return strings.Count(f.said(), "\n") == 2 })
	if said := f.said(); strings.Contains(said, "abort") && strings.Contains(said, "destroy") {
		t.Errorf("the library was told:\n%s", said)
	}
	if !patience.Until(t, func() bool { _, has := latestClearing(); return !has }) {
		t.Error("others wait for a group that is closed")
	}
}

// An entered is GPUs of which somebody hears that the library is called in their context.
type entered struct {
	simulatedGPUs
	heard func()
}

func (d entered) InContext(dev int, f func() error) error {
	d.heard()
	return d.simulatedGPUs.InContext(dev, f)
}

// TestAllKnowBefore: no rank's communicator is aborted, which lets its GPU end with values of no use and others with it,
// before all ranks return why.
func TestAllKnowBefore(t *testing.T) {
	f := newFake(t)
	why := errors.New("no more")
	list := f.group(3, time.Hour)
	var heard atomic.Int32
	for _, c := range list {
		c.driver = entered{f.drv, func() {
			heard.Add(1)
			for rank, other := range list {
				if err := other.Err(); !errors.Is(err, why) {
					t.Errorf("rank %d knows of %v as one is let go", rank, err)
				}
			}
		}}
	}
	list[1].Abort(why)
	if heard.Load() < 3 {
		t.Errorf("the library was called %d times for 3 ranks", heard.Load())
	}
}
