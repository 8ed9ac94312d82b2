package opaque

import (
	"slices"

	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// ProdOthers returns g, which has extent 1 along attribute dim, times the product of the other
// elements of x along dim for each.
func ProdOthers(c *ir.Call) error { return inField(c, prodOthers[float64], prodOthers[wide.Float]) }

func prodOthers[T any](c *ir.Call, f field[T]) error {
	g, x := decode(c.In[0], c.Compute, f.ring), decode(c.In[1], c.Compute, f.ring)
	folded, err := ir.Axes(c.Attrs[0].Ints, len(x.shape))
	if err != nil {
		return err
	}
	groups := make([][]int, len(g.v)) // the elements of each product
	for i := range x.v {
		at, rest, stride := 0, i, 1
		for a := len(x.shape) - 1; a >= 0; a-- {
			if !slices.Contains(folded, a) {
				at += rest % x.shape[a] * stride
				stride *= x.shape[a]
			}
			rest /= x.shape[a]
		}
		groups[at] = append(groups[at], i)
	}
	out := newTensor(x.shape, f.number(0))
	for at, group := range groups {
		for _, i := range group {
			others := f.number(1)
			for _, j := range group {
				if j != i {
					others = f.mul(others, x.v[j])
				}
			}
			out.v[i] = f.mul(g.v[at], others)
		}
	}
	encode(c.Out[0], c.Compute, f.ring, out)
	return nil
}
