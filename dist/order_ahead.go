package dist

import (
	"sync/atomic"
	"time"
)

// mostAhead is how many replays a rank has made at most that another rank of the process has not come to the end of.
// A driver holds up who gives a device more than it keeps, and with it whoever touches that device, which may be
// the rank that the device waits for. So a rank waits here before the driver has it wait. Seven replays of four
// calls each were too many for GPUs.
const mostAhead = 3

// An ahead is where a rank's last replays ended.
type ahead struct {
	ends [mostAhead]uint64 // the rank's places, the oldest first; the order's mu guards them
	from atomic.Uint64     // the first of them, which the others are to have come to
}

// replayedTo notes the place that a replay ends at. The caller holds mu of the order.
func (g *Group) replayedTo(place uint64) {
	a := &g.ahead
	copy(a.ends[:], a.ends[1:])
	a.ends[mostAhead-1] = place
	a.from.Store(a.ends[0])
}

// lookAgain is how often a rank that waits for others looks whether the engine failed, which wakes nobody.
const lookAgain = 10 * time.Millisecond

// near waits until all ranks have come to the end of the replay from which on a rank may be ahead of them, or the
// group is of no more use to it. Ranks that do not come within the timeout have late fail the group: it looks
// as long as a rank has not come to the end of a replay.
func (o *order) near(g *Group) error {
	if o == nil || g.ahead.from.Load() <= o.least.Load() {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for place := g.ahead.ends[0]; !o.reached(place); {
		if err := o.await(g, place); err != nil {
			return err
		}
	}
	return nil
}

// reached reports whether all ranks have come to a place. The caller holds mu.
func (o *order) reached(place uint64) bool {
	least := o.place(0)
	for rank := 1; rank < o.size; rank++ {
		least = min(least, o.place(rank))
	}
	o.least.Store(least)
	return place <= least
}

// await waits until all have come to a place that somebody waits for, or may never, and returns why the group is
// of no more use to a rank. The caller holds mu, which it gives up meanwhile.
func (o *order) await(g *Group, place uint64) error {
	if o.moved == nil {
		o.moved, o.wanted = make(chan struct{}), place
	}
	o.wanted = min(o.wanted, place)
	moved := o.moved
	o.mu.Unlock()
	defer o.mu.Lock()
	select {
	case <-moved:
	case <-time.After(lookAgain):
	}
	return g.usable()
}

// cameOn notes that a rank has come on. The caller holds mu.
func (o *order) cameOn() {
	if o.moved != nil && o.reached(o.wanted) {
		o.wake()
	}
}

// wake wakes who waits for others. The caller holds mu.
func (o *order) wake() {
	if o.moved != nil {
		close(o.moved)
		o.moved = nil
	}
}

// stir is wake of a caller that does not hold mu, of an order that may be nil.
func (o *order) stir() {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.wake()
}
