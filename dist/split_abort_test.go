package dist_test

import (
	"context"
	"errors"
	"sync"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/runtime/graph"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestAbortOfParts has a rank give up a group whose ranks are at work in groups that were split off: those who wait
// for it there learn why, and the group that it is in none of serves on.
func TestAbortOfParts(t *testing.T) {
	why := errors.New("no more")
	for name, waits := range map[string]func(part *dist.Group, near func()) error{
		"calls": func(part *dist.Group, near func()) error {
			x := tensor.Ones([]int{4}, tensor.On(part.Device()))
			work := part.AllReduce(x, dist.Sum)
			near()
			return work.Synchronize(context.Background())
		},
		"replays": func(part *dist.Group, near func()) error {
			x, recorded := tensor.Ones([]int{4}, tensor.On(part.Device())), graph.New(part.Device())
			err := recorded.Capture(func() error { return part.AllReduce(x, dist.Max).Wait(context.Background()) })
			for i := 0; err == nil; i++ {
				if i == dist.MostAhead {
					near()
				}
				err = recorded.Replay()
			}
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			if *kindName == "sim" {
				freshly(t, 4) // work that is under way fails with the group
			}
			each(t, 4, func(t *testing.T, devices []device.Device) {
				if name == "replays" && !devices[0].Accelerator() {
					t.Skip("no graphs")
				}
				near := make(chan struct{})
				var split sync.WaitGroup
				split.Add(len(devices))
				errs := together(t, devices, func(g *dist.Group) error {
					part, err := g.Split(g.Rank()/2, 0)
					closed, failed := g.Split(0, 0)
					split.Done()
					split.Wait()
					if err := errors.Join(err, failed, closed.Close()); err != nil {
						return err
					}
					defer part.Close()
					switch g.Rank() {
					case 0:
						return waits(part, func() { close(near) })
					case 1:
						<-near
						g.Abort(why)
						if err := part.Err(); !errors.Is(err, why) {
							t.Errorf("the part of who gave up: %v", err)
						}
						if err := closed.Err(); err != nil && !errors.Is(err, dist.ErrClosed) {
							t.Errorf("a part that was closed: %v", err)
						}
						return nil
					}
					if !patience.Until(t, func() bool { return g.Err() != nil }) {
						t.Error("the group was not given up")
					}
					return part.Barrier().Synchronize(context.Background())
				})
				wantErrors(t, errs[:1], why, "rank 1 gave up: the group that this one was split off from was given up: no more")
				must(t, errors.Join(errs[1:]...))
			})
		})
	}
}
