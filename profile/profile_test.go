package profile_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/compile"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/profile"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/option"
	"github.com/sinter-go/sinter/runtime/stream"
)

var simulated = sim.New(sim.Config{Devices: 2, Memory: 64 << 20, Async: true, Delay: 100 * time.Microsecond})

func TestMain(m *testing.M) {
	device.Install(simulated)
	os.Exit(m.Run())
}

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// event is what the tests read of a trace's entries.
type event struct {
	Name     string
	Category string  `json:"cat"`
	Phase    string  `json:"ph"`
	Time     float64 `json:"ts"`
	Duration float64 `json:"dur"`
	Process  int     `json:"pid"`
	Thread   uint64  `json:"tid"`
	ID       int
	Args     struct {
		Name, Line, Error string
		Code              string
		Results, Reads    []string
		Bytes             int64
		Allocated         int64 `json:"allocated bytes"`
	}
}

// record profiles f and returns the events, and the names of processes and threads.
func record(t *testing.T, f func(p *profile.Profile)) (events []event, names map[string]string) {
	t.Helper()
	var out bytes.Buffer
	p, err := profile.Start(&out)
	must(t, err)
	defer p.Stop() // where f fails
	f(p)
	must(t, p.Stop())
	var trace struct{ TraceEvents []event }
	must(t, json.Unmarshal(out.Bytes(), &trace))
	names = map[string]string{}
	for _, e := range trace.TraceEvents {
		switch e.Name {
		case "process_name":
			names[fmt.Sprint(e.Process)] = e.Args.Name
		case "thread_name":
			names[fmt.Sprint(e.Process, " ", e.Thread)] = e.Args.Name
		default:
			events = append(events, e)
		}
	}
	return events, names
}

// track names an event's track, for names.
func track(e event) string { return fmt.Sprint(e.Process, " ", e.Thread) }

// shown lists the slices as "track: name".
func shown(events []event, names map[string]string) (list []string) {
	for _, e := range events {
		if e.Phase != "X" {
			continue
		}
		track := names[fmt.Sprint(e.Process)] + ", " + names[track(e)]
		if strings.Contains(track, "goroutine") {
			track = names[fmt.Sprint(e.Process)]
		}
		list = append(list, track+": "+e.Name)
	}
	slices.Sort(list)
	return list
}

func TestHost(t *testing.T) {
	x := tensor.Ones([]int{2, 3})
	events, names := record(t, func(p *profile.Profile) {
		must(t, p.Range("step", func() error { return x.Add(x).Exp().Err() }))
	})
	if diff := cmp.Diff([]string{"program and cpu: add", "program and cpu: exp", "program and cpu: step"}, shown(events, names)); diff != "" {
		t.Error(diff)
	}
	add, exp, step := events[0], events[1], events[2]
	if diff := cmp.Diff([]string{"float32[2 3]", "float32[2 3]"}, add.Args.Reads); diff != "" {
		t.Error(diff)
	}
	if !strings.Contains(add.Args.Line, "profile_test.go:") {
		t.Errorf("line %q", add.Args.Line)
	}
	if add.Time+add.Duration > exp.Time || add.Time < step.Time || exp.Time+exp.Duration > step.Time+step.Duration {
		t.Errorf("the range does not hold its calls one after another: %+v %+v %+v", step, add, exp)
	}
}

func TestStreams(t *testing.T) {
	dev := device.Sim(0)
	x := tensor.Ones([]int{64}, tensor.On(dev))
	live := simulated.Counters(0).LiveEvents
	events, names := record(t, func(*profile.Profile) {
		must(t, x.Add(x).Err())
		side := stream.New(dev, 0)
		must(t, side.Err())
		side.Do(func() error { must(t, x.Exp().CPU().Err()); return nil })
	})
	if got := simulated.Counters(0).LiveEvents; got != live {
		t.Errorf("%d events of the driver are left", got-live)
	}
	tracks := []string{}
	for _, s := range shown(events, names) {
		device, what, _ := strings.Cut(s, ", ")
		if device == "sim:0" && !strings.HasPrefix(what, "default") {
			s = "sim:0, side: " + s[strings.LastIndex(s, " ")+1:]
		}
		tracks = append(tracks, s)
	}
	slices.Sort(tracks)
	want := []string{
		"program and cpu: add", "program and cpu: copy to host", "program and cpu: exp",
		"sim:0, default stream: add", "sim:0, side: exp", "sim:0, side: host",
	}
	if diff := cmp.Diff(want, tracks); diff != "" {
		t.Error(diff)
	}
	joined := map[int]float64{} // when the call of each arrow began
	arrows := 0
	for _, e := range events {
		switch e.Phase {
		case "s":
			joined[e.ID] = e.Time
		case "f":
			arrows++
			if began, ok := joined[e.ID]; !ok || e.Time < began {
				t.Errorf("work at %v us, given at %v us", e.Time, began)
			}
		}
	}
	if arrows != 3 {
		t.Errorf("%d arrows, want 3", arrows)
	}
}

// TestMemory: what tensors hold rises and falls in the trace as it does on the device.
func TestMemory(t *testing.T) {
	x := tensor.Ones([]int{1024}, tensor.On(device.Sim(1)))
	events, _ := record(t, func(*profile.Profile) {
		y := x.Add(x)
		z := y.Exp()
		y.Release()
		z.Release()
		must(t, x.Exp().Err())
	})
	var held []int64
	for _, e := range events {
		if e.Phase == "C" {
			held = append(held, e.Args.Allocated/4096)
		}
	}
	if diff := cmp.Diff([]int64{2, 3, 2}, held); diff != "" {
		t.Errorf("blocks of 4 KiB that tensors hold: %s", diff)
	}
}

