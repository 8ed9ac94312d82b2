package sim

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// begin makes stream s of device 0 record.
func (r rig) begin(s device.StreamID, o device.CaptureOptions) device.CaptureID {
	r.t.Helper()
	id, err := r.BeginCapture(0, s, o)
	check(r.t, err)
	return id
}

// TestCapture records an addition and does it twice, on two streams.
func TestCapture(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		x, one, s := r.put(0, 1, 2), r.put(0, 10, 10), r.stream(0)
		id := r.begin(s, device.CaptureOptions{})
		if id == 0 || r.CaptureOf(0, s) != id || r.CaptureOf(0, 0) != 0 {
			t.Errorf("capture %d; of the stream %d, of the default one %d", id, r.CaptureOf(0, s), r.CaptureOf(0, 0))
		}
		check(t, r.Launch(0, s, add(x, x, one, 2)))
		check(t, r.Launch(0, s, add(x, x, x, 2)))
		work, err := r.EndCapture(0, s)
		check(t, err)
		if diff := cmp.Diff([]float32{1, 2}, r.get(0, x, 2)); diff != "" || work.Nodes() != 2 || r.CaptureOf(0, s) != 0 {
			t.Errorf("after recording %d nodes, capture %d: %s", work.Nodes(), r.CaptureOf(0, s), diff)
		}
		check(t, work.Launch(s))
		check(t, work.Launch(0)) // after the first, though on another stream
		if diff := cmp.Diff([]float32{64, 68}, r.get(0, x, 2)); diff != "" {
			t.Error(diff)
		}
		if c := r.Counters(0); c.GraphLaunches != 2 || c.LiveGraphs != 1 {
			t.Errorf("%+v", c)
		}
		check(t, work.Destroy())
		check(t, work.Destroy())
		if n := r.Counters(0).LiveGraphs; n != 0 {
			t.Errorf("%d recordings live", n)
		}
	})
}

// scaleOp has an attribute, which recordings refresh.
var scaleOp = ir.Op{
	Name: "scale", Kind: ir.Elementwise, In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{}},
	Attrs: []ir.Attr{{Name: "by", Kind: ir.AttrFloat}}, Bodies: []ir.Body{{Exprs: []string{"x * by"}}},
}

// TestRefresh: a launch that is not done yet keeps the attributes it had.
func TestRefresh(t *testing.T) {
	r := rig{New(Config{Devices: 1, Async: true}), t}
	x, s := r.put(0, 1), r.stream(0)
	c := add(x, x, x, 1)
	c.Kernel, c.In = scaleOp.Kernel(0, ir.Float32), c.In[:1]
	c.Attrs, c.Scalars = []ir.Value{ir.FloatValue(2)}, []ir.Scalar{ir.FloatScalar(2)}
	by := 2.0
	r.begin(s, device.CaptureOptions{Refresh: func(asked *ir.Call) func(*ir.Call) (bool, error) {
		if asked.Op != &scaleOp {
			return nil
		}
		return func(c *ir.Call) (bool, error) {
			by++
			c.Attrs[0], c.Scalars[0] = ir.FloatValue(by), ir.FloatScalar(by)
			return true, nil
		}
	}})
	check(t, r.Launch(0, s, c))
	work, err := r.EndCapture(0, s)
	check(t, err)
	release, err := r.Hold(0, s)
	check(t, err)
	check(t, work.Launch(s))
	check(t, work.Launch(s))
	release()
	if diff := cmp.Diff([]float32{12}, r.get(0, x, 1)); diff != "" {
		t.Error(diff)
	}
}

