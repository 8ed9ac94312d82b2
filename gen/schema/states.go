package schema

import (
	"errors"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"go.yaml.in/yaml/v4"
)

// states reads the body of a reduction with several states, operands or results: maps
// from the states' names to expressions, and to those of the results in finish. One state
// has none, and a body with one state or result the expression alone.
func (l *loader) states(op *Op, n *yaml.Node, keys map[string]field, types [][]typing) (v Variant, ok bool) {
	states, ok := l.stateNames(op, keys["init"])
	if !ok {
		return v, false
	}
	f := &expr.Fold{States: states}
	if k, has := keys["first"]; has && !l.first(op, k.val, f) {
		return v, false
	}
	env := environment(op).Fold(states, f.Names, true)
	nodes := map[string][]*yaml.Node{}
	for _, part := range []struct {
		key, of string
		env     expr.Env
		names   []string
		to      *[]*expr.Expr
	}{
		{"init", "states", env.Init, stateKeys(states), &f.Init}, {"map", "states", env.Map, stateKeys(states), &f.Map},
		{"combine", "states", env.Combine, stateKeys(states), &f.Combine}, {"finish", "results", env.Finish, finishKeys(op), &f.Finish},
	} {
		k, has := keys[part.key]
		if !has && part.key == "finish" && part.names == nil && states[0].Name == "" {
			k.val, has = &yaml.Node{Kind: yaml.ScalarNode, Value: "a", Line: n.Line, Column: n.Column}, true
		}
		if !has {
			l.errorf(l.pos(n), "reduce: key %s is missing", part.key)
			ok = false
			continue
		}
		list, good := l.part(k.val, "reduce: "+part.key, part.of, part.names, part.env)
		*part.to, nodes[part.key], ok = list.exprs, list.nodes, ok && good
	}
	if !ok || !l.stateTypes(op, f, nodes["map"]) {
		return v, false
	}
	return Variant{Fold: f, Exprs: f.Finish}, l.checkStates(op, f, nodes, types)
}

// first reads what is made of the first elements, each by its name.
func (l *loader) first(op *Op, n *yaml.Node, f *expr.Fold) bool {
	var names []string
	for _, k := range l.fields(n, "reduce: first") {
		if k.name == "let" {
			continue
		}
		if !snakeCase(k.name) {
			l.errorf(l.pos(k.key), "reduce: first: want a name of small letters, digits and underscores, have %q", k.name)
			return false
		}
		names = append(names, k.name)
		f.Names = append(f.Names, ir.First{Name: k.name}.Full())
	}
	list, ok := l.named(n, "reduce: first", "names", names, environment(op))
	f.First = list.exprs
	return ok && len(names) > 0
}

// part reads the expressions of a part of a fold: a map by names, or where there are no
// names the expression alone.
func (l *loader) part(n *yaml.Node, what, of string, names []string, env expr.Env) (list named, ok bool) {
	if names != nil {
		return l.named(n, what, of, names, env)
	}
	x := l.expression(n, what, env)
	return named{[]*expr.Expr{x}, []*yaml.Node{n}}, x != nil
}

// stateNames returns the states that init names, in its order: one without a name where
// it is an expression alone.
func (l *loader) stateNames(op *Op, init field) (states []ir.State, ok bool) {
	if init.val.Kind != yaml.MappingNode {
		return make([]ir.State, 1), true
	}
	ok = true
	for _, f := range l.fields(init.val, "reduce: init") {
		switch {
		case f.name == "let":
			continue
		case !snakeCase(f.name):
			l.errorf(l.pos(f.key), "reduce: init: want the name of a state, of small letters, digits and underscores, have %q", f.name)
			ok = false
		}
		states = append(states, ir.State{Name: f.name})
	}
	if len(states) == 0 {
		l.errorf(l.pos(init.val), "reduce: init: there are no states")
	}
	return states, ok && len(states) > 0
}

func stateKeys(states []ir.State) (names []string) {
	if states[0].Name == "" {
		return nil
	}
	for _, s := range states {
		names = append(names, s.Name)
	}
	return names
}

func finishKeys(op *Op) []string {
	if len(op.Results) == 1 {
		return nil
	}
	return resultNames(op)
}

// stateTypes finds the states' dtypes, which map gives: the compute dtype, or int64 or
// bool in every compute dtype.
func (l *loader) stateTypes(op *Op, f *expr.Fold, nodes []*yaml.Node) bool {
	ok := true
	for i := range f.States {
		var got []typing
		for _, t := range computeDTypes(op) {
			d := l.check(f.Map[i], nodes[i], "reduce: map", t)
			if d == ir.Invalid {
				return false
			}
			got = append(got, typing{t, d})
		}
		all := func(ok func(typing) bool) bool {
			return !slices.ContainsFunc(got, func(t typing) bool { return !ok(t) })
		}
		switch {
		case all(func(t typing) bool { return t.result == t.compute }):
		case all(func(t typing) bool { return t.result == ir.Int64 }):
			f.States[i].DType = ir.Int64
		case all(func(t typing) bool { return t.result == ir.Bool }):
			f.States[i].DType = ir.Bool
		default:
			l.errorf(l.pos(nodes[i]), "reduce: map gives %v for compute dtype %v; a state has the compute dtype, int64 or bool, the same for all", got[0].result, got[0].compute)
			ok = false
		}
	}
	return ok
}

