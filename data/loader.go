package data

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"math"
	"math/rand/v2"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/random"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A Loader cuts a dataset into batches. It must not be changed during an epoch.
type Loader struct {
	Dataset   Dataset
	BatchSize int
	Shuffle   bool              // a new order every epoch
	Random    *random.Generator // that orders are drawn from; nil: the calling goroutine's
	DropLast  bool              // leave out a last batch that is not full

	// Prefetch is how many batches are prepared ahead in the background; 0 prepares
	// each when it is asked for. On an accelerator the background has a stream of its
	// own, so that its copies overlap with what the program's streams do.
	Prefetch int
	// Workers is how many goroutines prepare batches where Prefetch is not 0; no more
	// than Prefetch are of use, and 0 is 1. With more than one, several call
	// Dataset.Batch at once. The batches and their order do not depend on it.
	Workers int

	// Pin puts what is in host memory into page-locked memory: for copies to
	// Device, or where that is the CPU to the accelerators there are, in which case
	// batches stay there. Without accelerators it does nothing. The memory is recycled,
	// but getting it is slow and it is taken from all programs of the machine:
	// about 1 + Prefetch batches of it are used.
	Pin    bool
	Device device.Device // where batches go

	// Share is the part of the dataset that this process visits, where several train
	// together.
	Share Share
}

// A Share is one of equal parts of a dataset, by rank: of the order of an epoch, every
// Ranks-th sample from the Rank-th on. With Shuffle all ranks need the same order, so that
// they set Random to generators of the same seed. Where the samples cannot be shared
// equally, the first of the epoch are visited again by the last ranks, or with DropLast the
// last of it by nobody: all ranks have as many batches. The zero Share is the whole.
type Share struct{ Rank, Ranks int }

// samples returns how many of n samples a rank visits.
func (s Share) samples(n int, drop bool) int {
	switch {
	case s.Ranks <= 1:
		return n
	case drop:
		return n / s.Ranks
	}
	return n/s.Ranks + min(n%s.Ranks, 1)
}

// of returns the samples of an epoch's order that the rank visits.
func (s Share) of(order []int, drop bool) []int {
	if s.Ranks <= 1 {
		return order
	}
	mine := make([]int, s.samples(len(order), drop))
	for i := range mine {
		mine[i] = order[(s.Rank+i*s.Ranks)%len(order)]
	}
	return mine
}

// Len returns the number of batches an epoch has; 0 for a loader that Epoch
// gives an error for.
func (l *Loader) Len() int {
	if l.check() != nil {
		return 0
	}
	return l.batches(l.Share.samples(l.Dataset.Len(), l.DropLast))
}

// batches returns how many batches there are of n samples.
func (l *Loader) batches(n int) int {
	if l.DropLast {
		return n / l.BatchSize
	}
	return n/l.BatchSize + min(n%l.BatchSize, 1)
}

// maxSamples is the most samples whose order a loader makes room for.
const maxSamples = min(1<<32, math.MaxInt/8)

func (l *Loader) check() error {
	if l == nil {
		return errors.New("data: a nil *data.Loader")
	}
	switch {
	case l.Dataset == nil:
		return errors.New("data: a loader without a Dataset, which data.Tensors makes one of")
	case l.BatchSize < 1:
		return fmt.Errorf("data: a loader with BatchSize %d, which must be at least 1", l.BatchSize)
	case l.Prefetch < 0:
		return fmt.Errorf("data: a loader with Prefetch %d, which must not be negative", l.Prefetch)
	case l.Share.Rank < 0 || l.Share.Rank > 0 && l.Share.Rank >= l.Share.Ranks || l.Share.Ranks < 0:
		return fmt.Errorf("data: a loader with the Share of rank %d of %d", l.Share.Rank, l.Share.Ranks)
	case l.Workers < 0:
		return fmt.Errorf("data: a loader with Workers %d, which must not be negative", l.Workers)
	}
	return checkSamples(l.Dataset.Len())
}

func checkSamples(n int) error {
	if n < 0 || n > maxSamples {
		return fmt.Errorf("data: a dataset of %d samples; a loader takes 0 to %d, since it keeps their order", n, int64(maxSamples))
	}
	return nil
}

