package schema

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"go.yaml.in/yaml/v4"
)

// differentiable are the dtypes that gradients exist for.
const differentiable = ir.ClassFloat | ir.ClassComplex

// grad reads or derives the gradient of each operand. What an operand gets is written in
// the entry, derived from its expressions as an expression, or left to a rule that
// whoever differentiates knows from the body's kind (ByRule): the parts of a composition, and
// sums and extremes.
func (l *loader) grad(e *entry) {
	defer l.reportUnused(e)
	op := e.op
	f, written := e.keys["grad"]
	if !e.bodied {
		return // its mistakes are reported, and a gradient would only repeat them
	}
	if op.Parallel() { // it writes over its operands, so there is nothing to differentiate by
		op.NoGrad = true
		return
	}
	if !flows(op) {
		op.NoGrad = true
		if written && !isNone(f.val) {
			l.errorf(l.pos(f.key), "grad: no gradient flows from %s to %s, so there is none to write", resultsOf(op), operandNames(op))
		}
		return
	}
	if written && isNone(f.val) {
		op.NoGrad = true
		return
	}
	given := map[string]field{}
	if written {
		for _, k := range l.fields(f.val, "grad") {
			if i := slices.IndexFunc(op.Params, func(p *Param) bool { return p.Name == k.name && p.Operand >= 0 }); i < 0 {
				l.errorf(l.pos(k.key), "grad: %q is no operand (have %s)", k.name, operandNames(op))
				continue
			}
			given[k.name] = k
		}
	}
	for _, p := range op.Operands() {
		k, ok := given[p.Name]
		op.Grads = append(op.Grads, l.operandGrad(e, p, k, ok, written))
	}
	if !slices.ContainsFunc(op.Grads, func(g Grad) bool { return !g.None }) {
		op.Grads, op.NoGrad = nil, true
	}
}

func isNone(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Value == "none" }

// operandGrad returns the gradient of one operand: as written under k, or
// derived.
func (l *loader) operandGrad(e *entry, p *Param, k field, given, others bool) Grad {
	g := Grad{Operand: p}
	switch {
	case given && isNone(k.val):
		g.None = true
	case given && !floatOperand(e.op, p):
		l.errorf(l.pos(k.key), "grad: operand %q is never of a float dtype, so it has no gradient", p.Name)
	case given:
		g.Block = l.gradBlock(e, p, k.val)
	case !floatOperand(e.op, p):
		g.None = true
	case e.op.Kind == ir.Composition && others && len(e.op.Operands()) > 1:
		l.errorf(l.pos(e.keys["grad"].key), "grad: operand %q has no gradient; the composition is differentiated by its parts for every operand or for none", p.Name)
	case e.op.Kind == ir.Composition:
		g.ByRule = true
	case e.op.Kind == ir.Elementwise:
		l.derive(e, p, &g)
	case e.op.Kind == ir.Reduction:
		l.byRule(e, p)
		g.ByRule = true
	default:
		l.errorf(e.at, "grad: the gradient of operand %q is missing; write it, or none", p.Name)
	}
	return g
}

// gradBlock checks a written gradient.
func (l *loader) gradBlock(e *entry, p *Param, n *yaml.Node) *Block {
	if _, ok := l.text(n, "grad"); !ok {
		return nil
	}
	x := l.lang(e, n)
	x.results, x.list = 1, p.Type == TensorList
	x.bindParams(e.op)
	for _, r := range e.op.Results {
		t := Tensor
		if r.List {
			t = TensorList
		}
		x.bind(r.Name, binding{typ: t})
		switch {
		case r.DType != ir.Invalid && !differentiable.Has(r.DType):
		case len(e.op.Results) == 1:
			x.bind("dy", binding{typ: t})
		default:
			x.bind("dy_"+r.Name, binding{typ: t, grad: true})
		}
	}
	b := x.block()
	e.unused = slices.DeleteFunc(e.unused, func(p *Param) bool { return x.names[p.Name].used })
	return b
}

// flows reports whether a gradient can pass through op at all: some operand and
// some result may have a float dtype.
func flows(op *Op) bool {
	in := slices.ContainsFunc(op.Operands(), func(p *Param) bool { return floatOperand(op, p) })
	out := slices.ContainsFunc(op.Results, func(r Result) bool {
		switch {
		case r.DType != ir.Invalid:
			return differentiable.Has(r.DType)
		case op.Promote == ir.PromoteCompare:
			return false
		case op.Promote == ir.PromoteFixed:
			return differentiable.Has(op.Fixed)
		case op.Promote == ir.PromoteOption, op.Promote == ir.PromoteArithFloat, op.Kind == ir.Composition:
			return true
		}
		return op.DTypes&differentiable != 0
	})
	return in && out
}

// floatOperand reports whether operand p of op may have a float dtype.
func floatOperand(op *Op, p *Param) bool {
	switch {
	case p.Fixed != ir.Invalid:
		return differentiable.Has(p.Fixed)
	case p.DTypes != 0:
		return p.DTypes&differentiable != 0
	case op.Promote == ir.PromoteFixed:
		return differentiable.Has(op.Fixed)
	}
	return op.DTypes&differentiable != 0
}

func resultsOf(op *Op) string {
	if len(op.Results) == 1 {
		return "the result"
	}
	return "the results"
}
