package fused

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// Fold returns the function of a reduction and of what makes its operand, whose elements are
// computed where the reduction's loops fold them next: in a piece of the first cache.
func Fold(f *fusion.Fold) (ir.Code, error) {
	code, err := Code(f.Before)
	if err != nil {
		return ir.Code{}, err
	}
	f.Before.Op.Code = []ir.Code{code}
	return ir.Code{For: vector.Kind, Of: ir.KernelFunc(func(c *ir.Call) error { return runFold(f, c) })}, nil
}

// runFold is the function.
func runFold(f *fusion.Fold, c *ir.Call) error {
	n, last := len(f.Before.Op.Attrs), len(c.Out)-1
	before := ir.Call{Kernel: f.Before.Kernel, In: c.In, Space: c.In[0].Shape, Scalars: c.Scalars[:n], Attrs: c.Attrs[:n]}
	if before.Out = c.Out[:last]; !f.Stored {
		x := ir.View{DType: f.Before.Kernel.Out[f.Folded].DType, Shape: before.Space, Strides: ir.ContiguousStrides(before.Space)}
		before.Out = slices.Insert(slices.Clone(before.Out), f.Folded, x)
	}
	x := ir.View{Ptr: before.Out[f.Folded].Ptr, DType: before.Out[f.Folded].DType, Shape: c.Space, Strides: ir.ContiguousStrides(c.Space)}
	own := ir.Call{Kernel: f.Of, Space: c.Space, Axes: c.Axes, In: []ir.View{x}, Out: c.Out[last:], Scalars: c.Scalars[n:], Attrs: c.Attrs[n:]}
	return exec.RunComputed(&own, &before, f.Folded)
}
