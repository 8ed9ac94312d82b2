package schema

import (
	"fmt"
	"go/ast"
	"go/token"
	"maps"
	"reflect"
	"runtime"
	"slices"
	"strings"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// Builtins are the host functions that a HostValue may name besides those of
// shapes.Functions. Shape, shapes (of a list operand), layout, dtype_of, rank,
// numel and storage_size read metadata; given reports whether an optional
// operand is there; item reads a one-element integer tensor; len, max and min
// are Go's.
var Builtins = []string{
	"shape", "shapes", "layout", "dtype_of", "rank", "numel", "storage_size", "given", "item", "len", "max", "min",
}

// metadata are the builtins over a tensor.
var metadata = map[string]Type{
	"shape": Ints, "dtype_of": DType, "rank": Int, "numel": Int, "storage_size": Int, "given": Bool, "item": Int,
}

// call checks a call of an operator, a host function or a builtin. Some names are both, as
// max: a tensor as the first argument means the operator.
func (l *lang) call(e *ast.CallExpr) Value {
	id, ok := e.Fun.(*ast.Ident)
	if !ok {
		return l.mistake(e.Fun.Pos(), "want the name of an operator or a host function")
	}
	if e.Ellipsis.IsValid() {
		return l.mistake(e.Ellipsis, "give a list as it is, without ...")
	}
	id = &ast.Ident{NamePos: id.NamePos, Name: operatorName(id.Name)}
	op := l.spec.Lookup(id.Name)
	host := l.vocab.host[id.Name]
	if op != nil && (host != nil || slices.Contains(Builtins, id.Name)) { // the first argument decides
		if l.takesTensor(e) {
			host = nil
		} else {
			op = nil
		}
	}
	switch {
	case op != nil && op.Parallel():
		return l.mistake(e.Pos(), "operator %q writes over its operands and cannot be part of a tensor expression", op.Name)
	case host != nil:
		return l.hostCall(e, id.Name, host)
	case op != nil:
		return l.opCall(op, e)
	case metadata[id.Name] != NoType:
		return l.metadata(e, id.Name)
	}
	switch id.Name {
	case "len":
		return l.length(e)
	case "max", "min":
		return l.extremum(e, id.Name)
	case "float", "int":
		return l.conversion(e, id.Name)
	}
	return l.mistake(e.Pos(), "unknown operator or host function %q%s", id.Name, expr.DidYouMean(id.Name, l.callable()))
}

// callable returns the names that a call may have.
func (l *lang) callable() []string {
	names := slices.Concat(Builtins, []string{"float", "int"}, slices.Sorted(maps.Keys(l.vocab.host)))
	for sp := l.spec; sp != nil; sp = sp.Base {
		for _, op := range sp.Ops {
			names = append(names, op.Name)
		}
	}
	return names
}

// takesTensor reports whether the first argument of a call is a tensor or a
// list of them.
func (l *lang) takesTensor(e *ast.CallExpr) bool {
	if len(e.Args) == 0 {
		return false
	}
	v := l.value(e.Args[0], nil)
	l.first = &firstArg{e.Args[0], v} // so that it is not looked at again
	return v.Type == Tensor || v.Type == TensorList
}

// A firstArg is an argument that was checked to choose the function.
type firstArg struct {
	expr  ast.Expr
	value Value
}

// args checks that a call has n arguments and returns them without a hint.
func (l *lang) args(e *ast.CallExpr, name string, n int) ([]Value, bool) {
	if len(e.Args) != n {
		l.mistake(e.Pos(), "%s takes %s, have %d", name, count(n, "argument"), len(e.Args))
		return nil, false
	}
	vs := make([]Value, n)
	ok := true
	for i, a := range e.Args {
		vs[i] = l.value(a, nil)
		ok = ok && !vs[i].failed()
	}
	return vs, ok
}

// metadata checks a builtin that reads what a tensor is, not its elements.
func (l *lang) metadata(e *ast.CallExpr, name string) Value {
	vs, ok := l.args(e, name, 1)
	if !ok {
		return Value{}
	}
	if vs[0].Type == TensorList && name == "shape" {
		return Value{Kind: HostValue, Type: ShapeList, Name: "shapes", Args: vs}
	}
	if vs[0].Type != Tensor {
		return l.mistake(e.Args[0].Pos(), "%s takes a Tensor, have %s", name, l.describe(vs[0]))
	}
	return Value{Kind: HostValue, Type: metadata[name], Name: name, Args: vs}
}

func (l *lang) length(e *ast.CallExpr) Value {
	vs, ok := l.args(e, "len", 1)
	if !ok {
		return Value{}
	}
	if t := vs[0].Type; t != Ints && t != TensorList && t != ShapeList && t != String {
		return l.mistake(e.Args[0].Pos(), "len takes a list, have %s", l.describe(vs[0]))
	}
	return Value{Kind: HostValue, Type: Int, Name: "len", Args: vs}
}

// extremum checks max and min of two or more ints, or floats.
func (l *lang) extremum(e *ast.CallExpr, name string) Value {
	vs, ok := l.args(e, name, max(len(e.Args), 2))
	if !ok {
		return Value{}
	}
	t := Int
	for i, v := range vs {
		switch v.Type {
		case Int:
		case Float:
			t = Float
		default:
			return l.mistake(e.Args[i].Pos(), "%s takes ints and floats here, have %s", name, l.describe(v))
		}
	}
	for i := range vs {
		vs[i] = l.convert(e.Args[i], vs[i], t, name)
	}
	return Value{Kind: HostValue, Type: t, Name: name, Args: vs}
}

// conversion checks float(x) and int(x).
func (l *lang) conversion(e *ast.CallExpr, name string) Value {
	vs, ok := l.args(e, name, 1)
	if !ok {
		return Value{}
	}
	to := Float
	if name == "int" {
		to = Int
	}
	switch from := vs[0].Type; {
	case from == to:
		return vs[0]
	case from == Int || from == Float || from == Scalar:
		return Value{Kind: ConvertValue, Type: to, Args: vs}
	}
	return l.mistake(e.Args[0].Pos(), "%s takes a host number, have %s", name, l.describe(vs[0]))
}

// opCall checks the call of an operator.
func (l *lang) opCall(op *Op, e *ast.CallExpr) Value {
	if len(e.Args) > len(op.Params) {
		return l.mistake(e.Args[len(op.Params)].Pos(), "%s takes at most %s, have %d", op.Name, count(len(op.Params), "argument"), len(e.Args))
	}
	need := 0
	for _, p := range op.Params {
		if !p.Option {
			need++
		}
	}
	if len(e.Args) < need {
		return l.mistake(e.Rparen, "%s needs %s, have %d", op.Name, count(need, "argument"), len(e.Args))
	}
	vs := make([]Value, len(e.Args))
	for i, a := range e.Args {
		vs[i] = l.value(a, op.Params[i])
	}
	return l.bound(op, e.Args, vs, e.Pos())
}

// bound makes a call of op: it converts the arguments given and fills in the
// defaults of the others.
func (l *lang) bound(op *Op, exprs []ast.Expr, vs []Value, pos token.Pos) Value {
	v := Value{Kind: CallValue, Type: Tensor, Op: op, Pos: l.at(pos)}
	switch {
	case len(op.Results) > 1:
		v.Type = Several
	case len(op.Results) == 1 && op.Results[0].List:
		v.Type = TensorList
	}
	for i, p := range op.Params {
		if i < len(vs) {
			v.Args = append(v.Args, l.argument(op, p, exprs[i], vs[i]))
			continue
		}
		v.Args = append(v.Args, Value{Kind: LiteralValue, Type: p.Type, Literal: p.Default, Pos: v.Pos})
	}
	numbersTogether(op, v.Args)
	return v
}

// numbersTogether makes tensors of the numbers among the operands that may be
// numbers, unless all of them are: the second form of an operator takes numbers
// for all.
func numbersTogether(op *Op, args []Value) {
	tensors := false
	for i, p := range op.Params {
		tensors = tensors || p.OrScalar && args[i].Type == Tensor
	}
	for i, p := range op.Params {
		if tensors && p.OrScalar && args[i].Type == Scalar {
			args[i] = Value{Kind: ConvertValue, Type: Tensor, Args: []Value{args[i]}, Pos: args[i].Pos}
		}
	}
}

// argument converts v to the type of op's parameter p.
func (l *lang) argument(op *Op, p *Param, e ast.Expr, v Value) Value {
	what := fmt.Sprintf("argument %s of %s", p.Name, op.Name)
	switch {
	case v.failed():
		return v
	case isNil(v) && (p.Optional || p.Option && mayBeNil(p)):
		v.Type = p.Type
		return v
	case p.OrScalar && v.Type != Tensor:
		return l.convert(e, v, Scalar, what)
	case p.Type == Enum && v.Type == Enum && v.Kind == NameValue:
		if from := l.names[v.Name].param; from != nil && !slices.Equal(from.Enum, p.Enum) {
			return l.mistake(e.Pos(), "%s: want one of %s, have %s, which is one of %s", what,
				strings.Join(p.Enum, ", "), v.Name, strings.Join(from.Enum, ", "))
		}
	}
	return l.convert(e, v, p.Type, what)
}

// hostCall checks the call of a function of package ir, by its Go type.
func (l *lang) hostCall(e *ast.CallExpr, name string, fn any) Value {
	t := reflect.TypeOf(fn)
	v := Value{Kind: HostValue, Name: name}
	var ok bool
	if v.Args, ok = l.goArgs(e, name, t); !ok {
		return Value{}
	}
	if v.Type = typeOfGo[t.Out(0)]; v.Type == NoType {
		return l.mistake(e.Pos(), "host function %s gives a %v, which the tensor language does not have", name, t.Out(0))
	}
	return v
}

var typeOfGo = map[reflect.Type]Type{
	reflect.TypeFor[int](): Int, reflect.TypeFor[[]int](): Ints, reflect.TypeFor[float64](): Float,
	reflect.TypeFor[bool](): Bool, reflect.TypeFor[string](): String, reflect.TypeFor[ir.Scalar](): Scalar,
	reflect.TypeFor[ir.DType](): DType, reflect.TypeFor[[][]int](): ShapeList, reflect.TypeFor[ir.Layout](): Layout,
}

// goArgs checks the arguments of a call of a Go function. A tensor is given as
// its shape, layout or dtype, as the parameter asks.
func (l *lang) goArgs(e *ast.CallExpr, name string, t reflect.Type) ([]Value, bool) {
	n := t.NumIn()
	if t.IsVariadic() {
		n = max(n-1, len(e.Args))
	}
	if len(e.Args) != n {
		l.mistake(e.Pos(), "%s takes %s, have %d", name, count(n, "argument"), len(e.Args))
		return nil, false
	}
	out := make([]Value, n)
	ok := true
	for i, a := range e.Args {
		in := t.In(min(i, t.NumIn()-1))
		if t.IsVariadic() && i >= t.NumIn()-1 {
			in = in.Elem()
		}
		want := typeOfGo[in]
		v := l.value(a, &Param{Type: want})
		if !v.failed() {
			v = l.metaArg(a, v, want, fmt.Sprintf("argument %d of %s", i+1, name))
		}
		ok = ok && !v.failed()
		out[i] = v
	}
	return out, ok
}

// metaArg fits an argument to a host function's parameter. A tensor given where metadata
// is wanted stands for its own: shape(x) need not be written.
func (l *lang) metaArg(e ast.Expr, v Value, want Type, what string) Value {
	meta := func(name string) Value {
		return Value{Kind: HostValue, Type: want, Name: name, Args: []Value{v}, Pos: v.Pos}
	}
	switch {
	case isNil(v) && (want == Ints || want == DType):
		v.Type = want
		return v
	case v.Type == Tensor && want == Ints:
		return meta("shape")
	case v.Type == Tensor && want == Layout:
		return meta("layout")
	case v.Type == Tensor && want == DType:
		return meta("dtype_of")
	case v.Type == TensorList && want == ShapeList:
		return meta("shapes")
	case want == Tensor || want == NoType || v.Type == Tensor:
		return l.mistake(e.Pos(), "%s: want %s, have %s", what, describeType(want), l.describe(v))
	}
	return l.convert(e, v, want, what)
}

// goName returns the name of a function declared in a package.
func goName(fn any) string {
	full := runtime.FuncForPC(reflect.ValueOf(fn).Pointer()).Name()
	return full[strings.LastIndexByte(full, '.')+1:]
}