// TestBranches records work of three streams, of which one branches off another.
func TestBranches(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		x, y, z := r.put(0, 1), r.put(0, 1), r.put(0, 1)
		a, b, c := r.stream(0), r.stream(0), r.stream(0)
		after := func(later, earlier device.StreamID) {
			t.Helper()
			e := r.event(0)
			check(t, r.RecordEvent(0, e, earlier))
			check(t, r.WaitEvent(0, later, 0, e))
		}
		id := r.begin(a, device.CaptureOptions{})
		check(t, r.Launch(0, a, add(x, x, x, 1))) // x = 2
		after(b, a)
		if r.CaptureOf(0, b) != id || r.CaptureOf(0, c) != 0 {
			t.Error("a stream that waits for a captured one has not joined, or another has")
		}
		check(t, r.Launch(0, b, add(y, x, x, 1))) // y = 4
		after(c, b)
		check(t, r.Launch(0, c, add(z, y, y, 1))) // z = 8
		check(t, r.Launch(0, b, add(y, y, x, 1))) // y = 6
		after(a, c)
		after(a, b)
		check(t, r.Launch(0, a, add(x, y, z, 1))) // x = 14
		work, err := r.EndCapture(0, a)
		check(t, err)
		if r.CaptureOf(0, b) != 0 {
			t.Error("a stream is captured after the end")
		}
		check(t, work.Launch(0))
		if diff := cmp.Diff([][]float32{{14}, {6}, {8}}, [][]float32{r.get(0, x, 1), r.get(0, y, 1), r.get(0, z, 1)}); diff != "" {
			t.Error(diff)
		}
		check(t, work.Destroy())
	})
}

