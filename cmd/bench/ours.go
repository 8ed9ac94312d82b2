package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// ourSide runs rows by way of the public packages, as a program does.
type ourSide struct {
	dev        device.Device
	sets       [][]T // the operands, set by set
	next       int   // the set of the next call
	call       call
	clock      clock
	start, end *stream.Event
	after      []func() error // gives up what the row's maker took
}

func (o *ourSide) prepare(r *row, sets int) (err error) {
	o.clock, o.next = r.clock, 0
	if !o.dev.Accelerator() && o.clock != usedTime {
		o.clock = wallTime
	}
	if o.call, err = r.ours(o); err != nil {
		return errors.Join(err, o.drop())
	}
	for range sets {
		set := make([]T, len(r.in))
		for i, in := range r.in {
			if set[i], err = in.make(o.dev); err != nil {
				return errors.Join(err, o.drop())
			}
		}
		o.sets = append(o.sets, set)
	}
	return stream.Synchronize(context.Background(), o.dev)
}

func (o *ourSide) drop() error {
	for _, set := range o.sets {
		for _, x := range set {
			x.Release()
		}
	}
	errs := []error{stream.Synchronize(context.Background(), o.dev)}
	for _, f := range slices.Backward(o.after) {
		errs = append(errs, f())
	}
	o.sets, o.call, o.after = nil, nil, nil
	return errors.Join(errs...)
}

// calls does n calls.
func (o *ourSide) calls(n int) error {
	for range n {
		if err := o.call(o.sets[o.next]); err != nil {
			return err
		}
		if o.next++; o.next == len(o.sets) {
			o.next = 0
		}
	}
	return nil
}

func (o *ourSide) batch(n int) (float64, error) {
	ctx := context.Background()
	if err := stream.Synchronize(ctx, o.dev); err != nil {
		return 0, err
	}
	if o.clock == deviceTime {
		return o.deviceBatch(ctx, n)
	}
	began, used := time.Now(), usedNow()
	if err := o.calls(n); err != nil {
		return 0, err
	}
	if o.clock == usedTime {
		return (usedNow() - used).Seconds(), nil
	}
	took := time.Since(began)
	if err := stream.Synchronize(ctx, o.dev); err != nil {
		return 0, err
	}
	if o.clock == wallTime {
		took = time.Since(began)
	}
	return took.Seconds(), nil
}

// deviceBatch times a batch between two events.
func (o *ourSide) deviceBatch(ctx context.Context, n int) (float64, error) {
	if o.start == nil {
		o.start, o.end = stream.NewTimingEvent(), stream.NewTimingEvent()
	}
	on := stream.Current(o.dev)
	if err := o.start.Record(on); err != nil {
		return 0, err
	}
	if err := o.calls(n); err != nil {
		return 0, err
	}
	if err := o.end.Record(on); err != nil {
		return 0, err
	}
	if err := o.end.Synchronize(ctx); err != nil {
		return 0, err
	}
	took, err := o.start.Elapsed(o.end)
	return took.Seconds(), err
}
