package nccl

import (
	"sync"
	"sync/atomic"
	"time"
)

// clearing are communicators of groups that failed, from then until the library has them back, and since when. The
// library frees memory that other GPUs reach, for which the driver waits for all of them and lets nobody call one: a call
// of another group that a rank makes or replays meanwhile would wait on its GPU for a rank whose call the driver keeps away.
var clearing struct {
	any atomic.Bool // there are some: calls of groups look at nothing else most of the time

	mu  sync.Mutex // guards what follows
	all map[*Communicator]cleared
}

// A cleared is when the library has a communicator back.
type cleared struct {
	since time.Time
	over  chan struct{}
}

// clears notes that the group failed.
func (c *Communicator) clears() {
	clearing.mu.Lock()
	defer clearing.mu.Unlock()
	if clearing.all == nil {
		clearing.all = map[*Communicator]cleared{}
	}
	if _, has := clearing.all[c]; !has {
		clearing.all[c] = cleared{time.Now(), make(chan struct{})}
	}
	clearing.any.Store(true)
}

// isClear notes that the library has the communicator back.
func (c *Communicator) isClear() {
	clearing.mu.Lock()
	defer clearing.mu.Unlock()
	if e, has := clearing.all[c]; has {
		delete(clearing.all, c)
		close(e.over)
	}
	clearing.any.Store(len(clearing.all) > 0)
}

// othersClear waits until the library has all communicators of groups that failed back, for lingering after they did at
// most: it has those whose calls are in graphs once these are freed. Who makes calls of a group that failed gets its error
// at once.
func (c *Communicator) othersClear() {
	for clearing.any.Load() && c.Err() == nil {
		e, has := latestClearing()
		left := lingering - time.Since(e.since)
		if !has || left <= 0 {
			return
		}
		late := time.NewTimer(left)
		select {
		case <-e.over:
		case <-late.C:
		}
		late.Stop()
	}
}

// latestClearing returns the one that failed last, which is waited for longest.
func latestClearing() (latest cleared, has bool) {
	clearing.mu.Lock()
	defer clearing.mu.Unlock()
	for _, e := range clearing.all {
		if !has || e.since.After(latest.since) {
			latest, has = e, true
		}
	}
	return latest, has
}
