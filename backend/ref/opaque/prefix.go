package opaque

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// CumulativeExtreme returns the largest element up to each along an axis, or the
// smallest with attribute smallest, and its place: the last of equal ones. NaN comes
// before every number.
func CumulativeExtreme(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	axis, err := axisOf(c, 0, x.shape)
	if err != nil {
		return err
	}
	values, indices := newTensor(x.shape, ir.Scalar{}), newTensor(x.shape, ir.Scalar{})
	for _, l := range lines(x.shape, axis) {
		for k := range l {
			best := 0
			for j := range k + 1 {
				if up := order(x.v[l[j]], x.v[l[best]]); up == 0 || isNaN(x.v[l[j]]) || !isNaN(x.v[l[best]]) && up > 0 == (c.Attrs[1].Int == 0) {
					best = j
				}
			}
			values.v[l[k]], indices.v[l[k]] = x.v[l[best]], ir.IntScalar(int64(best))
		}
	}
	store(c.Out[0], values, c.Compute)
	store(c.Out[1], indices, ir.Int64)
	return nil
}

func isNaN(s ir.Scalar) bool { return s.Category() == ir.CategoryFloat && math.IsNaN(s.Float()) }

// Frexp returns a mantissa from 0.5 to below 1, and an exponent. What has none of
// these is its own mantissa, with the exponent 0.
func Frexp(c *ir.Call) error {
	x := load(c.In[0], c.Compute)
	mantissa, exponent := newTensor(x.shape, ir.Scalar{}), newTensor(x.shape, ir.IntScalar(0))
	for i, s := range x.v {
		m, e := math.Frexp(s.Float())
		mantissa.v[i], exponent.v[i] = ir.FloatScalar(m), ir.IntScalar(int64(e))
	}
	store(c.Out[0], mantissa, c.Compute)
	store(c.Out[1], exponent, ir.Int64)
	return nil
}
