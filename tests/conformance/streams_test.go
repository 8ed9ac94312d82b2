package conformance_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/cuda"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

var background = context.Background()

func newStream(t testing.TB, d device.Device) stream.Stream {
	t.Helper()
	s := stream.New(d, 0)
	must(t, s.Err())
	return s
}

// same compares streams.
func same(t testing.TB, what string, got, want stream.Stream) {
	t.Helper()
	if got != want {
		t.Errorf("%s is %s, want %s", what, got, want)
	}
}

// on calls f with s as the current stream.
func on(t testing.TB, s stream.Stream, f func()) {
	t.Helper()
	must(t, s.Do(func() error { f(); return nil }))
}

// warm runs what a test does while it holds a stream, so that kernels are loaded and
// memory is cached.
func warm(t testing.TB, d device.Device, f func()) {
	t.Helper()
	f()
	must(t, stream.Synchronize(background, d))
}

// A stream belongs to one device: its work is that device's, it knows which, and its
// handle means nothing on another.
func TestS31(t *testing.T) {
	d := devices(t, 2)
	s := newStream(t, d[1])
	equal(t, "the stream's device", s.Device(), d[1])
	on(t, s, func() {
		placed(t, d[1], map[string]T{"work on it": onesOn(current())})
		same(t, "the current stream of the other device", stream.Current(d[0]), stream.Default(d[0]))
	})
	if kind == device.KindSim { // a GPU's driver need not notice
		_, err := stream.External(d[0], s.ID()).Query()
		fails(t, "its handle on another device", err, device.ErrMismatch, "")
	}
}

// Every device has a default stream, which need not be made and is used where no
// scope says otherwise.
func TestS32(t *testing.T) {
	for _, d := range devices(t, 2) {
		def := stream.Default(d)
		must(t, def.Err())
		same(t, "the current stream outside of scopes", stream.Current(d), def)
		equal(t, "its handle", def.ID(), device.StreamID(0))
		onesOn(d).Release() // whose memory there is when the stream is held
		release := hold(t, def)
		x := tensor.Ones([]int{2}, tensor.On(d))
		if idle(t, def) {
			t.Errorf("work without a scope did not go to the default stream of %s", d)
		}
		release()
		equal(t, "its result", values(t, x), []float64{1, 1})
	}
}

// Work given to one stream is done in the order it was given.
func TestS33(t *testing.T) {
	d := one(t)
	s := newStream(t, d)
	x := tensor.Zeros([]int{4}, tensor.On(d))
	steps := func() {
		overwrite(t, x, 1)
		for range 20 { // 2x + 1, which depends on every step before
			must(t, x.MulScalarInPlace(2))
			must(t, x.AddScalarInPlace(1))
		}
	}
	must(t, s.WaitStream(stream.Default(d)))
	on(t, s, func() {
		warm(t, d, steps)
		release := hold(t, s)
		steps()
		release()
		equal(t, "after 20 steps", values(t, x), []float64{1<<21 - 1, 1<<21 - 1, 1<<21 - 1, 1<<21 - 1})
	})
}

// Streams do not wait for one another: one that is held up does not keep another
// from going on, until a wait between them says so.
func TestS34(t *testing.T) {
	d := one(t)
	a, b := newStream(t, d), newStream(t, d)
	var x, y T
	work := func() {
		on(t, a, func() { x = onesOn(d).MulScalar(2) })
		on(t, b, func() { y = onesOn(d).MulScalar(3) })
	}
	warm(t, d, work)
	release := hold(t, a)
	work()
	must(t, b.Synchronize(background)) // while a is held
	if idle(t, a) || !idle(t, b) {
		t.Error("the other stream waited")
	}
	must(t, b.WaitStream(a))
	if idle(t, b) {
		t.Error("a stream that was told to wait did not")
	}
	release()
	must(t, stream.Synchronize(background, d)) // orders all of the device
	equal(t, "both are done", []bool{idle(t, a), idle(t, b)}, []bool{true, true})
	on(t, a, func() { equal(t, "on the first stream", values(t, x), []float64{2, 2}) })
	on(t, b, func() { equal(t, "on the second stream", values(t, y), []float64{3, 3}) })
}

