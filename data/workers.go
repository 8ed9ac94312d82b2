package data

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
)

// prepared is a batch, or why there is none.
type prepared struct {
	fields []tensor.Tensor
	done   *stream.Event // behind the work that makes the fields; nil on the CPU
	err    error
}

// A slot is where one batch arrives.
type slot chan prepared

// crew is the workers of one epoch. They take numbers of batches in turn, queue a
// slot for each in that order, and then fill it; so batches arrive in order however
// long each takes.
type crew struct {
	*epoch
	ctx     context.Context
	turn    chan int  // the next batch, while nobody has taken it; closed at the end
	slots   chan slot // of batches that were begun
	failed  atomic.Bool
	workers sync.WaitGroup
}

// errGone is what a dataset that ended its goroutine leaves behind.
var errGone = errors.New("data: the dataset ended the goroutine that prepares batches")

// background hands out batches that workers prepare.
func (e *epoch) background(ctx context.Context, first int, yield func([]tensor.Tensor, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	ahead := min(e.Prefetch, e.count) // more are not there
	c := &crew{epoch: e, ctx: ctx, turn: make(chan int, 1), slots: make(chan slot, ahead)}
	c.turn <- first
	for range min(max(e.Workers, 1), ahead) {
		c.workers.Go(c.work)
	}
	var next slot // taken, and not received from
	defer func() {
		cancel()
		c.workers.Wait()
		close(c.slots)
		if next != nil {
			release((<-next).fields)
		}
		for s := range c.slots {
			release((<-s).fields)
		}
	}()
	for range e.count - first {
		p := prepared{err: ctx.Err()}
		if p.err == nil {
			next, p = c.receive()
		}
		if p.err == nil {
			p.err = e.hand(&p)
		}
		if !yield(p.fields, p.err) || p.err != nil {
			return
		}
	}
}

// receive returns the next batch, or where ctx ends before it is there its slot.
func (c *crew) receive() (slot, prepared) {
	select {
	case s := <-c.slots:
		select {
		case p := <-s:
			return nil, p
		case <-c.ctx.Done():
			return s, prepared{err: c.ctx.Err()}
		}
	case <-c.ctx.Done():
		return nil, prepared{err: c.ctx.Err()}
	}
}

// hand makes the calling goroutine's current stream wait for a batch, and the
// batch's memory wait for that stream before it is reused. With an error the batch is
// released.
func (e *epoch) hand(p *prepared) error {
	if p.done == nil {
		return nil
	}
	on := stream.Current(e.device)
	err := on.WaitEvent(p.done)
	for _, f := range p.fields {
		if err == nil {
			err = f.RecordStream(on)
		}
	}
	if err != nil {
		release(p.fields)
		p.fields = nil
	}
	return err
}

// work prepares batches until there are no more, one failed, or ctx ends.
func (c *crew) work() {
	draws := random.New(0)
	for i := range c.turn {
		if i == c.count || c.failed.Load() {
			close(c.turn)
			return
		}
		s := make(slot, 1)
		select {
		case c.slots <- s:
		case <-c.ctx.Done():
			close(c.turn)
			return
		}
		c.turn <- i + 1
		c.fill(s, i, draws)
	}
}

// fill puts batch i into its slot, also when the dataset ends the goroutine.
func (c *crew) fill(s slot, i int, draws *random.Generator) {
	p := prepared{err: errGone}
	defer func() {
		if p.err != nil {
			c.failed.Store(true)
		}
		s <- p
	}()
	if c.ctx.Err() != nil {
		p.err = c.ctx.Err()
		return
	}
	if !c.side.Device().Accelerator() {
		p.fields, p.err = c.batch(i, draws)
		return
	}
	err := c.side.Do(func() error { p.fields, p.err = c.batch(i, draws); return p.err })
	if p.err == nil && err == nil {
		p.done, err = c.side.RecordEvent(nil)
	}
	if err != nil {
		release(p.fields)
		p = prepared{err: err}
	}
}
