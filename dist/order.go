package dist

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/graph"
)

// An order is what the ranks of a group that one process has replay. The n-th replay of every rank is
// of the same graph, and has as many other calls before it. A rank that closes the group has made as
// many replays as the others will. What one rank replays the others do within the timeout.
type order struct {
	size    int
	timeout time.Duration

	mu     sync.Mutex // guards what follows
	ends   []collective.Communicator
	made   []uint64 // by rank: replays
	left   []bool   // by rank: closed the group
	most   uint64   // replays that a rank may make: those of a rank that left
	rounds []round  // replays; not all ranks made those from head on
	head   int
	done   uint64               // replays that all ranks made
	look   *time.Timer          // looks after rounds; nil while there are none
	seen   uint64               // done, when it looked last
	looks  int                  // how often that was so in turn
	subs   map[string]*founding // groups that are split off, which not all members came to, by seed
}

// A round is a replay that some ranks have made.
type round struct {
	graph *replayed // of the rank that came first
	calls uint64    // that rank's other calls before it
	come  int       // ranks that made it
}

// A founding is the order of a group that is split off.
type founding struct {
	order *order
	come  int
}

func newOrder(size int, timeout time.Duration) *order {
	return &order{size: size, timeout: timeout, ends: make([]collective.Communicator, size), made: make([]uint64, size), left: make([]bool, size),
		most: ^uint64(0), subs: map[string]*founding{}}
}

// join notes a rank's end.
func (o *order) join(c collective.Communicator) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends[c.Rank()] = c
}

// sub returns the order of a group of some of the ranks. The first that comes makes it.
func (o *order) sub(seed string, size int) *order {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	f := o.subs[seed]
	if f == nil {
		f = &founding{order: newOrder(size, o.timeout)}
		o.subs[seed] = f
	}
	if f.come++; f.come == size {
		delete(o.subs, seed)
	}
	return f.order
}

// fail makes the group of no more use on all ranks.
func (o *order) fail(reason error) {
	o.mu.Lock()
	ends := append([]collective.Communicator(nil), o.ends...)
	o.mu.Unlock()
	for _, c := range ends {
		if c != nil {
			c.Fail(reason)
		}
	}
}

// replay notes that a rank replays a graph, and returns how that differs from what the rank that came
// first replayed.
func (o *order) replay(rank int, r *replayed, calls uint64) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	n := o.made[rank]
	if n >= o.most {
		return fmt.Errorf("replay %d of the group, of %s: %w by rank %d", n+1, r, collective.ErrClosed, o.leaver())
	}
	o.made[rank]++
	i := o.head + int(n-o.done)
	if i == len(o.rounds) {
		o.rounds = append(o.rounds, round{graph: r, calls: calls})
		o.watch()
	}
	w := &o.rounds[i]
	first, before := w.graph, w.calls
	if w.come++; w.come == o.size {
		o.forget()
	}
	switch {
	case first.number != r.number || first.digest != r.digest || len(first.calls) != len(r.calls):
		return fmt.Errorf("replay %d of the group: %w: rank %d replays %s, rank %d %s", n+1, collective.ErrMismatch, first.rank(), first, rank, r)
	case before != calls:
		return fmt.Errorf("replay %d of the group, of %s: %w: of those that are not replayed rank %d makes %d before it, rank %d %d",
			n+1, r, collective.ErrMismatch, first.rank(), before, rank, calls)
	}
	return nil
}

// looksPerTimeout is how often in the time of a timeout an order looks whether ranks come. Clocks are not
// read at every replay.
const looksPerTimeout = 8

// watch has somebody look whether the ranks come to the first of the rounds. The caller holds mu.
func (o *order) watch() {
	if o.look == nil {
		o.seen, o.looks = o.done, 0
		o.look = time.AfterFunc(max(o.timeout/looksPerTimeout, 1), o.late)
	}
}

// late fails the group where the first of the rounds has waited for a rank for the timeout.
func (o *order) late() {
	o.mu.Lock()
	if o.head == len(o.rounds) || o.over() {
		o.look = nil
		o.mu.Unlock()
		return
	}
	if o.looks++; o.seen != o.done {
		o.seen, o.looks = o.done, 0
	}
	var err error
	if o.looks > looksPerTimeout { // the first look may follow at once
		w := o.rounds[o.head]
		err = fmt.Errorf("replay %d of the group, of %s: rank %d waited %v for the others: %s did not come: %w",
			o.done+1, w.graph, w.graph.rank(), o.timeout, o.missing(), collective.ErrTimeout)
		o.look = nil
	} else {
		o.look.Reset(max(o.timeout/looksPerTimeout, 1))
	}
	o.mu.Unlock()
	if err != nil {
		o.fail(err)
	}
}

