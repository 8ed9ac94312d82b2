package kernel

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// A folder runs the loops of reduce.cuh, which most reductions have as operators
// with a formula.
type folder interface {
	Reduce(c *ir.Call) error
}

// spreadOp describes the kernels of spread.cu as those of a reduction.
var spreadOp = &ir.Op{
	Name: "spread_folded", Kind: ir.Reduction,
	In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassFloat, Switch: -1,
	Attrs: []ir.Attr{{Name: "divisor", Kind: ir.AttrFloat}},
	CUDA:  ir.CUDAKernels{Module: "spread", Symbol: "spread"},
}

// Spread returns the sums of the squared distances of x's elements along the axes in
// attribute dim from their mean, divided by attribute divisor.
func Spread(g ir.GPU, c *ir.Call) error {
	f, ok := g.(folder)
	if !ok {
		return fmt.Errorf("not implemented on this device")
	}
	x, out := c.In[0], c.Out[0]
	axes, err := ir.Axes(c.Attrs[0].Ints, len(x.Shape))
	if err != nil {
		return err
	}
	// The result as a reduction's: with the axes that are folded, of extent 1.
	to, from := out, 0
	to.Shape, to.Strides = slices.Clone(x.Shape), make([]int, len(x.Shape))
	for a := range x.Shape {
		folded := slices.Contains(axes, a)
		if folded {
			to.Shape[a] = 1
		} else {
			to.Strides[a] = out.Strides[from]
		}
		if !folded || c.Attrs[2].Int != 0 {
			from++
		}
	}
	return f.Reduce(&ir.Call{
		Op: spreadOp, Compute: c.Compute, Space: x.Shape, Axes: axes, In: []ir.View{x}, Out: []ir.View{to},
		Scalars: []ir.Scalar{c.Attrs[1].Scalar},
	})
}
