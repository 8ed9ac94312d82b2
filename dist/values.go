package dist

import (
	"context"

	"github.com/sinter-go/sinter/generated/tensor"
	"github.com/sinter-go/sinter/runtime/random"
)

// Values returns the reduction of every rank's numbers, place by place, for what is to be
// printed: losses, counts of right answers. All ranks pass as many. It waits.
func (g *Group) Values(ctx context.Context, op Op, values ...float64) (out []float64, err error) {
	err = tensor.Scope(func() error {
		t := tensor.FromSlice(values, []int{len(values)}, tensor.On(g.Device()))
		if err := g.ready(t); err != nil {
			return g.named(err)
		}
		if err := g.AllReduce(t, op).Synchronize(ctx); err != nil {
			return err
		}
		var err error
		out, err = tensor.Data[float64](t)
		return err
	})
	return out, err
}

// Random returns a random generator of the rank's own: ranks that pass the same seed draw
// different numbers, the same ones in every run. What all ranks draw alike, such as the
// order of samples, comes from random.New of one seed.
func (g *Group) Random(seed int64) *random.Generator {
	const apart = 0x9e3779b97f4a7c15 // spreads ranks over all bits, so that neighbouring seeds share none
	return random.New(int64(uint64(seed) ^ uint64(g.Rank()+1)*apart))
}
