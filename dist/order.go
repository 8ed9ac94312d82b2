package dist

import (
	"errors"
	"fmt"
	"hash/maphash"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
)

// An order compares what the ranks of a group on accelerators do that one process has. A rank's place is how many
// calls it has made that all ranks make, at once or by replays. Calls of one number are the same call, whichever
// way a rank makes it, and in batches that are alike. Where ranks wait for one another in a batch itself, graphs
// with it are bound: all ranks replay the one of the same number at the same place, and none makes its calls at
// once. A rank that closes the group comes to no later place, and within the timeout ranks come to the end of
// what another one replays; engines see that they come to calls that are made at once.
type order struct {
	size    int
	timeout time.Duration

	mu      sync.Mutex // guards what follows
	ends    []*Group
	left    []bool               // by rank: closed the group
	most    atomic.Uint64        // the place that a rank may come to: that of a rank that left; mu guards writes
	replays []segment            // by where they begin, of each place one: what not all ranks have passed
	made    map[uint64]*made     // by the place before: calls made at once that not all ranks have made or replayed
	next    []int                // by rank: it had passed those of replays before this one
	moved   chan struct{}        // closed for those who wait for others; nil: nobody waits
	wanted  uint64               // the first place that they wait for
	look    *time.Timer          // looks whether ranks come; nil while replays has nothing that a rank has not passed
	seen    uint64               // the last rank's place, when it looked last
	looks   int                  // how often that was so in turn
	subs    map[string]*founding // groups that are split off, which not all members came to, by seed

	least atomic.Uint64 // no rank's place is before it
}

// A segment is a replay that some ranks have made.
type segment struct {
	graph *replayed // of the rank that came first with so many calls
	start uint64    // that rank's place before
}

// end returns the rank's place after the replay.
func (s *segment) end() uint64 { return s.start + uint64(len(s.graph.calls)) }

// agrees reports whether two replays have the same calls, as far as they overlap.
func (s *segment) agrees(other *segment) bool {
	from, to := max(s.start, other.start), min(s.end(), other.end())
	switch {
	case s.start == other.start && s.graph.same(other.graph) || from >= to:
		return true
	case s.graph.bound || other.graph.bound:
		return false
	}
	a, b := from-s.start, from-other.start
	n := to - from
	return slices.Equal(s.graph.calls[a:a+n], other.graph.calls[b:b+n]) && slices.Equal(s.graph.sizes[a:a+n], other.graph.sizes[b:b+n])
}

// A founding is the order of a group that is split off.
type founding struct {
	order *order
	come  int
}

func newOrder(size int, timeout time.Duration) *order {
	o := &order{size: size, timeout: timeout, ends: make([]*Group, size), next: make([]int, size), left: make([]bool, size),
		made: map[uint64]*made{}, subs: map[string]*founding{}}
	o.most.Store(^uint64(0))
	return o
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

// members returns the ranks' ends, of those that are to come nil. Engines are not asked under mu.
func (o *order) members() []*Group {
	o.mu.Lock()
	defer o.mu.Unlock()
	return slices.Clone(o.ends)
}

// fail makes the group of no more use on all ranks.
func (o *order) fail(reason error) {
	for _, g := range o.members() {
		if g != nil {
			g.comm.Fail(reason)
		}
	}
	o.stir()
}

// failed reports whether the group is of no more use. A rank that closed it does not say so.
func (o *order) failed() bool {
	return slices.ContainsFunc(o.members(), func(g *Group) bool { return g != nil && !g.closed.Load() && g.comm.Err() != nil })
}

// place returns a rank's place. The caller holds mu.
func (o *order) place(rank int) uint64 {
	if g := o.ends[rank]; g != nil {
		return g.place.Load()
	}
	return 0 // it has not joined yet
}

// replay notes that a rank replays a graph, and returns how that differs from what other ranks replayed there.
func (o *order) replay(r *replayed) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	rank, mine := r.rank(), segment{r, r.group.place.Load()}
	if err := o.beyond(&mine); err != nil {
		return err
	}
	if err := o.meet(&mine); err != nil {
		return err
	}
	r.group.place.Add(uint64(len(r.calls)))
	o.cameOn()
	i, covered := o.next[rank], false // i is to be the first that does not begin before mine
	// What another rank came with was compared with all that it overlaps.
	if i < len(o.replays) && o.replays[i].start == mine.start && o.replays[i].graph.same(r) {
		o.pass(rank) // it, and those within it
		return nil
	}
	for k := i; k < len(o.replays) && o.replays[k].start < mine.end(); k++ {
		s := &o.replays[k]
		if !s.agrees(&mine) {
			return fmt.Errorf("call %d of the group: %w: rank %d replays %s, rank %d %s", max(s.start, mine.start)+1, collective.ErrMismatch, s.graph.rank(), s.graph, rank, r)
		}
		covered = covered || s.start <= mine.start && s.end() >= mine.end()
		if s.start < mine.start {
			i++
		}
	}
	if !covered {
		o.add(i, mine)
	}
	o.pass(rank)
	return nil
}

