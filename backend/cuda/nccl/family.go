package nccl

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/runtime/collective"
)

// A family is the ends of a group that one process has. Where these are all, it compares
// their calls, which costs the GPUs nothing; the library compares none.
type family struct {
	ends []*Communicator
	all  bool // the process has every rank

	mu   sync.Mutex
	made map[uint64]*made // by number: calls that not all ranks came to
}

// A made is a call that some ranks have made.
type made struct {
	rank int // that came first
	call *collective.Call
	come int
}

// compare returns how the calls of a rank differ from those that others made in their place.
// The caller holds c.using. Sends and receives are between two, and not compared.
func (f *family) compare(c *Communicator, calls []*collective.Call) error {
	if !f.all || len(f.ends) == 1 {
		return nil
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, call := range calls {
		if call.Kind == collective.Send || call.Kind == collective.Receive {
			continue
		}
		c.number++
		m := f.made[c.number]
		if m == nil {
			m = &made{rank: c.rank, call: call}
			f.made[c.number] = m
		}
		if m.come++; m.come == len(f.ends) {
			delete(f.made, c.number)
		}
		if err := collective.Differs(c.rank, call, m.rank, m.call); err != nil {
			return fmt.Errorf("call %d of the group: %w", c.number, err)
		}
	}
	return nil
}
