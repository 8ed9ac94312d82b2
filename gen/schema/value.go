package schema

import (
	"go/ast"
	"go/token"
	"maps"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// value checks one expression. A hint is the parameter the value is for: it
// makes an enum's or a dtype's name a literal.
func (l *lang) value(e ast.Expr, hint *Param) Value {
	// The first argument of a call was typed already where it decides between an operator
	// and a host function of one name. Typed again, its mistakes would be reported twice.
	if l.first != nil && l.first.expr == e {
		v := l.first.value
		l.first = nil
		return v
	}
	v := l.value1(e, hint)
	v.Pos = l.at(e.Pos())
	return v
}

// value1 is value without the position.
func (l *lang) value1(e ast.Expr, hint *Param) Value {
	switch e := e.(type) {
	case *ast.ParenExpr:
		return l.value(e.X, hint)
	case *ast.BasicLit:
		return l.basic(e)
	case *ast.Ident:
		return l.ident(e, hint)
	case *ast.UnaryExpr:
		return l.unary(e)
	case *ast.BinaryExpr:
		return l.binary(e)
	case *ast.CallExpr:
		return l.call(e)
	case *ast.CompositeLit:
		return l.listOf(e)
	case *ast.IndexExpr:
		return l.index(e)
	case *ast.SliceExpr:
		return l.slice(e)
	case *ast.SelectorExpr:
		return l.selected(e)
	case *ast.StarExpr: // x**2 reads as x * *2
		return l.mistake(e.Pos(), "there is no operator **; write pow(x, y), or x*x")
	}
	return l.mistake(e.Pos(), "not part of the tensor language")
}

// basic reads a literal. It keeps the category it was written in: what it is converted to
// depends on where it stands.
func (l *lang) basic(e *ast.BasicLit) Value {
	v := Value{Kind: LiteralValue}
	if e.Kind == token.STRING {
		lit, msg := parseLiteral(&Param{Type: String}, e.Value)
		if msg != "" {
			return l.mistake(e.Pos(), "%s", msg)
		}
		v.Type, v.Literal = String, lit
		return v
	}
	s, ok := parseNumber(strings.ReplaceAll(e.Value, "_", ""))
	if !ok {
		return l.mistake(e.Pos(), "want a number, have %s", e.Value)
	}
	v.Literal.Scalar = s
	switch s.Category() {
	case ir.CategoryInt:
		v.Type = Int
	case ir.CategoryFloat:
		v.Type = Float
	default:
		v.Type = Scalar
	}
	return v
}

// ident reads a name. Where an enum or a dtype is expected their names come first, but for
// a variable that has that type itself; elsewhere they mean nothing, so that enums need no
// names that are unique in a schema.
func (l *lang) ident(e *ast.Ident, hint *Param) Value {
	b := l.names[e.Name]
	if hint != nil && (b == nil || b.typ != hint.Type) {
		if hint.Type == Enum && slices.Contains(hint.Enum, e.Name) {
			return Value{Kind: LiteralValue, Type: Enum, Literal: Literal{Str: e.Name}}
		}
		if hint.Type == DType {
			if dt, err := ir.ParseDType(e.Name); err == nil {
				return Value{Kind: LiteralValue, Type: DType, Literal: Literal{DType: dt}}
			}
		}
	}
	if b != nil {
		b.used = true
		return Value{Kind: NameValue, Type: b.typ, Name: e.Name, Op: b.op}
	}
	switch e.Name {
	case "true", "false":
		return Value{Kind: LiteralValue, Type: Bool, Literal: Literal{Scalar: ir.BoolScalar(e.Name == "true")}}
	case "nil":
		return Value{Kind: LiteralValue, Literal: Literal{Nil: true}}
	}
	if hint != nil && hint.Type == Enum {
		return l.mistake(e.Pos(), "unknown name %q (the enum %s has %s)", e.Name, hint.Name, strings.Join(hint.Enum, ", "))
	}
	if c, ok := expr.Constants[e.Name]; ok {
		return Value{Kind: LiteralValue, Type: Float, Literal: Literal{Scalar: ir.FloatScalar(c)}}
	}
	return l.mistake(e.Pos(), "unknown name %q (have %s)%s", e.Name, l.have(), expr.DidYouMean(e.Name, slices.Collect(maps.Keys(l.names))))
}

// have lists the visible names.
func (l *lang) have() string {
	var names []string
	for n := range l.names {
		names = append(names, n)
	}
	slices.Sort(names)
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// unary checks a sign before a value: of a tensor it is an operator, of a literal part of it.
func (l *lang) unary(e *ast.UnaryExpr) Value {
	x := l.value(e.X, nil)
	switch {
	case x.Type == NoType && x.Kind == NameValue:
		return Value{} // reported already
	case e.Op == token.SUB && x.Type == Tensor:
		return l.apply(e.Pos(), "neg", x)
	case e.Op == token.SUB && x.Kind == LiteralValue && x.Type == Float:
		x.Literal.Scalar = ir.FloatScalar(-x.Literal.Scalar.Float())
		return x
	case e.Op == token.SUB && x.Kind == LiteralValue && x.Type == Int:
		x.Literal.Scalar, _ = parseNumber(negated(x.Literal.Scalar.String()))
		return x
	case e.Op == token.SUB && (x.Type == Int || x.Type == Float), e.Op == token.NOT && x.Type == Bool:
		return Value{Kind: UnaryValue, Type: x.Type, Name: e.Op.String(), Args: []Value{x}}
	}
	return l.mistake(e.Pos(), "operator %s does not apply to %s", e.Op, l.describe(x))
}

func negated(s string) string {
	if rest, ok := strings.CutPrefix(s, "-"); ok {
		return rest
	}
	return "-" + s
}

// tensorOps are the operators that Go's arithmetic signs stand for.
var tensorOps = map[token.Token]string{token.ADD: "add", token.SUB: "sub", token.MUL: "mul", token.QUO: "div"}

// binary checks a sign between two values. The left one decides what names on the right
// may mean; a tensor on either side makes it an operator of the schema.
func (l *lang) binary(e *ast.BinaryExpr) Value {
	x := l.value(e.X, nil)
	var hint *Param
	switch {
	case x.Type == DType:
		hint = &Param{Type: DType}
	case x.Type == Enum && x.Kind == NameValue:
		hint = l.names[x.Name].param
	}
	y := l.value(e.Y, hint)
	if x.failed() || y.failed() {
		return Value{}
	}
	if x.Type == Tensor || y.Type == Tensor {
		if isNil(x) || isNil(y) {
			return l.compareNil(e, x, y)
		}
		return l.tensorBinary(e, x, y)
	}
	return l.hostBinary(e, x, y)
}

// failed reports whether a mistake was reported in place of the value.
func (v Value) failed() bool { return v.Type == NoType && !isNil(v) }

func isNil(v Value) bool { return v.Kind == LiteralValue && v.Literal.Nil }

func (l *lang) tensorBinary(e *ast.BinaryExpr, x, y Value) Value {
	name, ok := tensorOps[e.Op]
	if !ok {
		return l.mistake(e.OpPos, "operator %s works on host values; use an operator of the schema for tensors", e.Op)
	}
	if y.Type == Tensor && x.Type != Tensor && (e.Op == token.ADD || e.Op == token.MUL) {
		x, y = y, x // the number goes right, where the operator has a form for it
	}
	return l.apply(e.OpPos, name, x, y)
}

// apply calls an operator of the schema for a sign of Go.
func (l *lang) apply(pos token.Pos, name string, args ...Value) Value {
	op := l.spec.Lookup(name)
	if op == nil {
		return l.mistake(pos, "needs operator %s, which the schema does not have", name)
	}
	if len(op.Params) < len(args) || len(op.Results) != 1 || op.Parallel() {
		return l.mistake(pos, "needs operator %s of %d operands with one result", name, len(args))
	}
	exprs := make([]ast.Expr, len(args))
	for i := range exprs {
		exprs[i] = &ast.Ident{NamePos: pos, Name: name}
	}
	return l.bound(op, exprs, args, pos)
}

// compareNil checks a comparison with nil. It asks whether an argument was given, so only
// what may be left out compares.
func (l *lang) compareNil(e *ast.BinaryExpr, x, y Value) Value {
	if isNil(x) {
		x, y = y, x
	}
	b := l.names[x.Name]
	absent := b != nil && (b.grad || b.param != nil && mayBeNil(b.param))
	if e.Op != token.EQL && e.Op != token.NEQ || x.Kind != NameValue || !absent {
		return l.mistake(e.OpPos, "nil compares with == and != to an argument that may be left out, or to dy_name")
	}
	y.Type = x.Type
	return Value{Kind: BinaryValue, Type: Bool, Name: e.Op.String(), Args: []Value{x, y}}
}

// mayBeNil reports whether a parameter has a value for "not given".
func mayBeNil(p *Param) bool { return p.Optional || p.Type == Ints || p.Type == DType }

// hostBinary checks a sign between host values, with Go's rules but one: an int beside a
// float becomes a float, since extents meet factors everywhere.
func (l *lang) hostBinary(e *ast.BinaryExpr, x, y Value) Value {
	if isNil(x) || isNil(y) {
		return l.compareNil(e, x, y)
	}
	num := func(t Type) bool { return t == Int || t == Float }
	if num(x.Type) && num(y.Type) && x.Type != y.Type { // an int meets a float
		x, y = l.convert(e.X, x, Float, ""), l.convert(e.Y, y, Float, "")
	}
	out := Value{Kind: BinaryValue, Type: x.Type, Name: e.Op.String(), Args: []Value{x, y}}
	same := x.Type == y.Type
	switch e.Op {
	case token.ADD, token.SUB, token.MUL, token.QUO:
		if same && num(x.Type) {
			if e.Op == token.QUO && y.Kind == LiteralValue && y.Literal.Scalar.Float() == 0 {
				return l.mistake(e.OpPos, "division by zero")
			}
			return out
		}
	case token.REM:
		if same && x.Type == Int {
			if y.Kind == LiteralValue && y.Literal.Scalar.Int() == 0 {
				return l.mistake(e.OpPos, "division by zero")
			}
			return out
		}
	case token.LSS, token.LEQ, token.GTR, token.GEQ:
		out.Type = Bool
		if same && (num(x.Type) || x.Type == String) {
			return out
		}
	case token.EQL, token.NEQ:
		out.Type = Bool
		if same && (num(x.Type) || x.Type == Bool || x.Type == String || x.Type == DType || x.Type == Enum) {
			return out
		}
		if x.Type == DType || y.Type == DType {
			return l.mistake(e.OpPos, "a dtype compares with a dtype, such as dtype_of(x)")
		}
	case token.LAND, token.LOR:
		if same && x.Type == Bool {
			return out
		}
	}
	return l.mistake(e.OpPos, "operator %s does not apply to %s and %s", e.Op, l.describe(x), l.describe(y))
}

// listOf checks a list literal; there are lists of ints and of tensors.
func (l *lang) listOf(e *ast.CompositeLit) Value {
	at, ok := e.Type.(*ast.ArrayType)
	var elem ast.Expr
	if ok && at.Len == nil {
		elem = at.Elt
	}
	id, isIdent := elem.(*ast.Ident)
	v := Value{Kind: ListValue}
	want := Int
	switch {
	case isIdent && id.Name == "int":
		v.Type = Ints
	case isIdent && id.Name == "Tensor":
		v.Type, want = TensorList, Tensor
	default:
		return l.mistake(e.Pos(), "want a list []int{...} or []Tensor{...}")
	}
	for _, x := range e.Elts {
		v.Args = append(v.Args, l.convert(x, l.value(x, nil), want, "an element of the list"))
	}
	return v
}

// index checks an element of a list. Whether it is there is known only when the emitted
// code runs.
func (l *lang) index(e *ast.IndexExpr) Value {
	x, i := l.value(e.X, nil), l.value(e.Index, nil)
	i = l.convert(e.Index, i, Int, "an index")
	v := Value{Kind: IndexValue, Args: []Value{x, i}}
	switch x.Type {
	case NoType:
		return Value{}
	case Ints:
		v.Type = Int
	case TensorList:
		v.Type = Tensor
	default:
		return l.mistake(e.Pos(), "only a []int and a []Tensor have elements, not %s", l.describe(x))
	}
	return v
}

func (l *lang) slice(e *ast.SliceExpr) Value {
	x := l.value(e.X, nil)
	v := Value{Kind: SliceValue, Type: x.Type, Args: []Value{x, {}, {}}}
	for i, b := range []ast.Expr{e.Low, e.High} {
		if b != nil {
			v.Args[i+1] = l.convert(b, l.value(b, nil), Int, "a bound")
		}
	}
	switch {
	case e.Slice3:
		return l.mistake(e.Pos(), "a slice has two bounds")
	case x.Type == NoType:
		return Value{}
	case x.Type != Ints && x.Type != TensorList:
		return l.mistake(e.Pos(), "only a []int and a []Tensor can be sliced, not %s", l.describe(x))
	}
	return v
}

// selected checks x.name, one result of several.
func (l *lang) selected(e *ast.SelectorExpr) Value {
	x := l.value(e.X, nil)
	if x.failed() {
		return Value{}
	}
	if x.Type != Several {
		return l.mistake(e.Sel.Pos(), "only the results of an operator with several are selected by name, not %s", l.describe(x))
	}
	var names []string
	for _, r := range x.Op.Results {
		if r.Name == e.Sel.Name {
			return Value{Kind: SelectValue, Type: Tensor, Name: r.Name, Op: x.Op, Args: []Value{x}}
		}
		names = append(names, r.Name)
	}
	return l.mistake(e.Sel.Pos(), "%s has no result %q (have %s)", x.Op.Name, e.Sel.Name, strings.Join(names, ", "))
}

// convert gives v the wanted type; what names its place in messages.
func (l *lang) convert(e ast.Expr, v Value, want Type, what string) Value {
	if v.failed() || v.Type == want && !isNil(v) {
		return v
	}
	to := Value{Kind: ConvertValue, Type: want, Args: []Value{v}, Pos: v.Pos}
	lit := v.Kind == LiteralValue && !v.Literal.Nil
	switch {
	case want == Float && v.Type == Int && lit:
		v.Type, v.Literal.Scalar = Float, ir.FloatScalar(v.Literal.Scalar.Float())
		return v
	case want == Float && v.Type == Int:
		return to
	case want == Scalar && lit && (v.Type == Int || v.Type == Float || v.Type == Bool):
		v.Type = Scalar
		return v
	case want == Scalar && (v.Type == Int || v.Type == Float || v.Type == Bool):
		return to
	case want == Tensor && (v.Type == Int || v.Type == Float || v.Type == Bool || v.Type == Scalar):
		to.Args = []Value{l.convert(e, v, Scalar, what)}
		return to
	}
	return l.mistake(e.Pos(), "%s: want %s, have %s", what, describeType(want), l.describe(v))
}

func describeType(t Type) string {
	switch t {
	case Tensor, TensorList:
		return "a " + t.String()
	case Int, Ints, Bool, Layout:
		return t.String()
	}
	return "a value of type " + t.String()
}
