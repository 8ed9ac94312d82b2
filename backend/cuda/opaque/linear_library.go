package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/backend/cuda/driver"
	"github.com/sinter-go/sinter/ir"
)

// MatMulBias is MatMul with a third operand, of one axis, that is added to each
// row of the product. cuBLASLt does it in one launch; without it the product is
// rounded before the addition.
func MatMulBias(g code.GPU, c *ir.Call) error {
	x, y, bias, d := c.In[0], c.In[1], c.In[2], c.Out[0]
	if len(bias.Shape) != 1 || bias.Shape[0] != d.Shape[len(d.Shape)-1] {
		return fmt.Errorf("bias %v must have one axis, as long as the last of the product %v", bias.Shape, d.Shape)
	}
	if d.NumElements() == 0 {
		return nil
	}
	if bias.DType == ir.Float32 && bias.Ptr == nil && bias.IsContiguous() {
		if done, err := thin(g, x, y, d, bias.Addr, 0); done {
			return err
		}
	}
	if l, ok := onLibrary(g); ok && x.NumElements() > 0 && !d.DType.IsComplex() && sameFloats(x, y, bias, d) {
		err := cublaslt.MatMulBias(l, x, y, bias, d, cublaslt.Identity, c.Precision.MatmulTF32, c.Precision.Sums)
		if err == nil || !noCUBLASLt.covered(err) {
			return err
		}
	}
	return ownMatMulBias(g, c)
}

// biasBlock is the extents of a block of the kernel bias.
var biasBlock = [3]int{32, 8, 1}

// biasBlocks returns the blocks for so many rows and columns.
func biasBlocks(rows, columns int) [3]int {
	const most = 32768 // blocks on an axis; they go on with what is left
	return [3]int{int(min(ceil(int64(columns), int64(biasBlock[0])), most)), int(min(ceil(int64(rows), int64(biasBlock[1])), most)), 1}
}

// ownMatMulBias adds the bias to a product in memory: of 16-bit floats to one of float32,
// which is rounded once.
func ownMatMulBias(g code.GPU, c *ir.Call) error {
	d := c.Out[0]
	if d.DType == ir.Float16 || d.DType == ir.BFloat16 {
		sums, err := scratchView(g, d.Shape, ir.Float32)
		if err != nil {
			return err
		}
		if err := productAndBias(g, c, sums); err != nil {
			return err
		}
		return g.Store(d, sums)
	}
	out, err := contiguous(g, d, d.DType)
	if err != nil {
		return err
	}
	if err := productAndBias(g, c, out.View); err != nil {
		return err
	}
	return out.finish(g)
}

// productAndBias writes x @ y + bias to dense memory, in its dtype.
func productAndBias(g code.GPU, c *ir.Call, out ir.View) error {
	bias, err := g.Dense(c.In[2], out.DType)
	if err != nil {
		return err
	}
	inner := *c
	inner.In, inner.Out = c.In[:2], []ir.View{out}
	if err := MatMul(g, &inner); err != nil {
		return err
	}
	columns := int64(bias.Shape[0])
	rows := int64(out.NumElements()) / columns
	var p driver.Params
	p.Uint64(out.Addr)
	p.Uint64(bias.Addr)
	p.Int64(rows)
	p.Int64(columns)
	return g.Launch("linear", ofType("bias", out.DType), biasBlocks(int(rows), int(columns)), biasBlock, 0, p.Bytes())
}
