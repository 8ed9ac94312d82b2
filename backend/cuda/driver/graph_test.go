package driver

import (
	"errors"
	"testing"

	"github.com/sinter-go/sinter/tests/allocations"
)

// TestGraph records work, which is then done as often as it is launched, with
// other parameters from one launch to the next.
func TestGraph(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		k, s, counter := load(t, api, 0), stream(t, api, 0), alloc(t, api, 0, 8)
		must(t, api.MemsetD8Async(0, counter, 0, 8, s))
		launch(t, api, k.count, s, 1, uint64(counter), 0) // loaded before it is recorded
		must(t, api.StreamSynchronize(0, s))
		if info, err := api.StreamCaptureInfo(0, s); info != (CaptureInfo{}) || err != nil {
			t.Errorf("before: %+v, %v", info, err)
		}

		must(t, api.StreamBeginCapture(0, s))
		first, err := api.StreamCaptureInfo(0, s)
		if err != nil || first.Status != CaptureActive || first.ID == 0 || first.Last != 0 {
			t.Errorf("at first: %+v, %v", first, err)
		}
		launch(t, api, k.count, s, 1, uint64(counter), 5)
		after, err := api.StreamCaptureInfo(0, s)
		if err != nil || after.ID != first.ID || after.Last == 0 {
			t.Errorf("after a kernel: %+v, %v", after, err)
		}
		launch(t, api, k.count, s, 1, uint64(counter), 100)
		if status, err := api.StreamCaptureStatus(0, s); status != CaptureActive || err != nil {
			t.Errorf("the status is %d, %v", status, err)
		}
		g, err := api.StreamEndCapture(0, s)
		must(t, err)
		if n, err := api.GraphNodes(0, g); n != 2 || err != nil {
			t.Errorf("%d nodes, %v", n, err)
		}
		x, err := api.GraphInstantiate(0, g)
		must(t, err)
		if got := read(t, api, counter); got != 0 {
			t.Errorf("recording counted to %d", got)
		}
		run := func(want uint64) {
			t.Helper()
			must(t, api.GraphLaunch(0, x, s))
			must(t, api.StreamSynchronize(0, s))
			if got := read(t, api, counter); got != want {
				t.Errorf("counted %d, want %d", got, want)
			}
		}
		run(105)
		run(210)
		var p Params
		p.Ptr(counter)
		p.Uint64(7)
		must(t, api.SetKernelNode(0, x, after.Last, Launch{k.count, Dim3{1, 1, 1}, Dim3{1, 1, 1}, 0, 0, false, p.Bytes(), nil}))
		run(317)
		must(t, api.GraphDestroy(0, g))
		allocations.AtMost(t, 0, func() { must(t, api.GraphLaunch(0, x, s)) })
		must(t, api.StreamSynchronize(0, s))
		must(t, api.GraphExecDestroy(0, x))
	})
}

// TestCaptureErrors: what cannot be recorded fails, and ends the capture's use.
func TestCaptureErrors(t *testing.T) {
	each(t, func(t *testing.T, api API) {
		s := stream(t, api, 0)
		if err := api.StreamBeginCapture(0, 0); !errors.Is(err, CaptureUnsupported) {
			t.Errorf("capture on the default stream: %v", err)
		}
		if _, err := api.StreamEndCapture(0, s); err == nil {
			t.Error("the end of a capture that did not begin: no error")
		}
		must(t, api.StreamBeginCapture(0, s))
		if err := api.StreamBeginCapture(0, s); err == nil {
			t.Error("a second capture on one stream: no error")
		}
		g, err := api.StreamEndCapture(0, s)
		if err == nil { // an empty graph is one
			must(t, api.GraphDestroy(0, g))
		}
		must(t, api.StreamBeginCapture(0, s))
		if err := api.StreamSynchronize(0, s); !errors.Is(err, CaptureUnsupported) {
			t.Errorf("waiting for a captured stream: %v", err)
		}
		if g, err := api.StreamEndCapture(0, s); err == nil && api == fakeOnce.api {
			must(t, api.GraphDestroy(0, g))
		} else if !errors.Is(err, CaptureInvalid) {
			t.Errorf("the capture's end: %v", err)
		}
		must(t, api.StreamSynchronize(0, s))
	})
}
