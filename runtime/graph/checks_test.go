package graph_test

import (
	"errors"
	"testing"
	"time"

	"github.com/sinter-go/sinter/backend/sim"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/memory"
	"github.com/sinter-go/sinter/runtime/stream"
)

// A checker counts how often it is asked, told, and told otherwise.
type checker struct {
	asked, told int
	failed      []error
	why, not    error // of Check and Note
	doubt       *stream.Doubt
}

func (c *checker) Check() error   { c.asked++; return c.why }
func (c *checker) Note() error    { c.told++; return c.not }
func (c *checker) Fail(err error) { c.failed = append(c.failed, err) }

func (c *checker) Doubt() *stream.Doubt { return c.doubt }

// TestCheck replays work whose needs are asked for, once each, before anything is given.
func TestCheck(t *testing.T) {
	b := install(t)
	x, g := b.block(), graph.New(sim0)
	b.put(x, 1)
	gone := errors.New("gone")
	one, other := &checker{}, &checker{}
	var late *graph.Capture
	must(t, g.Capture(func() error {
		late = graph.Current(sim0)
		for _, c := range []*checker{one, other} { // the first stays
			if got, err := late.Check("whom", func() graph.Checker { return c }); got != one || err != nil {
				t.Errorf("%v, error %v; want the first", got, err)
			}
		}
		if got, err := late.Check("whom else", nil); got != nil || err != nil {
			t.Errorf("%v, error %v, of no function", got, err)
		}
		return b.call(&addOp, nil, x, x, x)
	}))
	_, err := late.Check("whom", nil)
	wantError(t, err, nil, "the capture has ended")
	must(t, g.Replay())
	one.why = gone
	wantError(t, g.Replay(), gone, "replay: gone")
	if v := b.get(x); v != 2 || one.asked != 2 || one.told != 1 || other.asked != 0 {
		t.Errorf("%v after one replay that was made, asked %d and %d times, told %d", v, one.asked, other.asked, one.told)
	}
	must(t, g.Reset())
}

// TestCheckers replays work that several needs are asked for: none is told of a replay that one does not
// agree to, and those that were told of one which is not made hear why.
func TestCheckers(t *testing.T) {
	b := install(t)
	x, g := b.block(), graph.New(sim0)
	b.put(x, 1)
	gone := errors.New("gone")
	all := []*checker{{}, {}, {}}
	must(t, g.Capture(func() error {
		for i, c := range all {
			if _, err := graph.Current(sim0).Check(i, func() graph.Checker { return c }); err != nil {
				return err
			}
		}
		numbers := func() ([]float64, error) { return []float64{2}, nil }
		return graph.Refreshing(numbers, func() error { return b.call(&scaleOp, []ir.Value{ir.FloatValue(1)}, x, x) })
	}))
	cases := []struct {
		name         string
		begin        func()
		told, failed [3]int
	}{
		{"the second does not agree", func() { all[1].why = gone }, [3]int{}, [3]int{}},
		{"the second refuses", func() { all[1].not = gone }, [3]int{1, 1, 0}, [3]int{1, 0, 0}},
		{"it cannot be launched", func() { must(t, b.Fail(0, sim.FaultRefresh, 1, gone)) }, [3]int{1, 1, 1}, [3]int{1, 1, 1}},
	}
	for _, c := range cases {
		for _, one := range all {
			*one = checker{}
		}
		c.begin()
		wantError(t, g.Replay(), gone, "gone")
		for i, one := range all {
			if one.asked != 1 || one.told != c.told[i] || len(one.failed) != c.failed[i] || len(one.failed) > 0 && !errors.Is(one.failed[0], gone) {
				t.Errorf("%s: number %d was asked %d times, told %d, and then %v", c.name, i, one.asked, one.told, one.failed)
			}
		}
	}
	if v := b.get(x); v != 1 {
		t.Errorf("%v after no replay", v)
	}
	must(t, g.Reset())
}

// captureChecked captures work that one need is asked for, and that lets go of something.
func captureChecked(t *testing.T, b bed, c *checker) (*graph.Graph, memory.Block) {
	t.Helper()
	x, g := b.block(), graph.New(sim0)
	b.put(x, 1)
	must(t, g.Capture(func() error {
		graph.Current(sim0).Keep(func() {})
		if _, err := graph.Current(sim0).Check("whom", func() graph.Checker { return c }); err != nil {
			return err
		}
		return b.call(&addOp, nil, x, x, x)
	}))
	return g, x
}

// TestReplayInCapture replays work while another graph is captured: nobody is told of a replay, and the capture
// fails with its error.
func TestReplayInCapture(t *testing.T) {
	b := install(t)
	c := &checker{}
	g, x := captureChecked(t, b, c)
	var refused error
	failed := graph.New(sim0).Capture(func() error {
		refused = g.Replay()
		return nil
	})
	wantError(t, refused, device.ErrCapturing, "graph: replay: ")
	wantError(t, failed, device.ErrCapturing, "cannot be given recorded work")
	if c.asked != 0 || c.told != 0 || c.failed != nil {
		t.Errorf("asked %d times, told %d, and then %v", c.asked, c.told, c.failed)
	}
	must(t, g.Replay())
	if v := b.get(x); v != 2 || c.told != 1 {
		t.Errorf("%v after one replay, told %d times", v, c.told)
	}
	must(t, g.Reset())
}

// A markless is devices that cannot record events.
type markless struct {
	*sim.Driver
	err error
}

func (d markless) RecordEvent(int, device.EventID, device.StreamID) error { return d.err }

// TestReplayUnmarked replays work whose end cannot be marked: the error is the replay's, which was made, and is
// over then.
func TestReplayUnmarked(t *testing.T) {
	b := install(t)
	broken := errors.New("no events")
	device.Install(markless{b.Driver, broken})
	c := &checker{}
	g, x := captureChecked(t, b, c)
	release, err := b.Hold(0, stream.CurrentID(sim0))
	must(t, err)
	go func() {
		time.Sleep(5 * time.Millisecond) // for a replay that does not wait to return
		release()
	}()
	wantError(t, g.Replay(), broken, "no events")
	if idle, err := b.StreamIdle(0, stream.CurrentID(sim0)); !idle || err != nil {
		t.Errorf("the replay goes on, error %v", err)
	}
	if v := b.get(x); v != 2 || c.told != 1 || c.failed != nil {
		t.Errorf("%v after one replay, told %d times, and then %v", v, c.told, c.failed)
	}
	must(t, g.Reset())
}
