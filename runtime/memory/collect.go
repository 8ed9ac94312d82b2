package memory

import (
	"context"
	"math"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/garbage"
)

// dropped holds blocks whose owner the collector found dead. They are freed at
// the next allocation, never in the cleanup itself.
var dropped struct {
	any    atomic.Bool
	mu     sync.Mutex
	blocks []Block
}

// Drop queues b to be freed at the next allocation. It calls no driver and takes
// no allocator's lock, so it may run in a cleanup.
func Drop(b Block) {
	dropped.mu.Lock()
	defer dropped.mu.Unlock()
	dropped.blocks = append(dropped.blocks, b)
	dropped.any.Store(true)
}

// drainDropped frees what was dropped, for whoever is at work for device at. It costs an
// atomic load when nothing was.
func drainDropped(at device.Device) {
	if dropped.any.Load() {
		freeDropped(at)
	}
}

// freeDropped frees what was dropped. Memory whose owner calls another device than at, or waits
// for one, is freed by a goroutine, which closes done in the end; done is nil without such.
func freeDropped(at device.Device) (done chan struct{}) {
	dropped.mu.Lock()
	blocks := dropped.blocks
	dropped.blocks = nil
	dropped.any.Store(false)
	dropped.mu.Unlock()
	var late []Block
	for _, b := range blocks {
		if b.owner != nil && b.owner.waits(at) {
			late = append(late, b)
			continue
		}
		_ = b.Free() // nobody is left to tell
	}
	if len(late) == 0 {
		return nil
	}
	done = make(chan struct{})
	go func() {
		defer close(done)
		for _, b := range late {
			_ = b.Free()
		}
	}()
	return done
}

// What was dropped is freed by whoever allocates next, for whatever device. Were that one to
// wait for the device of somebody else's block, which may wait for what it is about to give
// to its own, both would wait for ever. To wait it takes no more than to record an event:
// a driver lets nobody call a device that a copy to memory of the host waits for. So a
// goroutine of its own does.

func (*direct) waits(device.Device) bool  { return true }
func (*foreign) waits(device.Device) bool { return true }
func (*hosted) waits(device.Device) bool  { return false }

func (c *chunk) waits(at device.Device) bool {
	if at == c.of.dev {
		return false
	}
	c.of.mu.Lock()
	defer c.of.mu.Unlock()
	return len(c.streams) > 0
}

func (b *pinned) waits(at device.Device) bool {
	b.of.mu.Lock()
	defer b.of.mu.Unlock()
	return slices.ContainsFunc(b.copies, func(p place) bool { return p.dev != at })
}

// collectWait bounds the wait for blocks that a collection found to be free.
const collectWait = 2 * time.Second

// collections keeps goroutines that find no memory from collecting all at once.
var collections sync.Mutex

// collect runs the collector and frees the blocks that it found dead, for whoever is at work
// for device at.
func collect(at device.Device) {
	collections.Lock()
	defer collections.Unlock()
	garbage.Collect()
	if done := freeDropped(at); done != nil {
		ctx, cancel := context.WithTimeout(background, collectWait)
		defer cancel()
		select {
		case <-done:
		case <-ctx.Done():
		}
	}
}

// The collector does not see device memory. It is made to run when the bytes
// held on a device have grown, since it ran for the device last, by half of what
// was left then. Programs that release what they allocate stay below that.

// pace starts a collection, since held bytes are a.collectAt or more. The caller
// holds a.mu.
func (a *allocator) pace() {
	if a.collecting {
		return
	}
	a.collecting = true
	go func() {
		collect(a.dev)
		a.mu.Lock()
		defer a.mu.Unlock()
		a.collecting = false
		a.setPace()
	}()
}

// setPace decides when to collect next. The caller holds a.mu.
func (a *allocator) setPace() {
	held, room := a.stats.AllocatedBytes.Sum(), a.total
	if l := a.limit(); l > 0 {
		room = l
	}
	if room == 0 { // not known
		a.collectAt = math.MaxInt64
		return
	}
	a.collectAt = held + max((room-held)/2, room/16, 1)
}
