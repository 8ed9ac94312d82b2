package schema

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/ir"
)

// special reads for which numbers the operator is another one: by operand, a map from
// numbers to operators.
func (l *loader) special(e *entry) {
	f, ok := e.keys["special"]
	if !ok {
		return
	}
	op := e.op
	if in := op.Operands(); op.Kind != ir.Elementwise || len(in) != 2 || len(op.Attrs()) > 0 {
		l.errorf(l.pos(f.key), "special: is for an expr over two operands and no arguments")
		return
	}
	for _, k := range l.fields(f.val, "special") {
		i := slices.IndexFunc(op.Params, func(p *Param) bool { return p.Name == k.name && p.OrScalar })
		if i < 0 {
			l.errorf(l.pos(k.key), "special: %q is no operand that may be a number", k.name)
			continue
		}
		for _, v := range l.fields(k.val, "special: "+k.name) {
			l.specialValue(op, op.Params[i], v)
		}
	}
}

// specialValue reads one number and the operator that it makes of op.
func (l *loader) specialValue(op *Op, p *Param, f field) {
	value, ok := l.float(f.key, "special: "+p.Name)
	name, isText := l.text(f.val, "special: "+p.Name)
	if !ok || !isText {
		return
	}
	other := l.spec.Lookup(name)
	switch {
	case math.IsNaN(value):
		l.errorf(l.pos(f.key), "special: %s: NaN equals no number", p.Name)
	case slices.ContainsFunc(op.Special, func(s Special) bool { return s.Operand == p && s.Value == value }):
		l.errorf(l.pos(f.key), "special: %s: %v is there twice", p.Name, value)
	case other == nil:
		l.errorf(l.pos(f.val), "special: unknown operator %q", name)
	case !unary(other):
		l.errorf(l.pos(f.val), "special: %s must be an expr over one operand that keeps the compute dtype, without arguments", name)
	case op.Results[0].DType != ir.Invalid || !keepsDType(op.Promote):
		l.errorf(l.pos(f.key), "special: the result of %s has another dtype than it computes in", op.Name)
	case op.DTypes&other.DTypes == 0:
		l.errorf(l.pos(f.val), "special: %s accepts none of the dtypes of %s", name, op.Name)
	default:
		op.Special = append(op.Special, Special{Operand: p, Value: value, Op: other})
	}
}

// unary reports whether op maps one tensor to one of the compute dtype, with no more to say.
func unary(op *Op) bool {
	in := op.Operands()
	return op.Kind == ir.Elementwise && len(in) == 1 && in[0].Fixed == ir.Invalid && len(op.Attrs()) == 0 &&
		op.Results[0].DType == ir.Invalid && keepsDType(op.Promote)
}

// keepsDType reports whether results by a rule have the compute dtype.
func keepsDType(p ir.Promotion) bool {
	return p == ir.PromoteNone || p == ir.PromoteArith || p == ir.PromoteArithFloat
}
