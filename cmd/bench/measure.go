package main

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/runtime/device"
)

// A side does the work of one row at a time.
type side interface {
	// prepare makes a row's operands, in so many sets, and whatever else it needs.
	prepare(r *row, sets int) error
	// batch does n calls and returns the seconds that they took together.
	batch(n int) (float64, error)
	// drop gives up what prepare made.
	drop() error
}

// bench is the sides and how much they are asked to do.
type bench struct {
	workload workload
	ours     *ourSide
	torch    *torchSide // nil without PyTorch

	native, limits *nativeSide // nil without gcc, and on a GPU

	processors *processors // that rows with a number of threads share; nil on a GPU
}

func newBench(dev device.Device, quick bool) *bench {
	return &bench{workload: workloadFor(dev, quick), ours: &ourSide{dev: dev}}
}

// children returns the identifiers of the other sides' processes.
func (b *bench) children() (ids []int) {
	if b.torch != nil {
		ids = append(ids, b.torch.command.Process.Pid)
	}
	for _, n := range []*nativeSide{b.native, b.limits} {
		if n != nil {
			ids = append(ids, n.command.Process.Pid)
		}
	}
	return ids
}

// A figure is the seconds of a call by one side: the median over rounds, and the
// fastest and slowest round.
type figure struct {
	median, least, most float64
	err                 error
}

// errNone says that a side has no such work.
var errNone = errors.New("not there")

var none = figure{err: errNone}

// numSides counts ours, PyTorch's, the native one and the limit.
const numSides = 4

// figures are those of one row, by side.
type figures [numSides]figure

// measure measures a row on both sides, in turns.
func (b *bench) measure(ctx context.Context, r row) outcome {
	failed := func(err error) outcome { return newOutcome(&r, figures{{err: err}, none, none, none}, 0) }
	if r.threads > 0 {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(r.threads))
	}
	if b.processors != nil {
		if err := b.processors.take(r.threads); err != nil {
			return failed(err)
		}
	}
	if r.fact != nil {
		v, err := r.fact(ctx, b)
		f := figure{median: v, least: v, most: v, err: err}
		return newOutcome(&r, figures{f, none, none, none}, 0)
	}
	if err := setFlags(r.tf32); err != nil {
		return failed(err)
	}
	runtime.GC()
	bound := 0.0
	sides := b.sidesOf(&r)
	figures := b.turns(ctx, &r, sides)
	if sides[3] != nil {
		bound = b.limits.work
	}
	return newOutcome(&r, figures, bound)
}

// sidesOf returns who computes a row, nil for each who does not.
func (b *bench) sidesOf(r *row) (sides [numSides]side) {
	if r.ours != nil {
		sides[0] = b.ours
	}
	if r.torch != "" && b.torch != nil {
		sides[1] = b.torch
	}
	if r.native != "" && b.native != nil {
		sides[2] = b.native
	}
	if r.bound != "" && b.limits != nil {
		sides[3] = b.limits
	}
	return sides
}

// turns has the sides compute a row in turns.
func (b *bench) turns(ctx context.Context, r *row, sides [numSides]side) figures {
	figures := figures{none, none, none, none}
	var calls [numSides]int
	for i, s := range sides {
		if s != nil {
			calls[i], figures[i].err = b.ready(s, r)
		}
	}
	var rounds [numSides][]float64
	for k := range b.workload.roundsOf(r) {
		for j := range sides {
			i := (j + k) % numSides // who goes first changes
			if figures[i].err != nil || ctx.Err() != nil {
				continue
			}
			var t float64
			t, figures[i].err = r.turn(sides[i], calls[i])
			rounds[i] = append(rounds[i], t/float64(calls[i]))
		}
	}
	for i, s := range sides {
		if s == nil {
			continue
		}
		if err := s.drop(); figures[i].err == nil {
			figures[i].err = err
		}
		if figures[i].err == nil && len(rounds[i]) > 0 {
			figures[i] = figure{median: median(rounds[i]), least: slices.Min(rounds[i]), most: slices.Max(rounds[i])}
		}
	}
	return figures
}

// turn measures a batch of calls on a side. With several threads all sides rest first,
// and some calls wake this side's threads.
func (r *row) turn(s side, calls int) (float64, error) {
	switch {
	case r.idle:
		time.Sleep(idleness)
	case r.threads > 1:
		time.Sleep(parking)
		if _, err := s.batch(max(1, calls/4)); err != nil {
			return 0, err
		}
	}
	return s.batch(calls)
}

const (
	idleness = 80 * time.Millisecond // that all threads rest before a call which follows idleness
	parking  = 20 * time.Millisecond // after which no side's threads spin any more
)

// ready prepares a row on a side, warms it up, and returns how many calls make a
// batch long enough to be measured.
func (b *bench) ready(s side, r *row) (int, error) {
	if err := s.prepare(r, b.workload.sets(r)); err != nil {
		return 0, err
	}
	if _, err := s.batch(2); err != nil { // compiles, loads, tunes
		return 0, err
	}
	if r.idle {
		return 1, nil
	}
	most := maxCalls
	if r.again {
		most = maxAgain
	}
	if r.clock == hostTime {
		most = maxQueued
	}
	for n := 1; ; n *= 4 {
		t, err := s.batch(min(n, most))
		if err != nil {
			return 0, err
		}
		batch := b.workload.batchOf(r)
		if t >= batch/8 || n >= most {
			return max(1, min(most, int(batch/max(t/float64(min(n, most)), 1e-9)))), nil
		}
	}
}

// What bounds a batch. A GPU queues about a thousand launches; after that a call
// waits for the device, which is not the host's cost.
const (
	maxCalls  = 4096
	maxQueued = 900
	maxAgain  = 1 << 18 // calls of some nanoseconds
)

// setFlags sets our flags of precision; beside.py sets PyTorch's alike.
func setFlags(tf32 bool) error {
	cuda.AllowTF32(tf32)
	cuda.SetAllowFP16Accumulation(false)
	return errors.Join(cuda.SetAllowFP16ReducedPrecisionReduction(true, true), cuda.SetAllowBF16ReducedPrecisionReduction(true, true))
}

// median returns the middle one of several numbers.
func median(of []float64) float64 {
	s := slices.Sorted(slices.Values(of))
	if n := len(s); n%2 == 0 {
		return (s[n/2-1] + s[n/2]) / 2
	}
	return s[len(s)/2]
}
