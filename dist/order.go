package dist

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/graph"
)

// An order compares what the ranks of a group that one process has replay. A rank's place is how many calls it
// has made that all ranks make, at once or by replays. Replays that begin at one place have the same calls, as
// far as both have any; a rank may make at once what others replay. Where the devices themselves wait for
// the others' replays, graphs are bound: all ranks replay the one of the same number at the same place. A rank
// that closes the group comes to no later place, and within the timeout ranks come to where another one is.
type order struct {
	size    int
	timeout time.Duration

	mu      sync.Mutex // guards what follows
	ends    []*Group
	left    []bool               // by rank: closed the group
	most    uint64               // the place that a rank may come to: that of a rank that left
	replays []segment            // by where they begin; of each place the first
	next    []int                // by rank: the first of replays that it has not come to
	look    *time.Timer          // looks whether ranks come; nil while none waits
	seen    uint64               // the last rank's place, when it looked last
	looks   int                  // how often that was so in turn
	subs    map[string]*founding // groups that are split off, which not all members came to, by seed
}

// A segment is a replay that some ranks have made.
type segment struct {
	graph *replayed // of the rank that came first
	start uint64    // that rank's place before
}

// A founding is the order of a group that is split off.
type founding struct {
	order *order
	come  int
}

func newOrder(size int, timeout time.Duration) *order {
	return &order{size: size, timeout: timeout, ends: make([]*Group, size), next: make([]int, size), left: make([]bool, size),
		most: ^uint64(0), subs: map[string]*founding{}}
}

// join notes a rank's end.
func (o *order) join(g *Group) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.ends[g.Rank()] = g
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
	ends := slices.Clone(o.ends)
	o.mu.Unlock()
	for _, g := range ends {
		if g != nil {
			g.comm.Fail(reason)
		}
	}
}

// place returns a rank's place. The caller holds mu.
func (o *order) place(rank int) uint64 {
	if g := o.ends[rank]; g != nil {
		return g.place.Load()
	}
	return 0 // it has not joined yet
}

// replay notes that a rank replays a graph, and returns how that differs from what the rank that came
// to its place first replayed there.
func (o *order) replay(r *replayed) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	rank, at := r.rank(), r.group.place.Load()
	if at+uint64(len(r.calls)) > o.most {
		return fmt.Errorf("call %d of the group, of %s: %w by rank %d", o.most+1, r, collective.ErrClosed, o.leaver())
	}
	r.group.place.Add(uint64(len(r.calls)))
	i := o.next[rank]
	for ; i < len(o.replays) && o.replays[i].start < at; i++ {
		if first := o.replays[i].graph; first.bound {
			return fmt.Errorf("call %d of the group: %w: rank %d replays %s, rank %d makes another call", o.replays[i].start+1, collective.ErrMismatch, first.rank(), first, rank)
		}
	}
	o.next[rank] = i + 1
	if i == len(o.replays) || o.replays[i].start > at {
		return o.insert(i, segment{r, at})
	}
	first := o.replays[i].graph
	o.forget()
	if !first.alike(r) {
		return fmt.Errorf("call %d of the group: %w: rank %d replays %s, rank %d %s", at+1, collective.ErrMismatch, first.rank(), first, rank, r)
	}
	return nil
}

// insert adds a replay that no rank has made before. The caller holds mu.
func (o *order) insert(i int, s segment) error {
	o.replays = slices.Insert(o.replays, i, s)
	var err error
	for other := range o.next {
		if other == s.graph.rank() {
			continue
		}
		past := o.place(other) > s.start
		if o.next[other] > i || past && o.next[other] == i {
			o.next[other]++
		}
		if past && s.graph.bound && err == nil {
			err = fmt.Errorf("call %d of the group: %w: rank %d replays %s, rank %d makes another call", s.start+1, collective.ErrMismatch, s.graph.rank(), s.graph, other)
		}
	}
	if len(o.replays)%manyReplays == 0 { // of ranks that replay nothing
		for other, n := range o.next {
			for n < len(o.replays) && o.replays[n].start < o.place(other) && !o.replays[n].graph.bound {
				n++
			}
			o.next[other] = n
		}
	}
	o.forget()
	o.watch()
	return err
}

