package conformance_test

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A nest is one goroutine's scopes, which it checks against what it entered itself.
type nest struct {
	rng     *rand.Rand
	list    []device.Device
	device  int                     // the current one, by index
	streams map[int]stream.Stream   // the current ones, by device index
	pool    map[int][]stream.Stream // by device index
}

// check returns how what is current differs from what the goroutine entered.
func (n *nest) check() error {
	if got := device.Current(kind); got != n.list[n.device] {
		return fmt.Errorf("the current device is %s, want %s", got, n.list[n.device])
	}
	for i, d := range n.list {
		if got := stream.Current(d); got != n.streams[i] {
			return fmt.Errorf("the current stream is %s, want %s", got, n.streams[i])
		}
	}
	return nil
}

// enter opens scopes, one in another, and checks inside and after each. Some it
// leaves by a panic, some by working, some by yielding to others.
func (n *nest) enter(depth int) (err error) {
	runtime.Gosched()
	if err := n.check(); err != nil || depth == 0 {
		return err
	}
	i := n.rng.IntN(len(n.list))
	wasDevice, wasStream := n.device, n.streams[i]
	inner := func() error {
		err = n.enter(depth - 1)
		if n.rng.IntN(4) == 0 {
			panic("out")
		}
		return err
	}
	func() {
		defer func() { _ = recover() }()
		n.device = i
		if n.rng.IntN(2) == 0 {
			_ = device.With(n.list[i], inner)
		} else {
			s := n.pool[i][n.rng.IntN(len(n.pool[i]))]
			n.streams[i] = s
			_ = s.Do(inner)
		}
	}()
	n.device, n.streams[i] = wasDevice, wasStream
	if err != nil {
		return err
	}
	return n.check()
}

// TestGoroutines: 1,000 goroutines in nested device and stream scopes never see each
// other's current device or streams, nor those of the goroutine that started them.
func TestGoroutines(t *testing.T) {
	list := make([]device.Device, min(3, device.Count(kind)))
	pool := map[int][]stream.Stream{}
	for i := range list {
		list[i] = device.Device{Kind: kind, Index: i}
		pool[i] = []stream.Stream{stream.Default(list[i])}
		for range 4 {
			pool[i] = append(pool[i], newStream(t, list[i]))
		}
	}
	one(t)
	const goroutines = 1000
	errs := make(chan error, goroutines)
	var all sync.WaitGroup
	var start sync.WaitGroup
	start.Add(1)
	on(t, pool[0][1], func() { // none inherits this
		for g := range goroutines {
			all.Go(func() {
				n := &nest{rng: rand.New(rand.NewPCG(uint64(g), 1)), list: list, streams: map[int]stream.Stream{}, pool: pool}
				for i, d := range list {
					n.streams[i] = stream.Default(d)
				}
				start.Wait()
				if err := n.enter(5); err != nil {
					errs <- fmt.Errorf("goroutine %d: %w", g, err)
				}
			})
		}
		start.Done()
		all.Wait()
	})
	close(errs)
	for err := range errs {
		t.Error(err)
	}
}

// TestGoroutinesWork: goroutines that work in scopes of their own get their own
// results, on the devices and streams they entered.
func TestGoroutinesWork(t *testing.T) {
	d := one(t)
	list := []device.Device{d}
	if device.Count(kind) > 1 {
		list = devices(t, 2)
	}
	var all sync.WaitGroup
	for g := range 40 {
		all.Go(func() {
			dev := list[g%len(list)]
			s := stream.New(dev, 0)
			err := s.Do(func() error {
				x := tensor.Full([]int{3}, g, tensor.On(current()))
				for range 2 {
					y := x.AddScalar(1)
					x.Release()
					x = y
				}
				if x.Device() != dev {
					t.Errorf("goroutine %d: its tensor is on %s, not %s", g, x.Device(), dev)
				}
				if got, err := x.Sum().Item(); err != nil || got != float64(3*(g+2)) {
					t.Errorf("goroutine %d: the sum is %v, %v; want %d", g, got, err, 3*(g+2))
				}
				return nil
			})
			if err != nil {
				t.Errorf("goroutine %d: %v", g, err)
			}
		})
	}
	all.Wait()
}
