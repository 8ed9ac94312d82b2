package schema

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
	"go.yaml.in/yaml/v4"
)

// reduction reads a reduce body.
func (l *loader) reduction(e *entry, n *yaml.Node) {
	e.op.Tags |= ir.TagReduction
	l.wantParam(e, "reduce", "dim", Ints, Literal{Nil: true})
	l.wantParam(e, "reduce", "keepdim", Bool, Literal{Scalar: ir.BoolScalar(false)})
	l.fold(e, n, "reduce", []string{"dim", "keepdim"})
}

// scan reads a scan body.
func (l *loader) scan(e *entry, n *yaml.Node) {
	i := slices.IndexFunc(e.op.Params, func(p *Param) bool { return p.Name == "dim" })
	if i < 0 || e.op.Params[i].Type != Int || e.op.Params[i].Option {
		l.errorf(e.op.Pos, "scan: want the argument dim int before *")
	}
	l.fold(e, n, "scan", []string{"dim"})
}

// wantParam reports that an option is missing or has another type or default.
func (l *loader) wantParam(e *entry, what, name string, t Type, def Literal) {
	i := slices.IndexFunc(e.op.Params, func(p *Param) bool { return p.Name == name })
	if i >= 0 {
		p := e.op.Params[i]
		if p.Type == t && p.Option && p.Default.Nil == def.Nil && p.Default.Scalar == def.Scalar {
			return
		}
	}
	text := "nil"
	if !def.Nil {
		text = def.Scalar.String()
	}
	l.errorf(e.op.Pos, "%s: want the option %s %v = %s", what, name, t, text)
}

// foldKeys are the keys of a reduce or scan body.
var foldKeys = []string{"init", "map", "combine", "finish", "empty", "order", "cuda", "first"}

// fold reads {init, map, combine, finish}, or one for each name of an enum.
func (l *loader) fold(e *entry, n *yaml.Node, what string, known []string) {
	op := e.op
	if !l.folded(op, what) {
		return
	}
	for _, p := range op.Params {
		if slices.Contains([]string{"a", "b", "count", "index", "init", "first", "combine", "finish"}, p.Name) {
			l.errorf(p.Pos, "%s: a, b, count, index, init, first, combine and finish have a meaning of their own here; choose another name than %q", what, p.Name)
			return
		}
	}
	isMap := firstEnum(op) != nil && n.Kind == yaml.MappingNode && !slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
		return c.Kind == yaml.ScalarNode && c.Value == "combine"
	})
	names, bodies := l.cases(e, n, what, isMap)
	complete := len(names) > 0
	types := make([][]typing, len(op.Results))
	for i, body := range bodies {
		v, ok := l.foldBody(e, body, what, types)
		v.Name = names[i]
		op.Variants = append(op.Variants, v)
		complete = complete && ok
		if first := op.Variants[0]; complete && !alike(first, v) {
			l.errorf(l.pos(body), "%s: %s has other states than %s; bodies of one operator have the same", what, v.Name, first.Name)
			complete = false
		}
	}
	if complete && op.Tags&ir.TagWide != 0 && (!op.HasStates() || op.DTypes&^ir.ClassFloat != 0) {
		l.errorf(op.Pos, "tag wide: is for a reduction of floats with several states, operands or results")
	}
	if complete {
		for k := range op.Results {
			l.settle(op, &op.Results[k], l.pos(n), what, types[k])
		}
		l.unusedScalars(e, what, known)
	}
}

// alike reports whether two bodies have the same states.
func alike(v, w Variant) bool {
	if v.Fold == nil || w.Fold == nil {
		return v.Fold == nil && w.Fold == nil
	}
	return slices.EqualFunc(v.Fold.States, w.Fold.States, func(s, t ir.State) bool { return s.Name == t.Name && s.DType == t.DType })
}

// folded checks the operands and results of a reduction or a scan, which has one of each.
func (l *loader) folded(op *Op, what string) bool {
	plain := func(p *Param) bool { return p.Type == Tensor && !p.OrScalar && !p.Optional }
	operands := op.Operands()
	switch {
	case len(operands) == 0 || slices.ContainsFunc(operands, func(p *Param) bool { return !plain(p) }) || op.Params[0] != operands[0],
		what == "scan" && len(operands) > 1:
		want := "one operand, a Tensor, as the first parameter"
		if what == "reduce" {
			want = "operands of type Tensor, the first of them as the first parameter"
		}
		l.errorf(op.Pos, "%s: want %s", what, want)
		return false
	case op.Results[0].List || what == "scan" && len(op.Results) > 1:
		l.errorf(op.Pos, "%s: gives one tensor%s", what, map[string]string{"reduce": " for each result, and no list"}[what])
		return false
	}
	return true
}

// foldBody reads one {init, map, combine, finish} and adds the dtypes of its
// results to types.
func (l *loader) foldBody(e *entry, n *yaml.Node, what string, types [][]typing) (v Variant, ok bool) {
	op := e.op
	keys := l.known(n, what, foldKeys...)
	if n.Kind != yaml.MappingNode {
		return v, false
	}
	if f, has := keys["empty"]; has {
		if op.EmptyFail = f.val.Value == "error"; !op.EmptyFail || what == "scan" {
			l.errorf(l.pos(f.val), "%s: empty: want error, for a reduction", what)
		}
	}
	if f, has := keys["cuda"]; has {
		ref, good := l.goRef(f.val, what+": cuda")
		if good {
			op.Kernel = map[string]GoRef{"cuda": ref}
		}
	}
	_, firsts := keys["first"]
	if f, has := keys["init"]; has && what == "reduce" && (firsts || f.val.Kind == yaml.MappingNode || len(op.Operands()) > 1 || len(op.Results) > 1) {
		v, ok = l.states(op, n, keys, types)
	} else {
		v, ok = l.plainFold(op, n, keys, what, types)
	}
	return v, l.order(op, n, keys, what, v, ok) && ok
}

