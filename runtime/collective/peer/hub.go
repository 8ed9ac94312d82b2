package peer

import (
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// A hub is where the ranks of a group meet on the host.
type hub struct {
	size    int
	timeout time.Duration
	ends    []*Communicator // by rank
	lanes   sync.Mutex      // guards what ranks show of their lanes; not held in waits
	post    *post           // of captured calls; nil: the engine under it makes them

	mu       sync.Mutex // guards what follows
	err      error      // why the group is of no more use
	broken   chan struct{}
	left     []bool   // by rank: closed the group
	made     []uint64 // by rank: batches made by copies that it came with
	meetings map[uint64]*meeting
}

// A meeting is the calls of one batch that all ranks make by copies, one at least.
type meeting struct {
	number   uint64
	calls    [][]*collective.Call // by rank; nil: not there yet
	first    int                  // the rank that came first
	come     int
	captured bool    // it is captured
	gates    []*gate // in the order in which ranks pass them
	sides    []side  // by rank: what the others know of it, from the first gate on
	under    int     // ranks that are at work on one another's memory
	over     []bool  // by rank: it was, and is no more
	idle     chan struct{}
}

// A side is a rank's part of a meeting. Events are recorded before the gate that the others
// wait for them behind.
type side struct {
	ready   device.EventID // its elements are there, and its scratch memory is free
	scratch uint64
	arrived []device.EventID // by slot: what it copied to the others is there
	summed  []device.EventID // by slot: it has added up its part
	given   device.EventID   // it has copied its sums to the others
	before  captured         // what it captured before
}

// A gate is a place that no rank passes before all have come.
type gate struct {
	there []bool // by rank
	come  int
	open  chan struct{}
}

func newHub(size int, timeout time.Duration) *hub {
	return &hub{size: size, timeout: timeout, ends: make([]*Communicator, size), broken: make(chan struct{}),
		left: make([]bool, size), made: make([]uint64, size), meetings: map[uint64]*meeting{}}
}

func (h *hub) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// fail makes the group of no more use, for the first reason that there is, which it returns.
func (h *hub) fail(err error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.failed(err)
}

// failed is fail of a caller that holds mu.
func (h *hub) failed(err error) error {
	if h.err == nil {
		h.err = err
		close(h.broken)
		if p := h.post; p != nil && !p.shut {
			p.unblocking.Go(p.unblock)
		}
	}
	return h.err
}

// shut ends what unblocks replays, for good: the caller may wait for it then.
func (h *hub) shut() {
	h.mu.Lock()
	defer h.mu.Unlock()
	if !h.post.shut {
		h.post.shut = true
		close(h.post.over)
	}
}

// arrive notes the next batch of a rank, and compares it with that of the rank that came first.
func (h *hub) arrive(rank int, calls []*collective.Call, captured bool) (*meeting, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	h.made[rank]++
	number := h.made[rank]
	m := h.meetings[number]
	if m == nil {
		m = &meeting{number: number, calls: make([][]*collective.Call, h.size), first: rank, captured: captured,
			sides: make([]side, h.size), over: make([]bool, h.size), idle: make(chan struct{})}
		h.meetings[number] = m
	}
	m.calls[rank] = calls
	if m.come++; m.come == h.size {
		delete(h.meetings, number)
	}
	if err := m.compare(rank, captured); err != nil {
		return nil, h.failed(fmt.Errorf("batch %d by copies: %w", number, err))
	}
	return m, h.checkLeft(m)
}

// compare returns how a rank's calls differ from the first's. All ranks capture them, or none does.
func (m *meeting) compare(rank int, captured bool) error {
	own, first := m.calls[rank], m.calls[m.first]
	for i := range min(len(own), len(first)) {
		if err := collective.Differs(rank, own[i], m.first, first[i]); err != nil {
			return err
		}
	}
	if len(own) != len(first) {
		return fmt.Errorf("%w: rank %d makes %d calls together, the first of them %s, rank %d makes %d: batches are alike", collective.ErrMismatch, m.first, len(first), first[0], rank, len(own))
	}
	if captured != m.captured {
		one, other := m.first, rank
		if captured {
			one, other = other, one
		}
		return fmt.Errorf("%w: rank %d captures %s, rank %d does not", collective.ErrMismatch, one, first[0], other)
	}
	return nil
}

// checkLeft fails a meeting whose ranks wait for one that left. The caller holds mu.
func (h *hub) checkLeft(m *meeting) error {
	for rank, gone := range h.left {
		if gone && m.calls[rank] == nil {
			return h.failed(fmt.Errorf("%s, batch %d by copies: %w by rank %d", m.calls[m.first][0], m.number, collective.ErrClosed, rank))
		}
	}
	return nil
}

// leave notes that a rank closed the group. Calls that wait for it fail.
func (h *hub) leave(rank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.left[rank] = true
	for _, m := range h.meetings {
		_ = h.checkLeft(m) // those who wait return it
	}
}

// pass waits at a gate of a meeting, the i-th, until all ranks have come there.
func (h *hub) pass(m *meeting, rank, i int) error {
	h.mu.Lock()
	if h.err != nil {
		defer h.mu.Unlock()
		return h.err
	}
	for len(m.gates) <= i {
		m.gates = append(m.gates, &gate{there: make([]bool, h.size), open: make(chan struct{})})
	}
	g := m.gates[i]
	g.there[rank] = true
	if g.come++; g.come == h.size {
		if i == 0 {
			m.under = h.size
		}
		close(g.open)
		h.mu.Unlock()
		return nil
	}
	h.mu.Unlock()
	timer := time.NewTimer(h.timeout)
	defer timer.Stop()
	select {
	case <-g.open:
		return nil
	case <-h.broken:
	case <-timer.C:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if g.come == h.size { // the others are at work already
		return nil
	}
	return h.failed(fmt.Errorf("%s, batch %d by copies: rank %d waited %v for %s: %w",
		m.calls[rank][0], m.number, rank, h.timeout, ranks(g.there), collective.ErrTimeout))
}

// ranks names those that are not there: "rank 3", "ranks 0, 2".
func ranks(there []bool) string {
	var list []string
	for rank, is := range there {
		if !is {
			list = append(list, fmt.Sprint(rank))
		}
	}
	if len(list) == 1 {
		return "rank " + list[0]
	}
	return "ranks " + strings.Join(list, ", ")
}

// settled waits until no rank gives its device more work of a meeting, which may be nil.
func (h *hub) settled(m *meeting, rank int) error { return h.await(m, rank, nil) }

// depart is settled of a rank that goes on behind the meeting, unless the group is of no more use before.
func (h *hub) depart(m *meeting, rank int) error {
	if err := h.await(m, rank, h.broken); err != nil {
		return h.fail(err)
	}
	return nil
}

// await waits until no rank gives its device more work of a meeting, for the timeout and until the group ends.
func (h *hub) await(m *meeting, rank int, end <-chan struct{}) error {
	if m == nil {
		return nil
	}
	timer := time.NewTimer(h.timeout)
	defer timer.Stop()
	var ended error
	select {
	case <-m.idle:
		return nil
	case <-end:
		ended = h.failure()
	case <-timer.C:
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	switch {
	case m.under == 0: // of two that are so any is chosen
		return nil
	case ended != nil:
		return ended
	}
	return fmt.Errorf("%s, batch %d by copies: rank %d waited %v, and devices are given work of it by %s still: %w",
		m.calls[rank][0], m.number, rank, h.timeout, ranks(m.over), collective.ErrTimeout)
}

// finish notes that a rank does nothing more with the memory of others in a meeting, whose
// first gate it has passed.
func (h *hub) finish(m *meeting, rank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	m.over[rank] = true
	if m.under--; m.under == 0 {
		close(m.idle)
	}
}
