package opaque

import (
	"fmt"

	"github.com/sinter-go/sinter/backend/cuda/code"
	"github.com/sinter-go/sinter/ir"
)

// A runner runs the kernels of operators that have device code of their own.
type runner interface {
	Run(c *ir.Call) error
}

// spreadOp describes the kernels of spread.cu as those of a reduction, meanOp and rootOp
// those of the standard operators mean and root.
var (
	spreadOp = &ir.Op{
		Name: "spread", Kind: ir.Reduction,
		In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassFloat, Switch: -1,
		Attrs: []ir.Attr{{Name: "divisor", Kind: ir.AttrFloat}},
		Code:  emitted("spread", "spread"),
	}
	meanOp = &ir.Op{
		Name: "mean", Kind: ir.Reduction,
		In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassFloat, Switch: -1,
		Attrs: []ir.Attr{{Name: "keepdim", Kind: ir.AttrBool}},
		Code:  emitted("reduction", "mean"),
	}
	rootOp = &ir.Op{
		Name: "root", Kind: ir.Elementwise,
		In: []ir.Operand{{Name: "x"}}, Out: []ir.Result{{Name: "out"}}, DTypes: ir.ClassFloat, Switch: -1,
		Code: emitted("reduction_b", "root"),
	}
)

func emitted(module, symbol string) []ir.Code {
	return []ir.Code{{For: "cuda", Of: &code.Kernels{Module: module, Symbol: symbol}}}
}

// Spread returns the sums of the squared distances of x's elements along the axes of c
// from their mean, divided by attribute divisor. It computes in float32 of 16-bit floats
// and float32.
func Spread(g code.GPU, c *ir.Call) error {
	r, ok := g.(runner)
	if !ok {
		return fmt.Errorf("not implemented on this device")
	}
	return r.Run(folded(spreadOp, c, c.Out[0], c.Attrs[0].Scalar))
}

// Deviation returns the square roots of what Spread returns, of 16-bit floats without
// rounding that.
func Deviation(g code.GPU, c *ir.Call) error {
	out := c.Out[0]
	squares := out
	if d := out.DType.Compute(); d != out.DType {
		addr, err := g.Scratch(int64(out.NumElements() * d.Size()))
		if err != nil {
			return err
		}
		squares.Addr, squares.DType, squares.Strides = addr, d, ir.ContiguousStrides(out.Shape)
		for a, n := range out.Shape {
			if n == 1 { // axes that are folded stay so
				squares.Strides[a] = 0
			}
		}
	}
	if err := Spread(g, &ir.Call{Space: c.Space, Axes: c.Axes, In: c.In, Out: []ir.View{squares}, Attrs: c.Attrs}); err != nil {
		return err
	}
	return g.(runner).Run(&ir.Call{
		Kernel: rootOp.Stored(0, squares.DType, []ir.View{out}, []ir.View{squares}), Space: out.Shape, In: []ir.View{squares}, Out: []ir.View{out},
	})
}

// Moments returns what Spread returns, and the means.
func Moments(g code.GPU, c *ir.Call) error {
	if err := Spread(g, c); err != nil {
		return err
	}
	return g.(runner).Run(folded(meanOp, c, c.Out[1], ir.BoolScalar(true)))
}

// folded is the call of another reduction over the axes of c.
func folded(op *ir.Op, c *ir.Call, out ir.View, scalar ir.Scalar) *ir.Call {
	return &ir.Call{
		Kernel: op.Stored(0, c.In[0].DType, []ir.View{out}, c.In), Space: c.Space, Axes: c.Axes, In: c.In, Out: []ir.View{out}, Scalars: []ir.Scalar{scalar},
	}
}
