package peer

import (
	"errors"
	"fmt"
	"slices"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// Calls are cut into pieces, so that the copies of one go on while another one is added up. A slot
// of scratch memory has what the other ranks send of a piece; a piece takes the slot of the one that
// was so many before. Batches that are captured overlap, and have a slot for each piece of two of
// them, as GPUs cut what a bucket has.
const (
	laneSlots = 2
	mailSlots = 4
)

// A lane is what a rank needs on its device, made at the first call: streams for copies to the
// other ranks of elements and of sums, events, and scratch memory.
type lane struct {
	made      bool
	pieces    int // sent so far, by each rank
	out, back device.StreamID
	side      side
	memory    memory.Block
}

// A piece is elements of the calls of a batch that travel together: ranks wait for one another
// once for all of them.
type piece []span

// A span is elements of one call.
type span struct {
	call    int // which of the batch
	from, n int // elements
	part    int // elements that each rank adds up, but for the last ones, who may have fewer
	at      int // bytes before them in the memory that a slot has for a rank
}

// slack is the part of a piece's bytes that it may have more, so that the few that small calls
// have beside large ones are no piece of their own.
const slack = 8

// slotBytes is how much memory a slot has for each of the other ranks, for pieces of so many bytes.
func slotBytes(bytes, ranks int) int { return roundUp((bytes+bytes/slack+ranks-1)/ranks, 256) }

// pieces cuts the calls of a batch into pieces of so many bytes, for a number of ranks.
func pieces(calls []*collective.Call, bytes, ranks int) (list []piece) {
	total := 0
	for _, call := range calls {
		total += int(call.Bytes())
	}
	count := max(1, (total+bytes+bytes/slack-1)/(bytes+bytes/slack))
	target, room := roundUp((total+count-1)/count, 256), slotBytes(bytes, ranks)
	var p piece
	used, at := 0, 0 // of p: bytes, and those of them in a slot
	for k, call := range calls {
		size, all := call.In.DType.Size(), call.In.NumElements()
		line := 256 / size // elements that spans begin at a multiple of
		for from := 0; from < all; {
			n := all - from
			if most := min(target-used, (room-at)/256*256*ranks) / size; n > most {
				n = max(most, 0) / line * line
			}
			if n == 0 {
				list, p, used, at = append(list, p), nil, 0, 0
				continue
			}
			part := roundUp((n+ranks-1)/ranks, line)
			p = append(p, span{call: k, from: from, n: n, part: part, at: at})
			from, used, at = from+n, used+n*size, at+part*size
		}
	}
	if p != nil {
		list = append(list, p)
	}
	return list
}

func roundUp(n, to int) int { return (n + to - 1) / to * to }

// slotBytes is how much memory a slot of the rank has for each of the others.
func (c *Communicator) slotBytes() int64 { return int64(slotBytes(c.set.Piece, c.size)) }

// each calls f for every span that a rank adds up elements of: n of its call's from the from-th on.
func (p piece) each(rank int, f func(s *span, from, n int) error) error {
	for i := range p {
		if from, n := p[i].of(rank); n > 0 {
			if err := f(&p[i], from, n); err != nil {
				return err
			}
		}
	}
	return nil
}

// has reports whether a rank adds up elements of the piece.
func (p piece) has(rank int) bool {
	return slices.ContainsFunc(p, func(s span) bool { _, n := s.of(rank); return n > 0 })
}

// of returns which elements of the call a rank adds up: n from the from-th on.
func (p *span) of(rank int) (from, n int) {
	begin := min(rank*p.part, p.n)
	return p.from + begin, min(p.part, p.n-begin)
}

// ready makes the lane, if it is not there, for calls on stream s; its memory where they add up. That
// is of the device's allocator, so that what is cached makes room.
func (l *lane) ready(c *Communicator, s device.StreamID, sums bool) error {
	if l.made && (!sums || l.memory.Addr != 0) {
		return nil
	}
	dev := c.device.Index
	_, highest := c.driver.PriorityRange(dev)
	var err error
	stream := func(s *device.StreamID) {
		if err == nil && *s == 0 {
			*s, err = c.driver.NewStream(dev, highest)
		}
	}
	event := func(e *device.EventID) {
		if err == nil && *e == 0 {
			*e, err = c.driver.NewEvent(dev, false)
		}
	}
	stream(&l.out)
	stream(&l.back)
	if l.side.arrived == nil {
		l.side.arrived, l.side.summed = make([]device.EventID, laneSlots), make([]device.EventID, laneSlots)
	}
	event(&l.side.ready)
	event(&l.side.given)
	for i := range laneSlots {
		event(&l.side.arrived[i])
		event(&l.side.summed[i])
	}
	if err == nil && sums && l.memory.Addr == 0 {
		l.memory, err = memory.Alloc(c.device, c.driver, s, laneSlots*int64(c.size-1)*c.slotBytes())
	}
	l.side.scratch = l.memory.Addr
	if l.made = err == nil; l.made {
		c.show()
	}
	return err
}

// free gives back what the lane has. No rank has more to give its device of a call; the stream
// of calls, which the memory goes back to, waits for all that others copy there, or that is done.
func (l *lane) free(c *Communicator) (err error) {
	dev := c.device.Index
	if l.memory.Addr != 0 {
		err = l.memory.Free()
	}
	for _, e := range append(append([]device.EventID{l.side.ready, l.side.given}, l.side.arrived...), l.side.summed...) {
		if e != 0 {
			err = errors.Join(err, c.driver.DestroyEvent(dev, e))
		}
	}
	if !c.hide() {
		err = errors.Join(err, c.destroy(l.out, l.back))
	}
	*l = lane{}
	return err
}

// exchange makes a batch of all-reduces, or of all-gathers. For the former every rank sends each other
// one the elements that it adds up, and gets the sums of the others' elements.
func (c *Communicator) exchange(m *meeting, s device.StreamID, calls []*collective.Call) error {
	err := c.lane.ready(c, s, !gathers(calls))
	if err == nil {
		err = c.driver.RecordEvent(c.device.Index, c.lane.side.ready, s)
	}
	if err != nil {
		return c.hub.fail(fmt.Errorf("rank %d, %s: %w", c.rank, calls[0], err))
	}
	m.sides[c.rank] = c.lane.side
	if err := c.hub.pass(m, c.rank, 0); err != nil {
		return err
	}
	c.last = m
	w := work{c: c, m: m, s: s, drv: c.driver, dev: c.device.Index}
	if gathers(calls) {
		err = w.gather()
	} else {
		err = w.run(pieces(calls, c.set.Piece, c.size))
	}
	if err != nil {
		err = c.hub.fail(fmt.Errorf("rank %d, %s: %w", c.rank, calls[0], err))
	}
	c.hub.finish(m, c.rank)
	if err == nil {
		err = c.leave(m)
	}
	if err != nil {
		c.linger(m)
	}
	return err
}

// A work is one rank's part of a meeting.
type work struct {
	c   *Communicator
	m   *meeting
	s   device.StreamID
	drv device.Driver
	dev int
}

// run gives the devices their work. Gate i+1 is passed when all ranks have sent piece i, the
// last one when all have given their sums away.
func (w *work) run(list []piece) error {
	l := &w.c.lane
	if err := w.each(func(rank int, other *side) error { return w.await(l.out, rank, other.ready) }); err != nil {
		return err
	}
	for i, p := range list {
		slot := l.pieces % laneSlots
		l.pieces++
		err := w.send(slot, p)
		if err == nil {
			err = w.c.hub.pass(w.m, w.c.rank, i+1)
		}
		if err == nil {
			err = w.add(slot, p)
		}
		if err == nil {
			err = w.give(slot, p)
		}
		if err != nil {
			return err
		}
	}
	err := w.drv.RecordEvent(w.dev, l.side.given, l.back)
	if err == nil {
		err = w.c.hub.pass(w.m, w.c.rank, len(list)+1)
	}
	if err == nil {
		err = w.each(func(rank int, other *side) error { return w.await(w.s, rank, other.given) })
	}
	return err
}

// each calls f for every rank's side, from the next one's on, and for this one's last, so that
// not all ranks send to the same one at once.
func (w *work) each(f func(rank int, of *side) error) error {
	for i := range w.m.sides {
		rank := (w.c.rank + 1 + i) % w.c.size
		if err := f(rank, &w.m.sides[rank]); err != nil {
			return err
		}
	}
	return nil
}

// await has a stream of this rank wait for an event of a rank.
func (w *work) await(s device.StreamID, rank int, e device.EventID) error {
	return w.drv.WaitEvent(w.dev, s, w.c.hub.ends[rank].device.Index, e)
}

// slot returns where a rank's scratch memory has what another one sends of the piece of a slot.
func (w *work) slot(rank, slot, from int) uint64 {
	if from > rank {
		from--
	}
	at := int64(slot*(w.c.size-1)+from) * w.c.slotBytes()
	return w.m.sides[rank].scratch + uint64(at)
}

// send copies to every other rank what it adds up of a piece, once the slot is free there: what a
// batch before had in it is added up.
func (w *work) send(slot int, p piece) error {
	l := &w.c.lane
	return errors.Join(w.each(func(rank int, other *side) error {
		if rank == w.c.rank || !p.has(rank) {
			return nil
		}
		if err := w.await(l.out, rank, other.summed[slot]); err != nil {
			return err
		}
		return w.c.post(l.out, w.m.calls[w.c.rank], p, rank, w.slot(rank, slot, w.c.rank))
	}), w.drv.RecordEvent(w.dev, l.side.arrived[slot], l.out))
}

// post copies to a box of another rank what that one adds up of a piece.
func (c *Communicator) post(s device.StreamID, calls []*collective.Call, p piece, rank int, box uint64) error {
	return p.each(rank, func(sp *span, from, n int) error {
		in := &calls[sp.call].In
		size := in.DType.Size()
		return c.driver.CopyPeer(c.device.Index, s, c.hub.ends[rank].device.Index, box+uint64(sp.at), in.Addr+uint64(from*size), int64(n*size))
	})
}

// add adds up this rank's part of a piece, once the others' is there.
func (w *work) add(slot int, p piece) error {
	l := &w.c.lane
	if !p.has(w.c.rank) {
		return nil // what a batch before has in the slot may not be added up yet
	}
	err := w.each(func(rank int, other *side) error {
		if rank == w.c.rank {
			return nil
		}
		return w.await(w.s, rank, other.arrived[slot])
	})
	if err != nil {
		return err
	}
	err = w.c.sums(w.s, w.m.calls[w.c.rank], p, func(rank int) uint64 { return w.slot(w.c.rank, slot, rank) })
	if err != nil {
		return err
	}
	return w.drv.RecordEvent(w.dev, l.side.summed[slot], w.s)
}

// sums adds up this rank's part of a piece; box says where another rank's elements are.
func (c *Communicator) sums(s device.StreamID, calls []*collective.Call, p piece, box func(rank int) uint64) error {
	return p.each(c.rank, func(sp *span, from, n int) error {
		return c.sum(s, calls[sp.call], from, n, func(rank int) uint64 { return box(rank) + uint64(sp.at) })
	})
}

// sum adds up n elements of a call, from the from-th on, in the order of ranks. An average
// multiplies every operand by its share before, as NCCL does.
func (c *Communicator) sum(s device.StreamID, call *collective.Call, from, n int, box func(rank int) uint64) (err error) {
	at := uint64(from * call.In.DType.Size())
	where := func(rank int) uint64 {
		if rank == c.rank {
			return call.In.Addr + at
		}
		return box(rank)
	}
	share := 1.0
	if call.Op == collective.Average {
		share = 1 / float64(c.size)
	}
	so := where(0)
	for rank := range c.size {
		to := call.Out.Addr + at
		if rank < c.rank { // this rank's own elements may be there, and are not added yet
			to = box(0)
		}
		switch {
		case rank > 0:
			err = c.addScaled(s, call.In.DType, n, to, so, where(rank), share)
		case call.Op == collective.Average:
			err = c.scale(s, call.In.DType, n, to, so, share)
		default:
			to = so
		}
		if err != nil {
			return err
		}
		so = to
	}
	return nil
}

// give copies this rank's sums of a piece to the others.
func (w *work) give(slot int, p piece) error {
	l := &w.c.lane
	if !p.has(w.c.rank) {
		return nil
	}
	if err := w.await(l.back, w.c.rank, l.side.summed[slot]); err != nil {
		return err
	}
	return w.each(func(rank int, _ *side) error {
		if rank == w.c.rank {
			return nil
		}
		return w.c.share(l.back, w.m, p, rank)
	})
}

// share copies this rank's sums of a piece to another one's elements.
func (c *Communicator) share(s device.StreamID, m *meeting, p piece, rank int) error {
	return p.each(c.rank, func(sp *span, from, n int) error {
		out, to := &m.calls[c.rank][sp.call].Out, &m.calls[rank][sp.call].Out
		size := out.DType.Size()
		at := uint64(from * size)
		return c.driver.CopyPeer(c.device.Index, s, c.hub.ends[rank].device.Index, to.Addr+at, out.Addr+at, int64(n*size))
	})
}

// lingering is how long a call that failed waits for devices that are at its memory. Most of the time others have
// noticed by then; a rank that its driver holds up has not.
const lingering = 100 * time.Millisecond

// linger waits for a while, after an error, until no rank's work reaches this one's memory.
func (c *Communicator) linger(m *meeting) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		<-m.idle
		c.hub.still()
	}()
	late := time.NewTimer(lingering)
	defer late.Stop()
	select {
	case <-over:
	case <-late.C:
		c.lingers = over
	}
}