// Epoch returns the batches of one pass over the dataset, one tensor a field, on
// l.Device. An error ends the pass. Leaving the loop early, or the end of ctx,
// stops the background work and waits for the batches it is at. With Shuffle,
// beginning the loop draws once from the random generator, however the batches
// are prepared.
//
// The batches are the caller's: releasing them when their step is done, as
// tensor.Scope does with the rest of a step, saves the collector the work. On an
// accelerator a batch may be used on the stream that was current when the loop got
// it, without waiting, and released before that work is done. Another stream has to
// wait for this one; Tensor.RecordStream keeps the batch's memory until it is done.
func (l *Loader) Epoch(ctx context.Context) iter.Seq2[[]tensor.Tensor, error] {
	return l.EpochFrom(ctx, 0)
}

// EpochFrom is Epoch without the first batches, which are not prepared: those
// numbered from first on are the same as without. To go on within an epoch, give the
// generator of the order the state that it had when the epoch began.
func (l *Loader) EpochFrom(ctx context.Context, first int) iter.Seq2[[]tensor.Tensor, error] {
	if ctx == nil {
		ctx = context.Background()
	}
	return func(yield func([]tensor.Tensor, error) bool) {
		err := l.check()
		var e *epoch
		if err == nil {
			e, err = l.begin(first)
		}
		switch {
		case err != nil:
			yield(nil, err)
		case l.Prefetch == 0:
			e.inline(ctx, first, yield)
		default:
			e.background(ctx, first, yield)
		}
	}
}

// epoch is one pass over a loader's dataset, as both were when it began.
type epoch struct {
	Loader
	device device.Device // resolved on the calling goroutine
	pin    device.Kind   // of the accelerators to page-lock for; KindCPU for none
	side   stream.Stream // what the background gives its work to
	order  []int         // samples as they are visited
	seed   uint64
	count  int // of batches
}

// begin decides the order of an epoch, which begins at a batch, and where its batches go.
func (l *Loader) begin(first int) (*epoch, error) {
	n := l.Dataset.Len()
	if err := checkSamples(n); err != nil {
		return nil, err
	}
	e := &epoch{Loader: *l, device: l.Device.Resolve(), count: l.batches(l.Share.samples(n, l.DropLast))}
	if first < 0 || first > e.count {
		return nil, fmt.Errorf("data: an epoch of %d batches cannot begin at batch %d", e.count, first)
	}
	e.order = make([]int, n)
	if l.Pin {
		e.pin = pinFor(e.device)
	}
	if l.Prefetch > 0 && e.device.Accelerator() {
		var err error
		if e.side, err = sideOf(e.device); err != nil {
			return nil, fmt.Errorf("data: %w", err)
		}
	}
	for i := range e.order {
		e.order[i] = i
	}
	if l.Shuffle {
		e.shuffle()
	}
	e.order = l.Share.of(e.order, l.DropLast)
	e.seed ^= uint64(l.Share.Rank) * 0xbf58476d1ce4e5b9 // ranks draw apart from one another
	return e, nil
}

func (e *epoch) shuffle() {
	from := e.Random
	if from == nil {
		from = random.Current()
	}
	seed, offset := from.Next()
	r := rand.New(rand.NewPCG(uint64(seed), uint64(offset)))
	r.Shuffle(len(e.order), func(i, j int) { e.order[i], e.order[j] = e.order[j], e.order[i] })
	e.seed = r.Uint64()
}

// batch prepares batch i of an epoch. The dataset draws random numbers from a
// sequence of the batch's own, which draws is set to, so that they depend neither on
// what the model draws meanwhile nor on who prepares the batch.
func (e *epoch) batch(i int, draws *random.Generator) (fields []tensor.Tensor, err error) {
	indices := e.order[i*e.BatchSize : min((i+1)*e.BatchSize, len(e.order))]
	// The multiplier spreads batch numbers over all bits, so that neighbouring
	// epochs and batches do not share a sequence.
	draws.SetState(random.State{Seed: int64(e.seed ^ uint64(i+1)*0x9e3779b97f4a7c15)})
	err = random.With(draws, func() (err error) {
		fields, err = batchOf(e.Dataset, indices, e.pin)
		return err
	})
	if err != nil {
		return nil, err
	}
	for k, f := range fields {
		if fields[k], err = e.place(f); err != nil {
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

// inline prepares each batch when it is asked for, on the calling goroutine and its
// current stream.
func (e *epoch) inline(ctx context.Context, first int, yield func([]tensor.Tensor, error) bool) {
	draws := random.New(0)
	for i := first; i < e.count; i++ {
		if err := ctx.Err(); err != nil {
			yield(nil, err)
			return
		}
		fields, err := e.batch(i, draws)
		if !yield(fields, err) || err != nil {
			return
		}
	}
}
