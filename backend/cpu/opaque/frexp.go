package opaque

import (
	"math"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

var frexps = table[callFunc]{ir.Float32: frexp[float32], ir.Float64: frexp[float64]}

// Frexp returns the mantissa of each element of x, from 0.5 to below 1, and its
// exponent. Zeros, infinities and NaN are their own, with the exponent 0.
func Frexp(c *ir.Call) error { return dispatch(c, &frexps) }

func frexp[T float](c *ir.Call) error {
	mantissa, exponent := tile.TargetOf(c.Out[0], c.Compute), tile.TargetOf(c.Out[1], ir.Int64)
	x, m, e := in[T](c, 0, c.Compute), tile.Elements[T](mantissa), tile.Elements[int64](exponent)
	pool.For(len(x), moveWork, func(lo, hi int) { significands(m[lo:hi], e[lo:hi], x[lo:hi]) })
	tile.Finish(c.Out[0], mantissa)
	tile.Finish(c.Out[1], exponent)
	return nil
}

// significands takes the exponents out of the numbers' bits. Those of float32 are read as float64, which has
// no subnormal ones among them.
func significands[T float](m []T, e []int64, x []T) {
	const (
		mask = 1<<11 - 1 // of an exponent
		half = 1022      // that of 0.5
	)
	m, e = m[:len(x)], e[:len(x)]
	for i, v := range x {
		bits := math.Float64bits(float64(v))
		switch k := int64(bits >> 52 & mask); k {
		case 0:
			f, n := math.Frexp(float64(v))
			m[i], e[i] = T(f), int64(n)
		case mask:
			m[i], e[i] = v, 0
		default:
			m[i], e[i] = T(math.Float64frombits(bits&^(mask<<52)|half<<52)), k-half
		}
	}
}
