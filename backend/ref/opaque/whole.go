package opaque

import (
	"math/big"

	"github.com/sinter-go/sinter/ir"
)

// WholeBetween returns for each element of x the number from attribute low to before attribute high
// that lies a multiple of their distance from x + low.
func WholeBetween(c *ir.Call) error {
	low := big.NewInt(c.Attrs[0].Int)
	span := new(big.Int).Sub(big.NewInt(c.Attrs[1].Int), low)
	out := newTensor(c.Out[0].Shape, ir.Scalar{})
	for i, s := range load(c.In[0], c.Compute).v {
		r := new(big.Int).Mod(big.NewInt(s.Int()), span)
		out.v[i] = ir.IntScalar(r.Add(r, low).Int64())
	}
	store(c.Out[0], out, c.Compute)
	return nil
}
