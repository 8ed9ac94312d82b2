package stream_test

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/brief"
	"github.com/sinter-go/sinter/tests/patience"
)

var (
	ctx  = context.Background()
	sim0 = device.Sim(0)
	sim1 = device.Sim(1)
)

// install makes two asynchronous simulated devices, and the host.
func install(t testing.TB) *sim.Driver {
	t.Helper()
	d := sim.New(sim.Config{Devices: 2, Async: true})
	device.Install(d, new(cpu.Driver))
	return d
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func wantError(t testing.TB, err error, is error, text string) {
	t.Helper()
	if err == nil || is != nil && !errors.Is(err, is) || !strings.Contains(err.Error(), text) {
		t.Errorf("error %v, want %v with %q", err, is, text)
	}
}

func idle(t testing.TB, s stream.Stream) bool {
	t.Helper()
	done, err := s.Query()
	must(t, err)
	return done
}

// hold keeps a stream busy until release is called.
func hold(t testing.TB, d *sim.Driver, s stream.Stream) (release func()) {
	t.Helper()
	release, err := d.Hold(s.Device().Index, s.ID())
	must(t, err)
	return release
}

func TestPools(t *testing.T) {
	d := install(t)
	first := stream.New(sim0, 0)
	seen := map[stream.Stream]bool{first: true}
	for range 31 {
		seen[stream.New(sim0, 0)] = true
	}
	if len(seen) != 32 || seen[stream.Default(sim0)] {
		t.Errorf("%d different streams of 32", len(seen))
	}
	if again := stream.New(sim0, 0); again != first {
		t.Errorf("the 33rd stream is %s, not the first again, %s", again, first)
	}
	if n := d.Counters(0).LiveStreams; n != 32 {
		t.Errorf("%d streams were made", n)
	}
	if n := d.Counters(1).LiveStreams; n != 0 {
		t.Errorf("%d streams were made on the other device", n)
	}
	lowest, highest, err := stream.PriorityRange(sim0)
	must(t, err)
	for _, c := range []struct{ asked, got int }{
		{lowest, lowest}, {highest, highest}, {lowest + 5, lowest}, {highest - 5, highest}, {-1, -1},
	} {
		s := stream.New(sim0, c.asked)
		told, err := d.Priority(0, s.ID())
		must(t, err)
		if s.Priority() != c.got || told != c.got {
			t.Errorf("priority %d gives %d, and %d in the driver; want %d", c.asked, s.Priority(), told, c.got)
		}
		if s == first && c.got != 0 {
			t.Error("streams of different priorities are the same")
		}
	}
}

func TestEquality(t *testing.T) {
	install(t)
	if stream.Default(sim0) == stream.Default(sim1) {
		t.Error("the default streams of two devices are equal")
	}
	s := stream.New(sim1, 0)
	if x := stream.External(sim1, s.ID()); x != s || x.Priority() != 0 {
		t.Errorf("%s by its handle is %s", s, x)
	}
	if (stream.Stream{}) != stream.Default(device.CPU) || stream.New(device.CPU, 3) != stream.Default(device.CPU) {
		t.Error("the host has more than one stream")
	}
	if got := stream.Default(sim1).String(); got != "stream 0x0 of sim:1" {
		t.Errorf("String() = %q", got)
	}
}

// TestFailures: a stream that is none says why, whatever is done with it.
func TestFailures(t *testing.T) {
	install(t)
	good, called := stream.New(sim0, 0), false
	for _, s := range []stream.Stream{stream.New(device.Sim(7), 0), stream.Default(device.Sim(7)), stream.Current(device.Sim(7)), stream.External(device.Sim(7), 1)} {
		_, queried := s.Query()
		_, recorded := s.RecordEvent(nil)
		for _, err := range []error{
			s.Err(), queried, recorded, s.Synchronize(ctx), s.Do(func() error { called = true; return nil }), s.WaitStream(good), good.WaitStream(s), s.WaitEvent(stream.NewEvent()),
		} {
			wantError(t, err, device.ErrUnavailable, "stream on sim:7")
		}
	}
	if called {
		t.Error("Do called its function without a stream")
	}
	if err := stream.External(sim0, 999).Synchronize(ctx); err == nil {
		t.Error("a handle of no stream can be waited for")
	}
	wantError(t, good.WaitEvent(nil), nil, "nil event")
	var none *stream.Event
	wantError(t, none.Record(good), nil, "nil event")
	if done, err := none.Query(); !done || err != nil || none.Synchronize(ctx) != nil {
		t.Errorf("a nil event is not done: %v", err)
	}
	if _, bound := none.Device(); bound {
		t.Error("a nil event has a device")
	}
	for _, e := range []*stream.Event{none, stream.NewTimingEvent()} {
		_, err := e.Elapsed(none)
		wantError(t, err, stream.ErrNotRecorded, "")
	}
	if err := good.Do(nil); err != nil {
		t.Error(err)
	}
}

// TestScopes enters streams of two devices, nested, and leaves some by a panic.
func TestScopes(t *testing.T) {
	install(t)
	a, b, c := stream.New(sim0, 0), stream.New(sim1, 0), stream.New(sim0, 0)
	want := func(on0, on1 stream.Stream, current device.Device) {
		t.Helper()
		if stream.Current(sim0) != on0 || stream.Current(sim1) != on1 || device.Current(device.KindSim) != current {
			t.Errorf("current are %s and %s on %s; want %s and %s on %s",
				stream.Current(sim0), stream.Current(sim1), device.Current(device.KindSim), on0, on1, current)
		}
		if stream.CurrentID(sim0) != on0.ID() || stream.CurrentID(sim1) != on1.ID() {
			t.Errorf("handles %d and %d", stream.CurrentID(sim0), stream.CurrentID(sim1))
		}
		if got := stream.Current(device.Sim()); got.Device() != current {
			t.Errorf("the current stream of the current device is %s", got)
		}
	}
	d0, d1 := stream.Default(sim0), stream.Default(sim1)
	want(d0, d1, sim0)
	must(t, a.Do(func() error {
		want(a, d1, sim0)
		must(t, b.Do(func() error {
			want(a, b, sim1)
			func() {
				defer func() { _ = recover() }()
				_ = c.Do(func() error { want(c, b, sim0); panic("out") })
			}()
			want(a, b, sim1)
			must(t, d0.Do(func() error { want(d0, b, sim0); return nil }))
			done := make(chan bool)
			go func() {
				defer close(done)
				want(d0, d1, sim0)
				must(t, c.Do(func() error { want(c, d1, sim0); return nil }))
			}()
			<-done
			return nil
		}))
		want(a, d1, sim0)
		must(t, device.With(sim1, func() error { want(a, d1, sim1); return nil }))
		return nil
	}))
	want(d0, d1, sim0)
}

func TestManyScopes(t *testing.T) {
	install(t)
	var wg sync.WaitGroup
	for i := range 1000 {
		wg.Go(func() {
			s := stream.New([]device.Device{sim0, sim1}[i%2], 0)
			if err := s.Do(func() error {
				runtime.Gosched()
				if got := stream.Current(s.Device()); got != s {
					t.Errorf("goroutine %d is in %s, finds %s", i, s, got)
				}
				return nil
			}); err != nil {
				t.Error(err)
			}
		})
	}
	wg.Wait()
}

// TestWaits orders streams of two devices by streams and events.
func TestWaits(t *testing.T) {
	d := install(t)
	a, b, other := stream.New(sim0, 0), stream.New(sim0, 0), stream.New(sim1, 0)
	release := hold(t, d, a)
	must(t, b.WaitStream(a))
	e, err := b.RecordEvent(nil)
	must(t, err)
	must(t, other.WaitEvent(e))
	for _, s := range []stream.Stream{a, b, other} {
		if idle(t, s) {
			t.Errorf("%s is done before what it waits for", s)
		}
	}
	if done, err := e.Query(); done || err != nil {
		t.Errorf("the event is done: %t, %v", done, err)
	}
	if !idle(t, stream.Default(sim0)) || !idle(t, stream.New(sim0, 0)) {
		t.Error("a stream that waits for nothing is not done")
	}
	short, cancel := context.WithTimeout(ctx, time.Millisecond)
	defer cancel()
	for _, err := range []error{b.Synchronize(short), e.Synchronize(short), stream.Synchronize(short, sim1)} {
		wantError(t, err, context.DeadlineExceeded, "")
	}
	release()
	must(t, other.Synchronize(ctx))
	must(t, stream.Synchronize(ctx, sim0))
	for _, s := range []stream.Stream{a, b, other} {
		if !idle(t, s) {
			t.Errorf("%s is not done", s)
		}
	}
	must(t, e.Synchronize(ctx))
	must(t, a.WaitStream(a))
	must(t, a.WaitStream(stream.Stream{}))
	must(t, a.WaitEvent(stream.NewEvent()))
}

// TestHost: the host waits where a stream would queue.
func TestHost(t *testing.T) {
	d := install(t)
	s, host := stream.New(sim0, 0), stream.Default(device.CPU)
	for name, wait := range map[string]func(e *stream.Event) error{
		"for a stream": func(*stream.Event) error { return host.WaitStream(s) },
		"for an event": host.WaitEvent,
	} {
		release := hold(t, d, s)
		e, err := s.RecordEvent(nil)
		must(t, err)
		done := make(chan error)
		go func() { done <- wait(e) }()
		select {
		case err := <-done:
			t.Errorf("waiting %s: back before it is done, %v", name, err)
		case <-time.After(2 * time.Millisecond):
		}
		release()
		must(t, <-done)
	}
	if !idle(t, host) || host.Synchronize(ctx) != nil {
		t.Error("the host's stream has work")
	}
}

// TestOrder writes on one stream what another reads, late (S35, P7).
func TestOrder(t *testing.T) {
	d := install(t)
	m, err := d.Alloc(0, 4)
	must(t, err)
	main, side := stream.Default(sim0), stream.New(sim0, 0)
	want, got := [4]byte{1, 2, 3, 4}, [4]byte{}
	release := hold(t, d, main)
	must(t, d.CopyFromHost(0, main.ID(), m.Addr, unsafe.Pointer(&want), 4))
	must(t, side.WaitStream(main))
	must(t, d.CopyToHost(0, side.ID(), unsafe.Pointer(&got), m.Addr, 4))
	release()
	must(t, side.Synchronize(ctx))
	if got != want {
		t.Errorf("the reader found %v", got)
	}
}

func TestEvents(t *testing.T) {
	install(t)
	a, b := stream.New(sim0, 0), stream.New(sim1, 0)
	e := stream.NewEvent()
	if done, err := e.Query(); !done || err != nil || e.Synchronize(ctx) != nil {
		t.Errorf("an event that was not recorded: done %t, %v", done, err)
	}
	if _, ok := e.Device(); ok {
		t.Error("it has a device")
	}
	must(t, e.Record(a))
	must(t, e.Record(a))
	if d, ok := e.Device(); d != sim0 || !ok {
		t.Errorf("its device is %s, %t", d, ok)
	}
	wantError(t, e.Record(b), device.ErrMismatch, "Event device sim:0 does not match recording stream's device sim:1")
	if same, err := a.RecordEvent(e); same != e || err != nil {
		t.Error("Record returned another event", err)
	}
}

func TestElapsed(t *testing.T) {
	d := install(t)
	a, b := stream.New(sim0, 0), stream.New(sim1, 0)
	from, to, elsewhere, untimed := stream.NewTimingEvent(), stream.NewTimingEvent(), stream.NewTimingEvent(), stream.NewEvent()
	elapsed := func(x, y *stream.Event) error { _, err := x.Elapsed(y); return err }
	must(t, from.Record(a))
	wantError(t, elapsed(from, to), stream.ErrNotRecorded, "both events must be recorded first")
	must(t, untimed.Record(a))
	for _, err := range []error{elapsed(from, untimed), elapsed(untimed, from)} {
		wantError(t, err, stream.ErrNotTiming, "both events must be made by NewTimingEvent")
	}
	must(t, elsewhere.Record(b))
	wantError(t, elapsed(from, elsewhere), device.ErrMismatch, "sim:1")
	must(t, from.Synchronize(ctx)) // or its time is one of the pause
	release := hold(t, d, a)
	must(t, to.Record(a))
	if err := elapsed(from, to); err == nil {
		t.Error("a time before the work is done")
	}
	time.Sleep(2 * time.Millisecond)
	release()
	must(t, to.Synchronize(ctx))
	must(t, device.With(sim1, func() error { // from any current device
		if took, err := from.Elapsed(to); took < 2*time.Millisecond || err != nil {
			t.Errorf("Elapsed = %v, %v", took, err)
		}
		return nil
	}))
}

// TestEventsAreReused drops events, whose place in the driver later ones take.
func TestEventsAreReused(t *testing.T) {
	d := install(t)
	s := stream.New(sim0, 0)
	for range 300 {
		must(t, stream.NewEvent().Record(s))
	}
	before := d.Counters(0).LiveEvents
	for range brief.Times(100) {
		patience.Collect(t)
		must(t, stream.NewEvent().Record(s))
	}
	if after := d.Counters(0).LiveEvents; after > before+20 {
		t.Errorf("%d events in the driver after %d", after, before)
	}
	before = d.Counters(0).LiveEvents
	for range 50 {
		must(t, s.WaitStream(stream.Default(sim0)))
	}
	if after := d.Counters(0).LiveEvents; after > before+1 {
		t.Errorf("%d events were made to wait for streams", after-before)
	}
}

func BenchmarkCurrentID(b *testing.B) {
	install(b)
	b.Run("unused", func(b *testing.B) {
		for b.Loop() {
			stream.CurrentID(sim0)
		}
	})
	b.Run("inside", func(b *testing.B) {
		must(b, stream.New(sim0, 0).Do(func() error {
			for b.Loop() {
				stream.CurrentID(sim0)
			}
			return nil
		}))
	})
}

// TestNilContext waits without a context, as with one that does not end.
func TestNilContext(t *testing.T) {
	d := install(t)
	s := stream.New(sim0, 0)
	release := hold(t, d, s)
	e, err := s.RecordEvent(nil)
	must(t, err)
	go release()
	var none context.Context
	must(t, e.Synchronize(none))
	must(t, s.Synchronize(none))
	must(t, stream.Synchronize(none, sim0))
}
