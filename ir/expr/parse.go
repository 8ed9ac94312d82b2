package expr

import (
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/sinter-go/sinter/ir"
)

// ParamKind says how an expression sees a host argument.
type ParamKind uint8

// The kinds of parameter.
const (
	ScalarParam ParamKind = iota // a number held in the compute dtype
	FloatParam                   // a real number held in the compute dtype's real type
	IntParam                     // an int64
	BoolParam                    // a bool
)

// An Operand is a tensor element that an expression reads.
type Operand struct {
	Name  string
	Fixed ir.DType // the dtype it is loaded as; Invalid for the compute dtype
}

// A Param is a host argument that an expression reads.
type Param struct {
	Name string
	Kind ParamKind
}

// An Env is what an expression may name besides the built-in constants.
type Env struct {
	Operands []Operand
	Params   []Param
}

// An Expr is a parsed expression with the names it may use.
type Expr struct {
	Root *Node
	Env  Env
}

// String returns the canonical source.
func (e *Expr) String() string { return e.Root.String() }

// Uses reports whether the expression reads the given operand or parameter.
func (e *Expr) Uses(name string) bool { return e.Root.Uses(name) }

// Replace returns the expression with names replaced by other expressions, all of which
// may name what env has.
func (e *Expr) Replace(env Env, with map[string]*Expr) *Expr {
	nodes := map[string]*Node{}
	for name, x := range with {
		nodes[name] = x.Root
	}
	return &Expr{e.Root.put(nodes), env}
}

// put is replace without simplification: what is written is what is computed.
func (n *Node) put(with map[string]*Node) *Node {
	if r, ok := with[n.Name]; ok && n.Op == OpName {
		return r
	}
	if len(n.Args) == 0 {
		return n
	}
	out := *n
	out.Args, out.size = make([]*Node, len(n.Args)), 0
	for i, a := range n.Args {
		out.Args[i] = a.put(with)
	}
	out.size = out.count()
	return &out
}

// Indexed reports whether the value depends on where the element is: on its index, by
// name or for a random number.
func (e *Expr) Indexed() bool { return e.Root.indexed() }

func (n *Node) indexed() bool {
	if n.Op == OpName {
		return n.Name == "index"
	}
	return draws(n.Name) || slices.ContainsFunc(n.Args, (*Node).indexed)
}

// draws reports whether a function has a random number for each element.
func draws(fn string) bool {
	f := functions[fn]
	return f != nil && (f.rule == drawT || f.rule == drawInt)
}

// Constants are the named numbers, besides typeConstants, which
// depend on the compute dtype.
var Constants = map[string]float64{
	"Pi": math.Pi, "E": math.E, "Sqrt2": math.Sqrt2, "Sqrt1_2": 1 / math.Sqrt2, "Ln2": math.Ln2,
	"Log2E": math.Log2E, "Log10E": math.Log10E, "Sqrt2OverPi": math.Sqrt2 / math.SqrtPi,
	"InvSqrt2Pi": 1 / (math.Sqrt2 * math.SqrtPi), "TwoOverSqrtPi": 2 / math.SqrtPi,
	"Inf": math.Inf(1), "NaN": math.NaN(),
}

// typeConstants are properties of the compute dtype. Highest and Lowest count
// infinities; MaxValue and MinValue are finite.
var typeConstants = []string{"Eps", "MaxValue", "MinValue", "Highest", "Lowest"}

// Parse reads an expression in Go's syntax. Errors are of type *Error.
func Parse(src string, env Env) (*Expr, error) {
	tree, err := parser.ParseExpr(src)
	if err != nil {
		return nil, syntaxError(err)
	}
	p := &parse{env: env}
	root, err := p.node(tree)
	if err != nil {
		return nil, err
	}
	return &Expr{root, env}, nil
}

func syntaxError(err error) error {
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return &Error{list[0].Pos.Offset, list[0].Msg}
	}
	return &Error{0, err.Error()}
}

// maxDepth is how deep expressions nest at most. All that walks nodes is recursive, so this
// bounds the stack that a schema from elsewhere can take.
const maxDepth = 200

// A parse turns Go's syntax tree into nodes. Go's parser does the reading, so precedence
// and literals are Go's, which people who write schemas know; what Go has and the language
// has not is refused by position.
type parse struct {
	env   Env
	depth int
}

var binaryOps = map[token.Token]string{
	token.ADD: "add", token.SUB: "sub", token.MUL: "mul", token.QUO: "div", token.REM: "rem",
	token.LSS: "lt", token.LEQ: "le", token.GTR: "gt", token.GEQ: "ge", token.EQL: "eq", token.NEQ: "ne",
	token.LAND: "land", token.LOR: "lor", token.AND: "and", token.OR: "or", token.XOR: "xor",
	token.AND_NOT: "andnot", token.SHL: "shl", token.SHR: "shr",
}

var unaryOps = map[token.Token]string{token.SUB: "neg", token.NOT: "lnot", token.XOR: "not"}

