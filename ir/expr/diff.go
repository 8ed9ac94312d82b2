package expr

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/ir"
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
	return &Expr{root, e.Env}, nil
}

// GradName is the name of the result's gradient in gradient expressions.
const GradName = "dy"

// Gradient returns what reaches the given operand of e's gradient dy: an
// expression over dy and e's names. Where complexToo is set it holds for complex
// compute dtypes as well: dy times the conjugate of the holomorphic derivative.
func (e *Expr) Gradient(operand string, complexToo bool) (*Expr, error) {
	d := differ{wrt: operand, memo: map[*Node]*Node{}, complex: complexToo}
	root, err := d.of(e.Root)
	if err != nil {
		return nil, err
	}
	if complexToo && root.Op != OpConst {
		root = build("conj", root)
	}
	env := e.Env
	env.Operands = append([]Operand{{Name: GradName}}, env.Operands...)
	return &Expr{build("mul", name(GradName), root), env}, nil
}

// differ differentiates with respect to one name.
type differ struct {
	wrt     string
	complex bool
	memo    map[*Node]*Node
}

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
		if da.IsConst(0) || rules[i] == nil {
			continue
		}
		if rules[i] == noDerivative || (d.complex && !functions[n.Name].analytic) {
			return nil, errorAt(n, "%s has no derivative here; write the gradient", spelling(n.Name))
		}
		sum = build("add", sum, build("mul", rules[i].replace(arguments(n.Args)), da))
	}
	return sum, nil
}

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

// build returns a call with the simplifications that are exact: neutral
// elements, symbolic zeros, literals, and products moved into the branches of a
// choice, so that a branch that was not taken never multiplies by zero.
func build(fn string, args ...*Node) *Node {
	if r := fold(fn, args); r != nil {
		return r
	}
	switch fn {
	case "add":
		return buildAdd(args[0], args[1])
	case "sub":
		switch {
		case args[1].IsConst(0):
			return args[0]
		case args[0].IsConst(0):
			return build("neg", args[1])
		}
	case "mul":
		return buildMul(args[0], args[1])
	case "div":
		switch {
		case args[0].IsConst(0), args[1].IsConst(1):
			return args[0]
		}
	case "neg":
		if a := args[0]; a.Op == OpCall && a.Name == "neg" {
			return a.Args[0]
		}
	case "where":
		if args[1].key() == args[2].key() {
			return args[1]
		}
	case "conj":
		if a := args[0]; a.Op == OpCall && a.Name == "conj" {
			return a.Args[0]
		}
	}
	return call(fn, args...)
}

func buildAdd(a, b *Node) *Node {
	switch {
	case a.IsConst(0):
		return b
	case b.IsConst(0):
		return a
	case b.Op == OpCall && b.Name == "neg":
		return build("sub", a, b.Args[0])
	case b.Op == OpConst && b.Value.Float() < 0:
		return build("sub", a, constant(-b.Value.Float()))
	}
	return call("add", a, b)
}

func buildMul(a, b *Node) *Node {
	switch {
	case a.IsConst(0), b.IsConst(1):
		return a
	case b.IsConst(0), a.IsConst(1):
		return b
	case a.IsConst(-1):
		return build("neg", b)
	case b.IsConst(-1):
		return build("neg", a)
	case a.Op == OpCall && a.Name == "neg":
		return build("neg", build("mul", a.Args[0], b))
	case b.Op == OpCall && b.Name == "neg":
		return build("neg", build("mul", a, b.Args[0]))
	case isChoice(b):
		return build("where", b.Args[0], build("mul", a, b.Args[1]), build("mul", a, b.Args[2]))
	case isChoice(a):
		return build("where", a.Args[0], build("mul", a.Args[1], b), build("mul", a.Args[2], b))
	case b.Op == OpCall && b.Name == "div" && b.Args[0].IsConst(1):
		return build("div", a, b.Args[1])
	case a.Op == OpCall && a.Name == "div" && a.Args[0].IsConst(1):
		return build("div", b, a.Args[1])
	case b.Op == OpConst && a.Op != OpConst:
		return call("mul", b, a)
	}
	return call("mul", a, b)
}

// isChoice reports whether n is a where with a literal branch, or one whose
// branches are choices.
func isChoice(n *Node) bool {
	if n.Op != OpCall || n.Name != "where" {
		return false
	}
	for _, a := range n.Args[1:] {
		if a.Op == OpConst || isChoice(a) {
			return true
		}
	}
	return false
}

// fold computes operators of literals; nil when it does not apply.
func fold(fn string, args []*Node) *Node {
	for _, a := range args {
		if a.Op != OpConst || a.Value.Category() == ir.CategoryBool {
			return nil
		}
	}
	v := func(i int) float64 { return args[i].Value.Float() }
	switch fn {
	case "add":
		return constant(v(0) + v(1))
	case "sub":
		return constant(v(0) - v(1))
	case "mul":
		return constant(v(0) * v(1))
	case "neg":
		if v(0) != 0 {
			return constant(-v(0))
		}
	case "conj":
		return args[0]
	}
	return nil
}
