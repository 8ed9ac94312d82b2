package conformance_test

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// A trainer is a model of two layers, with as many inputs as neurons, and its data on
// a device.
type trainer struct {
	x, y    T
	weights []T
}

func newTrainer(t testing.TB, d device.Device, width int) *trainer {
	t.Helper()
	fill := func(shape ...int) T {
		n := 1
		for _, s := range shape {
			n *= s
		}
		data := make([]float32, n)
		for i := range data {
			data[i] = float32(i%7-3) / 8
		}
		return tensor.FromSlice(data, shape, tensor.On(d))
	}
	tr := &trainer{x: fill(width, width), y: fill(width, 2), weights: []T{fill(width, width).RequireGrad(), fill(width).RequireGrad(), fill(width, 2).RequireGrad()}}
	for _, x := range append(tr.weights, tr.x, tr.y) {
		must(t, x.Err())
	}
	return tr
}

// step does one step of training, and returns its first error. Whatever it made is
// released; a step that failed has changed no weight, or some of them completely.
func (tr *trainer) step() (err error) {
	err = tensor.Scope(func() error {
		h := tr.x.MatMul(tr.weights[0]).Add(tr.weights[1]).ReLU()
		loss := h.MatMul(tr.weights[2]).Sub(tr.y).Square().Mean()
		if err := loss.Err(); err != nil {
			return err
		}
		if err := loss.Backward(); err != nil {
			return err
		}
		return tensor.NoGrad(func() error {
			for _, w := range tr.weights {
				g, _ := w.Grad()
				if err := w.AddScaledInPlace(g, -0.1); err != nil {
					return err
				}
			}
			return nil
		})
	})
	for _, w := range tr.weights {
		err = errors.Join(err, w.ZeroGrad())
	}
	return err
}

// state returns the weights' elements.
func (tr *trainer) state(t testing.TB) [][]float64 {
	t.Helper()
	var out [][]float64
	for _, w := range tr.weights {
		out = append(out, values(t, w))
	}
	return out
}

func (tr *trainer) release() {
	for _, x := range append(tr.weights, tr.x, tr.y) {
		x.Release()
	}
}

// rawMemory has every allocation of the test reach the driver.
func rawMemory(t testing.TB) {
	t.Helper()
	was := memory.Caching()
	memory.SetCaching(false)
	t.Cleanup(func() { memory.SetCaching(was) })
}

// TestOutOfMemoryEverywhere fails every allocation of a training step in turn. The
// step says that there is no memory, on which device and how much was wanted; the
// weights are what they were before or after the step, everything that it made is
// given back, and the next step works.
func TestOutOfMemoryEverywhere(t *testing.T) {
	rawMemory(t)
	drv := fresh(t, sim.Config{Devices: 1, Async: true})
	d := device.Sim(0)
	tr := newTrainer(t, d, 5)
	must(t, tr.step())
	must(t, stream.Synchronize(background, d))
	patience.Collect(t)
	held := liveBytes(t, drv, math.MaxInt64)
	allocs := drv.Counters(0).Allocs
	must(t, tr.step())
	allocs = drv.Counters(0).Allocs - allocs
	if allocs < 12 {
		t.Fatalf("a step allocates %d times", allocs)
	}
	for k := 1; k <= int(allocs); k++ {
		before := tr.state(t)
		for again := range 6 { // what the allocator tries before it gives up fails, too
			must(t, drv.Fail(0, sim.FaultAlloc, k+again, fmt.Errorf("%w: injected", device.ErrOutOfMemory)))
		}
		err := tr.step()
		var oom *memory.OutOfMemoryError
		if !errors.As(err, &oom) || oom.Device != d || !strings.Contains(err.Error(), "out of memory. Tried to allocate") || !strings.Contains(err.Error(), "faults_test.go:") {
			t.Fatalf("allocation %d: %v", k, err)
		}
		for range 6 { // those that were not needed
			if m, err := drv.Alloc(0, 1); err == nil {
				must(t, drv.Free(0, m))
			}
		}
		equal(t, fmt.Sprintf("bytes held after allocation %d failed", k), liveBytes(t, drv, held), held)
		after := tr.state(t)
		must(t, tr.step())
		if changed := slices.IndexFunc(after, func(w []float64) bool { return slices.ContainsFunc(w, isNaN) }); changed >= 0 {
			t.Errorf("allocation %d: weight %d is not a number", k, changed)
		}
		if k < int(allocs)/2 { // the update has not begun
			equal(t, fmt.Sprintf("weights after allocation %d failed", k), after, before)
		}
	}
	tr.release()
	must(t, stream.Synchronize(background, d))
	equal(t, "bytes held in the end", liveBytes(t, drv, 0), int64(0))
}

