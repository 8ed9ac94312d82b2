package kernel

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// MatMulBias is MatMul with a third operand, of one axis, that is added to each
// row of the product before it is rounded. y has two axes.
func MatMulBias(c *ir.Call) error {
	mul, err := muls.of(c.Compute)
	if err != nil {
		return err
	}
	out, bias := c.Out[0], c.In[2]
	if len(bias.Shape) != 1 || bias.Shape[0] != out.Shape[len(out.Shape)-1] {
		return fmt.Errorf("bias %v must have one axis, as long as the last of the product %v", bias.Shape, out.Shape)
	}
	if out.NumElements() == 0 {
		return nil
	}
	x, y := computable(c.In[0], c.Compute), computable(c.In[1], c.Compute)
	d := tile.TargetOf(out, c.Compute)
	bias.Strides = ir.ExpandStrides(bias.Shape, bias.Strides, d.Shape)
	bias.Shape = d.Shape
	tile.Copy(d, bias)
	into(mul, x, y, d, true)
	tile.Finish(out, d)
	return nil
}
