package schema

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"go.yaml.in/yaml/v4"
)

// comparison returns the comparison that a token is, if it is one.
func comparison(t token.Token) (ir.Comparison, bool) {
	for c := ir.Below; c <= ir.Differs; c++ {
		if c.String() == t.String() {
			return c, true
		}
	}
	return 0, false
}

// require reads what arguments must be: a list of comparisons, each with ones that do
// instead of it behind ||.
func (l *loader) require(e *entry) {
	f, ok := e.keys["require"]
	if !ok || !e.parsed {
		return
	}
	for _, item := range l.list(f.val, "require") {
		if _, ok := l.text(item, "require"); ok {
			l.requirement(e.op, item)
		}
	}
	if len(e.op.Require) == 0 {
		return
	}
	for _, p := range e.op.Attrs() {
		if !p.Option { // what such a one must be depends on the call
			return
		}
	}
	l.meets(e.op, f.key, "the defaults", nil)
}

// requirement reads one item.
func (l *loader) requirement(op *Op, n *yaml.Node) {
	src := l.source(n)
	fset := token.NewFileSet()
	at := func(p token.Pos) Pos { return src.at(fset.Position(p).Offset) }
	x, err := parser.ParseExprFrom(fset, "", src.text, parser.SkipObjectResolution)
	if err != nil {
		l.errorf(src.at(0), "require: want a comparison of an argument, such as p >= 0, have %q", src.text)
		return
	}
	var r ir.Requirement
	good := true
	var read func(x ast.Expr)
	read = func(x ast.Expr) {
		b, is := ast.Unparen(x).(*ast.BinaryExpr)
		if is && b.Op == token.LOR {
			read(b.X)
			read(b.Y)
			return
		}
		c, known := ir.Comparison(0), false
		if is {
			c, known = comparison(b.Op)
		}
		if !known {
			l.errorf(at(x.Pos()), "require: want a comparison of an argument, such as p >= 0, or several with || between them")
			good = false
			return
		}
		rel, why := relation(op, src.text[fset.Position(b.X.Pos()).Offset:fset.Position(b.X.End()).Offset], c,
			src.text[fset.Position(b.Y.Pos()).Offset:fset.Position(b.Y.End()).Offset])
		if why != "" {
			l.errorf(at(x.Pos()), "require: %s", why)
			good = false
		}
		r = append(r, rel)
	}
	read(x)
	if good {
		op.Require = append(op.Require, r)
	}
}

// relation reads a comparison of an argument with a number, a name of an enum or another
// argument, or says what is wrong with it.
func relation(op *Op, left string, is ir.Comparison, right string) (r ir.Relation, why string) {
	p := op.argument(left)
	if p == nil {
		return r, fmt.Sprintf("%q is no argument (have %s)", left, argumentNames(op))
	}
	r = ir.Relation{Attr: p.Attr, Is: is}
	switch p.Type {
	case Enum:
		i := slices.Index(p.Enum, right)
		if i < 0 || is != ir.Equals && is != ir.Differs {
			return r, fmt.Sprintf("%s is an enum: want == or != and one of %s", left, strings.Join(p.Enum, ", "))
		}
		r.Value = float64(i)
		return r, ""
	case Int, Ints, Float, Scalar:
	default:
		return r, fmt.Sprintf("%s is of type %v: want a number, a list of numbers or an enum", left, p.Type)
	}
	if q := op.argument(right); q != nil {
		if q.Type != Int && q.Type != Float && q.Type != Scalar {
			return r, fmt.Sprintf("%s is of type %v: want a number", right, q.Type)
		}
		r.Other = q.Attr + 1
		return r, ""
	}
	s, ok := parseNumber(right)
	if !ok || s.Category() != ir.CategoryInt && s.Category() != ir.CategoryFloat || s.Float() != s.Float() {
		return r, fmt.Sprintf("want a number or another argument behind %s, have %q", is, right)
	}
	r.Value = s.Float()
	return r, ""
}

// argument returns the attribute of a name, or nil.
func (o *Op) argument(name string) *Param {
	for _, p := range o.Attrs() {
		if p.Name == name {
			return p
		}
	}
	return nil
}

func argumentNames(op *Op) string {
	var names []string
	for _, p := range op.Attrs() {
		names = append(names, p.Name)
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// meets reports arguments that op does not accept, where they are all known: those of args,
// and the defaults of the others.
func (l *loader) meets(op *Op, n *yaml.Node, what string, args map[string]Literal) {
	if len(op.Require) == 0 {
		return
	}
	desc := ir.Op{Require: op.Require, Attrs: op.Attributes()}
	var values []ir.Value
	for _, p := range op.Attrs() {
		lit, given := args[p.Name]
		if !given {
			lit = p.Default
		}
		v := ir.Value{Int: lit.Scalar.Int(), Ints: lit.Ints}
		switch p.Type {
		case Float, Scalar:
			v.Scalar = lit.Scalar
		case Enum:
			v.Int = int64(slices.Index(p.Enum, lit.Str))
		}
		values = append(values, v)
	}
	if err := desc.Accepts(values...); err != nil {
		l.errorf(l.pos(n), "%s do not meet require: %v", what, err)
	}
}
