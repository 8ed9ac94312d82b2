package dist

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/collective/local"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/runtime/stream"
	"github.com/sinter-go/sinter/tests/patience"
)

// A telling is an engine that tells other processes of replays.
type telling struct {
	*local.Communicator
	told [][]string
}

func (c *telling) Replayed(calls []string) { c.told = append(c.told, calls) }

// TestReplaysAreTold replays a graph of a group that other processes have ranks of: these are told of each of
// its calls that all make, until the group is of no more use.
func TestReplaysAreTold(t *testing.T) {
	ends, err := local.New([]device.Device{device.Sim(0)}, patience.Left(t))
	if err != nil {
		t.Fatal(err)
	}
	c := &telling{Communicator: ends[0]}
	g, err := newGroup(c, patience.Left(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	x, y := tensor.Ones([]int{4}, tensor.On(g.Device())), tensor.Zeros([]int{4}, tensor.On(g.Device()))
	recorded := graph.New(g.Device())
	err = recorded.Capture(func() error {
		return errors.Join(g.AllReduce(x, Sum).Wait(context.Background()), g.Batch(func(b *Batch) {
			b.Send(x, 0)
			b.Receive(y, 0)
			b.Broadcast(x, 0)
		}).Wait(context.Background()))
	})
	if err = errors.Join(err, recorded.Replay(), recorded.Replay(),
		stream.Current(g.Device()).Synchronize(context.Background())); err != nil {
		t.Fatal(err)
	}
	why := errors.New("no more")
	g.Abort(why)
	if err := recorded.Replay(); !errors.Is(err, why) {
		t.Errorf("a replay after that: %v", err)
	}
	calls := []string{"all-reduce(sum) of float32 [4]", "broadcast of float32 [4] from rank 0"}
	if diff := cmp.Diff([][]string{calls, calls}, c.told); diff != "" {
		t.Errorf("what was told (-want +got):\n%s", diff)
	}
	if err := errors.Join(recorded.Reset(), g.Close()); err != nil {
		t.Error(err)
	}
}

// An endingEngine is one whose group ends as it is told of a replay.
type endingEngine struct {
	*local.Communicator
	why error
}

func (c *endingEngine) Replayed([]string) { c.Abort(c.why) }

// TestReplayThatEnds has the group end by being told of a replay: it is not made, and the order does not hear
// of it.
func TestReplayThatEnds(t *testing.T) {
	ends, err := local.New([]device.Device{device.Sim(0)}, patience.Left(t))
	if err != nil {
		t.Fatal(err)
	}
	why := errors.New("others replay something else")
	g, err := newGroup(&endingEngine{ends[0], why}, patience.Left(t), nil)
	if err != nil {
		t.Fatal(err)
	}
	x, recorded := tensor.Ones([]int{4}, tensor.On(g.Device())), graph.New(g.Device())
	err = recorded.Capture(func() error {
		return errors.Join(x.AddScalarInPlace(1), g.AllReduce(x, Sum).Wait(context.Background()))
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := recorded.Replay(); !errors.Is(err, why) {
		t.Errorf("the replay: %v; want %v", err, why)
	}
	got, err := tensor.Data[float32](x)
	if diff := cmp.Diff([]float32{1, 1, 1, 1}, got); diff != "" || err != nil {
		t.Errorf("elements after no replay: %v, error %v", diff, err)
	}
	if err := recorded.Reset(); err != nil {
		t.Error(err)
	}
	_ = g.Close() // of a group that failed
}

// TestReplaysOfTwoGroups replays a graph with calls of two groups, one of which is of no more use: the other one is
// told nothing, and serves on. A group that was told of a replay which is not made does not.
func TestReplaysOfTwoGroups(t *testing.T) {
	var groups [2]*Group
	var told [2]*telling
	for i := range groups {
		ends, err := local.New([]device.Device{device.Sim(0)}, patience.Left(t))
		if err != nil {
			t.Fatal(err)
		}
		told[i] = &telling{Communicator: ends[0]}
		if groups[i], err = newGroup(told[i], patience.Left(t), nil); err != nil {
			t.Fatal(err)
		}
	}
	x, recorded := tensor.Ones([]int{4}, tensor.On(groups[0].Device())), graph.New(groups[0].Device())
	err := recorded.Capture(func() error {
		return errors.Join(groups[0].AllReduce(x, Sum).Wait(context.Background()), groups[1].AllReduce(x, Sum).Wait(context.Background()))
	})
	if err = errors.Join(err, recorded.Replay(), stream.Current(groups[0].Device()).Synchronize(context.Background())); err != nil {
		t.Fatal(err)
	}
	why := errors.New("no more")
	groups[1].Abort(why)
	if err := recorded.Replay(); !errors.Is(err, why) || groups[0].Err() != nil {
		t.Errorf("a replay of a group that has failed: %v; of the other one: %v", err, groups[0].Err())
	}
	if len(told[0].told) != 1 || len(told[1].told) != 1 {
		t.Errorf("one replay was told of %d and %d times", len(told[0].told), len(told[1].told))
	}
	r := &replayed{group: groups[0], number: 1}
	if r.Fail(why); !errors.Is(groups[0].Err(), why) {
		t.Errorf("after a replay that was not made: %v", groups[0].Err())
	}
	if err := recorded.Reset(); err != nil {
		t.Error(err)
	}
	for _, g := range groups {
		_ = g.Close() // of a group that failed
	}
}
