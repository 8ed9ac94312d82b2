package main

import (
	"context"
	"errors"
	"runtime"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/generated/tensor/out"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// small is the vector of rows about calls.
const small = 1024

// hostRows are about what a call costs the host.
func (w *workload) hostRows() []row {
	v, m := f32(small), f32(64, 64)
	both := []operand{v, v}
	rows := []row{
		{name: "add 1024", in: both, ours: result(func(x []T) T { return x[0].Add(x[1]) }), torch: "a + b",
			targets: []target{atMost(0.65, byPyTorch), atMost(1.35, launchRow)}},
		{name: "add 1024, not released", in: both, ours: action(func(x []T) error { return x[0].Add(x[1]).Err() }), torch: "a + b"},
		{name: "add 1024, out", in: []operand{v, v, v}, ours: action(func(x []T) error { return out.Add(x[2], x[0], x[1]) }), torch: "torch.add(a, b, out=c)"},
		{name: "relu 1024", in: both[:1], ours: result(func(x []T) T { return x[0].ReLU() }), torch: "torch.relu(a)"},
		{name: "sum 1024", in: both[:1], ours: result(func(x []T) T { return x[0].Sum() }), torch: "a.sum()"},
		{name: "matmul 64x64", in: []operand{m}, ours: result(func(x []T) T { return x[0].MatMul(x[0]) }), torch: "a @ a"},
		{name: "empty 1024", ours: emptyMaker, torch: "torch.empty(1024, device=device)"},
		{name: "allocate and free, cached", ours: allocateMaker, torch: "torch.empty(1024, device=device)", targets: []target{atMost(0.2, byPyTorch)}},
	}
	if w.dev.Kind == device.KindCUDA {
		rows = append(driverRows(), rows...)
	}
	for i := range rows {
		rows[i].clock, rows[i].unit = hostTime, nanoseconds
	}
	for _, of := range rows {
		if of.ours != nil && len(of.in) > 0 {
			rows = append(rows, row{name: "Go allocations of " + of.name, unit: allocations, fact: countOf(of), targets: []target{atMost(8, absolute)}})
		}
	}
	return grouped("Host cost of a call", rows)
}

// grouped names the group of rows.
func grouped(name string, rows []row) []row {
	for i := range rows {
		rows[i].group = name
	}
	return rows
}

func emptyMaker(o *ourSide) (call, error) {
	shape, on := []int{small}, tensor.On(o.dev)
	return func([]T) error {
		x := tensor.Empty(shape, on)
		err := x.Err()
		x.Release()
		return err
	}, nil
}

// allocateMaker makes the allocator's share of an operator.
func allocateMaker(o *ourSide) (call, error) {
	dev, drv, err := device.Find(o.dev)
	if err != nil {
		return nil, err
	}
	return func([]T) error {
		b, err := memory.Alloc(dev, drv, stream.CurrentID(dev), 4*small)
		if err != nil {
			return err
		}
		return b.Free()
	}, nil
}

// countOf counts the Go allocations of a row's call.
func countOf(r row) func(context.Context, *bench) (float64, error) {
	return func(ctx context.Context, b *bench) (n float64, err error) {
		const calls = 500
		if err := b.ours.prepare(&r, 1); err != nil {
			return 0, err
		}
		defer func() { err = errors.Join(err, b.ours.drop()) }()
		if err := b.ours.calls(calls); err != nil {
			return 0, err
		}
		least := float64(1 << 30) // of several counts: the program has other goroutines
		for range 5 {
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			if err := b.ours.calls(calls); err != nil {
				return 0, err
			}
			runtime.ReadMemStats(&after)
			least = min(least, float64(after.Mallocs-before.Mallocs)/calls)
			if err := stream.Synchronize(ctx, b.ours.dev); err != nil {
				return 0, err
			}
		}
		return least, nil
	}
}
