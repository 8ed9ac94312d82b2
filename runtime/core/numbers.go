package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// checkNumbers reports a number, given in place of an operand or as an argument,
// that the compute dtype does not hold where it must. Numbers among themselves keep
// their full precision.
func (p *application) checkNumbers() error {
	if p.wrapped {
		return nil
	}
	op := p.a.Op
	for i, t := range p.a.In {
		if t == nil || !t.wrapped {
			continue
		}
		o := operandOf(op, i)
		if o.Fixed != ir.Invalid || o.Number == ir.NumberAny || o.Number == ir.NumberInt && p.compute.Category() > ir.CategoryInt {
			continue
		}
		if s := decode(t.storage.host(), t.dtype); !s.Fits(p.compute) {
			return misfit(o.Name, s, p.compute)
		}
	}
	return attrsFit(op, p.a.Attrs, p.compute)
}

// attrsFit reports a Scalar argument that dt does not hold. Where numbers take part
// in promotion, one of a higher category than dt would be rounded to it.
func attrsFit(op *ir.Op, attrs []ir.Value, dt ir.DType) error {
	for i := range attrs {
		at := &op.Attrs[i]
		if at.Kind != ir.AttrScalar {
			continue
		}
		s := attrs[i].Scalar
		if !s.Fits(dt) {
			return misfit(at.Name, s, dt)
		}
		if op.Promote == ir.PromoteArith && len(op.In) > 0 && s.Category() > dt.Category() {
			return fmt.Errorf("%w: %s is %v, which %s would round; want a number of this category", ErrDType, at.Name, s, dt)
		}
	}
	return nil
}

func misfit(name string, s ir.Scalar, dt ir.DType) error {
	return fmt.Errorf("%w: %s is %v: value cannot be converted to type %s without overflow", ErrDType, name, s, dt)
}
