package dist

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sinter-go/sinter/backend/cuda/nccl"
	"github.com/sinter-go/sinter/runtime/collective"
)

// A sideline is what the processes of a group with GPUs know of each other beside their calls:
// each tells rank 0 which calls it makes, after it gave them to the GPU, and hears from it what
// is wrong. The library compares nothing, and of a process that is gone it knows nothing. A
// sideline serves a group and all that are split off it; ranks are those of the first group.
type sideline struct {
	rank  int
	clerk *clerk        // rank 0's
	wires map[int]*wire // rank 0: to all others; others: to rank 0

	mu    sync.Mutex
	ends  map[string]ending // this process's ends of groups, by the group's name
	fault error             // why every group is of no more use
}

// An ending is the end of a group, which can be told that the group is of no more use.
type ending interface{ Fail(reason error) }

var _ nccl.Monitor = (*sideline)(nil)

// faultKinds are the errors that faults wrap.
var faultKinds = []error{collective.ErrMismatch, collective.ErrTimeout, collective.ErrClosed}

const (
	faultMismatch = iota
	faultTimeout
	faultClosed
)

// newSideline takes over the contacts that a meeting left: rank 0's with all others, those of
// others with rank 0. A process that is silent for the timeout, and for some seconds, counts as
// gone.
func newSideline(rank, size int, contacts map[int]*contact, timeout time.Duration) *sideline {
	l := &sideline{rank: rank, wires: map[int]*wire{}, ends: map[string]ending{}}
	if rank == 0 {
		l.clerk = newClerk(size, timeout, l.announce)
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for other, c := range contacts {
		l.wires[other] = newWire(c.conn, c.keys, max(timeout, patient), func(n note) { l.heard(other, n) }, func(err error) { l.lost(other, err) })
	}
	return l
}

// heard takes what another process told.
func (l *sideline) heard(from int, n note) {
	switch {
	case l.rank != 0 && n.Fault != "":
		l.fail(n)
	case l.rank == 0 && n.Fault != "":
		l.announce(n)
	case l.rank == 0:
		l.clerk.hear(from, n)
	}
}

// lost notes that a connection ended.
func (l *sideline) lost(other int, why error) {
	n := note{Kind: faultClosed, Fault: fmt.Sprintf("rank %d is gone: %v", other, why)}
	if l.rank == 0 {
		l.announce(n)
	} else {
		l.fail(n)
	}
}

// announce is rank 0's telling everybody, itself last, that groups are of no more use: a program that
// is told may end at once, and the others would know only that it is gone.
func (l *sideline) announce(n note) {
	l.mu.Lock()
	wires := l.wires
	l.mu.Unlock()
	urge(wires, n)
	l.fail(n)
}

// fail ends this process's ends of the groups that a fault is of.
func (l *sideline) fail(n note) {
	err := fmt.Errorf("%s: %w", n.Fault, faultKinds[min(uint(n.Kind), uint(len(faultKinds)-1))])
	l.mu.Lock()
	var over []ending
	for name, e := range l.ends {
		if n.Group == "" || n.Group == name {
			over = append(over, e)
		}
	}
	if n.Group == "" {
		l.fault = err
	}
	l.mu.Unlock()
	for _, e := range over {
		e.Fail(err)
	}
}

// Joined notes an end that this process has of a group.
func (l *sideline) Joined(group string, end *nccl.Communicator) { l.joined(group, end) }

func (l *sideline) joined(group string, end ending) {
	l.mu.Lock()
	l.ends[group] = end
	err := l.fault
	l.mu.Unlock()
	if err != nil {
		end.Fail(err)
	}
}

// Made tells which calls this process made, the first of which has a number.
func (l *sideline) Made(group string, size int, first uint64, calls []string) {
	l.say(note{Group: group, Size: size, First: first, Calls: slices.Clone(calls)})
}

// GaveUp tells that this process gives up its end of a group.
func (l *sideline) GaveUp(group string, why error) {
	n := note{Group: group, Kind: faultClosed, Fault: why.Error()}
	for kind, is := range faultKinds {
		if errors.Is(why, is) {
			n.Kind, n.Fault = kind, strings.TrimSuffix(n.Fault, ": "+is.Error()) // which fail adds
			break
		}
	}
	l.say(n)
}

// Left notes that this process closed its end of a group of size ranks. With the last one ends the sideline.
func (l *sideline) Left(group string, size int) {
	l.say(note{Group: group, Size: size, Left: true})
	l.mu.Lock()
	delete(l.ends, group)
	over := len(l.ends) == 0
	l.mu.Unlock()
	if over {
		l.end()
	}
}

// absent tells that this process cannot join the group, and ends the sideline.
func (l *sideline) absent(why error) {
	l.say(note{Kind: faultClosed, Fault: fmt.Sprintf("rank %d did not join: %v", l.rank, why)})
	l.end()
}

// end closes the connections.
func (l *sideline) end() {
	l.mu.Lock()
	wires := l.wires
	l.wires = nil
	l.mu.Unlock()
	for _, w := range wires {
		w.close()
	}
	if l.clerk != nil {
		l.clerk.close()
	}
}

// say has rank 0 hear a note of this process.
func (l *sideline) say(n note) {
	if l.rank == 0 {
		l.heard(0, n)
		return
	}
	l.mu.Lock()
	wires := l.wires
	l.mu.Unlock()
	if n.Fault != "" {
		urge(wires, n)
	} else if w := wires[0]; w != nil {
		w.tell(n)
	}
}

// A clerk compares, on rank 0, what the ranks of groups say that they make.
type clerk struct {
	size     int
	timeout  time.Duration
	announce func(note)
	stop     chan struct{}

	mu     sync.Mutex
	groups map[string]*roll
	closed bool
}

// A roll is what is known of a group's calls.
type roll struct {
	size int
	rows map[uint64]*row // by number: calls that not all ranks have made
	left map[int]bool    // ranks that closed their end
	came map[int]bool    // ranks that made any call
	over bool            // its fault was announced
}

// A row is a call that some ranks have made.
type row struct {
	call  string // what the first of them made
	first int    // which rank that was
	since time.Time
	come  map[int]bool
}

func newClerk(size int, timeout time.Duration, announce func(note)) *clerk {
	c := &clerk{size: size, timeout: timeout, announce: announce, stop: make(chan struct{}), groups: map[string]*roll{}}
	go c.look()
	return c
}

func (c *clerk) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.closed {
		c.closed = true
		close(c.stop)
	}
}

