package peer

import (
	"context"
	"errors"
	"fmt"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"slices"
)

// Mail is how calls that are captured travel. A recording of one device cannot wait for events of
// another's, so ranks wait for words that the others write. A word is 1 where what it tells is so,
// and whoever waits for it clears it. So every replay finds the words as the one before it found them. Ranks wait for one another on the host as they capture, to learn where the
// others have their elements.
//
// No device runs into a wait for what is behind a wait of another, also where a device does the
// branches of a recording one after the other, in any order that is one of theirs. For what ranks
// tell one another has an order: what arrived of a piece, that it is added up, that the sums of a
// batch are given, and then the next batch; of all-gathers, that there is room, and that all is given. A wait for any of it follows, on its own device, this
// rank's telling it and all before it. A rank whose wait has the first place in that order of all that
// devices are held up by would wait for one that told it already.
//
// Nor does other work of the devices hold it up, which may share queues with it: what a device was
// given before a replay ends without it, and what it is given behind may wait. For that ranks give
// their devices replays, and what waits for another device, in one order for all groups.
//
// That leaves a batch free to send what it has while the sums of the one before are copied back; it
// adds up behind that.

// A mail is what a rank has on its device for calls that are captured.
type mail struct {
	boxes     memory.Block // for what the others send
	out, back device.StreamID
	begun     device.EventID
	sent      [mailSlots]device.EventID
	added     [mailSlots]device.EventID
	ended     [2]device.EventID         // of out and back
	done      [mailSlots]device.EventID // by the turn of a batch: it is over on this rank
	before    captured                  // of the capture that is under way
	under     device.CaptureID          // which that is
}

// A captured says how much one capture has so far: batches, which take words in turn, and pieces,
// which take slots.
type captured struct{ batches, pieces int }

// begin returns what the capture of a stream has so far.
func (c *Communicator) begin(s device.StreamID) captured {
	l := c.mail
	if id := c.driver.(device.Capturer).CaptureOf(c.device.Index, s); id != l.under {
		l.under, l.before = id, captured{}
	}
	return l.before
}

// openMail makes a rank's boxes, with room, and what its device sends with.
func (c *Communicator) openMail() error {
	words, ok := c.driver.(device.Signaler)
	if !ok {
		return fmt.Errorf("%w: streams of %s do not wait for words of memory", device.ErrUnavailable, c.device)
	}
	l := &mail{}
	c.mail, c.words = l, words
	dev := c.device.Index
	_, highest := c.driver.PriorityRange(dev)
	var err error
	for _, s := range []*device.StreamID{&l.out, &l.back} {
		if *s, err = c.driver.NewStream(dev, highest); err != nil {
			return err
		}
	}
	for _, e := range l.events() {
		if *e, err = c.driver.NewEvent(dev, false); err != nil {
			return err
		}
	}
	if l.boxes, err = memory.Alloc(c.device, c.driver, 0, int64(c.size-1)*mailSlots*c.slotBytes()); err != nil {
		return err
	}
	// What had the memory before may have work on the default stream yet.
	ctx, cancel := context.WithTimeout(context.Background(), c.hub.timeout)
	defer cancel()
	return c.driver.SyncStream(ctx, dev, 0)
}

// events returns where the mail has its events.
func (l *mail) events() []*device.EventID {
	list := []*device.EventID{&l.begun, &l.ended[0], &l.ended[1]}
	for slot := range mailSlots {
		list = append(list, &l.sent[slot], &l.added[slot], &l.done[slot])
	}

	return list
}

// place is the number of what a rank has for another one and a slot.
func place(size, rank, other, slot int) int {
	if other > rank {
		other--
	}
	return slot*(size-1) + other
}

// box returns the address of a rank's box for what another one sends.
func (c *Communicator) box(rank, slot, other int) uint64 {
	return c.hub.ends[rank].mail.boxes.Addr + uint64(int64(place(c.size, rank, other, slot))*c.slotBytes())
}