// TestRefused does in a capture what cannot be recorded. The call fails, so does the
// end, and then everything is as before.
func TestRefused(t *testing.T) {
	ctx := context.Background()
	for _, c := range []struct {
		name string
		do   func(r rig, s, side device.StreamID, inside, outside device.EventID) error
		text string
	}{
		{"query", func(r rig, s, _ device.StreamID, _, _ device.EventID) error {
			_, err := r.StreamIdle(0, s)
			return err
		}, "asked whether it is done"},
		{"wait for the stream", func(r rig, s, _ device.StreamID, _, _ device.EventID) error {
			return r.SyncStream(ctx, 0, s)
		}, "waited for"},
		{"wait for the device", func(r rig, _, _ device.StreamID, _, _ device.EventID) error {
			return r.SyncDevice(ctx, 0)
		}, "sim:0 cannot be waited for"},
		{"query an event", func(r rig, _, _ device.StreamID, inside, _ device.EventID) error {
			_, err := r.EventDone(0, inside)
			return err
		}, "marks work that is recorded"},
		{"wait for an event", func(r rig, _, _ device.StreamID, inside, _ device.EventID) error {
			return r.SyncEvent(ctx, 0, inside)
		}, "marks work that is recorded"},
		{"time", func(r rig, _, _ device.StreamID, inside, outside device.EventID) error {
			_, err := r.Elapsed(0, outside, inside)
			return err
		}, "marks work that is recorded"},
		{"wait for work outside", func(r rig, s, _ device.StreamID, _, outside device.EventID) error {
			return r.WaitEvent(0, s, 0, outside)
		}, "cannot wait for work that is not"},
		{"end elsewhere", func(r rig, _, side device.StreamID, inside, _ device.EventID) error {
			check(r.t, r.WaitEvent(0, side, 0, inside))
			_, err := r.EndCapture(0, side)
			return err
		}, "ends there"},
		{"no way back", func(r rig, s, side device.StreamID, inside, _ device.EventID) error {
			x := r.alloc(0, 4)
			check(r.t, r.WaitEvent(0, side, 0, inside))
			check(r.t, r.Launch(0, side, add(x, x, x, 1)))
			_, err := r.EndCapture(0, s)
			return err
		}, "does not wait for it before the end"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rig{New(Config{Devices: 1, Async: true}), t}
			s, side, inside, outside := r.stream(0), r.stream(0), r.event(0), r.event(0)
			check(t, r.RecordEvent(0, outside, side))
			check(t, r.SyncStream(ctx, 0, side))
			r.begin(s, device.CaptureOptions{})
			check(t, r.RecordEvent(0, inside, s))
			wantError(t, c.do(r, s, side, inside, outside), c.text)
			if r.CaptureOf(0, s) != 0 {
				x := r.alloc(0, 4)
				if err := r.Launch(0, s, add(x, x, x, 1)); !errors.Is(err, device.ErrCapturing) {
					t.Errorf("work after the failure: %v", err)
				}
				_, err := r.EndCapture(0, s)
				wantError(t, err, c.text)
			}
			if n := r.Counters(0).LiveGraphs; n != 0 {
				t.Errorf("%d recordings", n)
			}
			x := r.put(0, 3)
			check(t, r.Launch(0, s, add(x, x, x, 1)))
			if diff := cmp.Diff([]float32{6}, r.get(0, x, 1)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestCaptureErrors(t *testing.T) {
	r := rig{New(Config{Devices: 1, Async: true}), t}
	s, other, e := r.stream(0), r.stream(0), r.event(0)
	_, err := r.BeginCapture(0, 0, device.CaptureOptions{})
	wantError(t, err, "default stream")
	_, err = r.EndCapture(0, s)
	wantError(t, err, "is not captured")
	r.begin(s, device.CaptureOptions{})
	_, err = r.BeginCapture(0, s, device.CaptureOptions{})
	wantError(t, err, "captured already")
	check(t, r.RecordEvent(0, e, s))
	work, err := r.EndCapture(0, s)
	check(t, err)
	if work.Nodes() != 0 {
		t.Errorf("%d nodes of none", work.Nodes())
	}
	wantError(t, r.WaitEvent(0, other, 0, e), "a capture that has ended")
	r.begin(s, device.CaptureOptions{})
	wantError(t, work.Launch(s), "given recorded work")
	_, err = r.EndCapture(0, s)
	wantError(t, err, "given recorded work")
	check(t, work.Launch(s))
	check(t, work.Destroy())
	if n := r.Counters(0).LiveGraphs; n != 0 {
		t.Errorf("%d recordings live", n)
	}
	r.begin(s, device.CaptureOptions{})
	wantError(t, r.DestroyStream(0, s), "cannot be destroyed")
	_, err = r.EndCapture(0, s)
	wantError(t, err, "cannot be destroyed")
}

// TestCaptureOfLost: the capture of a device that is lost meanwhile can be ended.
func TestCaptureOfLost(t *testing.T) {
	r := rig{New(Config{Devices: 1, Async: true}), t}
	x, s := r.put(0, 1, 2), r.stream(0)
	r.begin(s, device.CaptureOptions{})
	check(t, r.Fail(0, FaultLost, 1, errors.New("it fell off the bus")))
	check(t, r.Launch(0, 0, add(x, x, x, 2)))
	patience.Until(t, func() bool { return r.devices[0].usable() != nil })
	if _, err := r.EndCapture(0, s); !errors.Is(err, device.ErrLost) {
		t.Error(err)
	}
	if n := r.capturing.under.Load(); n != 0 {
		t.Errorf("%d captures are under way", n)
	}
}

// TestCaptureBesideRecords has a goroutine record events on a stream, as an allocator may that takes memory back,
// while another one captures the stream time and again: an event is recorded before a capture or in it, and
// replays do not record it.
func TestCaptureBesideRecords(t *testing.T) {
	each(t, func(t *testing.T, r rig) {
		x, s := r.put(0, 1, 2), r.stream(0)
		e, err := r.NewEvent(0, false)
		check(t, err)
		over, ended := make(chan struct{}), make(chan struct{})
		go func() {
			defer close(ended)
			for {
				select {
				case <-over:
					return
				default:
					if err := r.RecordEvent(0, e, s); err != nil {
						t.Error(err)
						return
					}
				}
			}
		}()
		for range 2000 {
			r.begin(s, device.CaptureOptions{})
			check(t, r.Launch(0, s, add(x, x, x, 2)))
			work, err := r.EndCapture(0, s)
			check(t, err)
			if n := work.Nodes(); n != 1 {
				t.Errorf("%d nodes were recorded", n)
			}
			check(t, errors.Join(work.Launch(0), work.Launch(0), work.Destroy()))
		}
		close(over)
		<-ended
		check(t, r.SyncDevice(context.Background(), 0))
	})
}
