package core_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/runtime/core"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/stream"
)

// streams returns the default stream and the one a test works on, of each device.
func streams(t *testing.T) (a, b stream.Stream) {
	a, b = stream.New(device.Sim(0), 0), stream.New(device.Sim(1), 0)
	must(t, a.Err())
	must(t, b.Err())
	return a, b
}

// during calls f with both streams current.
func during(t *testing.T, a, b stream.Stream, f func()) {
	t.Helper()
	must(t, a.Do(func() error { return b.Do(func() error { f(); return nil }) }))
}

// TestStreamsOfCopies checks on which stream each copy runs and who waits (P24 to
// P27, S30, S69).
func TestStreamsOfCopies(t *testing.T) {
	s := simulate(t, sim.Config{Devices: 2, Async: true})
	a, b := streams(t)
	far, wait := core.TransferOptions{NonBlocking: true}, core.TransferOptions{}
	plain, dev := vector(device.CPU, 1, 2, 3), vector(device.Sim(0), 1, 2, 3)
	pinned := core.Pin(plain, device.KindSim)
	must(t, pinned.Err())
	for _, c := range []struct {
		name  string
		call  func() T
		calls []string
	}{
		{"operator", func() T { return mul(dev, dev) }, []string{"mul on 0/a"}},
		{"zeros", func() T { return core.Zeros([]int{3}, on(device.Sim(0))) }, []string{"zero on 0/a"}},
		{"copy", func() T { return core.Copy(dev) }, []string{"copy on 0/a"}},
		{"upload", func() T { return core.To(plain, device.Sim(0), wait) }, []string{"upload on 0/a", "wait for 0/a"}},
		{"upload of pinned", func() T { return core.To(pinned, device.Sim(1), wait) }, []string{"upload on 1/b", "wait for 1/b"}},
		{"upload without waiting", func() T { return core.To(pinned, device.Sim(0), far) }, []string{"upload on 0/a", "mark 0/a"}},
		{"download", func() T { return core.To(dev, device.CPU, wait) }, []string{"download on 0/a", "wait for 0/a"}},
		{"peer", func() T { return core.To(dev, device.Sim(1), wait) },
			[]string{"mark 1/b", "0/a waits for 1", "copy to 1 on 0/a", "mark 0/a", "1/b waits for 0"}},
		{"same device", func() T { return core.To(dev, device.Sim(0), wait) }, nil},
	} {
		t.Run(c.name, func(t *testing.T) {
			during(t, a, b, func() {
				s.took()
				out := c.call()
				got := named(s.took(), a, b)
				must(t, out.Err())
				if c.name == "upload without waiting" { // when the block is marked is the allocator's matter
					got, c.calls = got[:1], c.calls[:1]
				}
				if diff := cmp.Diff(c.calls, got); diff != "" {
					t.Errorf("(-want +got):\n%s", diff)
				}
			})
		})
	}
}

// named replaces the handles of a and b, which follow a slash, by their letters.
func named(calls []string, a, b stream.Stream) []string {
	for i, c := range calls {
		calls[i] = replaceStream(replaceStream(c, 0, a, "a"), 1, b, "b")
	}
	return calls
}

// TestNonBlockingUploads: memory that is not pinned may be changed once the call
// has returned, and the pinned memory of a copy under way is not given to others.
func TestNonBlockingUploads(t *testing.T) {
	for _, n := range []int{3, 1<<18 + 1} { // staged, and waited for
		s := simulate(t, sim.Config{Devices: 1, Async: true})
		x := core.Zeros([]int{n}, on(device.CPU))
		dev := core.Empty([]int{n}, on(device.Sim(0)))
		var release func()
		if n == 3 { // the stream is stopped: a copy that waits would not return
			var err error
			release, err = s.Hold(0, 0)
			must(t, err)
		}
		must(t, core.CopyFrom(dev, x, core.TransferOptions{NonBlocking: true}, nil))
		core.NoGrad(func() { must(t, core.CopyFrom(x, vector(device.CPU, 7), core.TransferOptions{}, nil)) })
		if release != nil {
			release()
		}
		want(t, dev, make([]float32, n)...)
	}
}