// over reports whether all ranks have left. The caller holds mu.
func (o *order) over() bool { return !slices.Contains(o.left, false) }

// missing names the ranks that did not come to the first of the rounds. The caller holds mu.
func (o *order) missing() string {
	var list []string
	for rank, n := range o.made {
		if n == o.done {
			list = append(list, fmt.Sprint(rank))
		}
	}
	if len(list) == 1 {
		return "rank " + list[0]
	}
	return "ranks " + strings.Join(list, ", ")
}

// forget drops the first of the rounds, which all ranks made. The caller holds mu.
func (o *order) forget() {
	o.rounds[o.head] = round{}
	o.head++
	o.done++
	if 2*o.head >= len(o.rounds) { // moving takes a step for each that was dropped
		n := copy(o.rounds, o.rounds[o.head:])
		clear(o.rounds[n:])
		o.rounds, o.head = o.rounds[:n], 0
	}
}

// leaver returns a rank that left after as many replays as any rank makes. The caller holds mu.
func (o *order) leaver() int {
	for rank, gone := range o.left {
		if gone && o.made[rank] == o.most {
			return rank
		}
	}
	return 0
}

// leave notes that a rank closes the group, and returns an error where another one has made a replay
// that this rank has not, or this rank one that another one which left has not.
func (o *order) leave(rank int) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left[rank] = true
	o.most = min(o.most, o.made[rank])
	if o.over() && o.look != nil {
		o.look.Stop()
	}
	for _, n := range o.made {
		if n > o.most { // nobody comes to the next one any more
			w := o.rounds[o.head+int(o.most-o.done)]
			return fmt.Errorf("replay %d of the group, of %s, which rank %d made: %w by rank %d",
				o.most+1, w.graph, w.graph.rank(), collective.ErrClosed, o.leaver())
		}
	}
	return nil
}

// A replayed is a captured graph with calls of a group, on one rank.
type replayed struct {
	group  *Group
	number uint64   // of the rank's graphs with calls of the group, from 1
	calls  []string // but for sends and receives
	digest uint64   // of calls
}

// seeded is what digests of the process are made with.
var seeded = maphash.MakeSeed()

// capture notes calls of a batch that a capture records, and returns why the group is of no more use.
func (g *Group) capture(c *graph.Capture, calls []*collective.Call) error {
	if err := g.usable(); err != nil {
		return err
	}
	checker, err := c.Check(g, func() graph.Checker {
		g.graphs++
		return &replayed{group: g, number: g.graphs}
	})
	if err != nil {
		return g.named(err)
	}
	r := checker.(*replayed)
	for _, call := range calls {
		if compared(call) {
			text := call.String()
			r.calls, r.digest = append(r.calls, text), r.digest*31+maphash.String(seeded, text)
		}
	}
	return nil
}

// compared reports whether all ranks make a call.
func compared(c *collective.Call) bool {
	return c.Kind != collective.Send && c.Kind != collective.Receive
}

func (r *replayed) rank() int { return r.group.Rank() }

// String describes the graph as messages name it.
func (r *replayed) String() string {
	if n := len(r.calls); n > 1 {
		return fmt.Sprintf("graph %d with %s and %d more calls", r.number, r.calls[0], n-1)
	}
	return fmt.Sprintf("graph %d with %s", r.number, r.calls[0])
}

// Check returns why the graph is not replayed: the group is of no more use, or was closed, so that devices
// would find memory that is somebody else's; or other ranks replay another one, which ends the group.
func (r *replayed) Check() error {
	g := r.group
	if err := g.usable(); err != nil || len(r.calls) == 0 {
		return err
	}
	if told, able := g.comm.(collective.Replayer); able {
		told.Replayed(r.calls)
	}
	if g.order == nil {
		return nil
	}
	err := g.order.replay(g.Rank(), r, g.others.Load())
	if errors.Is(err, collective.ErrMismatch) {
		g.order.fail(err)
	}
	return g.ended(err)
}

// usable returns why calls that were captured are not made any more, as far as this rank knows.
func (g *Group) usable() error {
	if g.closed.Load() {
		return g.named(errLeft)
	}
	return g.Err()
}