// beyond returns an error of a replay that would go beyond the place of a rank that left. The caller holds mu.
func (o *order) beyond(s *segment) error {
	most := o.most.Load()
	if s.end() <= most {
		return nil
	}
	return fmt.Errorf("call %d of the group, of %s: %w by rank %d", most+1, s.graph, collective.ErrClosed, o.leaver())
}

// refuse fails the group as a replay or a batch that begins at a place is not made, unless nobody waits for it, as where it
// begins at the place of a rank that left: what devices have before is done with then, by this rank's calls and by others'.
func (o *order) refuse(start uint64, why error) {
	if start < o.most.Load() || !errors.Is(why, collective.ErrClosed) {
		o.fail(why)
	}
}

// add adds a replay with calls that none of replays has, which i is the place of, or in place of a shorter one
// that begins where it does. The caller holds mu.
func (o *order) add(i int, s segment) {
	fresh := i == len(o.replays) || o.replays[i].start > s.start
	if fresh {
		o.replays = slices.Insert(o.replays, i, s)
	} else {
		o.replays[i] = s
	}
	for other, n := range o.next {
		switch {
		case n < i: // it comes to it later
		case o.place(other) < s.end():
			o.next[other] = i
		case fresh && other != s.graph.rank(): // it made those calls at once, or by others of replays
			o.next[other]++
		}
	}
	o.watch()
}

// pass moves a rank beyond the replays that it has passed, and drops those that all have. The caller holds mu.
func (o *order) pass(rank int) {
	n, at := o.next[rank], o.place(rank)
	if n == len(o.replays) || o.replays[n].end() > at {
		return
	}
	for n < len(o.replays) && o.replays[n].end() <= at {
		n++
	}
	o.next[rank] = n
	o.forget()
}

// forget drops the replays that all ranks passed. The caller holds mu.
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

// waits returns a replay with calls beyond a place, or nil, of which the first that begins there or before. The
// caller holds mu.
func (o *order) waits(at uint64) *segment {
	for i := range o.replays {
		if s := &o.replays[i]; s.end() > at {
			return s
		}
	}
	return nil
}