// hear takes a rank's note.
func (c *clerk) hear(rank int, n note) {
	if n.Group == "" || n.Size < 0 {
		return
	}
	c.mu.Lock()
	r := c.groups[n.Group]
	if r == nil {
		r = &roll{size: n.Size, rows: map[uint64]*row{}, left: map[int]bool{}, came: map[int]bool{}}
		c.groups[n.Group] = r
	}
	if n.Left {
		r.left[rank] = true
		if len(r.left) == r.size {
			delete(c.groups, n.Group)
		}
	}
	fault := note{}
	if n.Left {
		for _, number := range r.numbers() {
			if w := r.rows[number]; !w.come[rank] { // of a rank that came before, which waits
				fault = closed(number, w.call, w.first, rank)
				break
			}
		}
	}
	for i, call := range n.Calls {
		if f := r.make(rank, n.First+uint64(i), call); f.Fault != "" && fault.Fault == "" {
			fault = f
		}
	}
	fault.Group = n.Group
	tell := fault.Fault != "" && !r.over
	r.over = r.over || tell
	c.mu.Unlock()
	if tell {
		c.announce(fault)
	}
}

// numbers returns those of the rows, from the first on.
func (r *roll) numbers() []uint64 { return slices.Sorted(maps.Keys(r.rows)) }

// closed is the fault of a call that a rank made and another does not come to.
func closed(number uint64, call string, rank, other int) note {
	return note{Kind: faultClosed, Fault: fmt.Sprintf("call %d of the group, %s of rank %d: rank %d has closed its end", number, call, rank, other)}
}

// make notes a call of a rank, and returns what is wrong with it.
func (r *roll) make(rank int, number uint64, call string) (n note) {
	r.came[rank] = true
	w := r.rows[number]
	if w == nil {
		w = &row{call: call, first: rank, since: time.Now(), come: map[int]bool{}}
		r.rows[number] = w
	}
	w.come[rank] = true
	if len(w.come) == r.size {
		delete(r.rows, number)
	}
	if w.call != call {
		return note{Kind: faultMismatch, Fault: fmt.Sprintf("call %d of the group: rank %d makes %s, rank %d %s", number, w.first, w.call, rank, call)}
	}
	for other := range r.left {
		if !w.come[other] {
			return closed(number, call, rank, other)
		}
	}
	return note{}
}

// look announces calls that ranks do not come to.
func (c *clerk) look() {
	tick := time.NewTicker(min(max(c.timeout/20, time.Millisecond), time.Second))
	defer tick.Stop()
	for {
		select {
		case <-c.stop:
			return
		case <-tick.C:
		}
		for _, n := range c.late() {
			c.announce(n)
		}
	}
}

// late returns the faults of calls that some ranks have waited too long with.
func (c *clerk) late() (faults []note) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for name, r := range c.groups {
		for _, number := range r.numbers() {
			w := r.rows[number]
			if r.over || time.Since(w.since) <= c.timeout {
				continue
			}
			r.over = true
			faults = append(faults, note{Group: name, Kind: faultTimeout, Fault: fmt.Sprintf(
				"call %d of the group, %s: rank %d waited %v for the others: %s did not come", number, w.call, w.first, c.timeout, c.missing(r, w))})
		}
	}
	return faults
}

// missing names the ranks that did not come to a call.
func (c *clerk) missing(r *roll, w *row) string {
	var ranks []int
	for rank := range c.size {
		if !w.come[rank] && (r.size == c.size || r.came[rank]) {
			ranks = append(ranks, rank)
		}
	}
	if len(ranks) == 1 {
		return fmt.Sprint("rank ", ranks[0])
	}
	return fmt.Sprint("ranks ", ranks)
}
