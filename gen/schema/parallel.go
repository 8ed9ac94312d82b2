package schema

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"go.yaml.in/yaml/v4"
)

// writes reads which operands a kernel on lists of tensors writes, and makes them
// its results.
func (l *loader) writes(op *Op, n *yaml.Node) {
	items := l.list(n, "kernel: writes")
	if n.Kind == yaml.SequenceNode && len(items) == 0 {
		l.errorf(l.pos(n), "kernel: writes: the list is empty; want the operands that are written")
	}
	var results []Result
	for _, item := range items {
		name, ok := l.text(item, "kernel: writes")
		if !ok {
			continue
		}
		i := slices.IndexFunc(op.Params, func(p *Param) bool { return p.Name == name && p.Parallel })
		if i < 0 {
			l.errorf(l.pos(item), "kernel: writes: %q is no operand (have %s)", name, operandNames(op))
			continue
		}
		p := op.Params[i]
		switch {
		case p.Written:
			l.errorf(l.pos(item), "kernel: writes: %q is there twice", name)
		case p.DTypes != 0 && p.Fixed == ir.Invalid:
			l.errorf(l.pos(item), "kernel: writes: %q accepts several dtypes; what is written has the compute dtype, or one that is fixed", name)
		}
		p.Written = true
		results = append(results, Result{Name: p.Name, DType: p.Fixed})
	}
	if len(results) > 0 {
		op.Results = results
	}
}

// joint reads the expressions of an operator on lists of tensors: a map from the
// operands that are written to what becomes of them. The key let names parts of these.
// Every expression reads the old values of all operands, also of those that are
// written, so the order of the map means nothing. All lists agree in one dtype, and so the
// expressions of one place are one graph.
func (l *loader) joint(e *entry, n *yaml.Node) {
	op := e.op
	if n.Kind != yaml.MappingNode {
		l.errorf(l.pos(n), "expr: operands of type Tensor... want a map from those that are written to their expressions, have %s", kindName(n))
		return
	}
	if len(op.Operands()) > ir.MaxJoint {
		l.errorf(op.Pos, "expr: %d operands of type Tensor...; at most %d", len(op.Operands()), ir.MaxJoint)
	}
	l.noIndex(op)
	env, parts, complete := environment(op), newLets(), true
	nodes := map[string]*yaml.Node{}
	for _, f := range l.fields(n, "expr") {
		switch i := slices.IndexFunc(op.Params, func(p *Param) bool { return p.Name == f.name && p.Parallel }); {
		case f.name == "let":
			complete = l.lets(f.val, "expr", env, parts) && complete
		case i < 0:
			l.errorf(l.pos(f.key), "expr: %q is no operand (have %s)", f.name, operandNames(op))
			complete = false
		case op.Params[i].DTypes != 0:
			l.errorf(l.pos(f.key), "expr: %q accepts dtypes of its own; what an expression writes has the compute dtype", f.name)
			complete = false
		default:
			op.Params[i].Written = true
			nodes[f.name] = f.val
		}
	}
	for _, p := range op.Operands() {
		if p.Fixed != ir.Invalid {
			l.errorf(p.Pos, "expr: operand %q has a dtype of its own; lists of tensors agree in one", p.Name)
			complete = false
		}
	}
	if len(nodes) == 0 {
		l.errorf(l.pos(n), "expr: nothing is written; want a map from operands to expressions")
		return
	}
	if op.Tags&ir.TagNarrow != 0 && (!op.DTypes.Has(ir.Float32) || len(nodes) == len(op.Operands())) {
		l.errorf(e.at, "tag narrow: is for operands that are not written, beside others in float32; there are none")
	}
	l.jointResults(e, env, parts, nodes, complete)
	l.unusedLets("expr", parts)
}

// jointResults reads and checks the expressions, in the order of the operands. They are
// typed for every compute dtype, and the first that does not fit ends that, since the
// others would fail alike.
func (l *loader) jointResults(e *entry, env expr.Env, parts *lets, nodes map[string]*yaml.Node, complete bool) {
	op, v := e.op, Variant{}
	op.Results = nil
	for _, p := range op.Operands() {
		node := nodes[p.Name]
		if node == nil {
			continue
		}
		op.Results = append(op.Results, Result{Name: p.Name})
		x := l.partial(node, "expr: "+p.Name, env, parts)
		if x == nil {
			complete = false
			continue
		}
		x = computed(x)
		v.Exprs = append(v.Exprs, x)
		for _, t := range computeDTypes(op) {
			got := l.check(x, node, "expr: "+p.Name, t)
			if complete = complete && got == t; got == t {
				continue
			}
			if got != ir.Invalid {
				l.errorf(l.pos(node), "expr: %s: the expression gives %v for compute dtype %v; what is written has the compute dtype", p.Name, got, t)
			}
			break
		}
	}
	if complete {
		op.Variants = []Variant{v}
		l.unusedScalars(e, "expr", nil)
	}
}

// parallel checks the keys that mean nothing to an operator on lists of tensors:
// it is applied to tensors that exist, by code that holds them.
func (l *loader) parallel(e *entry) {
	for _, k := range []struct{ name, why string }{
		{"shape", "what is written has its shape"},
		{"promote", "the tensors agree in their dtype"},
		{"test", "the tables of tests have tensors that are returned; test it where it is called"},
	} {
		if f, ok := e.keys[k.name]; ok {
			l.errorf(l.pos(f.key), "%s: not for operands of type Tensor...: %s; leave it out", k.name, k.why)
		}
	}
	if e.op.Tags&ir.TagHidden == 0 {
		l.errorf(e.at, "tags: operands of type Tensor... need the tag hidden: there is no public function")
	}
	if f, ok := e.keys["grad"]; !ok {
		l.errorf(e.at, "grad: want none: what is written over has no gradient")
	} else if !isNone(f.val) {
		l.errorf(l.pos(f.key), "grad: want none: what is written over has no gradient")
	}
	for _, p := range e.op.Attrs() {
		if p.Option {
			l.errorf(p.Pos, "argument %q must stand before *: there is no public function to take options", p.Name)
		}
	}
}
