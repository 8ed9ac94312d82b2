package conformance_test

import (
	"context"
	"testing"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/data"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// numbers is a dataset of n samples in host memory: sample i is i with label -i.
func numbers(t testing.TB, n int) data.Dataset {
	t.Helper()
	x := tensor.Arange(0, n, 1).ToType(tensor.Float32)
	d, err := data.Tensors(x, x.Neg())
	must(t, err)
	return d
}

// A training loop moves each batch of a loader to the device with To, or has
// the loader do it; both give the same batches, in order.
func TestS58(t *testing.T) {
	dev := one(t)
	for name, l := range map[string]data.Loader{
		"moved by the loop":                    {},
		"moved by the loader":                  {Device: dev},
		"moved ahead":                          {Device: dev, Prefetch: 2},
		"moved ahead from page-locked memory":  {Device: dev, Prefetch: 3, Pin: true},
		"moved ahead by several, a last short": {Device: dev, Prefetch: 3, Workers: 3, Pin: true},
	} {
		t.Run(name, func(t *testing.T) {
			l.Dataset, l.BatchSize = numbers(t, 11), 4
			var seen []float64
			for batch, err := range l.Epoch(t.Context()) {
				must(t, err)
				x, y := batch[0].To(dev), batch[1].To(dev)
				equal(t, "device", x.Device(), dev)
				equal(t, "labels", values(t, y.Neg()), values(t, x))
				seen = append(seen, values(t, x)...)
			}
			equal(t, "samples", seen, []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10})
		})
	}
}

// plain is a dataset that knows nothing of page-locked memory.
type plain struct{ data.Dataset }

// A loader with Pin returns its batches in page-locked memory, however they
// are prepared, so that moving one to an accelerator need not block.
func TestS71(t *testing.T) {
	dev := one(t)
	if kind == device.KindSim && device.Count(device.KindCUDA) > 0 {
		t.Skip("memory is page-locked for the GPUs of this machine: -kind cuda covers them")
	}
	for _, prefetch := range []int{0, 2} {
		for _, pin := range []bool{false, true} {
			l := &data.Loader{Dataset: numbers(t, 6), BatchSize: 4, Pin: pin, Prefetch: prefetch}
			if prefetch == 0 {
				l.Dataset = plain{l.Dataset}
			}
			for batch, err := range l.Epoch(t.Context()) {
				must(t, err)
				for k, field := range batch {
					if field.IsPinned() != pin || field.Device() != device.CPU {
						t.Errorf("prefetch %d, pin %t: field %d is on %s, pinned %t", prefetch, pin, k, field.Device(), field.IsPinned())
					}
				}
				moved := batch[0].To(dev, tensor.NonBlocking())
				equal(t, "moved", values(t, moved), values(t, batch[0]))
			}
		}
	}
}

// TestLoaderOverlaps: while the program's stream is busy, the loader's copies of the
// batches to come are done on a stream of their own.
func TestLoaderOverlaps(t *testing.T) {
	dev := one(t)
	if kind == device.KindSim {
		fresh(t, sim.Config{Devices: 1, Async: true})
	}
	live(t, dev)
	x := tensor.Arange(0, 4*16, 1).ToType(tensor.Float32).Reshape(4, 16)
	set, err := data.Tensors(x)
	must(t, err)
	l := &data.Loader{Dataset: set, BatchSize: 1, Prefetch: 2, Pin: true, Device: dev}
	main := stream.New(dev, 0)
	lockPages(t, dev, 16, 16)
	must(t, main.Do(func() error { // gets what the loop needs, for which a held GPU might wait
		for batch, err := range l.Epoch(t.Context()) {
			must(t, err)
			values(t, batch[0].Sum())
			batch[0].Release()
		}
		return nil
	}))
	var sums []T
	var release func()
	must(t, main.Do(func() error {
		for batch, err := range l.Epoch(t.Context()) {
			must(t, err)
			if release == nil {
				release = hold(t, main)
			}
			sums = append(sums, batch[0].Sum())
			// Its memory waits for the sum, which cannot begin: none of the batches to
			// come is copied into it.
			batch[0].Release()
		}
		return nil
	}))
	if idle(t, main) {
		t.Error("the held stream is idle")
	}
	release()
	must(t, main.Synchronize(context.Background()))
	for i, s := range sums {
		equal(t, "sum", values(t, s), []float64{float64(i*16*16 + 120)})
		s.Release()
	}
	if len(sums) != 4 {
		t.Errorf("%d batches while the stream was held, want all 4", len(sums))
	}
}

// TestLoaderBlocks: the page-locked memory that a batch was gathered in is not used for
// another before its copy to the accelerator is done.
func TestLoaderBlocks(t *testing.T) {
	dev := one(t)
	if kind == device.KindSim {
		fresh(t, sim.Config{Devices: 1, Async: true})
	}
	live(t, dev)
	const columns = 16
	set, err := data.Tensors(tensor.Arange(0, 4*columns, 1).ToType(tensor.Float32).Reshape(4, columns))
	must(t, err)
	l := &data.Loader{Dataset: set, BatchSize: 1, Pin: true, Device: dev}
	lockPages(t, dev, columns, 16)
	main := stream.New(dev, 0)
	epoch := func() (batches []T) {
		for batch, err := range l.Epoch(t.Context()) {
			must(t, err)
			batches = append(batches, batch[0])
		}
		return batches
	}
	var batches []T
	must(t, main.Do(func() error {
		for _, b := range epoch() { // gets what the loop needs, for which a held GPU might wait
			b.Release()
		}
		release := hold(t, main)
		batches = epoch()
		release()
		return nil
	}))
	must(t, main.Synchronize(context.Background()))
	for i, b := range batches {
		want := make([]float64, columns)
		for k := range want {
			want[k] = float64(i*columns + k)
		}
		equal(t, "batch", values(t, b), want)
		b.Release()
	}
}

// step is work of several kernels on a batch, waited for as by a program that prints
// its loss.
func step(t testing.TB, batch []T) {
	t.Helper()
	tensor.Scope(func() error {
		_, err := batch[0].Mul(batch[1]).AddScalar(1).Square().Sum().Item()
		must(t, err)
		return nil
	})
	for _, f := range batch {
		f.Release()
	}
}

// TestLoaderLeaks: leaving an epoch early leaves no goroutine, and no memory but what
// the program holds.
func TestLoaderLeaks(t *testing.T) {
	dev := one(t)
	live(t, dev)
	pinned := memory.PinnedStatsOf(kind).ActiveBytes.Current
	for _, workers := range []int{1, 3} {
		l := &data.Loader{Dataset: numbers(t, 64), BatchSize: 2, Prefetch: 4, Workers: workers, Pin: true, Device: dev}
		n := 0
		for batch, err := range l.Epoch(t.Context()) {
			must(t, err)
			step(t, batch)
			if n++; n == 3 {
				break
			}
		}
	}
	must(t, stream.Synchronize(context.Background(), dev))
	p := tensor.Zeros([]int{1}).PinMemory(dev) // a request looks which copies are done
	p.Release()
	if after := memory.PinnedStatsOf(kind).ActiveBytes.Current; after > pinned {
		t.Errorf("%d bytes of page-locked memory are in use, %d before", after, pinned)
	}
}
