package dist

import (
	"errors"
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/graph"
)

// Refusals are what ranks of a process gave up of what all ranks do together, by rank. The order of the group's calls has them.
type refusals struct {
	mu   sync.Mutex
	list []refusal
}

// A refusal is how often a rank gave something up, and why the last time.
type refusal struct {
	times int
	why   error
}

// note notes that a rank of so many gives something up.
func (r *refusals) note(rank, size int, why error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.list == nil {
		r.list = make([]refusal, size)
	}
	r.list[rank].times++
	r.list[rank].why = why
}

// because adds to the error of ranks that make different calls who gave up what others did not, and why.
func (r *refusals) because(err error) error {
	if !errors.Is(err, ErrMismatch) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	least := 0
	for i := range r.list {
		if times := r.list[i].times; i == 0 || times < least {
			least = times
		}
	}
	for rank, of := range r.list {
		if of.times > least {
			err = fmt.Errorf("%w: rank %d gave up: %w", err, rank, of.why)
		}
	}
	return err
}

// giveUp ends what this rank does together with all others in the midst of it. Within a process a barrier takes the
// place of what is left: where all were refused alike they meet in it, and the group stays of use; a rank that goes on makes
// another call, which fails the group, and is told who gave up and why. Nobody waits for it. Processes do not compare causes:
// the group of several, and what is captured, is aborted.
func (g *Group) giveUp(why error) {
	switch {
	case g.Size() == 1 && g.Err() == nil:
		return
	case g.order == nil || g.Err() != nil || core.Recording() || g.Device().Accelerator() && graph.Current(g.Device()) != nil:
		g.Abort(why)
		return
	}
	g.order.refusals.note(g.Rank(), g.Size(), why)
	if w := g.Barrier(); w.done == nil && w.err != nil && g.Err() == nil {
		g.Abort(why)
	}
}
