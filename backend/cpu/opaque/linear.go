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
	return multiply(c, bias)
}
