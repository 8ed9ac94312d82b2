package nccl

import (
	"fmt"
	"time"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// A pending is calls that are being given to a stream, or were.
type pending struct {
	call  *collective.Call // the first of them
	event device.EventID   // behind them, once the stream has them
	since time.Time
}

// enter notes that a call is being given to the GPU, which may wait for other ranks: the
// first calls connect them.
func (c *Communicator) enter(call *collective.Call) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under = &pending{call: call, since: time.Now()}
	c.watch()
}

// leave notes that the GPU has it, and returns why the group is of no more use, if it is.
func (c *Communicator) leave() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.under = nil
	return c.err
}

// A Monitor knows what the processes of a group do, beside the library, which compares no
// calls and does not see that a process is gone. Its calls wait for no other process, but where they tell
// that a group is of no more use: until that is on its way, for some seconds at most.
type Monitor interface {
	// Joined notes an end of a group, whose Fail ends it.
	Joined(group string, end *Communicator)
	// Made notes calls that an end of a group of size ranks made or replayed, but for sends and
	// receives: the number of the first, and what each is.
	Made(group string, size int, first uint64, calls []string)
	// GaveUp notes that the end is given up, and why.
	GaveUp(group string, why error)
	// Left notes that the end of a group of size ranks was closed.
	Left(group string, size int)
}

// tell has the monitor, if there is one, know of calls that are made, but for those that are captured,
// which Replayed tells of. The caller holds using.
func (c *Communicator) tell(s device.StreamID, calls []*collective.Call) {
	if c.monitor == nil || c.captured(s) {
		return
	}
	var list []string
	for _, call := range calls {
		if call.Kind != collective.Send && call.Kind != collective.Receive {
			list = append(list, call.String())
		}
	}
	c.count(list)
}

// count tells the monitor of calls. The caller holds using.
func (c *Communicator) count(list []string) {
	if len(list) > 0 {
		c.monitor.Made(c.name, c.size, c.number+1, list)
		c.number += uint64(len(list))
	}
}

// Replayed has the monitor, if there is one, know of calls that a replay makes, as if they were made now. It waits as Do
// does before.
func (c *Communicator) Replayed(calls []string) {
	c.othersClear()
	if c.monitor == nil {
		return
	}
	c.using.Lock()
	defer c.leaveLibrary()
	c.count(calls)
}

// captured reports whether a stream is.
func (c *Communicator) captured(s device.StreamID) bool {
	k, ok := c.driver.(device.Capturer)
	return ok && k.CaptureOf(c.device.Index, s) != 0
}

// note remembers what was given to a stream, and has it looked after. What is captured is
// not done, and nobody waits for it.
func (c *Communicator) note(s device.StreamID, call *collective.Call) error {
	if c.captured(s) {
		c.recorded.Store(true)
		return nil
	}
	p := pending{call: call, since: time.Now()}
	var err error
	if p.event, err = c.event(); err != nil {
		return err
	}
	err = c.driver.RecordEvent(c.device.Index, p.event, s) // which may wait for room on the GPU
	c.mu.Lock()
	defer c.mu.Unlock()
	if err != nil {
		c.events = append(c.events, p.event)
		return err
	}
	c.pending = append(c.pending, p)
	c.watch()
	return nil
}

// event returns an event that nothing is recorded by any more.
func (c *Communicator) event() (e device.EventID, err error) {
	c.mu.Lock()
	last := len(c.events) - 1
	if last >= 0 {
		e, c.events = c.events[last], c.events[:last]
	}
	c.mu.Unlock()
	if last < 0 {
		e, err = c.driver.NewEvent(c.device.Index, false)
	}
	return e, err
}

// grace is how much longer a rank waits at most that a monitor may tell whom it waits for.
const grace = 5 * time.Second

// interval is how often calls that are under way are looked after.
const interval = 10 * time.Millisecond

// watch has a goroutine look after calls. The caller holds mu.
func (c *Communicator) watch() {
	if !c.watched {
		c.watched = true
		go c.look()
	}
}

// look ends calls that take longer than the timeout, or whose connection broke. It returns
// when none is left.
func (c *Communicator) look() {
	for {
		time.Sleep(interval)
		late := c.ask()
		c.mu.Lock()
		if late == nil {
			late = c.late()
		}
		if c.closed {
			late = nil
		}
		c.watched = len(c.pending) > 0 || c.under != nil
		more := c.watched
		c.mu.Unlock()
		if late != nil {
			_ = c.giveUp(late) // calls of the group return it; tidy may have forgotten the last of them
		}
		if !more {
			return
		}
	}
}

// An answer is what tidy will return.
type answer struct {
	there chan struct{} // closed when it has
	err   error         // valid then
}

// ask is tidy, but waits for it only for a while: a driver may not answer as long as the GPU waits for another rank,
// and nobody would find that this takes too long.
func (c *Communicator) ask() error {
	c.mu.Lock()
	a := c.asking
	if a == nil {
		a = &answer{there: make(chan struct{})}
		c.asking = a
		go func() {
			a.err = c.tidy()
			c.mu.Lock()
			c.asking = nil
			c.mu.Unlock()
			close(a.there)
		}()
	}
	c.mu.Unlock()
	late := time.NewTimer(interval)
	defer late.Stop()
	select {
	case <-a.there:
		return a.err
	case <-late.C:
		return nil
	}
}

// tidy forgets calls that are done, and all of a group that is of no more use. It returns what is wrong with
// the GPU.
func (c *Communicator) tidy() error {
	c.answers.Lock()
	defer c.answers.Unlock()
	for {
		p := c.oldest()
		if p == nil {
			return nil
		}
		done, err := c.driver.EventDone(c.device.Index, p.event)
		switch {
		case c.Err() != nil:
		case err != nil:
			return fmt.Errorf("%s: %w", p.call, err)
		case !done:
			return nil
		}
		c.mu.Lock()
		c.forget(1)
		c.mu.Unlock()
	}
}

// oldest returns what was given to the GPU first of what is not seen to be done, or nil.
func (c *Communicator) oldest() *pending {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err != nil {
		c.forget(len(c.pending))
	}
	if len(c.pending) == 0 {
		return nil
	}
	p := c.pending[0]
	return &p
}

// forget forgets the n oldest calls. The caller holds answers and mu.
func (c *Communicator) forget(n int) {
	for _, p := range c.pending[:n] {
		c.events = append(c.events, p.event)
	}
	c.pending = c.pending[n:]
}

// late returns what is wrong with the calls that are under way, or nil. The caller holds mu.
func (c *Communicator) late() error {
	if c.err != nil {
		return c.err
	}
	p := c.under
	if len(c.pending) > 0 {
		p = &c.pending[0]
	}
	if p == nil {
		return nil
	}
	_, err := c.state(c.comm)
	limit := c.timeout
	if c.monitor != nil { // which knows who did not come, and says so first
		limit += min(c.timeout, grace)
	}
	if err == nil && time.Since(p.since) > limit {
		err = fmt.Errorf("rank %d waited %v for the others: %w", c.rank, c.timeout, collective.ErrTimeout)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p.call, err)
	}
	return err
}
