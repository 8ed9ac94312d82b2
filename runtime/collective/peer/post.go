package peer

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
)

// The words that tell a rank something of another one, by slot or turn.
const (
	wordArrived = iota // elements that the other sent are in the box
	wordFree           // the other's box has room for elements
	wordGiven          // the other has copied its sums, or its elements, to this rank's memory, by turn
	wordReady          // the other's memory has room for this rank's elements, by turn
	wordKinds
)

// wordBytes is how far words are apart, so that no two share a line of a cache.
const wordBytes = 128

// A post is what the ranks of a group have together for calls that are captured: the words by which
// they wait for one another. They lie in the host's memory, for the host must be able to end waits
// that are in vain whatever the devices are at. A stream that wrote the words then may share a queue
// of its device with work that waits for them, and would never get to it.
type post struct {
	size       int
	words      memory.Block  // page-locked
	over       chan struct{} // closed once no replay waits any more
	unblocking sync.WaitGroup
	shut       bool // over is closed; the hub's mu guards it

	mu    sync.Mutex // guards what follows
	quiet []bool     // by rank: its replays are over, and there will be no more
	empty bool       // all was given back
}

// openPost makes what the ranks of a group have for captured calls.
func (h *hub) openPost() error {
	p := &post{size: h.size, over: make(chan struct{}), quiet: make([]bool, h.size)}
	h.post = p
	for _, c := range h.ends {
		if err := c.openMail(); err != nil {
			return fmt.Errorf("rank %d: %w", c.rank, err)
		}
	}
	var err error
	if p.words, err = memory.AllocPinnedFor(h.ends[0].device, h.ends[0].driver, int64(h.size*wordKinds*mailSlots*(h.size-1))*wordBytes); err != nil {
		return err
	}
	p.each(func(kind int, word *atomic.Uint32) {
		if kind == wordFree {
			word.Store(1)
		} else {
			word.Store(0)
		}
	})
	return nil
}

// word returns a word of a rank that tells it something of another one.
func (p *post) word(rank, kind, slot, other int) *atomic.Uint32 {
	at := (rank*wordKinds+kind)*mailSlots*(p.size-1) + place(p.size, rank, other, slot)
	return (*atomic.Uint32)(unsafe.Add(p.words.Host, at*wordBytes))
}

// each calls f for every word.
func (p *post) each(f func(kind int, word *atomic.Uint32)) {
	for rank := range p.size {
		for kind := range wordKinds {
			for slot := range mailSlots {
				for other := range p.size {
					if other != rank {
						f(kind, p.word(rank, kind, slot, other))
					}
				}
			}
		}
	}
}

// unblock ends the waits of replays that are under way, once the group is of no more use: it stores
// the words until all ranks have closed, as who waited for one clears it. What replays compute
// meanwhile is of no use.
func (p *post) unblock() {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	late := time.NewTimer(time.Minute)
	defer late.Stop()
	for {
		select {
		case <-p.over:
			return
		case <-late.C: // replays that are given to the devices later end, too
			tick.Reset(100 * time.Millisecond)
		case <-tick.C:
		}
		p.each(func(_ int, word *atomic.Uint32) { word.Store(device.WordEnded) })
	}
}

// quiet notes that the replays of a rank are over. The words and the boxes, which replays of any rank
// write to, are given back after the last one's. They are the allocator's, which waits for nothing:
// a driver that takes memory back may wait for all that other ranks' devices have.
func (h *hub) quiet(rank int) (err error) {
	p := h.post
	p.mu.Lock()
	defer p.mu.Unlock()
	p.quiet[rank] = true
	if slices.Contains(p.quiet, false) {
		return nil
	}
	h.shut()
	p.unblocking.Wait()
	blocks := []*memory.Block{&p.words}
	for _, c := range h.ends {
		if c.mail != nil {
			blocks = append(blocks, &c.mail.boxes)
		}
	}
	for _, b := range blocks {
		if e := b.Free(); e != nil {
			err = errors.Join(err, e)
		} else {
			*b = memory.Block{}
		}
	}
	p.empty = err == nil
	return err
}

// closed reports whether a rank has nothing more to give back.
func (p *post) closed(rank int) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if slices.Contains(p.quiet, false) {
		return p.quiet[rank]
	}
	return p.empty
}
