package emit

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
)

// enum is a named type made of an enum parameter: every parameter of the schema
// with the same name shares it.
type enum struct {
	param  string // as in the schema
	goName string
	names  []string // in order
	first  *schema.Op
}

// value returns the Go name of one of the enum's constants.
func (n *enum) value(name string) string { return n.goName + schema.GoName(name) }

func collectEnums(spec *schema.Spec) []*enum {
	var out []*enum
	for _, op := range spec.Ops {
		for _, p := range op.Params {
			known := func(n *enum) bool { return n.param == p.Name }
			if p.Type == schema.Enum && !slices.ContainsFunc(out, known) {
				out = append(out, &enum{p.Name, schema.GoName(p.Name), p.Enum, op})
			}
		}
	}
	slices.SortFunc(out, func(a, b *enum) int { return cmp.Compare(a.param, b.param) })
	return out
}

// enumOf returns the enum of a parameter and the ops package it is declared in.
func (e *emitter) enumOf(op *schema.Op, p *schema.Param) (*enum, string) {
	if e.own(op) {
		for _, n := range e.enums {
			if n.param == p.Name {
				return n, e.opsPath()
			}
		}
	}
	return &enum{p.Name, schema.GoName(p.Name), p.Enum, op}, stdPath("ops")
}

// checkNames reports what would not compile: an enum name with two lists of
// names, and two Go names that are one.
func (e *emitter) checkNames() {
	for _, op := range e.spec.Ops {
		for _, p := range op.Params {
			if p.Type != schema.Enum {
				continue
			}
			if n, _ := e.enumOf(op, p); !slices.Equal(n.names, p.Enum) {
				e.fail(op, "enum %s has the names %v here and %v in op %s; one Go type stands for both, so give one another name",
					p.Name, p.Enum, n.names, n.first.Name)
			}
		}
	}
	e.checkPublicNames()
}

// coreType returns the Go type of a parameter in package ops.
func (e *emitter) coreType(op *schema.Op, p *schema.Param) code {
	switch p.Type {
	case schema.Tensor:
		return tensorType()
	case schema.TensorList:
		return jen.Index().Add(tensorType())
	case schema.Enum:
		n, pkg := e.enumOf(op, p)
		return jen.Qual(pkg, n.goName)
	}
	if p.Wide {
		return jen.Int64()
	}
	return plainType(p.Type)
}

// plainType returns the Go type of a parameter that is neither tensor nor enum.
func plainType(t schema.Type) code {
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
		return irName("Scalar")
	case schema.DType:
		return irName("DType")
	}
	panic(fmt.Sprintf("internal error: no Go type for %v", t))
}

// coreParams returns an operator's parameters in package ops, adjacent ones of
// one type joined as in (x, y *core.Tensor).
func (e *emitter) coreParams(op *schema.Op) []jen.Code {
	var list paramList
	for _, p := range op.Params {
		list.add(local(p.Name), e.coreType(op, p))
	}
	if op.Factory() {
		list.add("place", jen.Op("*").Qual(corePath, "Placement"))
	}
	return list.code()
}

// paramList prints parameters, joining neighbours of one type.
type paramList struct {
	names [][]string
	types []code
	texts []string // of types; joined ones are equal
}

func (l *paramList) add(name string, typ code) {
	text := strings.TrimPrefix(jen.Var().Id("_").Add(typ).GoString(), "var _ ")
	if n := len(l.types) - 1; n >= 0 && text == l.texts[n] {
		l.names[n] = append(l.names[n], name)
		return
	}
	l.names, l.types, l.texts = append(l.names, []string{name}), append(l.types, typ), append(l.texts, text)
}

// variadic adds the last parameter, any number of elem.
func (l *paramList) variadic(name, elem string) {
	l.names, l.types, l.texts = append(l.names, []string{name}), append(l.types, jen.Op("...").Id(elem)), append(l.texts, "..."+elem)
}

func (l *paramList) code() []jen.Code {
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

// text returns the parameters as source.
func (l *paramList) text() string {
	var parts []string
	for i, names := range l.names {
		parts = append(parts, strings.Join(names, ", ")+" "+l.texts[i])
	}
	return strings.Join(parts, ", ")
}

// coreArgs returns the same parameters as arguments of a call.
func coreArgs(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, p := range op.Params {
		out = append(out, jen.Id(local(p.Name)))
	}
	if op.Factory() {
		out = append(out, jen.Id("place"))
	}
	return out
}

// coreResults returns what an operator's function in package ops returns.
func coreResults(op *schema.Op) code {
	if op.Results[0].List {
		return jen.Index().Add(tensorType())
	}
	if len(op.Results) == 1 {
		return tensorType()
	}
	var names []jen.Code
	for _, r := range op.Results {
		names = append(names, jen.Id(local(r.Name)))
	}
	return jen.Params(jen.List(names...).Add(tensorType()))
}

// attrValue returns the ir.Value of a parameter held in a Go variable.
func attrValue(p *schema.Param, v code) code {
	fn := map[schema.Type]string{
		schema.Int: "IntValue", schema.Ints: "IntsValue", schema.Float: "FloatValue", schema.Bool: "BoolValue",
		schema.String: "StringValue", schema.Scalar: "ScalarValue", schema.DType: "IntValue", schema.Enum: "IntValue",
	}[p.Type]
	return irName(fn).Call(v)
}

// attrRead returns the Go value of a parameter from an ir.Value.
func (e *emitter) attrRead(op *schema.Op, p *schema.Param, v code) code {
	switch p.Type {
	case schema.Int:
		if p.Wide {
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
		return e.coreType(op, p).Call(v.Dot("Int"))
	}
	panic(fmt.Sprintf("internal error: %v is not an attribute", p.Type))
}

// literal returns a default value in Go, as a parameter of package ops.
func (e *emitter) literal(op *schema.Op, p *schema.Param, l schema.Literal) code {
	switch p.Type {
	case schema.Tensor, schema.TensorList:
		return jen.Nil()
	case schema.Int:
		if l.Extents != nil {
			return extent(l.Extents[0])
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
		return floatLit(l.Scalar.Float())
	case schema.Bool:
		return jen.Lit(l.Scalar.Bool())
	case schema.String:
		return jen.Lit(l.Str)
	case schema.Scalar:
		return scalarLit(l.Scalar)
	case schema.DType:
		return dtypeName(l.DType)
	case schema.Enum:
		n, pkg := e.enumOf(op, p)
		return jen.Qual(pkg, n.value(l.Str))
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
