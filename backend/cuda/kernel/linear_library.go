package kernel

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/precision"
)

// MatMulBias is MatMul with a third operand, of one axis, that is added to each
// row of the product. cuBLASLt does it in one launch; without it the product is
// rounded before the addition.
func MatMulBias(g ir.GPU, c *ir.Call) error {
	x, y, bias, d := c.In[0], c.In[1], c.In[2], c.Out[0]
	if len(bias.Shape) != 1 || bias.Shape[0] != d.Shape[len(d.Shape)-1] {
		return fmt.Errorf("bias %v must have one axis, as long as the last of the product %v", bias.Shape, d.Shape)
	}
	if d.NumElements() == 0 {
		return nil
	}
	if l, ok := onLibrary(g); ok && x.NumElements() > 0 && !d.DType.IsComplex() && sameFloats(x, y, bias, d) {
		err := cublaslt.MatMulBias(l, x, y, bias, d, cublaslt.Identity, precision.MatmulTF32())
		if err == nil || !noCUBLASLt.covered(err) {
			return err
		}
	}
	return ownMatMulBias(g, c)
}

// biasBlock is the extents of a block of the kernel bias.
var biasBlock = [3]int{32, 8, 1}

func ownMatMulBias(g ir.GPU, c *ir.Call) error {
	out, err := contiguous(g, c.Out[0], c.Out[0].DType)
	if err != nil {
		return err
	}
	inner := *c
	inner.In, inner.Out = c.In[:2], []ir.View{out.View}
	if err := MatMul(g, &inner); err != nil {
		return err
	}
	bias, err := g.Dense(c.In[2], out.DType)
	if err != nil {
		return err
	}
	columns := int64(bias.Shape[0])
	rows := int64(out.NumElements()) / columns
	var p driver.Params
	p.Uint64(out.Addr)
	p.Uint64(bias.Addr)
	p.Int64(rows)
	p.Int64(columns)
	const most = 32768 // blocks on an axis; they go on with what is left
	blocks := [3]int{int(min(ceil(columns, int64(biasBlock[0])), most)), int(min(ceil(rows, int64(biasBlock[1])), most)), 1}
	if err := g.Launch("linear", ofType("bias", out.DType), blocks, biasBlock, 0, p.Bytes()); err != nil {
		return err
	}
	return out.finish(g)
}
