package dist

import (
	"fmt"

	"github.com/sinter-go/sinter/runtime/collective"
)

// A made is a call that some ranks have made at once, and that others are to make or to replay.
type made struct {
	call  *collective.Call
	size  int    // as a replayed has it
	bound bool   // all make it at once
	rank  int    // that came first
	come  int    // ranks that made or replayed it
	text  string // of call, once somebody asked for it
}

// String describes the call as messages name it.
func (m *made) String() string {
	if m.text == "" {
		m.text = m.call.String()
	}
	return m.text
}

// count notes calls that are made at once, once others are near. Where other ranks made or replayed others, that ends the
// group, and so it does where one has left in the midst of the batch. One that left before it ends nothing.
func (g *Group) count(calls []*collective.Call) error {
	calls = shared(calls)
	if g.order == nil || len(calls) == 0 {
		return nil
	}
	if err := g.order.near(g, ofCall); err != nil {
		return err
	}
	start := g.place.Load()
	if err := g.order.make(g, calls, g.binds(false, calls)); err != nil {
		g.order.refuse(start, err)
		return err
	}
	g.ahead.gave(g, ofCall)
	return nil
}

// make notes a batch of calls that a rank makes at once, and returns how they differ from what other ranks do
// in their place.
func (o *order) make(g *Group, calls []*collective.Call, bound bool) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	for i, call := range calls {
		m, at := made{call: call, size: sizeAt(calls, i), bound: bound, rank: g.Rank()}, g.place.Load()
		if at >= o.most.Load() {
			return m.closed(at, o.leaver())
		}
		if err := o.come(&m, at); err != nil {
			return err
		}
		g.place.Add(1)
	}
	o.cameOn()
	o.pass(g.Rank())
	return nil
}

// come notes a call that a rank makes at once. The caller holds mu.
func (o *order) come(m *made, at uint64) error {
	if first := o.made[at]; first != nil {
		o.arrive(first, at)
		return first.differs(m, at)
	}
	m.come = 1
	if s := o.covers(m.rank, at); s != nil {
		if err := s.differs(m, at); err != nil {
			return err
		}
		for other := range o.ends {
			if other != m.rank && o.place(other) > at { // it has replayed it
				m.come++
			}
		}
	}
	if m.come < o.size {
		kept := *m
		o.made[at] = &kept
	}
	return nil
}

// arrive notes that one more rank has made or replayed a call. The caller holds mu.
func (o *order) arrive(m *made, at uint64) {
	if m.come++; m.come == o.size {
		delete(o.made, at)
	}
}

// covers returns a replay that has the call at a place, which the rank has not passed, or nil. The caller holds mu.
func (o *order) covers(rank int, at uint64) *segment {
	for i := o.next[rank]; i < len(o.replays) && o.replays[i].start <= at; i++ {
		if s := &o.replays[i]; s.end() > at {
			return s
		}
	}
	return nil
}

// meet notes a replay where other ranks have made its calls at once, and returns how they differ. The caller holds mu.
func (o *order) meet(s *segment) error {
	if len(o.made) == 0 {
		return nil
	}
	for at := s.start; at < s.end(); at++ {
		if m := o.made[at]; m != nil {
			if err := s.differs(m, at); err != nil {
				return err
			}
			o.arrive(m, at)
		}
	}
	return nil
}

// differs returns how a call that is made at once differs from a replay of it.
func (s *segment) differs(m *made, at uint64) error {
	i, why := at-s.start, ""
	switch {
	case m.String() != s.graph.calls[i]:
	case s.graph.bound || m.bound:
		why = ": all ranks replay it, or none does"
	case m.size != s.graph.sizes[i]:
		why = fmt.Sprintf(", the first of %d calls together there and of %d here: batches are alike", s.graph.sizes[i], m.size)
	default:
		return nil
	}
	return fmt.Errorf("call %d of the group: %w: rank %d replays %s, rank %d makes %s at once%s", at+1, collective.ErrMismatch,
		s.graph.rank(), s.graph.at(i), m.rank, m, why)
}

// differs returns how a call differs from the one that another rank makes, both at once.
func (m *made) differs(other *made, at uint64) error {
	err := collective.Differs(other.rank, other.call, m.rank, m.call)
	if err == nil && m.size != other.size {
		err = fmt.Errorf("%w: rank %d makes %d calls together, the first of them %s, rank %d makes %d: batches are alike",
			collective.ErrMismatch, m.rank, m.size, m, other.rank, other.size)
	}
	if err != nil {
		err = fmt.Errorf("call %d of the group: %w", at+1, err)
	}
	return err
}

// closed is the error of a call whose other ranks left.
func (m *made) closed(at uint64, leaver int) error {
	return fmt.Errorf("%s, call %d of the group: %w by rank %d", m, at+1, collective.ErrClosed, leaver)
}
