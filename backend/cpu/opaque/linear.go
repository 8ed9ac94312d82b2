package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// MatMulBias is MatMul with a third operand, of one axis, that is added to each
// row of the product before it is rounded. y has two axes.
func MatMulBias(c *ir.Call) error {
	out, bias := c.Out[0], c.In[2]
	if len(bias.Shape) != 1 || bias.Shape[0] != out.Shape[len(out.Shape)-1] {
		return fmt.Errorf("bias %v must have one axis, as long as the last of the product %v", bias.Shape, out.Shape)
	}
	return multiply(c, bias, nil)
}

// MatMulThen is MatMul, or where there is a third operand MatMulBias, of operands with two
// axes or more, and calls then once for each block of the result, rows [i0, i1) of all
// matrices and columns [j0, j1), when it is finished and may still be in a cache. The blocks
// are disjoint and cover the result. Several goroutines call it at once.
func MatMulThen(c *ir.Call, then func(i0, i1, j0, j1 int)) error {
	var bias ir.View
	if len(c.In) > 2 {
		bias = c.In[2]
	}
	return multiply(c, bias, then)
}
