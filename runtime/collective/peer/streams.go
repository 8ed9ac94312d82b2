package peer

import (
	"context"
	"errors"
	"log/slog"

	"github.com/sinter-go/sinter/runtime/device"
)

// Streams are those that a rank copies by, as the others know them. Whoever waits for them holds no lock meanwhile: a rank
// that closes leaves them to the last one who waits.
type streams struct {
	list  []device.StreamID
	waits int  // who wait for them
	left  bool // the rank has closed
}

// show lets others wait for the streams of the lane.
func (c *Communicator) show() {
	c.hub.lanes.Lock()
	defer c.hub.lanes.Unlock()
	if c.shown == nil {
		c.shown = &streams{list: []device.StreamID{c.lane.out, c.lane.back}}
	}
}

// hide lets nobody begin to wait any more, and reports whether somebody does, who destroys the streams.
func (c *Communicator) hide() (waits bool) {
	c.hub.lanes.Lock()
	defer c.hub.lanes.Unlock()
	s := c.shown
	if c.shown = nil; s == nil {
		return false
	}
	s.left = s.waits > 0
	return s.left
}

// await waits for the streams of the rank, if it has some. An error is one of the device, which later calls return.
func (c *Communicator) await(ctx context.Context) {
	c.hub.lanes.Lock()
	s := c.shown
	if s != nil {
		s.waits++
	}
	c.hub.lanes.Unlock()
	if s == nil {
		return
	}
	for _, id := range s.list {
		_ = c.driver.SyncStream(ctx, c.device.Index, id)
	}
	c.hub.lanes.Lock()
	s.waits--
	last := s.left && s.waits == 0
	c.hub.lanes.Unlock()
	if !last {
		return
	}
	if err := c.destroy(s.list...); err != nil {
		slog.Error("sinter: streams of a rank that was closed could not be freed", "rank", c.rank, "error", err)
	}
}

// destroy destroys those streams that there are.
func (c *Communicator) destroy(list ...device.StreamID) (err error) {
	for _, s := range list {
		if s != 0 {
			err = errors.Join(err, c.driver.DestroyStream(c.device.Index, s))
		}
	}
	return err
}

// idle waits until no device is at the memory of a rank, for the timeout, and reports whether none is.
func (h *hub) idle() bool {
	ctx, cancel := context.WithTimeout(context.Background(), h.timeout)
	defer cancel()
	for _, end := range h.ends {
		end.await(ctx)
	}
	return ctx.Err() == nil
}

// still is idle without an end.
func (h *hub) still() {
	for !h.idle() {
	}
}
