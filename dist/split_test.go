package dist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// regroup splits a group into those of even and of odd ranks, the latter in reverse, and
// then the even one again, of which the last rank stays out. In each all sum their ranks.
func regroup(t testing.TB, g *dist.Group) error {
	sum := func(g *dist.Group) (float64, error) {
		x := tensor.Full([]int{3}, float64(g.Rank()+1), tensor.On(g.Device()))
		if err := g.AllReduce(x, dist.Sum).Wait(context.Background()); err != nil {
			return 0, err
		}
		return x.Narrow(0, 2, 1).Item()
	}
	color, key := g.Rank()%2, 0
	if color == 1 {
		key = -g.Rank()
	}
	half, err := g.Split(color, key)
	if err != nil {
		return err
	}
	members := (g.Size() + 1 - color) / 2
	rank := g.Rank() / 2
	if color == 1 {
		rank = members - 1 - rank
	}
	equal(t, fmt.Sprintf("place of rank %d", g.Rank()), []int{half.Rank(), half.Size()}, []int{rank, members})
	equal(t, "device", half.Device(), g.Device())
	total, err := sum(half)
	if err != nil {
		return err
	}
	equal(t, fmt.Sprintf("sum over the half of rank %d", g.Rank()), total, float64(members*(members+1)/2))
	if color == 0 {
		again := 5
		if half.Rank() == half.Size()-1 {
			again = -1
		}
		few, err := half.Split(again, 0)
		switch {
		case err != nil:
			return err
		case again < 0 && few != nil:
			t.Errorf("rank %d is in no group, and has one", g.Rank())
		case again >= 0:
			equal(t, "size", few.Size(), members-1)
			if _, err := sum(few); err != nil {
				return err
			}
			if err := few.Close(); err != nil {
				return err
			}
		}
	}
	if err := half.Close(); err != nil {
		return err
	}
	_, err = sum(g) // which goes on
	return err
}

// TestSplit makes groups of groups.
func TestSplit(t *testing.T) {
	for _, n := range []int{1, 2, 5, 16} {
		each(t, n, func(t *testing.T, devices []device.Device) {
			must(t, errors.Join(together(t, devices, func(g *dist.Group) error { return regroup(t, g) })...))
		})
	}
}

// TestSplitFails has a rank make another call.
func TestSplitFails(t *testing.T) {
	errs := together(t, cpus(3), func(g *dist.Group) error {
		if g.Rank() == 2 {
			return g.Barrier().Synchronize(context.Background())
		}
		_, err := g.Split(0, 0)
		return err
	})
	wantErrors(t, errs, dist.ErrMismatch, "barrier")
}

func init() {
	roles["split"] = func(g *dist.Group) error {
		var note notes
		return errors.Join(regroup(&note, g), note.err())
	}
}

// TestMPISplit makes groups of groups of processes.
func TestMPISplit(t *testing.T) {
	for _, n := range []int{1, 2, 3} {
		for _, name := range []string{"split", "split on sim"} {
			if out, err := mpiexec(t, n, name); err != nil {
				t.Errorf("%d ranks, %s: %v\n%s", n, name, err, out)
			}
		}
	}
}

// TestMismatchOfPart has a rank of a group that was split off make another call: all are told, the group that it
// was split off serves on.
func TestMismatchOfPart(t *testing.T) {
	each(t, 2, func(t *testing.T, devices []device.Device) {
		must(t, errors.Join(together(t, devices, func(g *dist.Group) error {
			part, err := g.Split(0, 0)
			if err != nil {
				return err
			}
			x := tensor.Ones([]int{2 + g.Rank()}, tensor.On(g.Device()))
			_ = part.AllReduce(x, dist.Sum).Synchronize(context.Background())
			if !patience.Until(t, func() bool { return part.Err() != nil }) {
				t.Error("the part has no error")
			}
			wantErrors(t, []error{part.Err()}, dist.ErrMismatch, "rank 0", "float32 [2]", "rank 1", "float32 [3]")
			_ = part.Close() // says so again
			return g.Barrier().Synchronize(context.Background())
		})...))
	})
}
