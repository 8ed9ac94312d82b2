package dist

import (
	"slices"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// How many replays, or batches of calls, a rank's device has at most that another rank of the process has not come
// to the end of. A driver holds up who gives a device more than it keeps, and with it whoever touches that device,
// which may be the rank that the device waits for. So a rank waits here before the driver has it wait. Seven replays
// of four calls each were too many for GPUs, which keep about a thousand pieces of other work.
const (
	mostAhead  = 3
	callsAhead = 32

	ofReplay, ofCall = callsAhead, mostAhead // what each counts
	allowance        = mostAhead * callsAhead
)

// A lead is a replay or a batch that a rank gave its device.
type lead struct {
	group *Group
	place uint64 // the rank's, behind it
	count int
}

// come reports whether the others have come to the end of it, or nobody waits for them any more.
func (l *lead) come() bool {
	g := l.group
	return g.order.cameTo(l.place) || g.gone() != nil
}

// An ahead is what the ranks of one device have given it in all groups, and others have not come to, as far as is
// known.
type ahead struct {
	ends int // groups' that have it; aheads' lock guards it

	mu    sync.Mutex // guards what follows; before those of orders
	leads []lead     // the oldest first
	sum   int        // of their counts
}

// aheads are those of accelerators.
var aheads struct {
	sync.Mutex
	all map[place]*ahead
}

// aheadOf returns what a device was given, for one more group's end, and what takes that end off. The ranks on the CPU have
// nothing in common.
func aheadOf(d device.Device) (a *ahead, leave func()) {
	d, drv, err := device.Find(d)
	if err != nil || !d.Accelerator() {
		return new(ahead), func() {}
	}
	at := place{drv, d}
	aheads.Lock()
	defer aheads.Unlock()
	if aheads.all == nil {
		aheads.all = map[place]*ahead{}
	}
	a = aheads.all[at]
	if a == nil {
		a = new(ahead)
		aheads.all[at] = a
	}
	a.ends++
	return a, func() {
		aheads.Lock()
		defer aheads.Unlock()
		if a.ends--; a.ends == 0 {
			delete(aheads.all, at)
		}
	}
}

// gave notes what a rank has given its device.
func (a *ahead) gave(g *Group, count int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leads, a.sum = append(a.leads, lead{g, g.place.Load(), count}), a.sum+count
}

// drop forgets what a group gave, which is closed.
func (a *ahead) drop(g *Group) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.keep(func(l *lead) bool { return l.group != g })
}

// keep forgets all but some. The caller holds mu.
func (a *ahead) keep(keeps func(l *lead) bool) {
	a.leads = slices.DeleteFunc(a.leads, func(l lead) bool { return !keeps(&l) })
	a.sum = 0
	for i := range a.leads {
		a.sum += a.leads[i].count
	}
}

// before returns what others are to come to before a rank gives its device more, or nil. A group of which the device
// has nothing is not held up by others, whose ranks may come behind it.
func (a *ahead) before(g *Group, count int) *lead {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.sum+count <= allowance {
		return nil
	}
	a.keep(func(l *lead) bool { return !l.come() })
	own := func(l lead) bool { return l.group == g }
	if a.sum+count <= allowance || !slices.ContainsFunc(a.leads, own) {
		return nil
	}
	first := a.leads[0]
	return &first
}

// lookAgain is how often a rank that waits for others looks whether the engine failed, which wakes nobody, and
// whether those of other groups came.
const lookAgain = 10 * time.Millisecond

// near waits until all ranks have come so far that a rank may give its device a replay or a batch, or the group is of
// no more use to it. Ranks that do not come within the timeout have late fail the group, which looks as long as a
// rank has not come to the end of a replay, or have the engine, whose call they do not make.
func (o *order) near(g *Group, count int) error {
	if o == nil {
		return nil
	}
	for {
		l := g.ahead.before(g, count)
		if err := g.gone(); err != nil || l == nil { // asked behind it: nobody waits for what a group gave that ended
			return err
		}
		l.group.order.await(l.place)
	}
}

// cameTo reports whether all ranks have come to a place.
func (o *order) cameTo(place uint64) bool {
	if place <= o.least.Load() {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.reached(place)
}

// reached is cameTo of a caller that holds mu.
func (o *order) reached(place uint64) bool {
	least := o.place(0)
	for rank := 1; rank < o.size; rank++ {
		least = min(least, o.place(rank))
	}
	o.least.Store(least)
	return place <= least
}

// await waits for a while until all have come to a place, or may never.
func (o *order) await(place uint64) {
	o.mu.Lock()
	if o.reached(place) {
		o.mu.Unlock()
		return
	}
	if o.moved == nil {
		o.moved, o.wanted = make(chan struct{}), place
	}
	o.wanted = min(o.wanted, place)
	moved := o.moved
	o.mu.Unlock()
	again := time.NewTimer(lookAgain)
	defer again.Stop()
	select {
	case <-moved:
	case <-again.C:
	}
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
