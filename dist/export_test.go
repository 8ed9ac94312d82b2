package dist

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/runtime/graph"
)

// Exchange hands value of rank 0 to all processes of an environment, as Init does with NCCL's
// identifier.
func (e *Environment) Exchange(ctx context.Context, value []byte) error {
	contacts, err := e.meet(ctx, value, DefaultTimeout)
	for _, c := range contacts {
		if c != nil {
			c.conn.Close()
		}
	}
	return err
}

// SpawnAlone is how Spawn starts processes with GPUs.
var SpawnAlone = spawn

// SetApartBytes sets how large gradients are that have memory of their own, and returns what
// they were.
func SetApartBytes(n int) (was int) {
	was, apartBytes = apartBytes, n
	return was
}

// InLimbo returns how much shared memory is left to give back, in pieces.
func InLimbo() int {
	limbos.Lock()
	defer limbos.Unlock()
	if limbos.busy {
		return max(1, len(limbos.list))
	}
	return 0
}

// Changed reports whether the last pass changed parameters as their averages arrived.
func Changed(d *DistributedDataParallel) bool { return d.reducer.changed }

// SetCopies sets from how many bytes on calls are made by copies, and of how many at once, and
// returns what undoes it.
func SetCopies(least int64, piece int) (undo func()) {
	wasLeast, wasPiece := copiedBytes, pieceBytes
	copiedBytes, pieceBytes = least, piece
	return func() { copiedBytes, pieceBytes = wasLeast, wasPiece }
}

// HasLeft reports whether a rank of a group of one process has begun to close it.
func HasLeft(g *Group) bool {
	g.order.mu.Lock()
	defer g.order.mu.Unlock()
	return g.order.left[g.Rank()]
}

// Replays returns what replays of a graph with one call ask, by rank.
func Replays(groups []*Group) (list []graph.Checker) {
	for _, g := range groups {
		list = append(list, &replayed{group: g, number: 1, calls: []string{"all-reduce"}, sizes: []int{1}})
	}
	return list
}

// noteReplay is what a replay asks and tells a group, but that it does not wait for other ranks: one goroutine
// plays them all.
func noteReplay(c graph.Checker) error {
	if err := c.Check(); err != nil {
		return err
	}
	return c.(*replayed).note()
}

// NoteReplay is noteReplay for other packages.
var NoteReplay = noteReplay

// MostAhead is how many replays others need not have come to.
const MostAhead = mostAhead

// Remembered returns how many replays and calls of a group of one process are remembered.
func Remembered(g *Group) int {
	g.order.mu.Lock()
	defer g.order.mu.Unlock()
	return len(g.order.replays) + len(g.order.made)
}

var elapsing sync.Mutex // so that the group has failed for who comes second

// Elapse has the timeout of a replay that other ranks of the process do not come to be over.
func Elapse(g *Group) {
	elapsing.Lock()
	defer elapsing.Unlock()
	for range looksPerTimeout + 2 {
		g.order.late()
	}
}