// checkStates types the parts for every compute dtype and adds the results' dtypes to
// types.
func (l *loader) checkStates(op *Op, f *expr.Fold, nodes map[string][]*yaml.Node, types [][]typing) bool {
	retype(f)
	for _, t := range computeDTypes(op) {
		g, err := f.Check(t)
		if part, is := errors.AsType[*expr.FoldError](err); is {
			l.exprError(l.source(nodes[part.Part][part.At]), "reduce: "+part.Part, part.Err, " (for compute dtype "+t.String()+")")
			return false
		}
		for k, root := range g.Finish.Roots {
			types[k] = append(types[k], typing{t, g.Finish.KindDType(root.Kind)})
		}
	}
	return true
}

// retype gives the names of states in the expressions of a fold the dtypes that were found
// for them.
func retype(f *expr.Fold) {
	env := expr.Env{}.Fold(f.States, f.Names, false)
	for _, x := range f.Combine {
		x.Env.Operands = env.Combine.Operands
	}
	for _, x := range f.Finish {
		x.Env.Operands = env.Finish.Operands
	}
}

// HasStates reports whether op is a reduction with several states, operands or results.
func (op *Op) HasStates() bool { return len(op.Variants) > 0 && op.Variants[0].Fold != nil }

// Part is which of the loops that Parts returns v is, as "step", or "".
func (v Variant) Part() string { return v.name }

// Parts returns the loops that a reduction with states is made of as element-wise
// operators over arrays of states: how they start, what is made of first elements, how
// they take in an element, are merged, and become the results.
func (op *Op) Parts() []*Op {
	var parts []*Op
	for _, p := range foldParts {
		if p.name != "first" || len(op.Variants[0].Fold.First) > 0 {
			parts = append(parts, op.part(p))
		}
	}
	return parts
}

// A foldPart is one of the expressions of a fold as an operator of its own.
type foldPart struct {
	name            string
	states          []string // parts whose states are operands
	first, operands bool     // the fold's elements and the operator's other operands are operands
	of              func(expr.FoldGraph) *expr.Graph
	list            func(*expr.Fold) []*expr.Expr
}

var foldParts = []foldPart{
	{"start", nil, false, false, func(g expr.FoldGraph) *expr.Graph { return g.Init }, func(f *expr.Fold) []*expr.Expr { return f.Init }},
	{"first", nil, false, true, func(g expr.FoldGraph) *expr.Graph { return g.First }, func(f *expr.Fold) []*expr.Expr { return f.First }},
	{"step", []string{"a"}, true, true, func(g expr.FoldGraph) *expr.Graph { return g.Step }, func(f *expr.Fold) []*expr.Expr { return f.Combine }},
	{"merge", []string{"a", "b"}, false, false, func(g expr.FoldGraph) *expr.Graph { return g.Combine }, func(f *expr.Fold) []*expr.Expr { return f.Combine }},
	{"finish", []string{"a"}, true, false, func(g expr.FoldGraph) *expr.Graph { return g.Finish }, func(f *expr.Fold) []*expr.Expr { return f.Finish }},
}

// part returns the operator of a part.
func (op *Op) part(p foldPart) *Op {
	part := &Op{
		Name: op.Name + "_" + p.name, GoName: op.GoName + GoName(p.name), Group: op.Group, Pos: op.Pos,
		Promote: op.Promote, Fixed: op.Fixed, Tags: op.Tags, Kind: ir.Elementwise, Switch: op.Switch, NoGrad: true,
	}
	part.Doc = "does a part of " + op.Name + "."
	for _, t := range computeDTypes(op) {
		part.DTypes |= ir.SetOf(t)
	}
	fold := op.Variants[0].Fold
	for _, of := range p.states {
		for _, s := range fold.States {
			part.Params = append(part.Params, &Param{Name: s.Of(of), Type: Tensor, Fixed: s.DType, Operand: len(part.Params), Attr: -1})
		}
	}
	if p.first {
		for _, name := range fold.Names {
			part.Params = append(part.Params, &Param{Name: name, Type: Tensor, Operand: len(part.Params), Attr: -1})
		}
	}
	before := len(part.Params)
	for _, q := range op.Params {
		if q.Operand < 0 || p.operands {
			q := *q
			if q.Operand >= 0 {
				q.Operand += before
			}
			part.Params = append(part.Params, &q)
		}
	}
	switch p.name {
	case "finish":
		part.Results = op.Results
		part.Params = append(part.Params, &Param{Name: "count", Type: Int, Operand: -1, Attr: len(op.Attrs())})
	case "first":
		for _, name := range fold.Names {
			part.Results = append(part.Results, Result{Name: name})
		}
	default:
		for _, s := range fold.States {
			part.Results = append(part.Results, Result{Name: s.Of("a"), DType: s.DType})
		}
	}
	for _, v := range op.Variants {
		part.Variants = append(part.Variants, Variant{Name: v.Name, Exprs: p.list(v.Fold), Fold: v.Fold, part: p.of, name: p.name})
	}
	return part
}