// A stream that reads what another one writes, without waiting for it, may read too
// early: the reference's example of a wrong program.
func TestS35(t *testing.T) {
	d := one(t)
	side := newStream(t, d)
	a := tensor.Zeros([]int{100}, tensor.On(d))
	sum := func() (s T) {
		on(t, side, func() { s = a.Sum() })
		return s
	}
	warm(t, d, func() { overwrite(t, a, 0) })
	warm(t, d, func() { sum() })
	release := hold(t, stream.Default(d))
	overwrite(t, a, 1)
	early := sum()
	on(t, side, func() { equal(t, "the sum of what was not yet written", values(t, early), []float64{0}) })
	release()
	equal(t, "what was written", values(t, a)[:2], []float64{1, 1})
}

// While the default stream is current, moving data to and from the host needs no
// synchronisation of the program's: the copy comes after the work before it.
func TestS36(t *testing.T) {
	d := one(t)
	x := tensor.From([]float32{1, 2}).To(d)
	run := func() T { return x.MulScalar(3).AddScalar(1) }
	warm(t, d, func() { run() })
	release := hold(t, stream.Default(d))
	y := run()
	got := make(chan []float64)
	go func() { got <- values(t, y) }() // waits for the held stream
	select {
	case v := <-got:
		t.Fatalf("the copy did not wait for the work: %v", v)
	case <-time.After(2 * time.Millisecond):
	}
	release()
	equal(t, "what was copied", <-got, []float64{4, 7})
}

// On other streams the program orders: what one stream copies to the host has only
// that stream's work before it.
func TestS37(t *testing.T) {
	d := one(t)
	a, b := newStream(t, d), newStream(t, d)
	x := tensor.Zeros([]int{2}, tensor.On(d))
	read := func() (v []float64) {
		on(t, b, func() { v = values(t, x) })
		return v
	}
	write := func(v float64) { on(t, a, func() { overwrite(t, x, v) }) }
	must(t, stream.Synchronize(background, d))
	warm(t, d, func() { write(0) })
	warm(t, d, func() { read() })
	release := hold(t, a)
	write(7)
	equal(t, "read without waiting", read(), []float64{0, 0})
	must(t, b.WaitStream(a))
	release()
	equal(t, "read after waiting", read(), []float64{7, 7})
}

// In a stream's scope that stream is current: operators, factories and copies of its
// device go to it, also those that functions called there make.
func TestS38(t *testing.T) {
	d := one(t)
	s := newStream(t, d)
	x := onesOn(d)
	host := tensor.From([]float32{1, 2})
	for name, work := range map[string]func(){
		"operator": func() { x.Add(x) }, "factory": func() { tensor.Zeros([]int{2}, tensor.On(d)) },
		"copy": func() { host.To(d, tensor.NonBlocking()) }, "in place": func() { must(t, x.MulScalarInPlace(1)) },
	} {
		must(t, s.WaitStream(stream.Default(d)))
		on(t, s, func() {
			warm(t, d, work)
			same(t, "the current stream", stream.Current(d), s)
			release := hold(t, s)
			work()
			if !idle(t, stream.Default(d)) {
				t.Errorf("%s: the default stream has work", name)
			}
			release()
			must(t, s.Synchronize(background))
		})
	}
	same(t, "the current stream afterwards", stream.Current(d), stream.Default(d))
}

// The repaired example: the side stream waits for the default stream before it uses
// the tensor, and the use is recorded, so that the tensor's memory is not given to
// others before the side stream is done with it.
func TestP7(t *testing.T) {
	d := one(t)
	side := newStream(t, d)
	const n = 1 << 10
	use := func() (sum T) {
		a := tensor.Full([]int{n}, 1, tensor.On(d))
		must(t, side.WaitStream(stream.Default(d)))
		on(t, side, func() { sum = a.Sum() })
		must(t, a.RecordStream(side))
		a.Release()
		return sum
	}
	next := func() T { return tensor.Full([]int{n}, 5, tensor.On(d)) } // would get the released memory
	warm(t, d, func() { use(); next() })
	release := hold(t, side)
	sum := use()
	other := next()
	must(t, stream.Default(d).Synchronize(background))
	release()
	on(t, side, func() { equal(t, "the sum", values(t, sum), []float64{n}) })
	equal(t, "the tensor made meanwhile", values(t, other)[:1], []float64{5})
}

