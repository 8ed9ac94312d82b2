package opaque

import (
	"github.com/sinter-go/sinter/backend/cpu/float8"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// Float8Bytes returns the codes of the elements of x as floats of 8 bits. Attributes: what
// float8.Format has.
func Float8Bytes(c *ir.Call) error {
	attr := func(i int) int { return int(c.Attrs[i].Scalar.Float()) }
	format := float8.Format{Unit: attr(0), Steps: attr(1), Top: attr(2), Over: attr(3), NaN: attr(4), Least: attr(5)}
	e := float8.New(format, c.Compute.Size(), simd.Active())
	x, out := tile.Of(c.In[0], c.Compute), tile.Of(c.Out[0], ir.Uint8)
	most := tile.Size
	if x.Contiguous() && out.Contiguous() {
		most = moveWork
	}
	pool.For(c.In[0].NumElements(), moveWork, func(lo, hi int) {
		s := tile.Borrow(2)
		defer s.Return()
		for n := 0; lo < hi; lo += n {
			n = min(most, hi-lo)
			to := out.Target(lo, n, s.Buffer(0))
			e.Encode(n, to, x.Load(lo, n, s.Buffer(1)))
			out.Store(lo, n, to)
		}
	})
	return nil
}