// manyReplays is how many are remembered before somebody looks which ranks have passed them by other calls.
const manyReplays = 1024

// forget drops the replays that all ranks came to or passed. The caller holds mu.
func (o *order) forget() {
	n := slices.Min(o.next)
	if 2*n < len(o.replays) || n == 0 { // moving takes a step for each that is dropped
		return
	}
	left := copy(o.replays, o.replays[n:])
	clear(o.replays[left:])
	o.replays = o.replays[:left]
	for rank := range o.next {
		o.next[rank] -= n
	}
}

// waits returns the replay of another rank that has the call that follows a place of a rank, or nil. The
// caller holds mu.
func (o *order) waits(rank int, at uint64) *replayed {
	for i := range o.replays {
		s := &o.replays[i]
		if s.start > at {
			break
		}
		if at < s.start+uint64(len(s.graph.calls)) && s.graph.rank() != rank {
			return s.graph
		}
	}
	return nil
}

// looksPerTimeout is how often in the time of a timeout an order looks whether ranks come. Clocks are not
// read at every replay.
const looksPerTimeout = 8

// watch has somebody look whether the last rank comes on. The caller holds mu.
func (o *order) watch() {
	if o.look == nil {
		o.looks = 0
		o.look = time.AfterFunc(max(o.timeout/looksPerTimeout, 1), o.late)
	}
}

// late fails the group where a replay has waited for the last rank for the timeout.
func (o *order) late() {
	o.mu.Lock()
	last := 0
	for rank := range o.ends {
		if o.place(rank) < o.place(last) {
			last = rank
		}
	}
	at := o.place(last)
	graph := o.waits(last, at)
	if graph == nil || o.over() {
		o.look = nil
		o.mu.Unlock()
		return
	}
	if o.looks++; o.seen != at {
		o.seen, o.looks = at, 1
	}
	var err error
	if o.looks > looksPerTimeout {
		err = fmt.Errorf("call %d of the group, of %s: rank %d waited %v for the others: rank %d did not come: %w",
			at+1, graph, graph.rank(), o.timeout, last, collective.ErrTimeout)
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

// leaver returns a rank that left at the place that no rank goes beyond. The caller holds mu.
func (o *order) leaver() int {
	for rank, gone := range o.left {
		if gone && o.place(rank) == o.most {
			return rank
		}
	}
	return 0
}

// leave notes that a rank closes the group, and returns an error where a replay of another one waits for a
// rank that left.
func (o *order) leave(rank int) error {
	if o == nil {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.left[rank] = true
	o.most = min(o.most, o.place(rank))
	if o.over() && o.look != nil {
		o.look.Stop()
	}
	gone := o.leaver()
	if graph := o.waits(gone, o.most); graph != nil {
		return fmt.Errorf("call %d of the group, of %s, which rank %d replays: %w by rank %d", o.most+1, graph, graph.rank(), collective.ErrClosed, gone)
	}
	return nil
}

// A replayed is a captured graph with calls of a group, on one rank.
type replayed struct {
	group  *Group
	number uint64   // of the rank's graphs with calls of the group, from 1
	calls  []string // but for sends and receives
	digest uint64   // of calls
	bound  bool     // devices wait for the others' graphs of the same number
}

// alike reports whether a rank may replay r where another one replays first.
func (first *replayed) alike(r *replayed) bool {
	if first.digest == r.digest && len(first.calls) == len(r.calls) && first.bound == r.bound {
		return first.number == r.number || !r.bound
	}
	n := min(len(first.calls), len(r.calls))
	return !first.bound && !r.bound && slices.Equal(first.calls[:n], r.calls[:n])
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
	if o, able := g.comm.(collective.Overlapper); able && o.Binds(calls...) {
		r.bound = true
	}
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
	err := g.order.replay(r)
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
