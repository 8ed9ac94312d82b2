package stream_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/backend/cpu"
	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A doubtful is work that is wrong for a reason, or not.
type doubtful struct{ why error }

func (d *doubtful) Failure() error { return d.why }

// TestDoubts has streams with work that nobody is sure of: who waits for one of them, or for one that waits for it,
// gets the reason once there is one, and each stream says it once. Work that is done before is right.
func TestDoubts(t *testing.T) {
	wrong := errors.New("wrong")
	for _, c := range []struct {
		name string
		then func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error
		want []bool // of these errors, whether it is the reason
	}{
		{"fails", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			fails()
			return []error{b.Synchronize(ctx), a.Synchronize(ctx), a.Synchronize(ctx)}
		}, []bool{false, true, false}},
		{"fails once it is done", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			first := a.Synchronize(ctx)
			fails()
			return []error{first, a.Synchronize(ctx)}
		}, []bool{false, false}},
		{"of two pieces", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			first := a.Synchronize(ctx)
			d.Cast(a)
			fails()
			return []error{first, a.Synchronize(ctx)}
		}, []bool{false, true}},
		{"before an event is waited for", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			e, err := a.RecordEvent(nil)
			must(t, err)
			first := e.Synchronize(ctx)
			fails()
			return []error{first, e.Synchronize(ctx), a.Synchronize(ctx)}
		}, []bool{false, false, false}},
		{"behind an event that is waited for", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			e, err := a.RecordEvent(nil)
			must(t, err)
			d.Cast(a)
			first := e.Synchronize(ctx)
			must(t, b.WaitEvent(e))
			fails()
			return []error{first, e.Synchronize(ctx), b.Synchronize(ctx), a.Synchronize(ctx)}
		}, []bool{false, false, false, true}},
		{"of another stream, behind an event", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			e, err := b.RecordEvent(nil)
			must(t, err)
			must(t, b.WaitStream(a))
			first := e.Synchronize(ctx) // which says nothing of what b waits for
			fails()
			return []error{first, b.Synchronize(ctx)}
		}, []bool{false, true}},
		{"of a stream that waits", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			must(t, b.WaitStream(a))
			fails()
			return []error{b.Synchronize(ctx), b.Synchronize(ctx), a.Synchronize(ctx)}
		}, []bool{true, false, true}},
		{"of streams that wait for each other", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			must(t, b.WaitStream(a))
			fails()
			first := a.Synchronize(ctx)
			must(t, a.WaitStream(b))
			second := a.Synchronize(ctx)
			must(t, b.WaitStream(a))
			return []error{first, second, b.Synchronize(ctx), b.Synchronize(ctx)}
		}, []bool{true, false, true, false}},
		{"of a stream that waits for one that told it", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			fails()
			first := a.Synchronize(ctx)
			must(t, b.WaitStream(a))
			return []error{first, b.Synchronize(ctx), b.Synchronize(ctx)}
		}, []bool{true, true, false}},
		{"of work that another stream waited for", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			must(t, b.WaitStream(a))
			first := a.Synchronize(ctx)
			must(t, a.WaitStream(b))
			must(t, other.WaitStream(b))
			fails()
			return []error{first, a.Synchronize(ctx), b.Synchronize(ctx), other.Synchronize(ctx)}
		}, []bool{false, false, false, false}},
		{"of a device that waits", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			e, err := a.RecordEvent(nil)
			must(t, err)
			must(t, other.WaitEvent(e))
			fails()
			return []error{stream.Synchronize(ctx, sim1), stream.Synchronize(ctx, sim1), stream.Synchronize(ctx, sim0), a.Synchronize(ctx)}
		}, []bool{true, false, true, false}},
		{"waited for before", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			must(t, a.Synchronize(ctx))
			must(t, b.WaitStream(a))
			fails()
			return []error{b.Synchronize(ctx)}
		}, []bool{false}},
		{"ended", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			must(t, b.WaitStream(a))
			if !d.End() || d.End() {
				t.Error("the streams have it once")
			}
			fails()
			return []error{a.Synchronize(ctx), b.Synchronize(ctx)}
		}, []bool{false, false}},
		{"waited for on another stream, and ended", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			must(t, b.WaitStream(a))
			first := b.Synchronize(ctx)
			fails()
			if d.End() {
				t.Error("it is about what is right")
			}
			return []error{first}
		}, []bool{false}},
		{"told", func(t *testing.T, d *stream.Doubt, fails func(), a, b, other stream.Stream) []error {
			fails()
			d.Told()
			if d.End() {
				t.Error("it is untold")
			}
			return []error{a.Synchronize(ctx)}
		}, []bool{false}},
	} {
		t.Run(c.name, func(t *testing.T) {
			install(t)
			var work doubtful
			d := stream.NewDoubt(&work)
			defer d.End()
			a, b, other := stream.New(sim0, 0), stream.New(sim0, 0), stream.New(sim1, 0)
			d.Cast(a)
			for i, err := range c.then(t, d, func() { work.why = wrong }, a, b, other) {
				if c.want[i] {
					wantError(t, err, wrong, "was given may be wrong: wrong")
				} else if err != nil {
					t.Errorf("error %d: %v", i, err)
				}
			}
		})
	}
}

// TestDoubtMeanwhile has a stream get doubtful work while somebody waits for what it had before.
func TestDoubtMeanwhile(t *testing.T) {
	var work doubtful
	d := stream.NewDoubt(&work)
	defer d.End()
	drv := &syncing{sim.New(sim.Config{Devices: 1, Async: true}), func() {}}
	device.Install(drv, new(cpu.Driver))
	a := stream.New(sim0, 0)
	d.Cast(a)
	drv.then = func() { d.Cast(a) }
	must(t, a.Synchronize(ctx))
	drv.then = func() {}
	work.why = errors.New("wrong")
	wantError(t, a.Synchronize(ctx), work.why, "wrong")
}

// TestNoDoubt calls what there is of none, and of streams that have none.
func TestNoDoubt(t *testing.T) {
	install(t)
	var none *stream.Doubt
	none.Cast(stream.New(sim0, 0))
	none.Told()
	d := stream.NewDoubt(nil)
	for _, s := range []stream.Stream{stream.New(sim0, 0), stream.Default(device.CPU), stream.Failed(sim0, errors.New("none"))} {
		d.Cast(s)
		_ = s.Synchronize(ctx)
	}
	if none.End() || d.End() {
		t.Error("there is one")
	}
}

// A syncing driver does something once it has waited for a stream.
type syncing struct {
	*sim.Driver
	then func()
}

func (d *syncing) SyncStream(ctx context.Context, dev int, s device.StreamID) error {
	err := d.Driver.SyncStream(ctx, dev, s)
	d.then()
	return err
}
