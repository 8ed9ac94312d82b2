package expr

import (
	"fmt"
	"slices"
	"sync"
)

// Derivative returns the partial derivative of e with respect to the given
// operand or parameter, over the same names. For complex numbers it is the
// holomorphic derivative; an expression that has none is an error.
func (e *Expr) Derivative(operand string) (*Expr, error) {
	d := differ{wrt: operand, memo: map[*Node]*Node{}}
	root, err := d.of(e.Root)
	if err != nil {
		return nil, err
	}
	return derived(root, e.Env)
}

// GradName is the name of the result's gradient in gradient expressions.
const GradName = "dy"

// A Result is an expression, and the name of its gradient.
type Result struct {
	Dy   string
	Expr *Expr
}

// Gradient is Gradient of the one result e, whose gradient is dy.
func (e *Expr) Gradient(operand string, complexToo bool) (*Expr, error) {
	return Gradient([]Result{{GradName, e}}, operand, complexToo)
}

// Gradient returns what reaches the given operand of the gradients of results that are
// made of the same names: an expression over these names and those of the gradients.
// Where complexToo is set it holds for complex compute dtypes as well: it is the
// conjugate Wirtinger derivative, dy times the conjugate of the derivative for a
// holomorphic result. An operand that is itself named as a gradient, and a function
// without a derivative, are errors.
func Gradient(results []Result, operand string, complexToo bool) (*Expr, error) {
	env := results[0].Expr.Env
	var dys []Operand
	sum := constant(0)
	for _, r := range results {
		if slices.ContainsFunc(env.Operands, func(o Operand) bool { return o.Name == r.Dy }) {
			return nil, &Error{0, "an operand named " + r.Dy + " hides the gradient; rename it"}
		}
		dys = append(dys, Operand{Name: r.Dy})
		root, err := contribution(r, operand, complexToo)
		if err != nil {
			return nil, err
		}
		sum = build("add", sum, root)
	}
	env.Operands = append(dys, env.Operands...)
	return derived(sum, env)
}

// contribution is what reaches an operand of one result's gradient.
func contribution(r Result, operand string, complexToo bool) (*Node, error) {
	d := differ{wrt: operand, memo: map[*Node]*Node{}, complex: complexToo}
	root, err := d.of(r.Expr.Root)
	switch {
	case err != nil && complexToo: // not holomorphic as a whole
		return d.backward(r.Expr.Root, name(r.Dy))
	case err != nil:
		return nil, err
	case complexToo:
		root = build("conj", root)
	}
	return build("mul", name(r.Dy), root), nil
}

// derived returns a derivative as an expression.
func derived(root *Node, env Env) (*Expr, error) {
	if root.count() == maxSize {
		return nil, &Error{0, "the derivative is too long; write the gradient"}
	}
	return &Expr{root, env}, nil
}

// differ differentiates with respect to one name.
type differ struct {
	wrt     string
	complex bool
	memo    map[*Node]*Node
}

// of returns the derivative of a node. Each node has one, which is kept: parts that are
// used more than once are differentiated once, and stay shared in the result.
func (d *differ) of(n *Node) (*Node, error) {
	if n.Op == OpConst || n.Op == OpName {
		if n.Op == OpName && n.Name == d.wrt {
			return constant(1), nil
		}
		return constant(0), nil
	}
	if done := d.memo[n]; done != nil {
		return done, nil
	}
	r, err := d.call(n)
	if err == nil {
		d.memo[n] = r
	}
	return r, err
}

