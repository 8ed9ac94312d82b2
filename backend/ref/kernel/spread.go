package kernel

import (
	"slices"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// Spread returns the sums of the squared distances of x's elements along the axes in
// attribute dim from their mean, divided by attribute divisor.
func Spread(c *ir.Call) error { return inField(c, spread[float64], spread[wide.Float]) }

func spread[T any](c *ir.Call, f field[T]) error {
	x := decode(c.In[0], c.Compute, f.ring)
	axes, err := ir.Axes(c.Attrs[0].Ints, len(x.shape))
	if err != nil {
		return err
	}
	kept := slices.Clone(x.shape)
	for _, a := range axes {
		kept[a] = 1
	}
	groups := make([][]T, ir.NumElements(kept))
	each(x.shape, func(at []int) {
		v := *x.at(at)
		at = slices.Clone(at)
		for _, a := range axes {
			at[a] = 0
		}
		i := position(kept, at)
		groups[i] = append(groups[i], v)
	})
	out := newTensor(c.Out[0].Shape, f.number(0))
	for i, group := range groups {
		mean := f.quo(sum(f, group), f.number(len(group)))
		for k, v := range group {
			d := f.sub(v, mean)
			group[k] = f.mul(d, d)
		}
		out.v[i] = f.quo(sum(f, group), f.from(c.Attrs[1].Scalar))
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}
