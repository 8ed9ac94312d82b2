package conformance_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// Two events made with timing, recorded before and after some work and waited for,
// tell how long the device took.
func TestS29(t *testing.T) {
	d := one(t)
	start, end := stream.NewTimingEvent(), stream.NewTimingEvent()
	x := tensor.Full([]int{12, 12}, 0.5, tensor.On(d))
	warm(t, d, func() { x.MatMul(x) })
	began := time.Now()
	must(t, start.Record(stream.Current(d)))
	for range 10 {
		x.MatMul(x)
	}
	must(t, end.Record(stream.Current(d)))
	must(t, end.Synchronize(background))
	wall := time.Since(began)
	took, err := start.Elapsed(end)
	must(t, err)
	if took <= 0 || took > wall {
		t.Errorf("the device took %v of %v", took, wall)
	}
	back, err := end.Elapsed(start)
	must(t, err)
	if back > 0 {
		t.Errorf("backwards the time is %v", back)
	}
}

// Recording an event makes one where none is given; a wait for it holds only work
// given later; asking and waiting tell when all work before it is done.
func TestP11(t *testing.T) {
	d := one(t)
	a, b := newStream(t, d), newStream(t, d)
	release := hold(t, a)
	e, err := a.RecordEvent(nil)
	must(t, err)
	must(t, b.Synchronize(background)) // what it was given so far waits for nothing
	must(t, b.WaitEvent(e))
	done, err := e.Query()
	must(t, err)
	equal(t, "done: the event, its stream, the one that waits", []bool{done, idle(t, a), idle(t, b)}, []bool{false, false, false})
	release()
	must(t, b.Synchronize(background))
	must(t, e.Synchronize(background))
	must(t, a.Synchronize(background)) // the event is the last of its work, which it may still be about to note
	done, err = e.Query()
	must(t, err)
	equal(t, "done afterwards", []bool{done, idle(t, a), idle(t, b)}, []bool{true, true, true})
	again, err := a.RecordEvent(e)
	must(t, err)
	if again != e {
		t.Error("recording an event returned another one")
	}
	moved := hold(t, a)
	must(t, e.Record(a)) // marks another place now
	done, err = e.Query()
	must(t, err)
	equal(t, "done once recorded again", done, false)
	moved()
	fails(t, "waiting for a nil event", b.WaitEvent(nil), nil, "nil event")
}

// An event has no timing unless it is asked for, and no device before it is first
// recorded; then only streams of that device record it, and streams of any wait.
func TestP17(t *testing.T) {
	d := devices(t, 2)
	a, b := newStream(t, d[0]), newStream(t, d[1])
	e := stream.NewEvent()
	if on, ok := e.Device(); ok {
		t.Errorf("before the first record it is of %s", on)
	}
	must(t, b.WaitEvent(e)) // waits for nothing
	must(t, e.Record(a))
	on, ok := e.Device()
	equal(t, "the device", on, d[0])
	equal(t, "has one", ok, true)
	fails(t, "recorded by another device's stream", e.Record(b), device.ErrMismatch,
		"Event device "+d[0].String()+" does not match recording stream's device "+d[1].String())
	release := hold(t, a)
	must(t, e.Record(a))
	must(t, b.WaitEvent(e))
	if idle(t, b) {
		t.Error("another device's stream did not wait")
	}
	release()
	must(t, b.Synchronize(background))
	_, err := e.Elapsed(e)
	fails(t, "the time of an event without timing", err, stream.ErrNotTiming, "")
}

// An event that was never recorded counts as done, and nobody waits for it.
func TestP18(t *testing.T) {
	d := one(t)
	e := cuda.NewEvent()
	done, err := e.Query()
	must(t, err)
	equal(t, "done", done, true)
	must(t, e.Synchronize(background))
	s := newStream(t, d)
	must(t, s.WaitEvent(e))
	equal(t, "a stream that waits for it is done", idle(t, s), true)
}