// call applies the chain rule to a function call.
func (d *differ) call(n *Node) (*Node, error) {
	if n.Name == "where" {
		a, err := d.of(n.Args[1])
		if err != nil {
			return nil, err
		}
		b, err := d.of(n.Args[2])
		if err != nil {
			return nil, err
		}
		return build("where", n.Args[0], a, b), nil
	}
	rules := rulesOf(n.Name)
	sum := constant(0)
	for i, a := range n.Args {
		da, err := d.of(a)
		if err != nil {
			return nil, err
		}
		parts := d.complex && functions[n.Name].rule == toReal // zero for real numbers only
		if da.IsConst(0) || rules[i] == nil && !parts {
			continue
		}
		if rules[i] == noDerivative || d.complex && !functions[n.Name].analytic {
			return nil, errorAt(n, "%s has no derivative here; write the gradient", spelling(n.Name))
		}
		sum = build("add", sum, build("mul", rules[i].replace(arguments(n.Args)), da))
	}
	return sum, nil
}

// arguments names the arguments of a call as the rules for derivatives do, so that a rule
// is an expression in which these take the place of names.
func arguments(args []*Node) map[string]*Node {
	with := map[string]*Node{}
	for i, a := range args {
		with[argNames[i]] = a
	}
	return with
}

var argNames = [...]string{"a", "b", "c"}

var noDerivative = &Node{Op: OpName, Name: "?"}

var parsedRules sync.Map // function name to []*Node

// rulesOf returns the derivative rules of a function, one an argument; nil
// stands for zero.
func rulesOf(fn string) []*Node {
	if r, ok := parsedRules.Load(fn); ok {
		return r.([]*Node)
	}
	var env Env
	for _, a := range argNames {
		env.Operands = append(env.Operands, Operand{Name: a})
	}
	out := make([]*Node, functions[fn].arity)
	for i, src := range functions[fn].diff {
		switch src {
		case "":
		case "?":
			out[i] = noDerivative
		default:
			e, err := Parse(src, env)
			if err != nil { // the table is part of this package; its test parses every rule
				panic(fmt.Sprintf("internal error: derivative of %s: %v", fn, err))
			}
			out[i] = e.Root
		}
	}
	parsedRules.Store(fn, out)
	return out
}

// backward returns what reaches the operand of g, the gradient of n, where n need
// not be holomorphic. The gradient of a real value is real.
func (d *differ) backward(n, g *Node) (*Node, error) {
	if n.Op == OpName && n.Name == d.wrt {
		return g, nil
	}
	sum := constant(0)
	if !n.Uses(d.wrt) {
		return sum, nil
	}
	for i, a := range n.Args {
		ga, err := d.argument(n, i, g)
		if err != nil {
			return nil, err
		}
		if ga == nil || ga.IsConst(0) || !a.Uses(d.wrt) {
			continue
		}
		if ga, err = d.backward(a, ga); err != nil {
			return nil, err
		}
		sum = build("add", sum, ga)
	}
	return sum, nil
}

// argument returns the gradient of n's i-th argument from n's own, g; nil where
// there is none.
func (d *differ) argument(n *Node, i int, g *Node) (*Node, error) {
	a := n.Args[i]
	re := build("real", g)
	switch n.Name {
	case "where":
		zero := constant(0)
		return build("where", n.Args[0], []*Node{zero, g, zero}[i], []*Node{zero, zero, g}[i]), nil
	case "abs":
		return build("mul", re, build("where", build("eq", a, constant(0)), constant(0), build("div", a, n))), nil
	case "real":
		return re, nil
	case "imag":
		return call("complex", constant(0), re), nil
	case "angle":
		square := build("mul", call("abs", a), call("abs", a))
		turned := call("complex", build("neg", call("imag", a)), build("real", a))
		return build("mul", re, build("div", turned, square)), nil
	case "conj":
		return build("conj", g), nil
	case "complex":
		return call([]string{"real", "imag"}[i], g), nil
	}
	rule := rulesOf(n.Name)[i]
	switch {
	case rule == nil || !a.Uses(d.wrt):
		return nil, nil
	case rule == noDerivative:
		return nil, errorAt(n, "%s has no derivative here; write the gradient", spelling(n.Name))
	case !functions[n.Name].analytic: // of real arguments only
		g = re
	}
	return build("mul", g, build("conj", rule.replace(arguments(n.Args)))), nil
}
