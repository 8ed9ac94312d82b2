package schema

import (
	"errors"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"go.yaml.in/yaml/v4"
)

// scalarKinds says how expressions see arguments; the others they cannot read.
var scalarKinds = map[Type]expr.ParamKind{
	Int: expr.IntParam, Float: expr.FloatParam, Bool: expr.BoolParam, Scalar: expr.ScalarParam,
}

// environment returns what expressions of one element may name: the operands of op and its
// scalar arguments, of which a reduction's or scan's axes are none.
func environment(op *Op) expr.Env {
	var env expr.Env
	for _, p := range op.Params {
		kind, scalar := scalarKinds[p.Type]
		switch {
		case p.Operand >= 0:
			env.Operands = append(env.Operands, expr.Operand{Name: p.Name, Fixed: p.Fixed})
		case op.Kind != ir.Elementwise && op.Kind != ir.Joint && (p.Name == "dim" || p.Name == "keepdim"):
		case scalar:
			env.Params = append(env.Params, expr.Param{Name: p.Name, Kind: kind})
		}
	}
	return env
}

// computeDTypes returns the dtypes that bodies of op are checked for.
func computeDTypes(op *Op) []ir.DType {
	if op.Promote == ir.PromoteFixed {
		return []ir.DType{op.Fixed.Compute()}
	}
	var out []ir.DType
	for _, d := range op.DTypes.List() {
		if c := op.ComputeIn(d); !slices.Contains(out, c) {
			out = append(out, c)
		}
	}
	return out
}

// expression parses a scalar expression; nil after a mistake.
func (l *loader) expression(n *yaml.Node, what string, env expr.Env) *expr.Expr {
	text, ok := l.text(n, what)
	if !ok {
		return nil
	}
	x, err := expr.Parse(text, env)
	if err != nil {
		l.exprError(l.source(n), what, err, "")
		return nil
	}
	return x
}

func (l *loader) exprError(src source, what string, err error, suffix string) {
	var e *expr.Error
	if !errors.As(err, &e) {
		l.errorf(src.at(0), "%s: %v%s", what, err, suffix)
		return
	}
	l.errorf(src.at(e.Offset), "%s: %s%s", what, e.Msg, suffix)
}

// check types x for compute dtype t and returns its dtype; Invalid after a
// mistake.
func (l *loader) check(x *expr.Expr, n *yaml.Node, what string, t ir.DType) ir.DType {
	g, err := x.Check(t)
	if err != nil {
		l.exprError(l.source(n), what, err, " (for compute dtype "+t.String()+")")
		return ir.Invalid
	}
	return g.Result()
}

// computed returns x such that a number alone has the compute dtype.
func computed(x *expr.Expr) *expr.Expr {
	if x.Root.Op == expr.OpConst && x.Root.Value.Category() != ir.CategoryBool {
		if y, err := expr.Parse("cast("+x.String()+")", x.Env); err == nil {
			return y
		}
	}
	return x
}

// A typing is the dtype that a body gives for one compute dtype.
type typing struct{ compute, result ir.DType }

// settle checks a result's dtype against promotion and signature, and fixes
// it in the Op where it does not follow from the compute dtype.
func (l *loader) settle(op *Op, res *Result, pos Pos, what string, ts []typing) {
	all := func(ok func(typing) bool) bool {
		return !slices.ContainsFunc(ts, func(t typing) bool { return !ok(t) })
	}
	isT := func(t typing) bool { return t.result == t.compute }
	isReal := func(t typing) bool { return t.result == t.compute.Real() }
	isBool := func(t typing) bool { return t.result == ir.Bool }
	isInt64 := func(t typing) bool { return t.result == ir.Int64 }
	wrong := func(ok func(typing) bool, why string) {
		t := ts[slices.IndexFunc(ts, func(t typing) bool { return !ok(t) })]
		l.errorf(pos, "%s: the expression gives %v for compute dtype %v; %s", what, t.result, t.compute, why)
	}
	fixed := ir.Invalid
	switch {
	case op.Promote == ir.PromoteCompare && !all(isBool):
		wrong(isBool, "with promote: compare it must give bool")
		return
	case op.Promote == ir.PromoteCompare, all(isBool) && !all(isT):
		fixed = ir.Bool
	case all(isInt64) && !all(isT) && res.DType == ir.Invalid:
		wrong(isT, "say so in the signature (-> Tensor int64), or write cast(...) for the compute dtype")
		return
	case all(isInt64) && !all(isT):
		fixed = ir.Int64
	case op.Promote == ir.PromoteToReal && !all(isReal):
		wrong(isReal, "with promote: to_real it must give the real dtype")
		return
	case op.Promote == ir.PromoteToReal, all(isT):
	case all(isReal):
		wrong(isT, "say promote: to_real")
		return
	default:
		wrong(isT, "a result has the compute dtype, its real dtype, bool or int64, the same for all")
		return
	}
	if res.DType == ir.Invalid {
		res.DType = fixed
	} else if alone := len(ts) > 0 && all(func(t typing) bool { return t.result == res.DType }); res.DType != fixed && !alone {
		l.errorf(pos, "%s: the signature says that the result is %v, but the expression gives %v for compute dtype %v", what, res.DType, ts[0].result, ts[0].compute)
	}
}

