package dist_test

import (
	"context"
	"errors"
	"testing"

	"github.com/sinter-go/sinter/dist"
	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/device"
	"github.com/sinter-go/sinter/tests/patience"
)

// TestRefusedBesideCall has one rank close, another one make a call that the first does not make, and a third come only
// then to the call before, which the devices of the other two have: all get its sum.
func TestRefusedBesideCall(t *testing.T) {
	onSimulated(t) // connecting GPUs takes all ranks
	groups, err := dist.Local(accelerators(t, 3), dist.Timeout(patience.Left(t)))
	must(t, err)
	sum := func(rank int) (T, error) {
		g := groups[rank]
		x := tensor.Ones([]int{4}, tensor.On(g.Device()))
		return x, device.With(g.Device(), func() error { return g.AllReduce(x, dist.Sum).Wait(context.Background()) })
	}
	var x [3]T
	for rank := range 2 {
		x[rank], err = sum(rank)
		must(t, err)
	}
	closed := make(chan error, 1)
	go func() { closed <- groups[0].Close() }() // waits for the sum
	patience.Until(t, func() bool { return dist.HasLeft(groups[0]) })
	y, err := sum(1)
	wantErrors(t, []error{err}, dist.ErrClosed, "call 2 of the group: group closed by rank 0")
	y.Release()
	x[2], err = sum(2)
	must(t, err)
	for rank := range x {
		equal(t, "the sum", data[float32](t, x[rank]), []float32{3, 3, 3, 3})
		x[rank].Release()
	}
	must(t, errors.Join(<-closed, groups[1].Close(), groups[2].Close()))
}
