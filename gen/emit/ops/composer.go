package ops

import (
	"slices"
	"strconv"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// composer prints a scalar expression as operators over whole tensors, so that
// what it computes can be differentiated again. Parts that read no tensor are
// computed on the host, in float64.
type composer struct {
	e     *emitter
	op    *schema.Op
	dry   bool // count calls only: mistakes are noted elsewhere
	calls int  // operators applied
	// roundings is how many of these may round what they store as 16-bit floats.
	roundings int
	free      map[string]bool // names that stand for host floats besides the arguments
	likeDy    bool            // what it prints reads the gradient of a result for its dtype

	// What stands several times in the expression of a gradient is computed once: uses counts
	// calls by their source, and lets defines those that named has a local for.
	uses  map[string]int
	named map[string]string
	lets  []jen.Code

	// placed is set where the expression reads the place of an element, which
	// no operator over whole tensors does.
	placed bool
}

// term is a printed part of an expression.
type term struct {
	code code
	kind termKind
	atom bool // needs no parentheses
}

type termKind uint8

const (
	tensorTerm termKind = iota
	floatTerm           // a float64 of the host
	boolTerm            // a bool of the host
	scalarTerm          // an ir.Scalar of the host
)

// expr prints x as a tensor.
func (c *composer) expr(x *expr.Expr) code { return c.tensor(c.node(x.Root)) }

// gradient prints x as the gradient of operand i. One that reads no tensor is
// zero everywhere.
func (c *composer) gradient(x *expr.Expr, i int) code {
	c.uses, c.named = map[string]int{}, map[string]string{}
	c.count(x.Root)
	t := c.node(x.Root)
	if t.kind == tensorTerm || c.dry {
		return c.tensor(t)
	}
	zeros := c.e.Standard(c.op, "zeros")
	return jen.Qual(c.e.OpsOf(zeros), zeros.GoName).Call(
		jen.Id("grad").Dot("InShape").Call(jen.Lit(i)), gofile.CoreName("PlacementLike").Call(c.dy()))
}

// count counts the uses of every call under n, those in equal calls once.
func (c *composer) count(n *expr.Node) {
	if n.Op != expr.OpCall {
		return
	}
	key := n.String()
	if c.uses[key]++; c.uses[key] == 1 {
		for _, a := range n.Args {
			c.count(a)
		}
	}
}

// once defines a local for a tensor that is used several times.
func (c *composer) once(key string, t term) term {
	if t.kind != tensorTerm || c.dry || c.uses[key] < 2 {
		return t
	}
	name := "t" + strconv.Itoa(len(c.lets))
	for slices.ContainsFunc(c.op.Params, func(p *schema.Param) bool { return unit.Local(p.Name) == name }) {
		name += "_"
	}
	c.lets = append(c.lets, jen.Id(name).Op(":=").Add(t.code))
	c.named[key] = name
	return term{jen.Id(name), tensorTerm, true}
}

// dy prints the first of the results' gradients, whose dtype others are made.
func (c *composer) dy() code {
	c.likeDy = true
	return jen.Id(unit.Local(dyNames(c.op)[0]))
}

// tensor prints a term as a tensor.
func (c *composer) tensor(t term) code {
	switch t.kind {
	case floatTerm:
		return jen.Id("number").Call(t.code)
	case boolTerm:
		return gofile.CoreName("ScalarTensor").Call(gofile.IRName("BoolScalar").Call(t.code))
	case scalarTerm:
		return gofile.CoreName("ScalarTensor").Call(t.code)
	}
	return t.code
}

// float prints a host term as a float64.
func (c *composer) float(t term) code {
	if t.kind == scalarTerm {
		return t.code.Clone().Dot("Float").Call()
	}
	return t.code
}

func (c *composer) node(n *expr.Node) term {
	switch n.Op {
	case expr.OpConst:
		if n.Value.Category() == ir.CategoryBool {
			return term{jen.Lit(n.Value.Bool()), boolTerm, true}
		}
		return term{gofile.FloatLit(n.Value.Float()), floatTerm, n.Value.Float() >= 0}
	case expr.OpName:
		return c.name(n)
	}
	key := ""
	if c.uses != nil {
		key = n.String()
	}
	if name := c.named[key]; name != "" {
		return term{jen.Id(name), tensorTerm, true}
	}
	return c.once(key, c.call(n))
}

func (c *composer) call(n *expr.Node) term {
	args := make([]term, len(n.Args))
	host := true
	for i, a := range n.Args {
		args[i] = c.node(a)
		host = host && args[i].kind != tensorTerm
	}
	switch {
	case host && (n.Name == "cast" || n.Name == "conj" && args[0].kind != scalarTerm):
		return args[0]
	case n.Name == "cast":
		return term{c.apply("to_dtype", args[0].code, c.dy().Dot("DType").Call()), tensorTerm, true}
	case host:
		return c.hostCall(n, args)
	case n.Name == "where":
		return c.where(args)
	}
	return c.tensorCall(n, args)
}

// tensorCall prints a function as the operator that applies it to tensors.
func (c *composer) tensorCall(n *expr.Node, args []term) term {
	c.placed = c.placed || slices.Contains(unit.PlacedNames, n.Name)
	c.calls++
	var vals []jen.Code
	for _, a := range args {
		vals = append(vals, c.tensor(a))
	}
	return term{c.apply(tensorFunc(n.Name), vals...), tensorTerm, true}
}

func (c *composer) name(n *expr.Node) term {
	if v, ok := expr.Constants[n.Name]; ok {
		if s, named := mathConst[n.Name]; named {
			return term{jen.Qual("math", s), floatTerm, true}
		}
		return term{gofile.FloatLit(v), floatTerm, true}
	}
	if c.free[n.Name] {
		return term{jen.Id(unit.Local(n.Name)), floatTerm, true}
	}
	for _, p := range c.op.Params {
		if p.Name != n.Name || p.Attr < 0 {
			continue
		}
		id := jen.Id(unit.Local(p.Name))
		switch p.Type {
		case schema.Scalar:
			return term{id, scalarTerm, true}
		case schema.Bool:
			return term{id, boolTerm, true}
		case schema.Int:
			return term{jen.Float64().Call(id), floatTerm, true}
		}
		return term{id, floatTerm, true}
	}
	c.placed = c.placed || slices.Contains(unit.PlacedNames, n.Name)
	for _, p := range c.op.Params {
		if p.Name == n.Name && p.OrScalar {
			return term{jen.Id("solid").Call(jen.Id(unit.Local(n.Name)), c.dy()), tensorTerm, true}
		}
	}
	return term{jen.Id(unit.Local(n.Name)), tensorTerm, true}
}

var mathConst = map[string]string{"Pi": "Pi", "E": "E", "Sqrt2": "Sqrt2", "Ln2": "Ln2", "Log2E": "Log2E", "Log10E": "Log10E"}

// hostOps are the operators that Go has for host numbers; the result of a
// comparison is a bool.
var hostOps = map[string]struct {
	sign string
	kind termKind
}{
	"add": {"+", floatTerm}, "sub": {"-", floatTerm}, "mul": {"*", floatTerm}, "div": {"/", floatTerm},
	"lt": {"<", boolTerm}, "le": {"<=", boolTerm}, "gt": {">", boolTerm}, "ge": {">=", boolTerm},
	"eq": {"==", boolTerm}, "ne": {"!=", boolTerm}, "land": {"&&", boolTerm}, "lor": {"||", boolTerm},
}

// hostFuncs are the functions of package math that host numbers may meet.
var hostFuncs = map[string]string{
	"exp": "Exp", "log": "Log", "sqrt": "Sqrt", "pow": "Pow", "abs": "Abs", "max": "Max", "min": "Min", "tanh": "Tanh",
	"exp2": "Exp2", "log2": "Log2", "log1p": "Log1p", "expm1": "Expm1", "lgamma": "Lgamma", "floor": "Floor",
}

func (c *composer) hostCall(n *expr.Node, args []term) term {
	if op, ok := hostOps[n.Name]; ok {
		var sides []code
		for _, a := range args {
			s := a.code
			if a.kind == scalarTerm {
				s = c.float(a)
			}
			if !a.atom {
				s = jen.Parens(s)
			}
			sides = append(sides, s)
		}
		if n.Name == "div" && constant(n) { // Go divides whole constants as integers
			sides[0] = jen.Float64().Call(args[0].code)
		}
		return term{sides[0].Op(op.sign).Add(sides[1]), op.kind, false}
	}
	switch fn := hostFuncs[n.Name]; {
	case n.Name == "neg":
		return term{jen.Op("-").Add(parens(c.float(args[0]), args[0].atom)), floatTerm, false}
	case n.Name == "lnot":
		return term{jen.Op("!").Add(parens(args[0].code, args[0].atom)), boolTerm, false}
	case fn != "":
		var vals []jen.Code
		for _, a := range args {
			vals = append(vals, c.float(a))
		}
		return term{jen.Qual("math", fn).Call(vals...), floatTerm, true}
	}
	return c.tensorCall(n, args)
}

// constant reports whether n reads no name.
func constant(n *expr.Node) bool {
	return n.Op != expr.OpName && !slices.ContainsFunc(n.Args, func(a *expr.Node) bool { return !constant(a) })
}

func parens(x code, atom bool) code {
	if atom {
		return x
	}
	return jen.Parens(x)
}

// where prints a choice. Numbers on both sides would have the default float's
// dtype, so one of them is given the gradient's.
func (c *composer) where(args []term) term {
	c.calls++
	x, y := c.tensor(args[1]), c.tensor(args[2])
	if args[1].kind != tensorTerm && args[2].kind != tensorTerm {
		x = gofile.CoreName("Solid").Call(x, c.dy().Dot("DType").Call())
	}
	return term{c.apply("where", c.tensor(args[0]), x, y), tensorTerm, true}
}

// apply prints the call of a standard operator.
func (c *composer) apply(name string, args ...jen.Code) code {
	if c.dry {
		return jen.Null()
	}
	op := c.e.Standard(c.op, name)
	if c.e.rounds(op) {
		c.roundings++
	}
	for i := len(args); i < len(op.Params); i++ {
		args = append(args, c.e.Literal(op, op.Params[i], op.Params[i].Default))
	}
	return jen.Qual(c.e.OpsOf(op), op.GoName).Call(args...)
}

// tensorFunc is the schema's name for a function of the expression language.
func tensorFunc(name string) string {
	if s, ok := tensorFuncs[name]; ok {
		return s
	}
	return name
}

var tensorFuncs = map[string]string{
	"land": "logical_and", "lor": "logical_or", "lnot": "logical_not",
	"and": "bitwise_and", "or": "bitwise_or", "xor": "bitwise_xor", "not": "bitwise_not",
	"shl": "shift_left", "shr": "shift_right", "rem": "remainder",
	"max": "maximum", "min": "minimum",
}

// namesIn returns the operands and arguments that an expression reads, in the
// order they first appear.
func namesIn(x *expr.Expr) []string {
	var out []string
	var walk func(n *expr.Node)
	walk = func(n *expr.Node) {
		if n.Op == expr.OpName && !slices.Contains(out, n.Name) {
			if _, constant := expr.Constants[n.Name]; !constant {
				out = append(out, n.Name)
			}
		}
		for _, a := range n.Args {
			walk(a)
		}
	}
	walk(x.Root)
	return out
}
