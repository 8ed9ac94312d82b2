package core

import (
	"fmt"

	"github.com/sinter-go/sinter/ir"
)

// Refused returns the error that an application of the composition op to in begins
// with: that of an operand, or one about dtypes that op does not declare. It is nil
// where there is none.
func Refused(op *ir.Op, in ...*Tensor) *Tensor {
	if t := FirstError(in...); t != nil {
		return t
	}
	if err := composable(op, in); err != nil {
		return Fail(op, err)
	}
	return nil
}

// composable checks the operands of a composition against the dtypes that op declares.
// Which dtypes go together is for its parts to say.
func composable(op *ir.Op, in []*Tensor) error {
	a := Apply{Op: op, In: in}
	if err := a.checkOperands(); err != nil {
		return err
	}
	if op.DTypes == ir.ClassAll {
		return nil
	}
	types, wrapped := typesOf(op, in)
	if len(types) == 0 {
		return nil
	}
	if op.Promote == ir.PromoteNone {
		if wrapped || op.DTypes.Takes(ir.Promote(types...)) {
			return nil
		}
		op = &ir.Op{DTypes: op.DTypes, Promote: ir.PromoteArith}
	}
	_, _, err := op.Types(types, ir.Invalid, DefaultFloat())
	if err != nil {
		return fmt.Errorf("%w: %w", ErrDType, err)
	}
	return nil
}

// typesOf returns the types of the operands that take part in promotion, and whether
// all of them are host numbers.
func typesOf(op *ir.Op, in []*Tensor) (types []ir.TypeOperand, wrapped bool) {
	wrapped = true
	for i, t := range in {
		if o := operandOf(op, i); t == nil || o != nil && o.Fixed != ir.Invalid {
			continue
		}
		if types == nil {
			types = make([]ir.TypeOperand, 0, len(in)-i)
		}
		types = append(types, ir.TypeOperand{DType: t.promoteDType(), Rank: t.Rank(), Wrapped: t.wrapped})
		wrapped = wrapped && t.wrapped
	}
	return types, wrapped
}

// half reports whether t is of a dtype that is accumulated in a wider one.
func half(t *Tensor) bool { return t != nil && t.dtype.Compute() != t.dtype && t.dtype.IsFloat() }

// Narrow reports whether a composition of op that rounds more than once must be
// computed of wider operands: whether one of those is of 16 bits. It then also returns
// the dtype that op rounds its results to, which is that of all its operands.
func Narrow(op *ir.Op, in []*Tensor, widened ...*Tensor) (to ir.DType, narrow bool) {
	for _, t := range widened {
		if half(t) {
			types, _ := typesOf(op, in)
			return ir.Promote(types...), true
		}
	}
	return ir.Invalid, false
}

// Mixed reports whether the operands of op, a composition whose operands may differ in
// dtype, do. It is then computed in the dtype wide that they promote to. The first, whose
// dtype the result has, is of one that op declares: its parts refuse any other.
func Mixed(op *ir.Op, in []*Tensor) (wide ir.DType, mixed bool) {
	types, _ := typesOf(op, in)
	if !op.DTypes.Has(types[0].DType) {
		return ir.Invalid, false
	}
	for _, t := range types {
		mixed = mixed || t.DType != types[0].DType
	}
	return ir.Promote(types...), mixed
}

// As returns x in dtype dt, differentiably: x itself where it is not there.
func As(x *Tensor, dt ir.DType) *Tensor {
	if x == nil {
		return nil
	}
	return castTo(x, dt)
}

// FirstAs returns outs with the first, which it takes over, in dtype dt.
func FirstAs(outs []*Tensor, dt ir.DType) []*Tensor {
	outs[0] = castTo(outs[0], dt)
	return outs
}

// Wide returns x in the dtype that it is accumulated in, differentiably: x itself where
// it is not of 16 bits, or not there.
func Wide(x *Tensor) *Tensor {
	if half(x) {
		return castTo(x, x.dtype.Compute())
	}
	return x
}

// WideAll is Wide for each of xs.
func WideAll(xs []*Tensor) []*Tensor {
	out := make([]*Tensor, len(xs))
	for i, x := range xs {
		out[i] = Wide(x)
	}
	return out
}

// Round returns what was computed of Wide operands in dtype to, where that is the
// narrower one; and x itself where not.
func Round(x *Tensor, to ir.DType) *Tensor {
	if to != ir.Invalid && to != x.dtype && to.IsFloat() && to.Compute() == x.dtype {
		return castTo(x, to)
	}
	return x
}

// RoundAll is Round for each of xs.
func RoundAll(xs []*Tensor, to ir.DType) []*Tensor {
	for i, x := range xs {
		xs[i] = Round(x, to)
	}
	return xs
}

// WideSpread is Wide where operand i of an element-wise operator or a reduction was
// broadcast, so that its gradient is a sum of what the elements contribute, and x itself
// elsewhere.
func (g *Grad) WideSpread(i int, x *Tensor) *Tensor {
	if !equalInts(g.InShape(i), g.Space()) {
		return Wide(x)
	}
	return x
}
