package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/cublaslt"
	"github.com/sinter-go/sinter/ir"
)

// MatMul multiplies matrices: the last two axes of x and y. A tensor of one axis
// is a row on the left and a column on the right; leading axes broadcast. Floats
// and complex numbers go to cuBLASLt where it is there, factors of 16 bits as they
// are where the result is float32, but for small products of thin matrices.
func MatMul(g code.GPU, c *ir.Call) error {
	x, y, d := c.In[0], c.In[1], c.Out[0]
	if d.NumElements() == 0 {
		return nil
	}
	if x.NumElements() == 0 {
		return zero(g, d)
	}
	if done, err := thin(g, x, y, d, 0, 0); done {
		return err
	}
	if l, ok := onLibrary(g); ok && x.DType == y.DType && cublaslt.Supports(x.DType, d.DType) {
		err := cublaslt.MatMul(l, x, y, d, c.Precision.MatmulTF32, c.Precision.Sums)
		if err == nil || !noCUBLASLt.covered(err) {
			return err
		}
	}
	return ownMatMul(g, c)
}

// sameFloats reports whether the views have one dtype that cuBLASLt multiplies.
func sameFloats(views ...ir.View) bool {
	for _, v := range views {
		if v.DType != views[0].DType {
			return false
		}
	}
	return cublaslt.Supports(views[0].DType, views[0].DType)
}
