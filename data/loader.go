package data

import (
	"context"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// A Loader cuts a dataset into batches.
type Loader struct {
	Dataset   Dataset
	BatchSize int
	Shuffle   bool // a new order every epoch, from the calling goroutine's random generator
	DropLast  bool // leave out a last batch that is not full
	Prefetch  int  // batches prepared ahead in the background; 0 prepares them as they are asked for
	Device    device.Device
}

// Len returns the number of batches an epoch has.
func (l *Loader) Len() int {
	n := l.Dataset.Len()
	if l.DropLast {
		return n / l.BatchSize
	}
	return (n + l.BatchSize - 1) / l.BatchSize
}

// Epoch returns the batches of one pass over the dataset, one tensor a field,
// on l.Device. An error ends the pass. Leaving the loop early, or the end of
// ctx, stops the background work and waits for it.
func (l *Loader) Epoch(ctx context.Context) iter.Seq2[[]tensor.Tensor, error] {
	return func(yield func([]tensor.Tensor, error) bool) {
		if l.Dataset == nil || l.BatchSize < 1 || l.Prefetch < 0 {
			yield(nil, fmt.Errorf("data: a loader needs a dataset, a batch size of at least 1 (has %d) and a prefetch that is not negative (has %d)", l.BatchSize, l.Prefetch))
			return
		}
		order := l.order()
		if l.Prefetch == 0 {
			l.inline(ctx, order, yield)
			return
		}
		l.background(ctx, order, yield)
	}
}

// order returns the samples of one epoch in the order they are visited.
func (l *Loader) order() []int {
	order := make([]int, l.Dataset.Len())
	for i := range order {
		order[i] = i
	}
	if l.Shuffle {
		seed, offset := random.Next()
		r := rand.New(rand.NewPCG(uint64(seed), uint64(offset)))
		r.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
	}
	return order
}

// batch prepares batch i of an epoch.
func (l *Loader) batch(order []int, i int) ([]tensor.Tensor, error) {
	fields, err := l.Dataset.Batch(order[i*l.BatchSize : min((i+1)*l.BatchSize, len(order))])
	if err != nil {
		return nil, err
	}
	for k, f := range fields {
		moved := f.To(l.Device)
		if err := moved.Err(); err != nil {
			return nil, err
		}
		if moved.Device() != f.Device() {
			f.Release()
		}
		fields[k] = moved
	}
	return fields, nil
}

func (l *Loader) inline(ctx context.Context, order []int, yield func([]tensor.Tensor, error) bool) {
	for i := range l.Len() {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		fields, err := l.batch(order, i)
		if !yield(fields, err) || err != nil {
			return
		}
	}
}

type prepared struct {
	fields []tensor.Tensor
	err    error
}

func (l *Loader) background(ctx context.Context, order []int, yield func([]tensor.Tensor, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	ready := make(chan prepared, l.Prefetch-1)
	go func() {
		defer close(ready)
		for i := range l.Len() {
			fields, err := l.batch(order, i)
			select {
			case ready <- prepared{fields, err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	defer func() {
		cancel()
		for range ready { // until the goroutine has ended
		}
	}()
	for range l.Len() {
		select {
		case p, open := <-ready:
			if !open { // the producer saw the end of ctx first
				yield(nil, ctx.Err())
				return
			}
			if !yield(p.fields, p.err) || p.err != nil {
				return
			}
		case <-ctx.Done():
			yield(nil, ctx.Err())
			return
		}
	}
}