func (p *parse) node(e ast.Expr) (*Node, error) {
	pos := int(e.Pos()) - 1
	if p.depth++; p.depth > maxDepth {
		return nil, &Error{pos, fmt.Sprintf("nested more than %d deep", maxDepth)}
	}
	defer func() { p.depth-- }()
	switch e := e.(type) {
	case *ast.ParenExpr:
		return p.node(e.X)
	case *ast.BasicLit:
		return number(e, pos)
	case *ast.Ident:
		return p.ident(e, pos)
	case *ast.UnaryExpr:
		fn, ok := unaryOps[e.Op]
		if !ok {
			return nil, &Error{pos, fmt.Sprintf("operator %s is not part of the language", e.Op)}
		}
		return p.operator(fn, pos, e.X)
	case *ast.BinaryExpr:
		fn, ok := binaryOps[e.Op]
		if !ok {
			return nil, &Error{int(e.OpPos) - 1, fmt.Sprintf("operator %s is not part of the language", e.Op)}
		}
		return p.operator(fn, int(e.OpPos)-1, e.X, e.Y)
	case *ast.CallExpr:
		return p.call(e, pos)
	case *ast.SelectorExpr:
		if x, ok := e.X.(*ast.Ident); ok {
			return p.ident(&ast.Ident{NamePos: e.Pos(), Name: x.Name + "." + e.Sel.Name}, pos)
		}
	case *ast.StarExpr: // x**2 reads as x * *2
		return nil, &Error{pos, "there is no operator **; write pow(x, y), or x*x"}
	}
	return nil, &Error{pos, "only names, numbers, operators and calls are part of the language"}
}

// operator makes a call of a sign. The minus of a literal becomes part of it: otherwise
// -0.0 would be 0 and the least integer could not be written.
func (p *parse) operator(fn string, pos int, args ...ast.Expr) (*Node, error) {
	n := &Node{Op: OpCall, Name: fn, Pos: pos}
	if lit, ok := args[0].(*ast.BasicLit); ok && fn == "neg" && lit.Kind == token.INT {
		if i, err := strconv.ParseInt("-"+lit.Value, 0, 64); err == nil { // the least int64 has no opposite
			return &Node{Op: OpConst, Value: ir.IntScalar(i), Pos: pos}, nil
		}
	}
	for _, a := range args {
		arg, err := p.node(a)
		if err != nil {
			return nil, err
		}
		n.Args = append(n.Args, arg)
	}
	if a := n.Args[0]; fn == "neg" && a.Op == OpConst {
		switch a.Value.Category() {
		case ir.CategoryInt:
			return &Node{Op: OpConst, Value: ir.IntScalar(-a.Value.Int()), Pos: pos}, nil
		case ir.CategoryFloat:
			return &Node{Op: OpConst, Value: ir.FloatScalar(-a.Value.Float()), Pos: pos}, nil
		}
	}
	n.size = n.count()
	return n, nil
}

func number(e *ast.BasicLit, pos int) (*Node, error) {
	n := &Node{Op: OpConst, Pos: pos}
	switch e.Kind {
	case token.INT:
		i, err := strconv.ParseInt(e.Value, 0, 64)
		if err != nil {
			return nil, &Error{pos, fmt.Sprintf("%s does not fit in int64", e.Value)}
		}
		n.Value = ir.IntScalar(i)
		return n, nil
	case token.FLOAT:
		f, err := strconv.ParseFloat(e.Value, 64)
		if err != nil {
			return nil, &Error{pos, fmt.Sprintf("%s does not fit in float64", e.Value)}
		}
		n.Value = ir.FloatScalar(f)
		return n, nil
	}
	return nil, &Error{pos, fmt.Sprintf("%s is not a number", e.Value)}
}

func (p *parse) ident(e *ast.Ident, pos int) (*Node, error) {
	switch e.Name {
	case "true", "false":
		return &Node{Op: OpConst, Value: ir.BoolScalar(e.Name == "true"), Pos: pos}, nil
	}
	if !p.known(e.Name) {
		return nil, &Error{pos, fmt.Sprintf("unknown name %q (have %s)%s", e.Name, strings.Join(p.names(), ", "), DidYouMean(e.Name, p.visible()))}
	}
	return &Node{Op: OpName, Name: e.Name, Pos: pos}, nil
}

func (p *parse) names() []string {
	var names []string
	for _, o := range p.env.Operands {
		names = append(names, o.Name)
	}
	for _, q := range p.env.Params {
		names = append(names, q.Name)
	}
	return names
}

// visible returns all that can be named.
func (p *parse) visible() []string {
	return slices.Concat(p.names(), slices.Sorted(maps.Keys(Constants)), typeConstants, []string{"index"})
}

func (p *parse) known(n string) bool {
	_, constant := Constants[n]
	return constant || n == "index" || slices.Contains(typeConstants, n) || slices.Contains(p.names(), n)
}

func (p *parse) call(e *ast.CallExpr, pos int) (*Node, error) {
	id, ok := e.Fun.(*ast.Ident)
	if !ok || e.Ellipsis.IsValid() {
		return nil, &Error{pos, "only functions of the language can be called"}
	}
	f := functions[id.Name]
	if f == nil || f.operator {
		return nil, &Error{pos, fmt.Sprintf("unknown function %q%s", id.Name, DidYouMean(id.Name, Functions()))}
	}
	if len(e.Args) != f.arity {
		return nil, &Error{pos, fmt.Sprintf("%s takes %d arguments, not %d", id.Name, f.arity, len(e.Args))}
	}
	return p.operator(id.Name, pos, e.Args...)
}
