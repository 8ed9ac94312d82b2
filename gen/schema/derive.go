package schema

import (
	"errors"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// derive finds the gradient of operand p of an element-wise operator, one
// expression a variant.
func (l *loader) derive(e *entry, p *Param, g *Grad) {
	f := e.keys["expr"]
	complexToo := e.op.DTypes&ir.ClassComplex != 0
	for _, v := range e.op.Variants {
		d, err := expr.Gradient(e.op.differentiable(v), p.Name, complexToo)
		if err == nil {
			d = computed(d) // zero everywhere, as for a step
			err = checkDerived(e.op, d)
		}
		if err != nil {
			l.errorf(l.pos(f.key), "grad: none can be derived for operand %q%s: %s; write it, or none", p.Name, ofVariant(v), messageOf(err))
			return
		}
		g.Derived = append(g.Derived, d)
	}
}

// DyOf is the name of a result's gradient in gradients of op.
func (op *Op) DyOf(r Result) string {
	if len(op.Results) > 1 {
		return expr.GradName + "_" + r.Name
	}
	return expr.GradName
}

// differentiable are the results of a variant that gradients flow from, by the name of
// the gradient.
func (op *Op) differentiable(v Variant) []expr.Result {
	var out []expr.Result
	for i, r := range op.Results {
		if r.DType == ir.Invalid || differentiable.Has(r.DType) {
			out = append(out, expr.Result{Dy: op.DyOf(r), Expr: v.Exprs[i]})
		}
	}
	return out
}

// checkDerived types a derived gradient for the dtypes that have one.
func checkDerived(op *Op, d *expr.Expr) error {
	for _, t := range computeDTypes(op) {
		if !t.Differentiable() {
			continue
		}
		if _, err := d.Check(t); err != nil {
			return err
		}
	}
	return nil
}

// byRule reports a reduction whose gradient does not follow from its form: each
// body must combine by a sum, or by max or min, and the rest must have
// derivatives.
func (l *loader) byRule(e *entry, p *Param) {
	f := e.keys["reduce"]
	complexToo := e.op.DTypes&ir.ClassComplex != 0
	for _, v := range e.op.Variants {
		if v.Fold != nil {
			if _, err := StateGradient(e.op, v.Fold, p.Name); err != nil {
				l.errorf(l.pos(f.key), "grad: none can be derived for operand %q%s: %s; write it, or none", p.Name, ofVariant(v), messageOf(err))
				return
			}
			continue
		}
		if !sumOrExtremum(v.Combine.Root, "a", "b") {
			l.errorf(l.pos(f.key), "grad: none can be derived for operand %q%s: combine is neither a + b nor max or min of a and b; write it, or none", p.Name, ofVariant(v))
			return
		}
		_, err := v.Map.Gradient(p.Name, complexToo)
		if err == nil {
			_, err = v.Finish.Gradient("a", complexToo)
		}
		if err != nil {
			l.errorf(l.pos(f.key), "grad: none can be derived for operand %q%s: %s; write it, or none", p.Name, ofVariant(v), messageOf(err))
			return
		}
	}
}

// sumOrExtremum reports whether n is the sum, the maximum or the minimum of two names.
func sumOrExtremum(n *expr.Node, a, b string) bool {
	if n.Op != expr.OpCall || len(n.Args) != 2 || !slices.Contains([]string{"add", "max", "min"}, n.Name) {
		return false
	}
	x, y := n.Args[0], n.Args[1]
	return x.Op == expr.OpName && y.Op == expr.OpName && (x.Name == a && y.Name == b || x.Name == b && y.Name == a)
}

func ofVariant(v Variant) string {
	if v.Name == "" {
		return ""
	}
	return " in " + v.Name
}

// messageOf returns an expression error's message without its column, which
// means nothing in a derived expression.
func messageOf(err error) string {
	if e, ok := errors.AsType[*expr.Error](err); ok {
		return strings.TrimSuffix(e.Msg, "; write the gradient")
	}
	return err.Error()
}