// The wait is needed also where the side stream only writes: the memory may be that
// of a released tensor whose work is still under way on the other stream.
func TestP8(t *testing.T) {
	d := one(t)
	side := newStream(t, d)
	var old, result T
	const n = 256
	make1 := func() { old = tensor.Full([]int{n}, 1, tensor.On(d)) }
	run := func() (x T) {
		result = old.AddScalar(1) // reads the memory of old
		old.Release()
		x = tensor.Empty([]int{n}, tensor.On(d)) // gets it, in stream order
		must(t, side.WaitStream(stream.Default(d)))
		on(t, side, func() { overwrite(t, x, 9) })
		must(t, x.RecordStream(side))
		return x
	}
	warm(t, d, func() { make1(); run().Release() })
	make1()
	must(t, stream.Synchronize(background, d))
	release := hold(t, stream.Default(d))
	x := run()
	if idle(t, side) {
		t.Error("the side stream wrote before the default stream was done with the memory")
	}
	release()
	equal(t, "the result of the earlier work", values(t, result)[:1], []float64{2})
	on(t, side, func() { equal(t, "what was written", values(t, x)[:1], []float64{9}) })
}

// Instead of recording the use, the stream that the tensor was made on may wait for
// the side stream before the tensor is released.
func TestP9(t *testing.T) {
	d := one(t)
	side := newStream(t, d)
	const n = 512
	use := func() (sum, other T) {
		a := tensor.Full([]int{n}, 1, tensor.On(d))
		must(t, side.WaitStream(stream.Default(d)))
		on(t, side, func() { sum = a.Sum() })
		must(t, stream.Default(d).WaitStream(side))
		a.Release()
		return sum, tensor.Full([]int{n}, 5, tensor.On(d)) // in the same memory, after the sum
	}
	warm(t, d, func() { use() })
	release := hold(t, side)
	sum, other := use()
	if idle(t, stream.Default(d)) {
		t.Error("the memory was written again before the side stream was done with it")
	}
	release()
	on(t, side, func() { equal(t, "the sum", values(t, sum), []float64{n}) })
	equal(t, "the tensor made afterwards", values(t, other)[:1], []float64{5})
}

// WaitStream makes later work of a stream wait for what another one was given until
// then, and no more; it returns at once.
func TestP10(t *testing.T) {
	d := one(t)
	a, b := newStream(t, d), newStream(t, d)
	release := hold(t, a)
	must(t, b.WaitStream(a)) // returns although a is held
	again := hold(t, a)
	if idle(t, b) {
		t.Error("work waits for nothing")
	}
	release()
	must(t, b.Synchronize(background)) // a is held again
	if idle(t, a) {
		t.Error("the other stream was not held")
	}
	again()
	must(t, a.Synchronize(background))
	fails(t, "waiting for a stream that is none", a.WaitStream(stream.New(device.Device{Kind: kind, Index: 99}, 0)), device.ErrUnavailable, "99")
}

// Priorities: lower numbers are higher, 0 is the usual one, what is out of range
// counts as the nearest in range, and a stream tells its own.
func TestP12(t *testing.T) {
	d := one(t)
	lowest, highest, err := stream.PriorityRange(d)
	must(t, err)
	if lowest < highest || lowest != 0 && highest != 0 {
		t.Fatalf("priorities from %d to %d", lowest, highest)
	}
	for _, c := range []struct{ asked, want int }{
		{0, 0}, {lowest, lowest}, {highest, highest}, {lowest + 5, lowest}, {highest - 5, highest}, {(lowest + highest) / 2, (lowest + highest) / 2},
	} {
		s := stream.New(d, c.asked)
		must(t, s.Err())
		equal(t, "the priority", s.Priority(), c.want)
		if drv, err := device.DriverOf(kind); err == nil {
			if p, knows := drv.(interface {
				Priority(dev int, s device.StreamID) (int, error)
			}); knows {
				got, err := p.Priority(d.Index, s.ID())
				must(t, err)
				equal(t, "the driver's", got, c.want)
			}
		}
	}
	equal(t, "the default stream's", stream.Default(d).Priority(), 0)
}