// call describes the call that follows a place, which a replay has or which was made before it.
func (s *segment) call(at uint64) string {
	if at < s.start {
		return fmt.Sprintf("call %d of the group, before %s", at+1, s.graph)
	}
	return fmt.Sprintf("call %d of the group, of %s", at+1, s.graph)
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
	failed := o.failed()
	o.mu.Lock()
	last := 0
	for rank := range o.ends {
		if o.place(rank) < o.place(last) {
			last = rank
		}
	}
	at := o.place(last)
	s := o.waits(at)
	if s == nil || failed || o.over() || o.look == nil { // the last where it has failed the group before
		o.look = nil
		o.mu.Unlock()
		return
	}
	if o.looks++; o.seen != at {
		o.seen, o.looks = at, 1
	}
	var err error
	if o.looks > looksPerTimeout {
		err = fmt.Errorf("%s: rank %d waited %v for the others: rank %d did not come: %w",
			s.call(at), s.graph.rank(), o.timeout, last, collective.ErrTimeout)
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
		if gone && o.place(rank) == o.most.Load() {
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
	o.wake()
	most := min(o.most.Load(), o.place(rank))
	o.most.Store(most)
	if o.over() {
		clear(o.subs) // which a rank whose engine failed did not come to
		clear(o.made)
		if o.look != nil {
			o.look.Stop()
		}
	}
	gone := o.leaver()
	if s := o.waits(most); s != nil {
		return fmt.Errorf("%s, which rank %d replays: %w by rank %d", s.call(most), s.graph.rank(), collective.ErrClosed, gone)
	}
	if m := o.made[most]; m != nil {
		return m.closed(most, gone)
	}
	return nil
}

// A replayed is a captured graph with calls of a group, on one rank.
type replayed struct {
	group  *Group
	number uint64   // of the rank's graphs with calls of the group that are bound, or of those that are not, from 1
	calls  []string // but for sends and receives
	sizes  []int    // by call: of the first of a batch, how many it has; 0: of the others
	digest uint64   // of both
	bound  bool     // ranks wait for the others' graphs of the same number
}

// same reports whether two ranks' graphs are each other's counterparts.
func (first *replayed) same(r *replayed) bool {
	return first.digest == r.digest && len(first.calls) == len(r.calls) && first.bound == r.bound && (first.number == r.number || !r.bound)
}

// seeded is what digests of the process are made with.
var seeded = maphash.MakeSeed()

// capture notes calls of a batch that a capture records, and returns why the group is of no more use.
func (g *Group) capture(c *graph.Capture, calls []*collective.Call) error {
	if err := g.usable(); err != nil {
		return err
	}
	calls = shared(calls)
	checker, err := c.Check(g, func() graph.Checker { return &replayed{group: g, number: g.free.next()} })
	if err != nil {
		return g.named(err)
	}
	r := checker.(*replayed)
	if !r.bound && g.binds(true, calls) {
		g.free.drop(r.number)
		r.bound, r.number = true, g.bound.next()
	}
	for i, call := range calls {
		r.add(call.String(), sizeAt(calls, i))
	}
	return nil
}

// shared returns those of a batch's calls that all ranks make: not sends and receives.
func shared(calls []*collective.Call) []*collective.Call {
	pairs := func(c *collective.Call) bool { return c.Kind == collective.Send || c.Kind == collective.Receive }
	if !slices.ContainsFunc(calls, pairs) {
		return calls
	}
	return slices.DeleteFunc(slices.Clone(calls), pairs)
}

// sizeAt returns what a call says of its batch: of the first how many the batch has, 0 of the others.
func sizeAt(calls []*collective.Call, i int) int {
	if i > 0 {
		return 0
	}
	return len(calls)
}

// binds reports whether ranks wait for one another in a batch itself.
func (g *Group) binds(captured bool, calls []*collective.Call) bool {
	o, able := g.comm.(collective.Overlapper)
	return able && o.Binds(captured, calls...)
}

// A count is how many graphs a rank captured, of those that are bound or of the others.
type count uint64

func (c *count) next() uint64 { *c++; return uint64(*c) }

// drop takes back the last number, of a graph that is not of the kind.
func (c *count) drop(number uint64) {
	if number == uint64(*c) {
		*c--
	}
}

// add adds a call, with what it says of its batch.
func (r *replayed) add(call string, size int) {
	r.calls, r.sizes = append(r.calls, call), append(r.sizes, size)
	r.digest = (r.digest*31+maphash.String(seeded, call))*31 + uint64(size)
}

func (r *replayed) rank() int { return r.group.Rank() }

// String describes the graph as messages name it.
func (r *replayed) String() string {
	switch n := len(r.calls); n {
	case 0:
		return fmt.Sprintf("graph %d", r.number)
	case 1:
		return fmt.Sprintf("graph %d with %s", r.number, r.calls[0])
	default:
		return fmt.Sprintf("graph %d with %s and %d more calls", r.number, r.calls[0], n-1)
	}
}

// at describes one of the graph's calls.
func (r *replayed) at(i uint64) string {
	if i == 0 {
		return r.String()
	}
	return fmt.Sprintf("%s of %s", r.calls[i], r)
}

// Check returns why the graph is not replayed: the group is of no more use, or was closed, so that devices
// would find memory that is somebody else's.
func (r *replayed) Check() error {
	g := r.group
	err := g.usable()
	if err != nil || g.order == nil {
		return err
	}
	mine := segment{r, g.place.Load()}
	if mine.end() <= g.order.most.Load() {
		return nil
	}
	g.order.mu.Lock()
	err = g.order.beyond(&mine)
	g.order.mu.Unlock()
	g.order.refuse(mine.start, err)
	return g.named(err)
}

// Note tells other ranks of a replay, once they are near. If they replay another graph, that ends the group, and so it does
// if one has left that does not come to the end of the replay, but to its first call.
func (r *replayed) Note() error {
	if len(r.calls) == 0 {
		return nil
	}
	g := r.group
	err := g.ended(g.order.near(g, ofReplay))
	if err == nil {
		err = r.note()
	}
	if err == nil && g.order != nil {
		g.ahead.gave(g, ofReplay)
	}
	return err
}

// note is Note for who has waited for the others.
func (r *replayed) note() error {
	g := r.group
	if told, able := g.comm.(collective.Replayer); able {
		told.Replayed(r.calls)
		if err := g.usable(); err != nil { // what was told ended the group
			return err
		}
	}
	if g.order == nil {
		return nil
	}
	mine := segment{r, g.place.Load()}
	err := g.order.replay(r)
	if err != nil {
		g.order.refuse(mine.start, err)
	}
	return g.ended(err)
}

// Fail ends the group, whose other ranks wait for a replay that is not made.
func (r *replayed) Fail(why error) {
	r.group.Abort(fmt.Errorf("%s was not replayed: %w", r, why))
}

// Doubt is the group's.
func (r *replayed) Doubt() *stream.Doubt { return r.group.doubt }

// usable returns why calls that were captured are not made any more, as far as this rank knows.
func (g *Group) usable() error { return g.ended(g.gone()) }

// gone is usable without the rank.
func (g *Group) gone() error {
	if g.closed.Load() {
		return errLeft
	}
	return g.comm.Err()
}
