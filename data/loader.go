package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
)

// A Loader cuts a dataset into batches. It must not be changed during an epoch.
type Loader struct {
	Dataset   Dataset
	BatchSize int
	Shuffle   bool          // a new order every epoch, from the calling goroutine's random generator
	DropLast  bool          // leave out a last batch that is not full
	Prefetch  int           // batches prepared ahead in the background; 0 prepares them as they are asked for
	Pin       bool          // put what is in host memory into page-locked memory (S71), where there are GPUs
	Device    device.Device // where batches go; with Pin on the CPU they stay in page-locked memory
}

// Len returns the number of batches an epoch has; 0 for a loader that Epoch
// gives an error for.
func (l *Loader) Len() int {
	if l.check() != nil {
		return 0
	}
	n := l.Dataset.Len()
	if l.DropLast {
		return n / l.BatchSize
	}
	return (n + l.BatchSize - 1) / l.BatchSize
}

func (l *Loader) check() error {
	if l.Dataset == nil || l.BatchSize < 1 || l.Prefetch < 0 {
		return fmt.Errorf("data: a loader needs a dataset, a batch size of at least 1 (has %d) and a prefetch that is not negative (has %d)", l.BatchSize, l.Prefetch)
	}
	return nil
}

// Epoch returns the batches of one pass over the dataset, one tensor a field, on
// l.Device. An error ends the pass. Leaving the loop early, or the end of ctx,
// stops the background work and waits for the batch it is at. With Shuffle,
// beginning the loop draws once from the random generator, however the batches
// are prepared. The batches are the caller's: releasing them when their step is
// done, as tensor.Scope does with the rest of a step, saves the collector the work.
func (l *Loader) Epoch(ctx context.Context) iter.Seq2[[]tensor.Tensor, error] {
	return func(yield func([]tensor.Tensor, error) bool) {
		if err := l.check(); err != nil {
			yield(nil, err)
			return
		}
		e := l.begin()
		if l.Prefetch == 0 {
			e.inline(ctx, yield)
			return
		}
		e.background(ctx, yield)
	}
}

// epoch is one pass over a loader's dataset.
type epoch struct {
	*Loader
	device device.Device // resolved on the calling goroutine
	order  []int         // samples as they are visited
	seed   uint64
	draws  *random.Generator // of the batch being prepared
}

// begin decides the order of an epoch.
func (l *Loader) begin() *epoch {
	e := &epoch{Loader: l, device: l.Device.Resolve(), order: make([]int, l.Dataset.Len()), draws: random.New(0)}
	for i := range e.order {
		e.order[i] = i
	}
	if l.Shuffle {
		seed, offset := random.Next()
		r := rand.New(rand.NewPCG(uint64(seed), uint64(offset)))
		r.Shuffle(len(e.order), func(i, j int) { e.order[i], e.order[j] = e.order[j], e.order[i] })
		e.seed = r.Uint64()
	}
	return e
}

// batch prepares batch i of an epoch. The dataset draws random numbers from a
// sequence of the batch's own, so that they do not depend on what the model
// draws meanwhile.
func (e *epoch) batch(i int) (fields []tensor.Tensor, err error) {
	indices := e.order[i*e.BatchSize : min((i+1)*e.BatchSize, len(e.order))]
	// The multiplier spreads batch numbers over all bits, so that neighbouring
	// epochs and batches do not share a sequence.
	e.draws.SetState(random.State{Seed: int64(e.seed ^ uint64(i+1)*0x9e3779b97f4a7c15)})
	random.With(e.draws, func() { fields, err = e.Dataset.Batch(indices) })
	if err != nil {
		return nil, err
	}
	for k, f := range fields {
		if fields[k], err = e.place(f); err != nil {
			f.Release()
			release(fields[:k])
			release(fields[k+1:])
			return nil, fmt.Errorf("data: field %d of batch %d: %w", k, i, err)
		}
		if n := fields[k].Shape(); len(n) == 0 || n[0] != len(indices) {
			release(fields)
			return nil, fmt.Errorf("data: field %d of batch %d has shape %v for %d samples", k, i, n, len(indices))
		}
	}
	return fields, nil
}

// place moves a field to where batches go and gives up what it replaces.
func (e *epoch) place(f tensor.Tensor) (tensor.Tensor, error) {
	if e.Pin && !f.Device().Accelerator() && device.Count(device.KindCUDA) > 0 {
		pinned := f.PinMemory()
		if err := pinned.Err(); err != nil {
			return tensor.Tensor{}, err
		}
		if pinned != f {
			f.Release()
		}
		f = pinned
	}
	moved := f.To(e.device)
	if err := moved.Err(); err != nil {
		return tensor.Tensor{}, err
	}
	if moved != f {
		f.Release()
	}
	return moved, nil
}

func (e *epoch) inline(ctx context.Context, yield func([]tensor.Tensor, error) bool) {
	for i := range e.Len() {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		fields, err := e.batch(i)
		if !yield(fields, err) || err != nil {
			return
		}
	}
}

type prepared struct {
	fields []tensor.Tensor
	err    error
}

func (e *epoch) background(ctx context.Context, yield func([]tensor.Tensor, error) bool) {
	ctx, cancel := context.WithCancel(ctx)
	ready := make(chan prepared, e.Prefetch-1) // and one in the producer's hands
	go e.produce(ctx, ready)
	defer func() {
		cancel()
		for p := range ready { // until the producer has ended
			release(p.fields)
		}
	}()
	for range e.Len() {
		select {
		case p, open := <-ready:
			if !open {
				p.err = errGone
				if ctx.Err() != nil { // the producer saw it first
					p.err = ctx.Err()
				}
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

// errGone is what a dataset that ended its goroutine leaves behind.
var errGone = errors.New("data: the dataset ended the goroutine that prepares batches")

// produce prepares the epoch's batches and closes ready when it ends.
func (e *epoch) produce(ctx context.Context, ready chan<- prepared) {
	defer close(ready)
	for i := range e.Len() {
		if ctx.Err() != nil {
			return
		}
		fields, err := e.batch(i)
		select {
		case ready <- prepared{fields, err}:
		case <-ctx.Done():
			release(fields)
			return
		}
		if err != nil {
			return
		}
	}
}