// Streams come from pools of 32 a device and priority, in turn: the 33rd is the
// first again. They are made when first asked for, do not wait for the default
// stream, and its handle, 0, is none of theirs.
func TestP13(t *testing.T) {
	d := one(t)
	lowest, highest, err := stream.PriorityRange(d)
	must(t, err)
	seen := map[device.StreamID]int{}
	for _, priority := range []int{lowest, highest} {
		var first []stream.Stream
		for range 32 {
			first = append(first, stream.New(d, priority))
		}
		for i, s := range first {
			must(t, s.Err())
			if again := stream.New(d, priority); again != first[i] {
				t.Errorf("stream %d of the second round is %s, not %s", i, again, s)
			}
			seen[s.ID()]++
		}
	}
	want := 64
	if lowest == highest {
		want = 32
	}
	equal(t, "different streams", len(seen), want)
	equal(t, "of them the default one", seen[0], 0)
	s := newStream(t, d)
	release := hold(t, stream.Default(d))
	must(t, s.Synchronize(background))
	release()
	back := hold(t, s)
	must(t, stream.Default(d).Synchronize(background))
	back()
	if kind == device.KindSim {
		drv := fresh(t, sim.Config{Devices: 2})
		newStream(t, device.Sim(1))
		equal(t, "streams made", []int64{drv.Counters(0).LiveStreams, drv.Counters(1).LiveStreams}, []int64{0, 1})
	}
}

// Streams are equal where device and handle are, and can be keys of maps; the
// default streams of two devices differ, although both handles are 0.
func TestP14(t *testing.T) {
	d := devices(t, 2)
	if stream.Default(d[0]) == stream.Default(d[1]) {
		t.Error("the default streams of two devices are equal")
	}
	s := newStream(t, d[1])
	names := map[stream.Stream]string{stream.Default(d[0]): "default 0", stream.Default(d[1]): "default 1", s: "made"}
	equal(t, "a stream by its handle", names[stream.External(d[1], s.ID())], "made")
	equal(t, "the default stream by its handle", names[stream.External(d[0], 0)], "default 0")
	same(t, "the host's streams", stream.New(device.CPU, 0), stream.Default(device.CPU))
}

// A stream's scope also makes its device the current one. When it ends, by return or
// panic, device and stream are as before, and so is the stream of the other device.
func TestP15(t *testing.T) {
	d := devices(t, 2)
	a, b, c := newStream(t, d[0]), newStream(t, d[1]), newStream(t, d[0])
	type state struct {
		Device  device.Device
		Streams [2]device.StreamID
	}
	now := func() state {
		return state{device.Current(kind), [2]device.StreamID{stream.Current(d[0]).ID(), stream.Current(d[1]).ID()}}
	}
	check := func(where string, dev device.Device, on0, on1 stream.Stream) {
		t.Helper()
		equal(t, where, now(), state{dev, [2]device.StreamID{on0.ID(), on1.ID()}})
	}
	d0, d1 := stream.Default(d[0]), stream.Default(d[1])
	check("outside", d[0], d0, d1)
	on(t, a, func() {
		check("in a", d[0], a, d1)
		on(t, b, func() {
			check("in b", d[1], a, b)
			func() {
				defer func() { _ = recover() }()
				on(t, c, func() { check("in c", d[0], c, b); panic("out") })
			}()
			check("after a panic", d[1], a, b)
			on(t, d0, func() { check("in the default stream", d[0], d0, b) })
			within(t, d[0], func() { check("under a guard", d[0], a, b) })
		})
		check("after b", d[0], a, d1)
	})
	check("after a", d[0], d0, d1)
	called := false
	fails(t, "a stream that is none", stream.New(device.Device{Kind: kind, Index: 99}, 0).Do(func() error { called = true; return nil }), device.ErrUnavailable, "99")
	if called {
		t.Error("its scope called the function")
	}
}

