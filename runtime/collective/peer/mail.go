package peer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// Mail is how calls that are captured travel. A recording of one device cannot wait for events of
// another's, so ranks wait for words of memory that the others write. A word is 1 where what it
// tells is so, and whoever waits for it clears it. So every replay finds the words as the one
// before it found them. Ranks wait for one another on the host as they capture, to learn where the
// others have their elements.
//
// No device runs into a wait for what is behind a wait of another, also where a device does the
// branches of a recording one after the other, in any order that is one of theirs. For what ranks
// tell one another has an order: what arrived of a piece, that it is added up, that the sums of a
// batch are given, and then the next batch. A wait for any of it follows, on its own device, this
// rank's telling it and all before it. A rank whose wait has the first place in that order of all that
// devices are held up by would wait for one that told it already.
//
// That leaves a batch free to send what it has while the sums of the one before are copied back; it
// adds up behind that.

// The words that tell a rank something of another one, by slot or turn.
const (
	wordArrived = iota // elements that the other sent are in the box
	wordFree           // the other's box has room for elements
	wordGiven          // the other has copied its sums to this rank's elements, by turn
	wordKinds
)

// wordBytes is how far words are apart, so that no two share a line of a cache.
const wordBytes = 128

// A mail is what a rank has for calls that are captured.
type mail struct {
	memory       device.Memory
	words, boxes uint64 // addresses: of the words, and of the boxes behind them
	out, back    device.StreamID
	begun        device.EventID
	sent, added  [mailSlots]device.EventID
	ended        [2]device.EventID         // of out and back
	done         [mailSlots]device.EventID // by the turn of a batch: it is over on this rank
	before       captured                  // of the capture that is under way
	under        device.CaptureID          // which that is
	clearing     device.StreamID           // which ends waits once the group is of no more use
	over         chan struct{}             // closed by Close
	unblocking   sync.WaitGroup            // the goroutine that does
	shut         bool                      // none begins any more; the hub's mu guards it
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

// post makes what the ranks of a group have for captured calls.
func post(ends []*Communicator) error {
	for _, c := range ends {
		if err := c.openMail(); err != nil {
			return fmt.Errorf("rank %d: %w", c.rank, err)
		}
	}
	return nil
}

// openMail makes a rank's boxes, with room, and its words.
func (c *Communicator) openMail() error {
	words, ok := c.driver.(device.Signaler)
	if !ok {
		return fmt.Errorf("%w: streams of %s do not wait for words of memory", device.ErrUnavailable, c.device)
	}
	l := &mail{over: make(chan struct{})}
	c.mail, c.words = l, words
	dev := c.device.Index
	_, highest := c.driver.PriorityRange(dev)
	var err error
	for _, s := range []*device.StreamID{&l.clearing, &l.out, &l.back} {
		if *s, err = c.driver.NewStream(dev, highest); err != nil {
			return err
		}
	}
	for _, e := range l.events() {
		if *e, err = c.driver.NewEvent(dev, false); err != nil {
			return err
		}
	}
	others := int64(c.size - 1)
	before := others * wordKinds * mailSlots * wordBytes
	bytes := before + others*mailSlots*c.slotBytes()
	if l.memory, err = c.driver.Alloc(dev, bytes); errors.Is(err, device.ErrOutOfMemory) && memory.EmptyCache(c.device) == nil {
		l.memory, err = c.driver.Alloc(dev, bytes)
	}
	if err != nil {
		return err
	}
	l.words, l.boxes = l.memory.Addr, l.memory.Addr+uint64(before)
	if err = c.driver.Zero(dev, l.clearing, l.memory, before); err != nil {
		return err
	}
	for other := range c.size {
		for slot := range mailSlots {
			if other != c.rank && err == nil {
				err = words.WriteWord(dev, l.clearing, dev, c.word(c.rank, wordFree, slot, other), 1)
			}
		}
	}
	return errors.Join(err, c.driver.SyncStream(context.Background(), dev, l.clearing))
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

// word returns the address of a word of a rank that tells it something of another one.
func (c *Communicator) word(rank, kind, slot, other int) uint64 {
	at := kind*mailSlots*(c.size-1) + place(c.size, rank, other, slot)
	return c.hub.ends[rank].mail.words + uint64(at*wordBytes)
}

// box returns the address of a rank's box for what another one sends.
func (c *Communicator) box(rank, slot, other int) uint64 {
	return c.hub.ends[rank].mail.boxes + uint64(int64(place(c.size, rank, other, slot))*c.slotBytes())
}

// closeMail gives back what a rank has for captured calls, once replays are over. Where that fails
// it may be called again.
func (c *Communicator) closeMail() error {
	l, dev := c.mail, c.device.Index
	if l == nil {
		return nil
	}
	if memory.Capturing(c.device) {
		return fmt.Errorf("%w: memory of %s that replays of rank %d wait by stays", device.ErrCapturing, c.device, c.rank)
	}
	late, err := c.quiet()
	if err != nil {
		return errors.Join(late, err)
	}
	c.hub.shut(l)
	l.unblocking.Wait()
	if l.memory.Addr != 0 {
		if err = c.driver.Free(dev, l.memory); err == nil {
			l.memory = device.Memory{}
		}
	}
	for _, e := range l.events() {
		if *e != 0 {
			err = errors.Join(err, c.driver.DestroyEvent(dev, *e))
		}
		*e = 0
	}
	for _, s := range []*device.StreamID{&l.out, &l.back, &l.clearing} {
		if *s != 0 {
			err = errors.Join(err, c.driver.DestroyStream(dev, *s))
		}
		*s = 0
	}
	return errors.Join(late, err)
}

// quiet waits until no replay reaches what the rank has. Replays that wait for others in vain end
// as the group fails, which late tells; what goes on then copies to any rank's memory, and is
// waited for on all devices.
func (c *Communicator) quiet() (late, err error) {
	if c.hub.failure() == nil {
		if late = c.over(c); late == nil {
			return nil, nil
		}
		late = c.hub.fail(late)
	}
	for _, end := range c.hub.ends {
		err = errors.Join(err, c.over(end))
	}
	return late, err
}

// over waits for the work of an end's device, as long as ranks wait for one another. A device
// that failed does nothing more.
func (c *Communicator) over(end *Communicator) error {
	ctx, cancel := context.WithTimeout(context.Background(), c.hub.timeout)
	defer cancel()
	switch err := end.driver.SyncDevice(ctx, end.device.Index); {
	case errors.Is(err, device.ErrCapturing):
		return err
	case err != nil && ctx.Err() != nil:
		return fmt.Errorf("rank %d closes, and replays of rank %d do not end in %v: %w", c.rank, end.rank, c.hub.timeout, collective.ErrTimeout)
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

// send records all-reduces on a stream that is captured, once all ranks capture them.
func (c *Communicator) send(m *meeting, s device.StreamID, calls []*collective.Call) error {
	l, before := c.mail, c.begin(s)
	m.sides[c.rank].before = before
	if err := c.hub.pass(m, c.rank, 0); err != nil {
		return err
	}
	defer c.hub.finish(m)
	c.last = m
	for rank := range m.sides {
		if other := m.sides[rank].before; other != before {
			return fmt.Errorf("%w: rank %d has captured %d batches in %d pieces before in its graph, rank %d %d in %d",
				collective.ErrMismatch, c.rank, before.batches, before.pieces, rank, other.batches, other.pieces)
		}
	}
	list := pieces(calls, c.set.Piece, c.size)
	l.before = captured{before.batches + 1, before.pieces + len(list)}
	w := &letter{c: c, m: m, s: s, before: before}
	w.enter()
	for i, p := range list {
		slot := (before.pieces + i) % mailSlots
		w.deliver(slot, before.pieces+i >= mailSlots, p)
		if i == 0 && before.batches > 0 {
			w.wait(s, l.ended[1]) // the batch before told that its sums are given
		}
		w.add(slot, p)
		w.give(slot, p)
	}
	w.leave(list)
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

// leave has the batch's stream wait until its sums are there on all ranks.
func (w *letter) leave(list []piece) {
	l, turn := w.c.mail, w.before.batches%mailSlots
	// Who adds up nothing gives nothing. It would not wait for the others either before it said so
	// again, which they might take for what it said before.
	gives := func(rank int) bool {
		return slices.ContainsFunc(list, func(p piece) bool { return p.has(rank) })
	}
	if gives(w.c.rank) {
		w.others(func(rank int) { w.tell(l.back, wordGiven, turn, rank) })
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
	dev, at := w.c.device.Index, w.c.word(w.c.rank, kind, slot, other)
	w.do(func() error { return w.c.words.AwaitWord(dev, s, at, 1) })
	w.do(func() error { return w.c.words.WriteWord(dev, s, dev, at, 0) })
}

// tell has a stream tell another rank something of this one.
func (w *letter) tell(s device.StreamID, kind, slot, other int) {
	w.do(func() error {
		return w.c.words.WriteWord(w.c.device.Index, s, w.c.hub.ends[other].device.Index, w.c.word(other, kind, slot, w.c.rank), 1)
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

// unblock ends the waits of replays that are under way, once the group is of no more use: it
// writes the words until the end is closed. What replays compute meanwhile is of no use.
func (c *Communicator) unblock() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	dev := c.device.Index
	for {
		select {
		case <-c.mail.over:
			return
		case <-late.C: // replays that are given to the device later end, too
			tick.Reset(100 * time.Millisecond)
		case <-tick.C:
		}
		for other := range c.size {
			for kind := range wordKinds {
				for slot := range mailSlots {
					if other != c.rank && c.words.WriteWord(dev, c.mail.clearing, dev, c.word(c.rank, kind, slot, other), 1) != nil {
						return // the device is of no more use either
					}
				}
			}
		}
	}
}