// liveBytes returns how many bytes a driver has given out on its first device once these are no
// more than want.
func liveBytes(t testing.TB, drv *sim.Driver, want int64) int64 {
	t.Helper()
	return patience.Settle(t, func() int64 {
		_ = memory.EmptyCache(device.Sim(0)) // what the collector dropped is given back
		return drv.Counters(0).LiveBytes
	}, want)
}

func isNaN(v float64) bool { return v != v }

// TestOutOfMemoryByLimit lets a program have more and more of a GPU's memory, until a
// training step with large tensors fits: each before fails as
// TestOutOfMemoryEverywhere says.
func TestOutOfMemoryByLimit(t *testing.T) {
	hardware(t, "simulated accelerators fail each allocation in TestOutOfMemoryEverywhere")
	d := one(t)
	live(t, d)
	drv, err := device.DriverOf(d.Kind)
	must(t, err)
	_, total, err := drv.MemoryInfo(d.Index)
	must(t, err)
	const width = 2048 // a weight has 16 MiB, and a segment of its own
	tr := newTrainer(t, d, width)
	must(t, tr.step())
	must(t, stream.Synchronize(background, d))
	want := tr.state(t)
	must(t, memory.EmptyCache(d))
	held := collected(t, d)
	t.Cleanup(func() { must(t, memory.SetMemoryFraction(d, 1)) })
	failed := 0
	for limit := memory.Reserved(d); ; limit += width * width * 4 {
		must(t, memory.SetMemoryFraction(d, float64(limit)/float64(total)))
		err := tr.step()
		if err == nil {
			break
		}
		if failed++; !errors.Is(err, device.ErrOutOfMemory) || failed > 100 {
			t.Fatalf("with %d bytes, attempt %d: %v", limit, failed, err)
		}
		must(t, stream.Synchronize(background, d))
		if got := settle(t, d, held); got != held {
			t.Fatalf("with %d bytes: %d held afterwards, %d before", limit, got, held)
		}
		must(t, memory.EmptyCache(d))
	}
	if failed < 3 {
		t.Errorf("only %d limits were too small", failed)
	}
	if slices.EqualFunc(tr.state(t), want, slices.Equal) {
		t.Error("the step that succeeded changed nothing")
	}
	tr.release()
}

// TestFailingCopy fails copies of every kind: the error is the driver's with the line
// that called, source and destination are as they were, and the next copy works.
func TestFailingCopy(t *testing.T) {
	drv := fresh(t, simulated)
	broken := errors.New("the link is down")
	d, peer, far := device.Sim(0), device.Sim(1), device.Sim(3)
	host := tensor.From([]float32{1, 2})
	x, dst := host.To(d), tensor.Zeros([]int{2}, tensor.On(peer))
	must(t, stream.Synchronize(background, d))
	held := []int64{memory.Allocated(d), memory.Allocated(peer), memory.Allocated(far)}
	for name, c := range map[string]func() error{
		"to the device":     func() error { return host.To(d).Err() },
		"to the host":       func() error { return x.CPU().Err() },
		"to a peer":         func() error { return x.To(peer).Err() },
		"to one far":        func() error { return x.To(far).Err() },
		"into a tensor":     func() error { return dst.CopyFrom(x) },
		"reading an item":   func() error { _, err := x.Bytes(); return err },
		"without waiting":   func() error { return host.PinMemory(d).To(d, tensor.NonBlocking()).Err() },
		"unpinned, at once": func() error { return host.To(d, tensor.NonBlocking()).Err() },
	} {
		must(t, drv.Fail(0, sim.FaultCopy, 1, broken))
		err := c()
		if !errors.Is(err, broken) || !strings.Contains(err.Error(), "sim:0") || !strings.Contains(err.Error(), "faults_test.go:") {
			t.Errorf("%s: %v", name, err)
		}
		_ = dst.Err() // looked at
		equal(t, name+": the source", values(t, x), []float64{1, 2})
		equal(t, name+": the destination", values(t, dst), []float64{0, 0})
		for i, on := range []device.Device{d, peer, far} {
			equal(t, name+": bytes held on "+on.String(), settle(t, on, held[i]), held[i])
		}
		if name != "into a tensor" {
			must(t, c())
		}
	}
}