// A stream that other code made is used by its handle, and stays the other code's to
// destroy: nothing is kept of the handle.
func TestP16(t *testing.T) {
	d := one(t)
	live(t, d)
	drv, err := device.DriverOf(kind)
	must(t, err)
	for range 3 { // handles come again
		id, err := drv.NewStream(d.Index, 0)
		must(t, err)
		s := stream.External(d, id)
		must(t, s.Err())
		equal(t, "its handle", s.ID(), id)
		on(t, s, func() {
			x := onesOn(d).AddScalar(1)
			equal(t, "work on it", values(t, x), []float64{2, 2})
			x.Release()
		})
		must(t, s.Synchronize(background))
		must(t, drv.DestroyStream(d.Index, id)) // its maker does
		_, err = s.Query()
		fails(t, "the handle once destroyed", err, nil, d.String())
	}
	in := asCUDA(t, 1)[0]
	equal(t, "by CUstream", cuda.ExternalStream(0x5a5a, in).ID(), device.StreamID(0x5a5a))
	fails(t, "of another kind", cuda.ExternalStream(1, device.CPU).Err(), device.ErrInvalid, "Expected a cuda device")
}

// TestStreamsOfCUDA: package cuda's names are those of package stream.
func TestStreamsOfCUDA(t *testing.T) {
	d := asCUDA(t, 1)[0]
	s := cuda.NewStream()
	must(t, s.Err())
	equal(t, "the device of a stream made without one", s.Device(), d)
	on(t, s, func() { same(t, "the current stream", cuda.CurrentStream(), s) })
	same(t, "the default stream", cuda.DefaultStream(d), stream.Default(d))
	low, high, err := cuda.PriorityRange()
	must(t, err)
	l, h, err := stream.PriorityRange(d)
	must(t, err)
	equal(t, "priorities", []int{low, high}, []int{l, h})
	for _, p := range []int{low, high} {
		equal(t, "a stream's priority", cuda.NewStream(cuda.Priority(p)).Priority(), p)
	}
}

// The backward pass gives the gradients of work on any streams: it waits for those
// that the forward pass ran on, and its own work is ordered for the streams that are
// current where it was called; another stream has to wait for these.
//
// Differs: the pass runs on the streams that are current where it is called, where
// PyTorch runs each step on the stream of its forward step and joins them at the end.
func TestP23(t *testing.T) {
	d := one(t)
	forward, backward := newStream(t, d), newStream(t, d)
	run := func(release func(), x ...float32) []float64 {
		w := tensor.From(x).To(d).RequireGrad()
		must(t, stream.Default(d).Synchronize(background))
		var loss T
		on(t, forward, func() { loss = w.Square().Mul(w).Sum() })
		var got []float64
		on(t, backward, func() {
			must(t, loss.Backward())
			g, ok := w.Grad()
			if !ok {
				t.Fatal("no gradient")
			}
			release()
			got = values(t, g)
		})
		return got
	}
	warm(t, d, func() { run(func() {}, 5, 6) }) // leaves other numbers where the next pass works
	equal(t, "gradients of a pass that a held stream came before", run(hold(t, forward), 1, 2), []float64{3, 12})
}

// TestStreamsWithoutDevice: a stream that is none says why, whatever is done with it.
func TestStreamsWithoutDevice(t *testing.T) {
	good, none := newStream(t, one(t)), device.Device{Kind: kind, Index: 99}
	for _, s := range []stream.Stream{stream.New(none, 0), stream.Default(none), stream.Current(none), stream.External(none, 1)} {
		_, queried := s.Query()
		_, recorded := s.RecordEvent(nil)
		errs := []error{s.Err(), queried, recorded, s.Synchronize(background), s.WaitStream(good), good.WaitStream(s), s.WaitEvent(stream.NewEvent())}
		if slices.ContainsFunc(errs, func(err error) bool { return !errors.Is(err, device.ErrUnavailable) }) {
			t.Errorf("%v", errs)
		}
	}
}