// closeMail gives back what a rank has for captured calls, once its replays are over; what others
// write to, once theirs are as well. Where that fails it may be called again.
func (c *Communicator) closeMail() error {
	l, dev := c.mail, c.device.Index
	switch {
	case c.hub.post == nil:
		return nil
	case l == nil: // the post could not be made
		return c.hub.quiet(c.rank)
	}
	late, err := c.quiet()
	if err != nil {
		return errors.Join(late, err)
	}
	for _, e := range l.events() {
		if *e != 0 {
			err = errors.Join(err, c.driver.DestroyEvent(dev, *e))
		}
		*e = 0
	}
	for _, s := range []*device.StreamID{&l.out, &l.back} {
		if *s != 0 {
			err = errors.Join(err, c.driver.DestroyStream(dev, *s))
		}
		*s = 0
	}
	return errors.Join(late, err, c.hub.quiet(c.rank))
}

// quiet waits until no replay of this rank goes on. Those that wait for others in vain end as the
// group fails, which late tells: what the device has of them then is over when other devices' work is that it waits for.
func (c *Communicator) quiet() (late, err error) {
	if c.hub.failure() == nil {
		ctx, cancel := context.WithTimeout(context.Background(), c.hub.timeout)
		defer cancel()
		if err = c.over(ctx); !errors.Is(err, collective.ErrTimeout) {
			return nil, err
		}
		late = c.hub.fail(err)
	}
	return late, c.over(context.Background()) // once: each wait that is given up may keep a thread in the driver
}

// stays returns why what a rank has for captured calls cannot be given back now, or nil.
func (c *Communicator) stays() error {
	if c.mail == nil || !memory.Capturing(c.device) {
		return nil
	}
	return fmt.Errorf("%w: memory of %s that replays of rank %d wait by stays", device.ErrCapturing, c.device, c.rank)
}

// over waits for the work of the device. One that failed does nothing more.
func (c *Communicator) over(ctx context.Context) error {
	if err := c.stays(); err != nil {
		return err
	}
	switch err := c.driver.SyncDevice(ctx, c.device.Index); {
	case errors.Is(err, device.ErrCapturing):
		return err
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("rank %d closes, and its replays do not end in %v: %w", c.rank, c.hub.timeout, collective.ErrTimeout)
	}
	return nil
}

// A letter is the work of captured calls as it is recorded. The first error stays, and nothing is
// recorded after it.
type letter struct {
	c      *Communicator
	m      *meeting
	s      device.StreamID
	before captured // of the capture
	err    error
}

// send records all-reduces, or all-gathers, on a stream that is captured, once all ranks capture them.
func (c *Communicator) send(m *meeting, s device.StreamID, calls []*collective.Call) error {
	l, before := c.mail, c.begin(s)
	m.sides[c.rank].before = before
	if err := c.hub.pass(m, c.rank, 0); err != nil {
		return err
	}
	defer c.hub.finish(m, c.rank)
	c.last = m
	for rank := range m.sides {
		if other := m.sides[rank].before; other != before {
			return fmt.Errorf("%w: rank %d has captured %d batches in %d pieces before in its graph, rank %d %d in %d",
				collective.ErrMismatch, c.rank, before.batches, before.pieces, rank, other.batches, other.pieces)
		}
	}
	var list []piece
	if !gathers(calls) {
		list = pieces(calls, c.set.Piece, c.size)
	}
	l.before = captured{before.batches + 1, before.pieces + len(list)}
	w := &letter{c: c, m: m, s: s, before: before}
	w.enter()
	if gathers(calls) {
		w.gather()
		w.leave(l.out, func(int) bool { return true })
		return w.err
	}
	for i, p := range list {
		slot := (before.pieces + i) % mailSlots
		w.deliver(slot, before.pieces+i >= mailSlots, p)
		if i == 0 && before.batches > 0 {
			w.wait(s, l.ended[1]) // the batch before told that its sums are given
		}
		w.add(slot, p)
		w.give(slot, p)
	}
	// Who adds up nothing gives nothing. It would not wait for the others either before it said so
	// again, which they might take for what it said before.
	w.leave(l.back, func(rank int) bool {
		return slices.ContainsFunc(list, func(p piece) bool { return p.has(rank) })
	})
	return w.err
}