// plainFold reads the body of a scan, or of a reduction of one operand to one result by
// one state.
func (l *loader) plainFold(op *Op, n *yaml.Node, keys map[string]field, what string, types [][]typing) (v Variant, ok bool) {
	env := environment(op).Fold(make([]ir.State, 1), nil, what == "reduce") // in a scan each prefix has its own count
	ok = true
	for _, part := range []struct {
		key, def string
		env      expr.Env
		to       **expr.Expr
	}{
		{"init", "", env.Init, &v.Init}, {"map", op.Params[0].Name, env.Map, &v.Map},
		{"combine", "", env.Combine, &v.Combine}, {"finish", "a", env.Finish, &v.Finish},
	} {
		f, has := keys[part.key]
		switch {
		case has:
			*part.to = l.expression(f.val, what+": "+part.key, part.env)
		case part.def == "":
			l.errorf(l.pos(n), "%s: key %s is missing", what, part.key)
		default:
			*part.to, _ = expr.Parse(part.def, part.env)
		}
		ok = ok && *part.to != nil
	}
	if !ok {
		return v, false
	}
	for _, t := range computeDTypes(op) {
		if !l.foldTypes(v, n, keys, what, t, &types[0]) {
			return v, false
		}
	}
	v.Init = computed(v.Init)
	return v, true
}

// order reads whether the order of elements shows, and checks it: combine gives the same
// with its parts exchanged, or is said to, or elements are kept in their order.
func (l *loader) order(op *Op, n *yaml.Node, keys map[string]field, what string, v Variant, ok bool) bool {
	f, has := keys["order"]
	switch {
	case !has:
	case what == "scan":
		l.errorf(l.pos(f.key), "scan: order: a scan keeps the order of elements; leave it out")
		return false
	case f.val.Value != "any" && f.val.Value != "kept":
		l.errorf(l.pos(f.val), "%s: order: want any or kept, have %q", what, f.val.Value)
		return false
	}
	if what == "scan" || !ok {
		return true
	}
	if kept := has && f.val.Value == "kept"; len(op.Variants) > 0 && op.Ordered != kept {
		l.errorf(l.pos(n), "reduce: order: kept in one body and not in another")
		return false
	} else if op.Ordered = kept; has {
		return true
	}
	for _, t := range computeDTypes(op) {
		if g, err := v.combined(t); err == nil && !g.Commutes() {
			at := l.pos(n)
			if c, has := keys["combine"]; has {
				at = l.pos(c.val)
			}
			l.errorf(at, "reduce: combine is not seen to give the same with a and b exchanged (for compute dtype %v); say order: any if it does but for rounding, or order: kept for what has to keep the order of elements", t)
			return false
		}
	}
	return true
}

// combined is how a fold combines, for compute dtype t.
func (v Variant) combined(t ir.DType) (*expr.Graph, error) {
	if v.Fold != nil {
		g, err := v.Fold.Check(t)
		return g.Combine, err
	}
	m, err := v.Map.Check(t)
	if err != nil {
		return nil, err
	}
	return v.Combine.Check(m.Result())
}

// foldTypes checks one body for compute dtype t. The accumulator has the dtype
// of map; combine and finish are checked with it as their compute dtype.
func (l *loader) foldTypes(v Variant, n *yaml.Node, keys map[string]field, what string, t ir.DType, types *[]typing) bool {
	node := func(key string) *yaml.Node {
		if f, ok := keys[key]; ok {
			return f.val
		}
		return n
	}
	acc := l.check(v.Map, node("map"), what+": map", t)
	if acc == ir.Invalid {
		return false
	}
	if root := v.Init.Root; root.Op == expr.OpConst { // it takes the accumulator's dtype
		if !literalFits(root.Value, acc) {
			l.errorf(l.pos(node("init")), "%s: init is %v, but map gives %v (for compute dtype %v)", what, root.Value, acc, t)
			return false
		}
	} else if init := l.check(v.Init, node("init"), what+": init", acc); init != acc {
		if init != ir.Invalid {
			l.errorf(l.pos(node("init")), "%s: init gives %v, but map gives %v (for compute dtype %v)", what, init, acc, t)
		}
		return false
	}
	combined := l.check(v.Combine, node("combine"), what+": combine", acc)
	if combined == ir.Invalid {
		return false
	}
	if combined != acc {
		l.errorf(l.pos(node("combine")), "%s: combine gives %v, but map gives %v (for compute dtype %v)", what, combined, acc, t)
		return false
	}
	out := l.check(v.Finish, node("finish"), what+": finish", acc)
	if out == ir.Invalid {
		return false
	}
	*types = append(*types, typing{t, out})
	return true
}

// literalFits reports whether a literal is a value of dtype d.
func literalFits(s ir.Scalar, d ir.DType) bool {
	switch d.Category() {
	case ir.CategoryBool:
		return s.Category() == ir.CategoryBool || s == ir.IntScalar(0) || s == ir.IntScalar(1)
	case ir.CategoryInt:
		return s.Category() == ir.CategoryInt
	}
	return s.Category() != ir.CategoryBool
}