// TestTrap: a kernel that finds bad values reads zeros and writes nothing; the error
// names operator and value, and what was there before is unharmed.
func TestTrap(t *testing.T) {
	d := one(t)
	x := tensor.Arange(0, 4, 1, tensor.On(d), tensor.OfType(tensor.Float32))
	bad, good := tensor.From([]int64{1, 9}).To(d), tensor.From([]int64{1, 3}).To(d)
	for name, run := range map[string]func(index T) T{
		"gather": func(i T) T { return x.Gather(0, i) }, "index_select": func(i T) T { return x.IndexSelect(0, i) },
		"scatter": func(i T) T { return x.Scatter(0, i, tensor.Ones([]int{2}, tensor.On(d))) },
	} {
		must(t, run(bad).Err())
		err := stream.Synchronize(background, d)
		if err == nil || !strings.Contains(err.Error(), name) || !strings.Contains(err.Error(), "9") || !strings.Contains(err.Error(), d.String()) {
			t.Errorf("%s: %v", name, err)
		}
		must(t, stream.Synchronize(background, d))
		equal(t, name+": the operand", values(t, x), []float64{0, 1, 2, 3})
		must(t, run(good).Err())
		must(t, stream.Synchronize(background, d))
	}
}

// goesOn checks that nothing on other devices and on the host is concerned by the loss
// of one.
func goesOn(t testing.TB, others []device.Device) {
	t.Helper()
	equal(t, "the host", values(t, tensor.Ones([]int{2}).AddScalar(1)), []float64{2, 2})
	n := 4
	if kind == device.KindCUDA {
		n = 1 << 22 // goes through several of the chunks that all devices share
	}
	for _, o := range others {
		x := tensor.Ones([]int{n}, tensor.On(o)).AddScalar(1)
		equal(t, o.String(), values(t, x)[:2], []float64{2, 2})
		pinned := tensor.Ones([]int{2}).PinMemory(o)
		equal(t, o.String()+" from page-locked memory", values(t, pinned.To(o, tensor.NonBlocking())), []float64{1, 1})
	}
}

// saysLost checks that whatever is asked of a lost device is refused with the reason,
// and that nothing hangs.
func saysLost(t testing.TB, d device.Device, x T, s stream.Stream, e *stream.Event, reason string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(background, patience.Left(t))
	defer cancel()
	_, queried := s.Query()
	_, item := x.Sum().Item()
	_, done := e.Query()
	drv, err := device.DriverOf(d.Kind)
	must(t, err)
	_, _, info := drv.MemoryInfo(d.Index)
	for what, err := range map[string]error{
		"device": stream.Synchronize(ctx, d), "stream": s.Synchronize(ctx), "event": e.Synchronize(ctx), "query": queried, "event query": done,
		"record": e.Record(s), "wait": s.WaitStream(stream.Default(d)), "operator and value": item, "copy to the host": x.CPU().Err(),
		"copy to it": tensor.From([]float32{1}).To(d).Err(), "new memory": tensor.Ones([]int{1 << 22}, tensor.On(d)).Err(), "memory": info,
	} {
		if !errors.Is(err, device.ErrLost) || !strings.Contains(err.Error(), d.String()) || !strings.Contains(err.Error(), reason) || !strings.Contains(err.Error(), "in flight on stream") {
			t.Errorf("%s: %v", what, err)
		}
	}
}

// TestLost: a device that its work makes useless says so, and why, in every later
// call. Other devices and the host go on, nothing hangs, and no goroutine is left.
func TestLost(t *testing.T) {
	if onGPU() { // it is lost for the whole process
		equal(t, "in a process of its own", child(t, "lost"), "lost and told")
		return
	}
	drv := fresh(t, simulated)
	d, broken := device.Sim(0), errors.New("it fell off the bus")
	s, e := newStream(t, d), stream.NewEvent()
	x := onesOn(d)
	goesOn(t, []device.Device{device.Sim(1), device.Sim(3)})
	must(t, stream.Synchronize(background, d))
	goroutines := runtime.NumGoroutine()
	must(t, drv.Fail(0, sim.FaultLost, 2, broken))
	waiting := make(chan error, 3)
	release := hold(t, stream.Default(d))
	y := x.MulScalar(2).AddScalar(1).Sqrt() // the second is the end
	must(t, y.Err())
	must(t, e.Record(stream.Default(d)))
	must(t, s.WaitEvent(e))
	for _, wait := range []func(context.Context) error{s.Synchronize, e.Synchronize, stream.Default(d).Synchronize} {
		go func() { waiting <- wait(background) }()
	}
	release()
	for range cap(waiting) {
		fails(t, "a wait that was under way", <-waiting, device.ErrLost, "it fell off the bus (in flight on stream 0x0: ")
	}
	saysLost(t, d, x, s, e, "it fell off the bus")
	goesOn(t, []device.Device{device.Sim(1), device.Sim(3)})
	x.Release()
	y.Release()
	if err := memory.EmptyCache(d); err != nil && !errors.Is(err, device.ErrLost) {
		t.Errorf("giving memory back: %v", err)
	}
	if !patience.Until(t, func() bool { return runtime.NumGoroutine() <= goroutines }) {
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), goroutines)
	}
}

