package ops

import (
	"slices"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// fuse adds the operators that gradients are computed by to the groups of those
// they differentiate.
func (e *emitter) fuse() {
	e.fused, e.goNames = map[*schema.Op]map[string]*schema.Op{}, map[string]bool{}
	for _, g := range e.Groups {
		for _, op := range slices.Clone(g.Ops) {
			e.fused[op] = e.fusedGrads(op)
			for _, f := range e.fused[op] {
				g.Ops = append(g.Ops, f)
				e.DerivedOps[f], e.goNames[unit.Lower(f.GoName)] = true, true
			}
		}
		slices.SortFunc(g.Ops, unit.ByName)
	}
}

// fusedGrads returns, for each operand of op whose gradient is derived and not
// trivial, the hidden operator that computes it in one pass.
func (e *emitter) fusedGrads(op *schema.Op) map[string]*schema.Op {
	out := map[string]*schema.Op{}
	for i := range op.Grads {
		g := &op.Grads[i]
		if g.None || g.Derived == nil {
			continue
		}
		cheap := true
		for _, x := range g.Derived {
			c := &composer{e: e, op: op, dry: true}
			c.expr(x)
			cheap = cheap && c.calls <= 1
		}
		placed := e.placed(op, g)
		if cheap && len(g.Derived) == 1 && !placed {
			continue
		}
		f := fusedGrad(op, g)
		if placed {
			e.selfAdjoint(op, f)
		}
		out[g.Operand.Name] = f
	}
	return out
}

// placed reports whether a derived gradient depends on the place of an element,
// so that only a fused operator can compute it.
func (e *emitter) placed(op *schema.Op, g *schema.Grad) bool {
	for _, x := range g.Derived {
		c := &composer{e: e, op: op, dry: true}
		c.expr(x)
		if c.placed {
			return true
		}
	}
	return false
}

// selfAdjoint gives the fused gradient f of op a gradient of its own. Where it
// reads no tensor but dy it multiplies dy by real numbers, so that it is its own
// gradient.
func (e *emitter) selfAdjoint(op, f *schema.Op) {
	call := schema.Value{Kind: schema.CallValue, Type: schema.Tensor, Op: f}
	for i, p := range f.Params {
		if p.Operand > 0 || p.Type == schema.Scalar {
			e.Fail(op, "its derived gradient depends on the place of the element and on %s, which has no gradient of its own; write grad", p.Name)
		}
		call.Args = append(call.Args, schema.Value{Kind: schema.NameValue, Type: p.Type, Name: p.Name})
		if i == 0 {
			f.Grads = []schema.Grad{{Operand: p, Block: &schema.Block{}}}
		}
	}
	f.NoGrad = false
	f.Grads[0].Block.Stmts = []schema.Stmt{{Return: true, Values: []schema.Value{call}}}
}

// fusedGrad describes the operator <name>_grad_<operand>: its operands are the
// results' gradients and what the derived expressions read.
func fusedGrad(op *schema.Op, g *schema.Grad) *schema.Op {
	from := ", from the gradient dy of its result."
	if len(op.Results) > 1 {
		from = ", from the gradients of its results."
	}
	f := &schema.Op{
		Name:    op.Name + "_grad_" + g.Operand.Name,
		GoName:  op.GoName + "Grad" + schema.GoName(g.Operand.Name),
		Doc:     "returns the gradient of " + op.Name + " with respect to " + g.Operand.Name + from,
		Group:   op.Group,
		Pos:     op.Pos,
		Results: []schema.Result{{Name: "dx"}},
		DTypes:  op.DTypes & (ir.ClassFloat | ir.ClassComplex),
		Promote: ir.PromoteArith,
		Kind:    ir.Elementwise,
		NoGrad:  true,
		Tags:    ir.TagHidden | ir.TagPointwise,
	}
	used := map[string]bool{dyNames(op)[0]: true}
	for i, x := range g.Derived {
		for _, n := range namesIn(x) {
			used[n] = true
		}
		v := schema.Variant{Exprs: []*expr.Expr{x}}
		if op.Switch != nil {
			v.Name = op.Switch.Enum[i]
			used[op.Switch.Name] = true
		}
		f.Variants = append(f.Variants, v)
	}
	operands, attrs := 0, 0
	add := func(p schema.Param) {
		p.Option, p.Optional, p.OrScalar, p.Default = false, false, false, schema.Literal{}
		if p.Operand >= 0 {
			p.Operand = operands
			operands++
		} else {
			p.Attr = attrs
			attrs++
		}
		if op.Switch != nil && p.Name == op.Switch.Name {
			f.Switch = &p
		}
		f.Params = append(f.Params, &p)
	}
	for _, dy := range dyNames(op) {
		if used[dy] {
			add(schema.Param{Name: dy, Type: schema.Tensor, Attr: -1})
		}
	}
	for _, p := range op.Operands() {
		if used[p.Name] {
			add(*p)
		}
	}
	for _, r := range op.Results {
		if used[r.Name] {
			add(schema.Param{Name: r.Name, Type: schema.Tensor, Attr: -1})
		}
	}
	for _, p := range op.Attrs() {
		if used[p.Name] {
			add(*p)
		}
	}
	return f
}
