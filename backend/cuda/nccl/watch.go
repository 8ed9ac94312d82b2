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

// note remembers what was given to a stream, and has it looked after. What is captured is
// not done, and nobody waits for it.
func (c *Communicator) note(s device.StreamID, call *collective.Call) error {
	if k, ok := c.driver.(device.Capturer); ok && k.CaptureOf(c.device.Index, s) != 0 {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	p := pending{call: call, since: time.Now()}
	var err error
	if last := len(c.events) - 1; last >= 0 {
		p.event, c.events = c.events[last], c.events[:last]
	} else if p.event, err = c.driver.NewEvent(c.device.Index, false); err != nil {
		return err
	}
	if err := c.driver.RecordEvent(c.device.Index, p.event, s); err != nil {
		return err
	}
	c.pending = append(c.pending, p)
	c.watch()
	return nil
}

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
		c.mu.Lock()
		c.tidy()
		late := c.late()
		if len(c.pending) == 0 && c.under == nil {
			c.watched = false
			c.mu.Unlock()
			return
		}
		c.mu.Unlock()
		if late != nil {
			_ = c.abort(late) // calls of the group return it
		}
	}
}

// tidy forgets calls that are done, and all of a group that is of no more use. The caller
// holds mu.
func (c *Communicator) tidy() {
	for len(c.pending) > 0 {
		p := c.pending[0]
		done, err := c.driver.EventDone(c.device.Index, p.event)
		if err != nil && c.err == nil {
			c.err = fmt.Errorf("%s: %w", p.call, err)
		}
		if !done && c.err == nil {
			return
		}
		c.events = append(c.events, p.event)
		c.pending = c.pending[1:]
	}
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
	if err == nil && time.Since(p.since) > c.timeout {
		err = fmt.Errorf("rank %d waited %v for the others: %w", c.rank, c.timeout, collective.ErrTimeout)
	}
	if err != nil {
		err = fmt.Errorf("%s: %w", p.call, err)
	}
	return err
}