// TestNonBlockingDownload: the result is pinned and complete when its stream has
// passed the copy (P27).
func TestNonBlockingDownload(t *testing.T) {
	s := simulate(t, sim.Config{Devices: 1, Async: true})
	x := vector(device.Sim(0), 1, 2, 3)
	release, err := s.Hold(0, 0)
	must(t, err)
	host := core.To(mul(x, x), device.CPU, core.TransferOptions{NonBlocking: true})
	if !host.IsPinned() {
		t.Error("the result is not pinned")
	}
	release()
	must(t, stream.Default(device.Sim(0)).Synchronize(t.Context()))
	want(t, host, 1, 4, 9)
	if core.To(x, device.CPU, core.TransferOptions{}).IsPinned() {
		t.Error("the result of a copy that waits is pinned")
	}
}

// TestCopyFromAcross copies into existing tensors of other devices, with and
// without conversion, gaps and waiting.
func TestCopyFromAcross(t *testing.T) {
	simulate(t, sim.Config{Devices: 2, Async: true})
	places := []core.Placement{on(device.CPU), on(device.Sim(0)), on(device.Sim(1))}
	for _, from := range places {
		for _, to := range places {
			for _, dt := range sameAndWider {
				for _, far := range []bool{false, true} {
					src, dst := core.From([]float32{1, 2, 3, 4}, []int{2, 2}, from), core.Zeros([]int{2, 2}, core.Placement{Device: to.Device, DType: dt})
					version := dst.Version()
					must(t, core.CopyFrom(dst, transpose(src), core.TransferOptions{NonBlocking: far}, nil))
					want(t, core.Cast(dst, core.DefaultFloat()), 1, 3, 2, 4)
					must(t, core.CopyFrom(transpose(dst), src, core.TransferOptions{NonBlocking: far}, nil))
					want(t, core.Cast(dst, core.DefaultFloat()), 1, 3, 2, 4)
					if got := dst.Version() - version; got != 2 {
						t.Errorf("%v to %v: %d changes counted", from.Device, to.Device, got)
					}
				}
			}
		}
	}
}

// TestBackwardFollows: a backward pass on another stream than its forward pass
// waits for that once (P23).
func TestBackwardFollows(t *testing.T) {
	s := simulate(t, sim.Config{Devices: 2, Async: true})
	a, b := streams(t)
	x := core.From([]float32{3}, []int{}, on(device.Sim(0)))
	must(t, x.SetRequiresGrad(true))
	var y T
	during(t, a, b, func() { y = mul(mul(x, x), x) })
	s.took()
	must(t, core.Backward([]T{y}, nil, core.BackwardOptions{Ops: &engine}))
	waits := 0
	for _, c := range s.took() {
		if c == "0/0 waits for 0" {
			waits++
		}
	}
	if waits != 1 {
		t.Errorf("the current stream waits %d times", waits)
	}
	want(t, x.Grad(), 27)
}

// TestRecordStream: what streams a tensor accepts.
func TestRecordStream(t *testing.T) {
	simulate(t, sim.Config{Devices: 2, Async: true})
	a, b := streams(t)
	x, host := vector(device.Sim(0), 1), vector(device.CPU, 1)
	must(t, x.RecordStream(a))
	must(t, x.RecordStream(stream.Default(device.Sim(0))))
	must(t, core.Pin(host, device.KindSim).RecordStream(b))
	x.Release()
	for name, err := range map[string]error{
		"released": x.RecordStream(a), "other device": vector(device.Sim(0), 1).RecordStream(b), "host": host.RecordStream(a),
	} {
		if (err == nil) != (name == "host") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLaunchBlocking: every operator waits for its stream (S26).
func TestLaunchBlocking(t *testing.T) {
	s := simulate(t, sim.Config{Devices: 2, Async: true})
	a, b := streams(t)
	x := vector(device.Sim(0), 1, 2)
	core.SetLaunchBlocking(true)
	defer core.SetLaunchBlocking(false)
	during(t, a, b, func() {
		s.took()
		mul(x, x)
		if diff := cmp.Diff([]string{"mul on 0/a", "wait for 0/a"}, named(s.took(), a, b)); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	})
}