// enter has the streams of copies begin with a batch, once its word is free: the batch that had it
// before is over on this rank.
func (w *letter) enter() {
	l := w.c.mail
	w.record(l.begun, w.s)
	for _, on := range []device.StreamID{l.out, l.back} {
		w.wait(on, l.begun)
	}
	if w.before.batches >= mailSlots {
		w.wait(l.out, l.done[w.before.batches%mailSlots])
	}
}

// leave has the batch's stream wait until its results are there on all ranks, of those that give any,
// from a stream of copies.
func (w *letter) leave(from device.StreamID, gives func(rank int) bool) {
	l, turn := w.c.mail, w.before.batches%mailSlots
	if gives(w.c.rank) {
		w.others(func(rank int) { w.tell(from, wordGiven, turn, rank) })
	}
	for i, on := range []device.StreamID{l.out, l.back} {
		w.record(l.ended[i], on)
		w.wait(w.s, l.ended[i])
	}
	w.others(func(rank int) {
		if gives(rank) {
			w.await(w.s, wordGiven, turn, rank)
		}
	})
	w.record(l.done[turn], w.s)
}

// do calls f unless something failed.
func (w *letter) do(f func() error) {
	if w.err == nil {
		w.err = f()
	}
}

func (w *letter) record(e device.EventID, s device.StreamID) {
	w.do(func() error { return w.c.driver.RecordEvent(w.c.device.Index, e, s) })
}

func (w *letter) wait(s device.StreamID, e device.EventID) {
	w.do(func() error { return w.c.driver.WaitEvent(w.c.device.Index, s, w.c.device.Index, e) })
}

// await has a stream wait for a word of this rank, and clear it.
func (w *letter) await(s device.StreamID, kind, slot, other int) {
	dev, word := w.c.device.Index, w.c.hub.post.word(w.c.rank, kind, slot, other)
	w.do(func() error { return w.c.words.AwaitWord(dev, s, word, 1) })
	w.do(func() error { return w.c.words.WriteWord(dev, s, word, 0) })
}

// tell has a stream tell another rank something of this one.
func (w *letter) tell(s device.StreamID, kind, slot, other int) {
	w.do(func() error {
		return w.c.words.WriteWord(w.c.device.Index, s, w.c.hub.post.word(other, kind, slot, w.c.rank), 1)
	})
}

// others calls f for every other rank, from the next one's on, so that not all send to the same
// one at once.
func (w *letter) others(f func(rank int)) {
	for i := 1; i < w.c.size; i++ {
		f((w.c.rank + i) % w.c.size)
	}
}

// deliver copies to every other rank's box what that one adds up of a piece. Where the slot is used
// again this rank has added up what was in it.
func (w *letter) deliver(slot int, again bool, p piece) {
	l := w.c.mail
	if again {
		w.wait(l.out, l.added[slot])
	}
	w.others(func(rank int) {
		if !p.has(rank) {
			return
		}
		w.await(l.out, wordFree, slot, rank)
		w.do(func() error {
			return w.c.post(l.out, w.m.calls[w.c.rank], p, rank, w.c.box(rank, slot, w.c.rank))
		})
		w.tell(l.out, wordArrived, slot, rank)
	})
	w.record(l.sent[slot], l.out)
}

// add adds up this rank's part of a piece.
func (w *letter) add(slot int, p piece) {
	l := w.c.mail
	w.wait(w.s, l.sent[slot])
	if p.has(w.c.rank) {
		w.others(func(rank int) { w.await(w.s, wordArrived, slot, rank) })
		w.do(func() error {
			return w.c.sums(w.s, w.m.calls[w.c.rank], p, func(rank int) uint64 { return w.c.box(w.c.rank, slot, rank) })
		})
		w.others(func(rank int) { w.tell(w.s, wordFree, slot, rank) })
	}
	w.record(l.added[slot], w.s)
}

// give copies this rank's sums of a piece to the others' elements.
func (w *letter) give(slot int, p piece) {
	l := w.c.mail
	if !p.has(w.c.rank) {
		return
	}
	w.wait(l.back, l.added[slot])
	w.others(func(rank int) {
		w.do(func() error { return w.c.share(l.back, w.m, p, rank) })
	})
}