// loseGPU makes a kernel read an address that is none, which costs the process its
// first GPU, and prints that the host went on, and that the other GPUs did or say why
// not.
func loseGPU(t *testing.T) {
	d := one(t)
	var others []device.Device
	if n := device.Count(kind); n > 1 {
		others = devices(t, n)[1:]
	}
	s, e := newStream(t, d), stream.NewEvent()
	x := onesOn(d)
	goesOn(t, others)
	must(t, e.Record(s))
	must(t, stream.Synchronize(background, d))
	nowhere := tensor.FromDevicePointer(d, 1<<20, tensor.Float32, 4)
	must(t, nowhere.Err())
	must(t, nowhere.AddScalar(1).Err())
	err := stream.Default(d).Synchronize(background)
	fails(t, "the wait", err, device.ErrLost, "in flight on stream 0x0: add")
	saysLost(t, d, x, s, e, "CUDA_ERROR_ILLEGAL_ADDRESS")
	goesOn(t, nil)
	for _, o := range others { // CUDA may take them, too: it leaves the process without a GPU
		if err := tensor.Ones([]int{4}, tensor.On(o)).AddScalar(1).Err(); err != nil {
			fails(t, o.String(), err, device.ErrLost, o.String()+": ")
			continue
		}
		goesOn(t, []device.Device{o})
	}
	x.Release()
	if err := cuda.EmptyCache(d); err != nil && !errors.Is(err, device.ErrLost) {
		t.Errorf("giving memory back: %v", err)
	}
	if t.Failed() {
		os.Exit(1)
	}
	fmt.Println("lost and told")
}

// TestStreamDestroyedInUse destroys a stream with work under way: the work is done,
// memory it used is not given out before, and later calls say that it is gone.
func TestStreamDestroyedInUse(t *testing.T) {
	d := one(t)
	drv, err := device.DriverOf(kind)
	must(t, err)
	x := onesOn(d)
	run := func(held bool) (y T, s stream.Stream) {
		id, err := drv.NewStream(d.Index, 0)
		must(t, err)
		s = stream.External(d, id)
		must(t, s.WaitStream(stream.Default(d)))
		release := func() {}
		if held {
			release = hold(t, s)
		}
		on(t, s, func() { y = x.AddScalar(41) })
		must(t, x.RecordStream(s))
		must(t, stream.Default(d).WaitStream(s))
		must(t, drv.DestroyStream(d.Index, id))
		release()
		return y, s
	}
	warm(t, d, func() { run(false) })
	y, s := run(true)
	equal(t, "work of the destroyed stream", values(t, y), []float64{42, 42})
	for what, err := range map[string]error{
		"waiting": s.Synchronize(background), "an operator": func() (err error) { on(t, s, func() { err = x.AddScalar(1).Err() }); return err }(),
		"an event": stream.NewEvent().Record(s), "waiting for it": stream.Default(d).WaitStream(s),
	} {
		fails(t, what, err, nil, d.String())
	}
	y.Release() // a block of the stream that is gone
	x.Release() // a block that it used
	equal(t, "work afterwards", values(t, onesOn(d).AddScalar(1)), []float64{2, 2})
	must(t, stream.Synchronize(background, d))
}

// TestCancelledWaits: a wait that its context ends returns the context's error and
// leaves nothing behind once the work is done; the work goes on.
func TestCancelledWaits(t *testing.T) {
	d := one(t)
	s := newStream(t, d)
	x := onesOn(d)
	must(t, s.WaitStream(stream.Default(d)))
	on(t, s, func() { warm(t, d, func() { x.AddScalar(1) }) })
	before := runtime.NumGoroutine()
	release := hold(t, s)
	var y T
	on(t, s, func() { y = x.AddScalar(1) })
	e, err := s.RecordEvent(nil)
	must(t, err)
	ended, cancel := context.WithCancel(background)
	cancel()
	for name, wait := range map[string]func(context.Context) error{
		"stream": s.Synchronize, "event": e.Synchronize, "device": func(ctx context.Context) error { return stream.Synchronize(ctx, d) },
	} {
		short, stop := context.WithTimeout(background, 2*time.Millisecond)
		if err := wait(short); !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), d.String()) {
			t.Errorf("%s, with a deadline: %v", name, err)
		}
		stop()
		if err := wait(ended); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, cancelled before: %v", name, err)
		}
	}
	release()
	on(t, s, func() { equal(t, "the work that was waited for", values(t, y), []float64{2, 2}) })
	if !patience.Until(t, func() bool { return runtime.NumGoroutine() <= before }) {
		t.Errorf("%d goroutines, %d before", runtime.NumGoroutine(), before)
	}
}