// Lingers returns what is closed once no device is at the memory of the batch before, where that failed and some are.
func (c *Communicator) Lingers() <-chan struct{} { return c.lingers }

// flat returns n elements from an address on.
func flat(d ir.DType, n int, at uint64) ir.View {
	return ir.View{Addr: at, DType: d, Shape: []int{n}, Strides: []int{1}}
}

// addScaled computes x + alpha*y of n elements.
func (c *Communicator) addScaled(s device.StreamID, d ir.DType, n int, out, x, y uint64, alpha float64) error {
	call := &ir.Call{Out: []ir.View{flat(d, n, out)}, In: []ir.View{flat(d, n, x), flat(d, n, y)}, Space: []int{n}, Flat: true,
		Scalars: []ir.Scalar{ir.FloatScalar(alpha)}, Attrs: []ir.Value{ir.ScalarValue(ir.FloatScalar(alpha))}}
	call.Kernel = c.set.AddScaled.Stored(0, d, call.Out, call.In)
	return c.driver.Launch(c.device.Index, s, call)
}

// scale computes alpha*x of n elements.
func (c *Communicator) scale(s device.StreamID, d ir.DType, n int, out, x uint64, alpha float64) error {
	number := ir.View{Ptr: unsafe.Pointer(&alpha), DType: ir.Float64, Shape: []int{n}, Strides: []int{0}}
	call := &ir.Call{Out: []ir.View{flat(d, n, out)}, In: []ir.View{flat(d, n, x), number}, Space: []int{n}}
	call.Kernel = c.set.Mul.Stored(0, d, call.Out, call.In)
	return c.driver.Launch(c.device.Index, s, call)
}
