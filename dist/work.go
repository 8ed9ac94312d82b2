package dist

import (
	"context"
	"sync"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A Work is calls that a group was given. Until they are done their tensors must
// neither be changed nor, where the calls write, be read; releasing them is safe.
type Work struct {
	err error // valid at once on an accelerator, on the host once done is closed

	done chan struct{} // of the host; nil where there is nothing to wait for

	recorded func() error // has later steps of a program wait; nil where nothing is recorded

	group  *Group // of an accelerator
	device device.Device
	event  *stream.Event
}

// Wait returns when what is computed from now on sees the results. On the host that is
// when the calls are done, and the error is theirs. On an accelerator the calling
// goroutine's current stream waits for them, and Wait returns at once: an error that
// arises later is found by Synchronize, also of that stream, by Err of the group and by its next call. The
// calls go on when ctx ends the wait.
func (w *Work) Wait(ctx context.Context) error {
	if w == nil {
		return errNil
	}
	if w.recorded != nil {
		return w.recorded()
	}
	if w.done != nil {
		return w.host(ctx)
	}
	if w.err != nil || w.event == nil {
		return w.err
	}
	if err := stream.Current(w.device).WaitEvent(w.event); err != nil {
		return w.group.named(err)
	}
	return nil
}

// Synchronize waits on the host until the calls are done, and returns what went wrong
// with them. In a function that is compiled it is Wait.
func (w *Work) Synchronize(ctx context.Context) error {
	if w == nil {
		return errNil
	}
	if w.recorded != nil {
		return w.recorded()
	}
	if w.done != nil {
		return w.host(ctx)
	}
	if w.err != nil || w.event == nil {
		return w.err
	}
	err := w.event.Synchronize(ctx)
	if failed := w.group.comm.Err(); failed != nil {
		err = failed
	}
	if err != nil {
		return w.group.named(err)
	}
	return nil
}

func (w *Work) host(ctx context.Context) error {
	if ctx == nil {
		ctx = context.Background()
	}
	select {
	case <-w.done:
		return w.err
	default:
	}
	select {
	case <-w.done:
		return w.err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// A queue is work that a goroutine does in order. The goroutine is there while there is
// any, so that a queue that nothing refers to any more leaves nothing behind.
type queue struct {
	mu   sync.Mutex
	work []func()
	busy bool
	idle sync.Cond
}

func (q *queue) push(f func()) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.work = append(q.work, f)
	if !q.busy {
		q.busy = true
		go q.drain()
	}
}

func (q *queue) drain() {
	q.mu.Lock()
	defer q.mu.Unlock()
	for len(q.work) > 0 {
		f := q.work[0]
		q.work = q.work[1:]
		q.mu.Unlock()
		f()
		q.mu.Lock()
	}
	q.busy, q.work = false, nil
	if q.idle.L != nil {
		q.idle.Broadcast()
	}
}

// wait waits until there is no work.
func (q *queue) wait() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.idle.L == nil {
		q.idle.L = &q.mu
	}
	for q.busy {
		q.idle.Wait()
	}
}
