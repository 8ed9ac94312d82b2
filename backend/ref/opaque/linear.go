package opaque

import (
	"github.com/sinter-go/sinter/backend/ref/wide"
	"github.com/sinter-go/sinter/ir"
)

// MatMulBias returns the matrix product of x and y, whose axes are two, plus bias,
// whose one axis is as long as the last of the product.
func MatMulBias(c *ir.Call) error {
	return inRing(c.Compute, c, matMulBias[int64], matMulBias[float64], matMulBias[wide.Float], matMulBias[complex128], matMulBias[wideComplex])
}

func matMulBias[T any](c *ir.Call, r ring[T]) error {
	out, err := product(c, r)
	if err != nil {
		return err
	}
	bias := decode(c.In[2], c.Compute, r)
	for i := range out.v {
		out.v[i] = r.add(out.v[i], bias.v[i%len(bias.v)])
	}
	encode(c.Out[0], c.Compute, r, out)
	return nil
}