func TestGraph(t *testing.T) {
	dev := device.Sim(0)
	x := tensor.Ones([]int{64}, tensor.On(dev))
	must(t, stream.Synchronize(t.Context(), dev))
	g := graph.New(dev)
	events, names := record(t, func(*profile.Profile) {
		must(t, g.Capture(func() error { return x.Add(x).Err() }))
		must(t, g.Replay())
		must(t, g.Replay())
	})
	must(t, g.Reset())
	want := []string{
		"program and cpu: add", "program and cpu: graph", "program and cpu: graph",
		"sim:0, default stream: graph", "sim:0, default stream: graph",
	}
	if diff := cmp.Diff(want, shown(events, names)); diff != "" {
		t.Error(diff)
	}
}

// TestMany: work of many goroutines, more than is kept back, all of it shown.
func TestMany(t *testing.T) {
	const goroutines, calls = 4, 150
	events, names := record(t, func(*profile.Profile) {
		var all sync.WaitGroup
		for range goroutines {
			all.Go(func() {
				x := tensor.Ones([]int{8}, tensor.On(device.Sim(0)))
				for range calls {
					if err := x.Add(x).Err(); err != nil {
						t.Error(err)
					}
				}
			})
		}
		all.Wait()
	})
	got := map[string]int{}
	for _, s := range shown(events, names) {
		got[s]++
	}
	want := map[string]int{"program and cpu: add": goroutines * calls, "sim:0, default stream: add": goroutines * calls}
	for _, what := range []string{"program and cpu: add", "sim:0, default stream: add"} {
		if got[what] != want[what] {
			t.Errorf("%s: %d times, want %d", what, got[what], want[what])
		}
	}
	tracks := 0
	for _, n := range names {
		if strings.HasPrefix(n, "goroutine") {
			tracks++
		}
	}
	if tracks != goroutines {
		t.Errorf("%d goroutines, want %d", tracks, goroutines)
	}
}

// TestStopMeanwhile stops while work goes on, which is left out, and leaks nothing.
func TestStopMeanwhile(t *testing.T) {
	live := simulated.Counters(0).LiveEvents
	var out bytes.Buffer
	p, err := profile.Start(&out)
	must(t, err)
	stop := make(chan struct{})
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			x := tensor.Ones([]int{8}, tensor.On(device.Sim(0)))
			for {
				select {
				case <-stop:
					return
				default:
					if _, err := x.Add(x).Sum().Item(); err != nil { // no backlog
						t.Error(err)
						return
					}
				}
			}
		})
	}
	time.Sleep(5 * time.Millisecond)
	must(t, p.Stop())
	close(stop)
	all.Wait()
	if !json.Valid(out.Bytes()) {
		t.Error("not JSON")
	}
	must(t, stream.Synchronize(t.Context(), device.Sim(0)))
	if got := simulated.Counters(0).LiveEvents; got != live {
		t.Errorf("%d events of the driver are left", got-live)
	}
}

// A full writer has no room.
type full struct{}

var errFull = errors.New("no room")

func (full) Write([]byte) (int, error) { return 0, errFull }

func TestMistakes(t *testing.T) {
	first, err := profile.Start(&bytes.Buffer{})
	must(t, err)
	if _, err := profile.Start(&bytes.Buffer{}); !errors.Is(err, profile.ErrActive) {
		t.Errorf("a second profile: %v", err)
	}
	must(t, first.Stop())
	if err := first.Stop(); !errors.Is(err, profile.ErrStopped) {
		t.Errorf("stopped twice: %v", err)
	}
	var none *profile.Profile
	if err := none.Stop(); !errors.Is(err, profile.ErrStopped) {
		t.Errorf("no profile: %v", err)
	}
	for _, p := range []*profile.Profile{none, first} {
		if err := p.Range("after", func() error { return errFull }); !errors.Is(err, errFull) {
			t.Errorf("Range returns %v", err)
		}
		must(t, p.Range("nothing", nil))
	}
	if _, err := profile.Start(nil, option.Int("Depth", 3)); err == nil || !strings.Contains(err.Error(), "no option Depth here; want NVTX") {
		t.Errorf("another option: %v", err)
	}
	p, err := profile.Start(full{})
	must(t, err)
	must(t, tensor.Ones([]int{2}).Exp().Err()) // the program goes on
	if err := p.Stop(); !errors.Is(err, errFull) {
		t.Errorf("a full disk: %v", err)
	}
}

// TestCompiled: a program's calls show with the lines of the function that was recorded, also
// where they are a graph otherwise.
func TestCompiled(t *testing.T) {
	f := compile.Func(func(x ...tensor.Tensor) (tensor.Tensor, error) {
		y := x[0].Exp()        // here
		return y.Square(), nil // and here
	})
	x := tensor.Ones([]int{4}, tensor.On(device.Sim(0)))
	for range 3 {
		_, err := f.Call(x)
		must(t, err)
	}
	events, _ := record(t, func(*profile.Profile) {
		_, err := f.Call(x)
		must(t, err)
		must(t, stream.Synchronize(t.Context(), device.Sim(0)))
	})
	lines := map[string]int{}
	for _, e := range events {
		if e.Name == "exp" || e.Name == "square" {
			at := strings.LastIndexByte(e.Args.Line, ':')
			if n, err := strconv.Atoi(e.Args.Line[at+1:]); err != nil || !strings.HasSuffix(e.Args.Line[:at], "profile_test.go") {
				t.Errorf("%s is of line %s", e.Name, e.Args.Line)
			} else {
				lines[e.Name] = n
			}
		}
	}
	if lines["exp"] == 0 || lines["square"] != lines["exp"]+1 {
		t.Errorf("lines %v of %d events", lines, len(events))
	}
}