// elementwise reads an expr body.
func (l *loader) elementwise(e *entry, n *yaml.Node) {
	op := e.op
	l.elementwiseParams(e)
	if op.Results[0].List {
		l.errorf(op.Pos, "expr: an expression gives one tensor for each result, and no list")
		return
	}
	several := len(op.Results) > 1
	names, bodies := l.cases(e, n, "expr", n.Kind == yaml.MappingNode && !(several && keyed(n, resultNames(op)...)) && !keyed(n, "let"))
	env := environment(op)
	if op.Factory() {
		env.Params = slices.DeleteFunc(env.Params, func(p expr.Param) bool { return p.Name == "shape" })
	}
	complete := len(names) > 0
	types := make([][]typing, len(op.Results))
	for i, body := range bodies {
		list, ok := l.elementwiseBody(op, body, env)
		if !ok {
			complete = false
			continue
		}
		op.Variants = append(op.Variants, Variant{Name: names[i], Exprs: list.exprs})
		for k, x := range list.exprs {
			what := "expr"
			if several {
				what += ": " + op.Results[k].Name
			}
			got, ok := l.typings(op, x, list.nodes[k], what)
			types[k], complete = append(types[k], got...), complete && ok
		}
	}
	if !complete {
		return
	}
	for k := range op.Results {
		what := "expr"
		if several {
			what += ": " + op.Results[k].Name
		}
		l.settle(op, &op.Results[k], l.pos(n), what, types[k])
	}
	l.unusedScalars(e, "expr", nil)
}

// elementwiseBody reads the one expression of a body, or those of several results. One
// that has parts is a map, too.
func (l *loader) elementwiseBody(op *Op, n *yaml.Node, env expr.Env) (list named, ok bool) {
	if len(op.Results) > 1 || keyed(n, "let") {
		list, ok = l.named(n, "expr", "results", resultNames(op), env)
	} else if x := l.expression(n, "expr", env); x != nil {
		list, ok = named{[]*expr.Expr{x}, []*yaml.Node{n}}, true
	}
	for i := range list.exprs {
		if ok {
			list.exprs[i] = computed(list.exprs[i])
		}
	}
	return list, ok
}

// typings checks x for every compute dtype of op. It is not ok after a mistake.
func (l *loader) typings(op *Op, x *expr.Expr, n *yaml.Node, what string) (out []typing, ok bool) {
	for _, t := range computeDTypes(op) {
		got := l.check(x, n, what, t)
		if got == ir.Invalid {
			return nil, false
		}
		out = append(out, typing{t, got})
	}
	return out, true
}

// elementwiseParams checks the parameters of an expr entry.
func (l *loader) elementwiseParams(e *entry) {
	op := e.op
	if op.Factory() {
		if len(op.Params) == 0 || op.Params[0].Name != "shape" || op.Params[0].Type != Ints || op.Params[0].Option {
			l.errorf(op.Pos, "expr: an operator without operands is a factory, whose first argument must be shape []int")
		}
	} else {
		op.Tags |= ir.TagPointwise
	}
	for _, p := range op.Params {
		switch {
		case p.Type == TensorList:
			l.errorf(p.Pos, "expr: operand %q is a list; expressions read single operands", p.Name)
		case p.Optional:
			l.errorf(p.Pos, "expr: operand %q is optional; an expression reads every operand", p.Name)
		}
	}
	l.noIndex(op)
}

// noIndex reports a parameter that has the name of an element's place.
func (l *loader) noIndex(op *Op) {
	for _, p := range op.Params {
		if p.Name == "index" {
			l.errorf(p.Pos, "expr: index is the place of an element; choose another name for the parameter")
		}
	}
}

// unusedScalars reports operands and arguments that no expression reads. Those
// in known are read elsewhere.
func (l *loader) unusedScalars(e *entry, what string, known []string) {
	op := e.op
	for i, p := range op.Params {
		switch {
		case p == op.Switch, slices.Contains(known, p.Name), op.Factory() && i == 0:
			continue
		case p.Type == DType && (op.Promote == ir.PromoteOption || op.Promote == ir.PromoteSumAcc || op.Promote == ir.PromoteArithFloat):
			continue
		case !slices.ContainsFunc(op.Variants, func(v Variant) bool { return v.uses(p.Name) }):
			l.errorf(p.Pos, "parameter %q is not used in %s", p.Name, what)
		}
	}
}

func (v Variant) uses(name string) bool {
	list := slices.Concat([]*expr.Expr{v.Init, v.Map, v.Combine, v.Finish}, v.Exprs)
	if f := v.Fold; f != nil {
		list = slices.Concat(f.Init, f.Map, f.Combine, f.Finish)
	}
	for _, x := range list {
		if x != nil && x.Uses(name) {
			return true
		}
	}
	return false
}
