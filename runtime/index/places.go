package index

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/runtime/core"
)

// single returns the axis of the one tensor of places, and that tensor as a list; nil
// where there are several.
func (p *part) single(o *Operators) (axis int, at *core.Tensor) {
	for i, a := range p.axes {
		switch {
		case a.at == nil:
		case at != nil:
			return 0, nil
		default:
			axis, at = i, a.at
		}
	}
	return axis, o.Reshape(at, []int{core.Look(at).NumElements()})
}

// rows returns x with its axes up to the last with a tensor of places made one, and
// the others as p says.
func (p *part) rows(o *Operators, x *core.Tensor) *core.Tensor {
	r := core.Look(p.region(o, x, p.lead))
	return o.Reshape(r, append([]int{ir.NumElements(p.of[:p.lead])}, r.Shape()[p.lead:]...))
}

// positions returns which of the rows the part consists of: a tensor with those axes
// of the part that come of the rows, in the part's order. A position is a sum of one
// term for each axis of x before the rows' own, as if these were row-major.
func (p *part) positions(o *Operators) *core.Tensor {
	strides := ir.ContiguousStrides(p.of[:p.lead])
	var terms []*core.Tensor // of the slots, the last first
	fixed, after := 0, 0     // what numbers add, and how many axes follow
	for i, a := range p.axes[:p.lead] {
		if a.at == nil {
			fixed += a.start * strides[i]
		}
	}
	order := p.order()
	for i := len(order) - 1; i >= 0; i-- {
		s := order[i]
		switch {
		case s.block:
			terms = append(terms, trailing(o, p.blockTerm(o, strides), after))
			after += len(p.block)
		case s.axis >= 0 && s.axis < p.lead:
			a := p.axes[s.axis]
			step := a.step * strides[s.axis]
			if a.reverse {
				fixed += (a.extent - 1) * step
				step = -step
			}
			terms = append(terms, trailing(o, o.Steps([]int{a.extent}, 1, step, &core.Placement{Device: p.place.Device, DType: ir.Int64}), after))
			after++
		}
	}
	sum := core.ScalarTensor(ir.IntScalar(int64(fixed)))
	for _, t := range terms {
		sum = o.Add(sum, t)
	}
	return sum
}

// blockTerm returns what the tensors of places add to positions.
func (p *part) blockTerm(o *Operators, strides []int) *core.Tensor {
	var sum *core.Tensor
	for i, a := range p.axes[:p.lead] {
		if a.at == nil {
			continue
		}
		term := o.AxisIndex(a.at, i, p.of[i], strides[i])
		if sum == nil {
			sum = term
		} else {
			sum = o.Add(sum, term)
		}
	}
	return sum
}

// trailing returns x with n axes of extent 1 after its own.
func trailing(o *Operators, x *core.Tensor, n int) *core.Tensor {
	return o.Reshape(x, append(slices.Clone(core.Look(x).Shape()), slices.Repeat([]int{1}, n)...))
}
