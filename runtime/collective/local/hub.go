package local

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/collective"
)

// A hub is where the ranks of a group meet.
type hub struct {
	size    int
	timeout time.Duration

	mu       sync.Mutex // guards what follows
	err      error      // why the group is of no more use
	broken   chan struct{}
	left     []bool // by rank: closed the group
	meetings map[uint64]*meeting
	routes   map[route]*crossing
	seeds    uint64              // of groups of some of the ranks
	founded  map[uint64]*founded // those that not all members came to, by seed
}

// A founded is a group of some of the ranks.
type founded struct {
	hub  *hub
	come int
}

// A meeting is one collective call.
type meeting struct {
	number uint64
	calls  []*collective.Call // by rank; nil: not there yet
	first  int                // the rank that came first
	come   int
	full   bool          // all came, and the last one is at work on their memory
	done   chan struct{} // closed when the call is done
	err    error         // valid once done is closed
}

// A route is what goes from one rank to another.
type route struct{ from, to int }

// A crossing has the sends or the receives of a route that wait for their counterpart,
// in order.
type crossing struct{ sends, receives []*half }

// A half is a send or a receive.
type half struct {
	call *collective.Call
	met  bool          // its counterpart is there; guarded by hub.mu
	done chan struct{} // closed when the elements are there or it went wrong
	err  error         // valid once done is closed
}

func newHub(size int, timeout time.Duration) *hub {
	return &hub{size: size, timeout: timeout, broken: make(chan struct{}), left: make([]bool, size),
		meetings: map[uint64]*meeting{}, routes: map[route]*crossing{}, founded: map[uint64]*founded{}}
}

// fail makes the group of no more use, for the first reason that there is. The caller
// holds mu.
func (h *hub) fail(err error) error {
	if h.err == nil {
		h.err = err
		close(h.broken)
	}
	return h.err
}

func (h *hub) failure() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.err
}

// meet makes the number-th collective call of a rank. The last rank that comes does the
// work of all, so that it is done by one goroutine, in the order of ranks.
func (h *hub) meet(rank int, number uint64, c *collective.Call) error {
	h.mu.Lock()
	m, err := h.arrive(rank, number, c)
	if err != nil {
		h.mu.Unlock()
		return err
	}
	last := m.come == h.size
	if last {
		m.full = true
		delete(h.meetings, number)
	}
	h.mu.Unlock()
	if last {
		m.err = perform(m.calls)
		close(m.done)
		return m.err
	}
	timer := time.NewTimer(h.timeout)
	defer timer.Stop()
	select {
	case <-m.done:
		return m.err
	case <-h.broken:
	case <-timer.C:
	}
	h.mu.Lock()
	if m.full {
		h.mu.Unlock()
		<-m.done
		return m.err
	}
	defer h.mu.Unlock()
	return h.fail(fmt.Errorf("%s, call %d of the group: rank %d waited %v for %s: %w",
		c, number, rank, h.timeout, ranks(m.missing()), collective.ErrTimeout))
}

// arrive notes a rank's call. The caller holds mu.
func (h *hub) arrive(rank int, number uint64, c *collective.Call) (*meeting, error) {
	if h.err != nil {
		return nil, h.err
	}
	m := h.meetings[number]
	if m == nil {
		m = &meeting{number: number, calls: make([]*collective.Call, h.size), first: rank, done: make(chan struct{})}
		h.meetings[number] = m
	}
	m.calls[rank] = c
	m.come++
	if err := collective.Differs(rank, c, m.first, m.calls[m.first]); err != nil {
		return nil, h.fail(fmt.Errorf("call %d of the group: %w", number, err))
	}
	return m, h.checkLeft(m)
}

// checkLeft fails a meeting that a rank which left will not come to.
func (h *hub) checkLeft(m *meeting) error {
	for r, gone := range h.left {
		if gone && m.calls[r] == nil {
			return h.fail(fmt.Errorf("%s, call %d of the group: %w by rank %d", m.calls[m.first], m.number, collective.ErrClosed, r))
		}
	}
	return nil
}

