package opaque

import (
	"math/bits"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// WholeBetween returns for each element of x the number from attribute low to before attribute high
// that lies a multiple of their distance, which is from 1 to below 2^63, from x + low.
func WholeBetween(c *ir.Call) error {
	low, span := c.Attrs[0].Int, c.Attrs[1].Int-c.Attrs[0].Int
	d := tile.TargetOf(c.Out[0], ir.Int64)
	x, out := in[int64](c, 0, ir.Int64), tile.Elements[int64](d)
	pool.For(len(x), moveWork, func(lo, hi int) {
		if span < 2 { // no other number is between them
			for i := lo; i < hi; i++ {
				out[i] = low
			}
			return
		}
		newDivisor(uint64(span)).remainders(out[lo:hi], x[lo:hi], low)
	})
	tile.Finish(c.Out[0], d)
	return nil
}

// A divisor divides by a number from 2 to 2^63 with a multiplication: the quotient of n is
// (t + (n-t)/2) >> shift, where t is the upper half of the product of n and factor (Granlund and
// Montgomery, "Division by invariant integers using multiplication", figure 4.1).
type divisor struct {
	by, factor uint64
	shift      int
	round      int64 // the remainder of 2^64
}

func newDivisor(by uint64) divisor {
	l := bits.Len64(by - 1)
	factor, _ := bits.Div64(1<<l-by, 0, by)
	return divisor{by, factor + 1, l - 1, int64((^uint64(0)%by + 1) % by)}
}

// remainders sets out to low and the remainders of x, which are not negative.
func (d divisor) remainders(out, x []int64, low int64) {
	out = out[:len(x)]
	by, shift := int64(d.by), uint(d.shift)&63
	for i, v := range x {
		n := uint64(v)
		t, _ := bits.Mul64(n, d.factor)
		r := int64(n - (t+(n-t)>>1)>>shift*d.by)
		r -= d.round & (v >> 63) // v is n less 2^64
		r += by & (r >> 63)
		out[i] = low + r
	}
}