// The time between two events is had from any current device. It is an error where
// one has no timing, was not recorded, or is of another device, and where its work is not
// done.
//
// Differs: the error names NewTimingEvent where PyTorch's names the argument enable_timing.
func TestP19(t *testing.T) {
	d := devices(t, 2)
	a, b := newStream(t, d[0]), newStream(t, d[1])
	start, end, far, plain := cuda.NewTimingEvent(), cuda.NewTimingEvent(), cuda.NewTimingEvent(), cuda.NewEvent()
	elapsed := func(x, y *stream.Event) error { _, err := x.Elapsed(y); return err }
	const timing, recorded = "both events must be made by NewTimingEvent", "both events must be recorded first"
	must(t, start.Record(a))
	must(t, plain.Record(a))
	must(t, far.Record(b))
	fails(t, "the second is not recorded", elapsed(start, end), stream.ErrNotRecorded, recorded)
	fails(t, "the first is not recorded", elapsed(end, start), stream.ErrNotRecorded, recorded)
	fails(t, "the second has no timing", elapsed(start, plain), stream.ErrNotTiming, timing)
	fails(t, "the first has no timing", elapsed(plain, start), stream.ErrNotTiming, timing)
	fails(t, "two devices", elapsed(start, far), device.ErrMismatch, d[1].String())
	must(t, start.Synchronize(background)) // or its time is one of the pause
	release := hold(t, a)
	must(t, end.Record(a))
	if err := elapsed(start, end); err == nil {
		t.Error("there is a time before the work is done")
	}
	time.Sleep(3 * time.Millisecond)
	release()
	must(t, end.Synchronize(background))
	within(t, d[1], func() {
		took, err := start.Elapsed(end)
		must(t, err)
		if took < 2*time.Millisecond {
			t.Errorf("a stream that was held for 3ms took %v", took)
		}
	})
}

// Waiting for a device takes no device (the current one), a device by index, one
// without index, or what a string names; the host is refused in PyTorch's words.
func TestP20(t *testing.T) {
	d := asCUDA(t, 1)[0]
	parsed := func(s string) device.Device {
		p, err := device.Parse(s)
		must(t, err)
		return p
	}
	for name, call := range map[string]func(ctx context.Context) error{
		"nothing":         func(ctx context.Context) error { return cuda.Synchronize(ctx) },
		"an index":        func(ctx context.Context) error { return cuda.Synchronize(ctx, cuda.Device(0)) },
		`"cuda"`:          func(ctx context.Context) error { return cuda.Synchronize(ctx, parsed("cuda")) },
		`"cuda:0"`:        func(ctx context.Context) error { return cuda.Synchronize(ctx, parsed("cuda:0")) },
		"a device value":  func(ctx context.Context) error { return cuda.Synchronize(ctx, d) },
		"package streams": func(ctx context.Context) error { return stream.Synchronize(ctx, d) },
	} {
		s := newStream(t, d)
		release := hold(t, s)
		short, cancel := context.WithTimeout(background, time.Millisecond)
		err := call(short)
		cancel()
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("%s: %v, although a stream has work", name, err)
		}
		release()
		must(t, call(background))
		equal(t, name+": the stream is done", idle(t, s), true)
	}
	fails(t, "the host", cuda.Synchronize(background, device.CPU), device.ErrInvalid, "Expected a cuda device, but got: cpu")
	fails(t, "two devices", cuda.Synchronize(background, d, d), device.ErrInvalid, "want one or none")
	fails(t, "no such device", cuda.Synchronize(background, cuda.Device(99)), device.ErrUnavailable, "cuda:99")
	must(t, stream.Synchronize(background, device.CPU)) // its work is done already
}

// A goroutine that waits holds no lock: others go on working, on the same device and
// on others, and a wait ends with its context.
func TestP21(t *testing.T) {
	list := devices(t, 1)
	if device.Count(kind) > 1 {
		list = devices(t, 2)
	}
	d := list[0]
	held, free := newStream(t, d), newStream(t, d)
	others := map[device.Device]stream.Stream{}
	for _, other := range list {
		others[other] = newStream(t, other)
	}
	work := func() {
		for other, s := range others {
			on(t, s, func() { equal(t, "work meanwhile", values(t, onesOn(other).AddScalar(1)), []float64{2, 2}) })
		}
		on(t, free, func() { equal(t, "on another stream", values(t, onesOn(d)), []float64{1, 1}) })
		must(t, stream.NewEvent().Record(free))
	}
	warm(t, d, work)
	release := hold(t, held)
	e, err := held.RecordEvent(nil)
	must(t, err)
	ctx, cancel := context.WithCancel(background)
	waits := map[string]func(context.Context) error{
		"stream": held.Synchronize, "event": e.Synchronize,
		"device": func(ctx context.Context) error { return stream.Synchronize(ctx, d) },
	}
	ended, cancelled := make(chan error, len(waits)), make(chan error, len(waits))
	for _, wait := range waits {
		go func() { ended <- wait(background) }()
		go func() { cancelled <- wait(ctx) }()
	}
	work()
	select {
	case err := <-ended:
		t.Errorf("a wait ended while the stream was held: %v", err)
	default:
	}
	cancel()
	for range waits {
		if err := <-cancelled; !errors.Is(err, context.Canceled) {
			t.Errorf("a wait that was cancelled: %v", err)
		}
	}
	release()
	for range waits {
		must(t, <-ended)
	}
}