func (m *meeting) missing() []int {
	var out []int
	for r, c := range m.calls {
		if c == nil {
			out = append(out, r)
		}
	}
	return out
}

// ranks names ranks: "rank 3", "ranks 0, 2".
func ranks(list []int) string {
	if len(list) == 1 {
		return fmt.Sprintf("rank %d", list[0])
	}
	text := make([]string, len(list))
	for i, r := range list {
		text[i] = fmt.Sprint(r)
	}
	return "ranks " + strings.Join(text, ", ")
}

// post notes a send or a receive, and does it where its counterpart is there.
func (h *hub) post(rank int, c *collective.Call) (*half, error) {
	mine := &half{call: c, done: make(chan struct{})}
	way, sending := route{rank, c.Root}, c.Kind == collective.Send
	if !sending {
		way = route{c.Root, rank}
	}
	h.mu.Lock()
	if h.err != nil {
		h.mu.Unlock()
		return nil, h.err
	}
	x := h.routes[way]
	if x == nil {
		x = new(crossing)
		h.routes[way] = x
	}
	own, others := &x.receives, &x.sends
	if sending {
		own, others = others, own
	}
	if len(*others) == 0 {
		*own = append(*own, mine)
		err := h.checkPeer(rank, c)
		h.mu.Unlock()
		return mine, err
	}
	other := (*others)[0]
	if *others = slices.Delete(*others, 0, 1); len(x.sends)+len(x.receives) == 0 {
		delete(h.routes, way)
	}
	send, receive := other, mine
	if sending {
		send, receive = mine, other
	}
	err := collective.Pairs(way.from, send.call, way.to, receive.call)
	if err != nil {
		err = h.fail(err)
	} else {
		mine.met, other.met = true, true
	}
	h.mu.Unlock()
	if err != nil {
		return nil, err
	}
	move(receive.call.Out, 0, send.call.In, 0, send.call.In.NumElements())
	close(mine.done)
	close(other.done)
	return mine, nil
}

// checkPeer fails a send or a receive whose other rank left. The caller holds mu.
func (h *hub) checkPeer(rank int, c *collective.Call) error {
	if !h.left[c.Root] {
		return nil
	}
	return h.fail(fmt.Errorf("rank %d makes %s: %w by rank %d", rank, c, collective.ErrClosed, c.Root))
}

// await waits until a send or a receive is done.
func (h *hub) await(rank int, x *half) error {
	timer := time.NewTimer(h.timeout)
	defer timer.Stop()
	select {
	case <-x.done:
		return x.err
	case <-h.broken:
	case <-timer.C:
	}
	h.mu.Lock()
	if x.met { // the other rank is at work on this rank's memory
		h.mu.Unlock()
		<-x.done
		return x.err
	}
	defer h.mu.Unlock()
	return h.fail(fmt.Errorf("%s: rank %d waited %v for rank %d: %w", x.call, rank, h.timeout, x.call.Root, collective.ErrTimeout))
}

// leave notes that a rank closed the group. Calls that wait for it fail.
func (h *hub) leave(rank int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.left[rank] {
		return
	}
	h.left[rank] = true
	for _, m := range h.meetings {
		if m.calls[rank] == nil {
			_ = h.checkLeft(m) // those who wait return it
		}
	}
	for way, x := range h.routes {
		for _, s := range x.sends {
			if way.to == rank {
				_ = h.checkPeer(way.from, s.call)
			}
		}
		for _, r := range x.receives {
			if way.from == rank {
				_ = h.checkPeer(way.to, r.call)
			}
		}
	}
}

// seed names a new group of some of the ranks.
func (h *hub) seed() uint64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.seeds++
	return h.seeds
}

// found returns where the members of the group that a seed names meet. The first that comes
// makes it.
func (h *hub) found(seed uint64, members int) (*hub, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.err != nil {
		return nil, h.err
	}
	f := h.founded[seed]
	if f == nil {
		f = &founded{hub: newHub(members, h.timeout)}
		h.founded[seed] = f
	}
	if f.come++; f.come == members {
		delete(h.founded, seed)
	}
	return f.hub, nil
}
