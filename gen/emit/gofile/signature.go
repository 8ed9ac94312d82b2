package gofile

import (
	"fmt"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// Codes makes a list of pieces of Go.
func Codes(cs ...jen.Code) []jen.Code { return cs }

// OpDoc is the doc comment of op's function called name.
func OpDoc(op *schema.Op, name string) string { return name + " " + op.Doc }

// StringList prints a []string.
func StringList(list []string) code {
	var items []jen.Code
	for _, s := range list {
		items = append(items, jen.Lit(s))
	}
	return jen.Index().String().Values(items...)
}

// CoreType returns the Go type of a parameter in package ops.
func (e *Emitter) CoreType(op *schema.Op, p *schema.Param) code {
	switch p.Type {
	case schema.Tensor:
		return TensorType()
	case schema.TensorList:
		return jen.Index().Add(TensorType())
	case schema.Enum:
		n, pkg := e.EnumOf(op, p)
		return jen.Qual(pkg, n.GoName)
	}
	if p.Draws != ir.DrawsNothing {
		return jen.Int64()
	}
	return PlainType(p.Type)
}

// PlainType returns the Go type of a parameter that is neither tensor nor enum.
func PlainType(t schema.Type) code {
	switch t {
	case schema.Int:
		return jen.Int()
	case schema.Ints:
		return jen.Index().Int()
	case schema.ShapeList:
		return jen.Index().Index().Int()
	case schema.Float:
		return jen.Float64()
	case schema.Bool:
		return jen.Bool()
	case schema.String:
		return jen.String()
	case schema.Scalar:
		return IRName("Scalar")
	case schema.DType:
		return IRName("DType")
	}
	panic(fmt.Sprintf("internal error: no Go type for %v", t))
}

// CoreParams returns an operator's parameters in package ops, adjacent ones of
// one type joined as in (x, y *core.Tensor).
func (e *Emitter) CoreParams(op *schema.Op) []jen.Code {
	var list ParamList
	for _, p := range op.Params {
		list.Add(unit.Local(p.Name), e.CoreType(op, p))
	}
	if op.Factory() {
		list.Add("place", jen.Op("*").Qual(CorePath, "Placement"))
	}
	return list.Code()
}

// ParamList prints parameters, joining neighbours of one type.
type ParamList struct {
	names [][]string
	types []code
	texts []string // of types; joined ones are equal
}

// Add appends a parameter, joined to the one before where that has the same type.
func (l *ParamList) Add(name string, typ code) {
	text := typeText(typ)
	if n := len(l.types) - 1; n >= 0 && text == l.texts[n] {
		l.names[n] = append(l.names[n], name)
		return
	}
	l.names, l.types, l.texts = append(l.names, []string{name}), append(l.types, typ), append(l.texts, text)
}

// Variadic adds the last parameter, any number of elem.
func (l *ParamList) Variadic(name string, elem code) {
	l.names, l.types, l.texts = append(l.names, []string{name}), append(l.types, jen.Op("...").Add(elem)), append(l.texts, "..."+typeText(elem))
}

// typeText returns a type as source.
func typeText(typ code) string {
	return strings.TrimPrefix(jen.Var().Id("_").Add(typ).GoString(), "var _ ")
}

// Code returns the parameters for jennifer.
func (l *ParamList) Code() []jen.Code {
	var out []jen.Code
	for i, names := range l.names {
		var ids []jen.Code
		for _, n := range names {
			ids = append(ids, jen.Id(n))
		}
		out = append(out, jen.List(ids...).Add(l.types[i]))
	}
	return out
}

// CoreArgs returns the same parameters as arguments of a call.
func CoreArgs(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, p := range op.Params {
		out = append(out, jen.Id(unit.Local(p.Name)))
	}
	if op.Factory() {
		out = append(out, jen.Id("place"))
	}
	return out
}

// CoreResults returns what an operator's function in package ops returns.
func CoreResults(op *schema.Op) code {
	if op.Results[0].List {
		return jen.Index().Add(TensorType())
	}
	if len(op.Results) == 1 {
		return TensorType()
	}
	var names []jen.Code
	for _, r := range op.Results {
		names = append(names, jen.Id(unit.Local(r.Name)))
	}
	return jen.Params(jen.List(names...).Add(TensorType()))
}

// AttrValue returns the ir.Value of a parameter held in a Go variable.
func AttrValue(p *schema.Param, v code) code {
	fn := map[schema.Type]string{
		schema.Int: "IntValue", schema.Ints: "IntsValue", schema.Float: "FloatValue", schema.Bool: "BoolValue",
		schema.String: "StringValue", schema.Scalar: "ScalarValue", schema.DType: "IntValue", schema.Enum: "IntValue",
	}[p.Type]
	return IRName(fn).Call(v)
}

// AttrRead returns the Go value of a parameter from an ir.Value.
func (e *Emitter) AttrRead(op *schema.Op, p *schema.Param, v code) code {
	switch p.Type {
	case schema.Int:
		if p.Draws != ir.DrawsNothing {
			return v.Dot("Int")
		}
		return jen.Int().Call(v.Dot("Int"))
	case schema.Ints:
		return v.Dot("Ints")
	case schema.Float:
		return v.Dot("Scalar").Dot("Float").Call()
	case schema.Bool:
		return v.Dot("Int").Op("!=").Lit(0)
	case schema.String:
		return v.Dot("Str")
	case schema.Scalar:
		return v.Dot("Scalar")
	case schema.DType, schema.Enum:
		return e.CoreType(op, p).Call(v.Dot("Int"))
	}
	panic(fmt.Sprintf("internal error: %v is not an attribute", p.Type))
}

// Literal returns a default value in Go, as a parameter of package ops.
func (e *Emitter) Literal(op *schema.Op, p *schema.Param, l schema.Literal) code {
	switch p.Type {
	case schema.Tensor, schema.TensorList:
		return jen.Nil()
	case schema.Int:
		if l.Extents != nil {
			return Extent(l.Extents[0])
		}
		return jen.Lit(int(l.Scalar.Int()))
	case schema.Ints:
		if l.Nil {
			return jen.Nil()
		}
		if l.Extents != nil {
			return extents(l.Extents)
		}
		return intList(l.Ints)
	case schema.Float:
		return FloatLit(l.Scalar.Float())
	case schema.Bool:
		return jen.Lit(l.Scalar.Bool())
	case schema.String:
		return jen.Lit(l.Str)
	case schema.Scalar:
		return ScalarLit(l.Scalar)
	case schema.DType:
		return DTypeName(l.DType)
	case schema.Enum:
		n, pkg := e.EnumOf(op, p)
		return jen.Qual(pkg, n.Value(l.Str))
	}
	panic(fmt.Sprintf("internal error: no literal of %v", p.Type))
}

func intList(list []int) code {
	var items []jen.Code
	for _, i := range list {
		items = append(items, jen.Lit(i))
	}
	return jen.Index().Int().Values(items...)
}
