package fused

import (
	"slices"

	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
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
	own := &into{Fold: f}
	own.bySingle.make = own.make
	return ir.Code{For: vector.Kind, Of: ir.KernelFunc(own.run)}, nil
}

// into is a fold with the machine code that computes rows and folds them into rows of
// accumulators.
type into struct {
	*fusion.Fold
	bySingle
}

// run is the function of the fold.
func (f *into) run(c *ir.Call) error {
	n, last := len(f.Before.Op.Attrs), len(c.Out)-1
	before := ir.Call{Kernel: f.Before.Kernel, In: c.In, Space: c.In[0].Shape, Scalars: c.Scalars[:n], Attrs: c.Attrs[:n]}
	if before.Out = c.Out[:last]; !f.Stored {
		x := ir.View{DType: f.Before.Kernel.Out[f.Folded].DType, Shape: before.Space, Strides: ir.ContiguousStrides(before.Space)}
		before.Out = slices.Insert(slices.Clone(before.Out), f.Folded, x)
	}
	x := ir.View{Ptr: before.Out[f.Folded].Ptr, DType: before.Out[f.Folded].DType, Shape: c.Space, Strides: ir.ContiguousStrides(c.Space)}
	own := ir.Call{Kernel: f.Of, Space: c.Space, Axes: c.Axes, In: []ir.View{x}, Out: c.Out[last:], Scalars: c.Scalars[n:], Attrs: c.Attrs[n:]}
	return exec.RunComputed(&own, &before, f.Folded, f.get)
}

// make compiles the code; nil where that is not possible. Values are the operands, the
// accumulators, the results of the region, and what becomes of the accumulators.
func (f *into) make(single uint64) *vector.Rows {
	k, of := f.Before.Kernel, f.Of
	if out := k.Out[f.Folded]; out.DType != of.Compute || out.Compute != of.Compute {
		return nil
	}
	before, err := body.Of(k)
	if err != nil {
		return nil
	}
	fold, err := body.Of(of)
	if err != nil {
		return nil
	}
	operands, results := len(k.In), len(k.Out)
	last := operands + 1 + results
	l := &loops.Rows{Operands: operands + 1, Scalars: len(f.Op.Attrs), Single: make([]bool, last+1), Stored: make([]bool, last+1), DTypes: make([]ir.DType, last+1)}
	stage := loops.Stage{Graph: before.Expr, Inputs: lower.Inputs(before.Expr), Out: operands + 1, Results: results}
	for i, p := range k.In {
		l.DTypes[i], l.Single[i] = p.DType, single>>i&1 != 0
		stage.In = append(stage.In, i)
	}
	for i, p := range k.Out {
		l.DTypes[operands+1+i], l.Stored[operands+1+i] = p.DType, i != f.Folded
	}
	l.DTypes[operands], l.DTypes[last], l.Stored[last] = of.Compute, of.Compute, true
	l.Stages = []loops.Stage{stage, {
		Fold: &loops.Fold{Init: fold.Init, Map: fold.Map, Combine: fold.Combine, Operand: of.Op.In[0].Name, Inputs: lower.Inputs}, Into: true,
		In: []int{operands + 1 + f.Folded, operands}, Out: last, Results: 1, Scalar: len(f.Before.Op.Attrs)}}
	code, err := made.CompilePasses(l)
	if err != nil {
		return nil
	}
	return rowsOf(code, func(v int) int {
		switch {
		case v < operands:
			return v + results
		case v == operands || v == last:
			return -1
		}
		return v - operands - 1
	})
}
