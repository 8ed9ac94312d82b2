package profile_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/profile"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/observe"
)

// A tracing is a driver that says what its devices ran: two kernels for each piece of work,
// on a stream that it numbers 7, or where the work is a graph on 8 and 9.
type tracing struct {
	*sim.Driver
	err error // of beginning

	mu     sync.Mutex
	runs   []device.Run
	closed int
}

func (d *tracing) Trace() (device.Trace, error) {
	if d.err != nil {
		return nil, d.err
	}
	return d, nil
}

func (d *tracing) Given(work uint64, give func() error) error {
	err := give()
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, name := range []string{"first", "second"} {
		began := time.Now().Add(time.Duration(i) * time.Microsecond)
		d.runs = append(d.runs, device.Run{Work: work, Stream: 7, Name: name, Began: began, Ended: began.Add(500)})
	}
	return err
}

func (d *tracing) Ran(all bool, each func(device.Run)) error {
	d.mu.Lock()
	list := d.runs
	d.runs = nil
	d.mu.Unlock()
	for _, r := range list {
		each(r)
	}
	return nil
}

func (d *tracing) Close() error { d.closed++; return nil }

// TestKernels: the kernels that a driver tells of are shown with the name and the line of who
// gave them, those of a graph by the names of their code, and each piece of work has one arrow.
func TestKernels(t *testing.T) {
	drv := &tracing{Driver: simulated}
	failed := errors.New("failed")
	events, names := record(t, func(*profile.Profile) {
		for _, what := range []string{"copy to host", "graph"} {
			w := observe.Work{Driver: drv, Device: device.Sim(0), Stream: 3, What: what, Bytes: 64}
			if err := observe.Give(w, func() error { return failed }); err != failed {
				t.Errorf("%v, want the error of what was given", err)
			}
		}
		drv.mu.Lock()
		drv.runs = append(drv.runs, device.Run{Stream: 11, Name: "other", Began: time.Now(), Ended: time.Now()})
		drv.mu.Unlock()
	})
	want := []string{
		"program and cpu: copy to host", "program and cpu: graph", "sim:0, inside, stream 11: other",
		"sim:0, stream 3: copy to host", "sim:0, stream 3: copy to host", "sim:0, stream 3: first", "sim:0, stream 3: second",
	}
	if diff := cmp.Diff(want, shown(events, names)); diff != "" {
		t.Error(diff)
	}
	arrows := map[string]int{}
	for _, e := range events {
		arrows[e.Phase]++
		if e.Phase == "X" && e.Name != "other" && !strings.Contains(e.Args.Line, "kernels_test.go:") {
			t.Errorf("%s is of line %q", e.Name, e.Args.Line)
		}
	}
	if arrows["s"] != 2 || arrows["f"] != 2 {
		t.Errorf("%d arrows begin and %d end, want 2", arrows["s"], arrows["f"])
	}
	if drv.closed != 1 {
		t.Errorf("the trace was closed %d times", drv.closed)
	}
}

// TestKernelsMissing: where a driver cannot tell, events serve.
func TestKernelsMissing(t *testing.T) {
	drv := &tracing{Driver: simulated, err: errors.New("no library")}
	events, names := record(t, func(*profile.Profile) {
		must(t, observe.Give(observe.Work{Driver: drv, Device: device.Sim(0), What: "graph"}, func() error { return nil }))
	})
	if diff := cmp.Diff([]string{"program and cpu: graph", "sim:0, default stream: graph"}, shown(events, names)); diff != "" {
		t.Error(diff)
	}
}
