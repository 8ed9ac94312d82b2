package opaque

import (
	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/backend/cuda/trap"
	"github.com/sinter-go/sinter/ir"
)

// ScatterProd multiplies the elements of src to those of a copy of x that index names
// along attribute dim, in any order; without attribute include_self, x's own do not
// count.
func ScatterProd(g code.GPU, c *ir.Call) error { return scatterFold(g, c, "scatter_prod") }

// ScatterMax is ScatterProd for the largest element; NaN is the largest.
func ScatterMax(g code.GPU, c *ir.Call) error { return scatterFold(g, c, "scatter_amax") }

// ScatterMin is ScatterProd for the smallest element; NaN is the smallest too.
func ScatterMin(g code.GPU, c *ir.Call) error { return scatterFold(g, c, "scatter_amin") }

func scatterFold(g code.GPU, c *ir.Call, kernel string) error {
	c = c.Raised()
	acc, dt, err := sumsIn(c.Compute)
	if err != nil {
		return err
	}
	h := choice{module: "scatter_fold", kernel: kernel, who: trap.ScatterReduce}
	if c.Attrs[1].Int == 0 {
		h.start = kernel + "_start"
	}
	return h.write(g, c, acc, dt, c.In[1].Shape, func(index ir.View) []int { return index.Strides })
}
