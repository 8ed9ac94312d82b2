package peer

import (
	"github.com/sinter-go/sinter/runtime/collective"
	"github.com/sinter-go/sinter/runtime/device"
)

// gathers reports whether calls, which are alike, are all-gathers: every rank copies its elements to
// the results of the others, and nothing is added up.
func gathers(calls []*collective.Call) bool { return calls[0].Kind == collective.AllGather }

// gather gives the devices the work of all-gathers. Gate 1 is passed when all ranks have sent.
func (w *work) gather() error {
	l := &w.c.lane
	err := w.each(func(rank int, other *side) error { return w.await(l.out, rank, other.ready) })
	if err == nil {
		err = w.each(func(rank int, _ *side) error { return w.c.copyTo(rank, w.m, l.out) })
	}
	if err == nil {
		err = w.drv.RecordEvent(w.dev, l.side.given, l.out)
	}
	if err == nil {
		err = w.c.hub.pass(w.m, w.c.rank, 1)
	}
	if err == nil {
		err = w.each(func(rank int, other *side) error { return w.await(w.s, rank, other.given) })
	}
	return err
}

// gather records all-gathers. What the batch before has copied back was told by then: the others come
// to what this one waits for behind it.
func (w *letter) gather() {
	l, turn := w.c.mail, w.before.batches%mailSlots
	if w.before.batches > 0 {
		w.wait(l.out, l.ended[1])
	}
	w.others(func(rank int) { w.tell(l.out, wordReady, turn, rank) })
	w.do(func() error { return w.c.copyTo(w.c.rank, w.m, l.out) })
	w.others(func(rank int) {
		w.await(l.out, wordReady, turn, rank)
		w.do(func() error { return w.c.copyTo(rank, w.m, l.out) })
	})
}

// copyTo copies this rank's elements to a rank's results, unless they are there.
func (c *Communicator) copyTo(rank int, m *meeting, s device.StreamID) error {
	for i, call := range m.calls[c.rank] {
		bytes := call.Bytes()
		to := m.calls[rank][i].Out.Addr + uint64(int64(c.rank)*bytes)
		var err error
		switch {
		case bytes == 0 || to == call.In.Addr && rank == c.rank:
		case rank == c.rank:
			err = c.driver.CopyOnDevice(c.device.Index, s, to, call.In.Addr, bytes)
		default:
			err = c.driver.CopyPeer(c.device.Index, s, c.hub.ends[rank].device.Index, to, call.In.Addr, bytes)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
