package opaque

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// Suppressed says of boxes [batch, n, 4], by the corners x1, y1, x2 and y2, which stay:
// those whose intersection with none before them that stays is more than a part of the
// union. Attribute: limit, that part.
func Suppressed(c *ir.Call) error { return inField(c, suppressed[float64], suppressed[wide.Float]) }

func suppressed[T any](c *ir.Call, f field[T]) error {
	boxes, kept := decode(c.In[0], c.Compute, f.ring), newTensor(c.Out[0].Shape, ir.BoolScalar(true))
	limit := f.from(c.Attrs[0].Scalar)
	corner := func(b, i, k int) T { return *boxes.at([]int{b, i, k}) }
	// common is how much two ranges share, from corner k to corner k+2.
	common := func(b, i, j, k int) T {
		lo, hi := corner(b, i, k), corner(b, i, k+2)
		if other := corner(b, j, k); f.larger(other, lo) {
			lo = other
		}
		if other := corner(b, j, k+2); f.larger(hi, other) {
			hi = other
		}
		if f.larger(lo, hi) {
			return f.number(0)
		}
		return f.sub(hi, lo)
	}
	area := func(b, i int) T {
		return f.mul(f.sub(corner(b, i, 2), corner(b, i, 0)), f.sub(corner(b, i, 3), corner(b, i, 1)))
	}
	each(kept.shape, func(at []int) {
		b, i := at[0], at[1]
		for j := range i {
			if kept.at([]int{b, j}).Int() == 0 {
				continue
			}
			both := f.mul(common(b, i, j, 0), common(b, i, j, 1))
			part := f.quo(both, f.sub(f.add(area(b, i), area(b, j)), both))
			if v := f.to(part).Float(); v == v && f.larger(part, limit) {
				*kept.at([]int{b, i}) = ir.BoolScalar(false)
			}
		}
	})
	store(c.Out[0], kept, ir.Bool)
	return nil
}
