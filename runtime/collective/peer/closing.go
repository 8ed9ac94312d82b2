package peer

import (
	"errors"
	"log/slog"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
)

// leaving is how long who closes a group that failed waits for other ranks at most.
const leaving = time.Second

// Close makes calls fail that wait for this rank, or will, and gives back what the rank holds. It waits until the others
// have given their devices the work of the calls that it made, in which they name its events, and until its replays are
// over; of a group that failed for a second at most. A rank that its driver holds up may come back much later: what it
// may still use is given back then, in the background. What replays of others write to stays until their ranks have closed,
// too. What an error says that stays is given back by a later Close.
func (c *Communicator) Close() error {
	c.closing.Lock()
	defer c.closing.Unlock()
	if c.closed {
		return nil
	}
	failed := c.hub.failure() != nil
	c.hub.leave(c.rank)
	if c.giving == nil {
		if err := c.stays(); err != nil {
			return errors.Join(err, c.hub.failure(), c.inner.Close())
		}
		c.giving = c.beginGiving()
	}
	over, err := c.giving.wait(c.hub.broken)
	switch {
	case over:
		c.giving = nil
		c.closed = err == nil && (c.hub.post == nil || c.hub.post.closed(c.rank))
	case !failed:
		err = c.hub.failure()
	}
	return errors.Join(err, c.inner.Close())
}

// A giving is what a rank has being given back.
type giving struct {
	over chan struct{} // closed when it was

	mu    sync.Mutex // guards what follows
	ended bool
	err   error // valid then
	alone bool  // nobody waits for it any more
}

// beginGiving begins to give back what the rank has.
func (c *Communicator) beginGiving() *giving {
	g := &giving{over: make(chan struct{})}
	go func() {
		lane, mail := c.giveLane(), c.closeMail()
		for !g.end(errors.Join(lane, mail), errors.Is(mail, device.ErrCapturing)) {
			time.Sleep(again)
			mail = c.closeMail()
		}
		if g.alone && g.err != nil {
			slog.Error("sinter: what a rank had that was closed could not be given back", "rank", c.rank, "device", c.device, "error", g.err)
		}
		close(g.over)
	}()
	return g
}

// again is after how long a rank whose device is captured tries to give back what it has once more.
const again = 10 * time.Millisecond

// end notes how it went, and reports whether that is all. Where the device was captured nobody else would try again.
func (g *giving) end(err error, captured bool) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.ended = !g.alone || !captured
	g.err = err
	return g.ended
}

// wait waits until all was given back, for a while once the group is broken, and reports whether it was and what went wrong.
func (g *giving) wait(broken <-chan struct{}) (over bool, err error) {
	select {
	case <-g.over:
		return true, g.err
	case <-broken:
	}
	late := time.NewTimer(leaving)
	defer late.Stop()
	select {
	case <-g.over:
	case <-late.C:
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		g.alone = true
		return false, nil
	}
	return true, g.err
}

// giveLane waits until no device is at what the rank has, nor is given work that is, and gives back what it has for calls
// that are made at once. Ranks whose devices are given such work for longer than the timeout fail the group. The stream of
// a call that failed, which the memory goes back to, waits for nothing that others copy there.
func (c *Communicator) giveLane() error {
	if err := c.hub.settled(c.last, c.rank); err != nil {
		_ = c.hub.fail(err)
		<-c.last.idle
	}
	if c.hub.failure() != nil {
		c.hub.still()
	}
	return c.lane.free(c)
}
