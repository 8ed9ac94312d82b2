package schema

import (
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir/expr"
	"go.yaml.in/yaml/v4"
)

// lets are named parts of expressions.
type lets struct {
	expr map[string]*expr.Expr
	key  map[string]*yaml.Node // of those that nothing has used
}

func newLets() *lets { return &lets{expr: map[string]*expr.Expr{}, key: map[string]*yaml.Node{}} }

// lets reads parts, each of which may name those before it.
func (l *loader) lets(n *yaml.Node, what string, env expr.Env, parts *lets) bool {
	ok := true
	for _, f := range l.fields(n, what+": let") {
		if slices.ContainsFunc(env.Operands, func(o expr.Operand) bool { return o.Name == f.name }) ||
			slices.ContainsFunc(env.Params, func(p expr.Param) bool { return p.Name == f.name }) {
			l.errorf(l.pos(f.key), "%s: let %s: there is an operand or an argument of this name", what, f.name)
			ok = false
			continue
		}
		x := l.partial(f.val, what+": let "+f.name, env, parts)
		if x == nil {
			ok = false
			continue
		}
		parts.expr[f.name], parts.key[f.name] = x, f.key
	}
	return ok
}

// partial reads an expression that may name parts, which it puts in; nil after a mistake.
func (l *loader) partial(n *yaml.Node, what string, env expr.Env, parts *lets) *expr.Expr {
	with := env
	with.Operands = slices.Clone(env.Operands)
	for _, name := range slices.Sorted(maps.Keys(parts.expr)) {
		with.Operands = append(with.Operands, expr.Operand{Name: name})
	}
	x := l.expression(n, what, with)
	if x == nil {
		return nil
	}
	maps.DeleteFunc(parts.key, func(name string, _ *yaml.Node) bool { return x.Uses(name) })
	return x.Replace(env, parts.expr)
}

// unusedLets reports parts that nothing names.
func (l *loader) unusedLets(what string, parts *lets) {
	for _, name := range slices.Sorted(maps.Keys(parts.key)) {
		l.errorf(l.pos(parts.key[name]), "%s: let %s is not used", what, name)
	}
}

// A named is a map from names, of results or of states, to expressions.
type named struct {
	exprs []*expr.Expr // in the order of the names
	nodes []*yaml.Node
}

// named reads a map that has an expression for each of some names, and may have let. It
// is not ok after a mistake.
func (l *loader) named(n *yaml.Node, what, of string, names []string, env expr.Env) (out named, ok bool) {
	if n.Kind != yaml.MappingNode {
		l.errorf(l.pos(n), "%s: want a map from the %s %s to expressions, have %s", what, of, strings.Join(names, ", "), kindName(n))
		return out, false
	}
	keys, parts := l.known(n, what, append([]string{"let"}, names...)...), newLets()
	ok = true
	if f, has := keys["let"]; has {
		ok = l.lets(f.val, what, env, parts)
	}
	for _, name := range names {
		f, has := keys[name]
		if !has {
			l.errorf(l.pos(n), "%s: the expression for %s is missing", what, name)
			ok = false
			continue
		}
		x := l.partial(f.val, what+": "+name, env, parts)
		ok = ok && x != nil
		out.exprs, out.nodes = append(out.exprs, x), append(out.nodes, f.val)
	}
	if ok {
		l.unusedLets(what, parts)
	}
	return out, ok
}

// resultNames are the names of op's results.
func resultNames(op *Op) []string {
	var names []string
	for _, r := range op.Results {
		names = append(names, r.Name)
	}
	return names
}

// keyed reports whether n is a map with one of the names as a key.
func keyed(n *yaml.Node, names ...string) bool {
	return n.Kind == yaml.MappingNode && slices.ContainsFunc(n.Content, func(c *yaml.Node) bool {
		return c.Kind == yaml.ScalarNode && slices.Contains(names, c.Value)
	})
}
