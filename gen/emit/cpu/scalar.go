package cpu

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/bodies"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// goTypes are the Go types of compute dtypes.
var goTypes = map[ir.DType]string{
	ir.Bool: "bool", ir.Uint8: "uint8", ir.Int8: "int8", ir.Int16: "int16", ir.Int32: "int32", ir.Int64: "int64",
	ir.Float32: "float32", ir.Float64: "float64", ir.Complex64: "complex64", ir.Complex128: "complex128",
}

// family is the dtypes that one Go function serves: one dtype, or several of a
// category by a type parameter.
type family struct {
	category ir.Category
	dtypes   []ir.DType
	suffix   string // of function names; "" where the operator has one family
	generic  bool
}

// types returns the Go types that expressions of the family are printed with.
func (f *family) types() expr.GoTypes {
	if f.generic {
		return expr.GoTypes{T: "T", Real: "T"}
	}
	d := f.dtypes[0]
	return expr.GoTypes{T: goTypes[d], Real: goTypes[d.Real()]}
}

// typeParams prints [T num.Float], or nothing.
func (f *family) typeParams() []jen.Code {
	if !f.generic {
		return nil
	}
	name, all := "Float", ir.ClassFloat
	if f.category == ir.CategoryInt {
		name, all = "Int", ir.ClassInt
	}
	complete := true
	for _, d := range all.List() {
		complete = complete && slices.Contains(f.dtypes, d.Compute())
	}
	if complete {
		return []jen.Code{jen.Id("T").Qual(gofile.NumPath, name)}
	}
	var names []string
	for _, d := range f.dtypes {
		names = append(names, goTypes[d])
	}
	return []jen.Code{jen.Id("T").Op(strings.Join(names, " | "))}
}

// instance prints a function of the family for one dtype.
func (f *family) instance(name string, d ir.DType) code {
	if !f.generic {
		return jen.Id(name)
	}
	return jen.Id(name).Types(jen.Id(goTypes[d]))
}

// families groups compute dtypes whose functions have the same text. text is
// what a function prints for one dtype with the given types.
func families(dtypes []ir.DType, text func(d ir.DType, types expr.GoTypes) string) []*family {
	var out []*family
	texts := map[*family]string{}
	for _, d := range dtypes {
		c := d.Category()
		generic := c == ir.CategoryInt || c == ir.CategoryFloat
		t := ""
		if generic {
			t = text(d, expr.GoTypes{T: "T", Real: "T"})
		}
		i := slices.IndexFunc(out, func(f *family) bool { return generic && f.category == c && texts[f] == t })
		if i >= 0 {
			out[i].dtypes = append(out[i].dtypes, d)
			out[i].generic = true
			continue
		}
		f := &family{category: c, dtypes: []ir.DType{d}}
		texts[f] = t
		out = append(out, f)
	}
	for _, f := range out {
		if len(out) > 1 {
			f.suffix = familySuffix(f, out)
		}
	}
	return out
}

// familySuffix names a family by its category, or by its dtype where the
// category has several families.
func familySuffix(f *family, all []*family) string {
	same := 0
	for _, g := range all {
		if g.category == f.category {
			same++
		}
	}
	switch {
	case same == 1:
		return bodies.CategoryNames[f.category]
	case !f.generic:
		return unit.DTypeConst[f.dtypes[0]]
	}
	first, last := f.dtypes[0], f.dtypes[len(f.dtypes)-1]
	return unit.DTypeConst[first] + "To" + unit.DTypeConst[last]
}

// inputs are the names that a checked expression reads, operands first, then
// arguments, in the order of its environment.
type input struct {
	name string
	kind expr.Kind
}

func inputsOf(g *expr.Graph) []input {
	kinds := map[string]expr.Kind{}
	for _, v := range g.Values {
		if v.Op == expr.OpName {
			kinds[v.Name] = v.Kind
		} else if slices.Contains(unit.PlacedNames, v.Name) {
			kinds["index"] = expr.IntKind // a random number follows from its place
		}
	}
	var out []input
	add := func(name string) {
		if k, ok := kinds[name]; ok {
			out = append(out, input{name, k})
		}
	}
	for _, o := range g.Env.Operands {
		add(o.Name)
	}
	for _, p := range g.Env.Params {
		add(p.Name)
	}
	add("index")
	return out
}

// kindType is the Go type of values of kind k.
func kindType(k expr.Kind, t expr.GoTypes) string {
	switch k {
	case expr.BoolKind:
		return "bool"
	case expr.IntKind:
		return "int64"
	case expr.RealKind:
		return t.Real
	}
	return t.T
}

// goNames replaces the schema's names in printed Go by those of Go variables.
func goNames(text string, inputs []input) string {
	for _, in := range inputs {
		if v := unit.Local(in.name); v != in.name {
			text = regexp.MustCompile(`\b`+regexp.QuoteMeta(in.name)+`\b`).ReplaceAllString(text, v)
		}
	}
	return text
}

// typed prints a scalar function's name with the type argument that a call
// cannot infer.
func (f *family) typed(name string, g *expr.Graph) code {
	if !f.generic {
		return jen.Id(name)
	}
	for _, in := range inputsOf(g) {
		if in.kind == expr.TKind || in.kind == expr.RealKind {
			return jen.Id(name)
		}
	}
	return jen.Id(name).Types(jen.Id("T"))
}

var qualified = regexp.MustCompile(`\bnum\.([A-Z]\w*)`)

// goExpr turns printed Go over package num into a statement that imports it.
func goExpr(text string) code {
	out := jen.Null()
	for {
		m := qualified.FindStringSubmatchIndex(text)
		if m == nil {
			if text != "" {
				out = out.Op(text)
			}
			return out
		}
		if m[0] > 0 {
			out = out.Op(text[:m[0]])
		}
		out = out.Qual(gofile.NumPath, text[m[2]:m[3]])
		text = text[m[1]:]
	}
}

// scalarFunc prints a function that computes a checked expression:
//
//	func <name>[T num.Float](x, y T) T {
//		t0 := <shared part>
//		return <expression>
//	}
func (f *goFile) scalarFunc(name string, fam *family, types expr.GoTypes, g *expr.Graph) {
	printed := g.Go(types)
	inputs := inputsOf(g)
	var params gofile.ParamList
	for _, in := range inputs {
		params.Add(unit.Local(in.name), jen.Id(kindType(in.kind, types)))
	}
	var body []jen.Code
	for _, l := range printed.Lets {
		body = append(body, jen.Id(l.Name).Op(":=").Add(goExpr(goNames(l.Expr, inputs))))
	}
	var values, kinds []jen.Code
	for i, root := range g.Roots {
		values = append(values, goExpr(goNames(printed.Results[i], inputs)))
		kinds = append(kinds, jen.Id(kindType(root.Kind, types)))
	}
	body = append(body, jen.Return(values...))
	fn := f.Func().Id(name)
	if tp := fam.typeParams(); tp != nil {
		fn = fn.Types(tp...)
	}
	fn = fn.Params(params.Code()...)
	if len(kinds) == 1 {
		fn = fn.Add(kinds[0])
	} else {
		fn = fn.Params(kinds...)
	}
	fn.Block(body...)
	f.Line()
}

// printedText is what distinguishes functions of one body by dtype.
func printedText(g *expr.Graph, types expr.GoTypes) string {
	c := g.Go(types)
	var kinds []expr.Kind
	for _, root := range g.Roots {
		kinds = append(kinds, root.Kind)
	}
	return fmt.Sprint(c.Lets, c.Results, kinds)
}

// scalarSlot returns the position of scalar argument name of op in a loop's s.
func scalarSlot(op *schema.Op, name string) int {
	k := 0
	for _, p := range op.Attrs() {
		switch p.Type {
		case schema.Int, schema.Float, schema.Scalar, schema.Bool:
		default:
			continue
		}
		if p.Name == name {
			break
		}
		k++
	}
	return k
}

// scalarRead prints the value of scalar argument name of op, from the loop's s.
func scalarRead(op *schema.Op, in input, types expr.GoTypes) code {
	v := jen.Id("s").Index(jen.Lit(scalarSlot(op, in.name)))
	typ := kindType(in.kind, types)
	switch {
	case in.kind == expr.BoolKind || typ == "bool":
		return v.Dot("Bool").Call()
	case typ == "int64":
		return v.Dot("Int").Call()
	case typ == "float64":
		return v.Dot("Float").Call()
	case typ == "complex128":
		return v.Dot("Complex").Call()
	case typ == "complex64":
		return jen.Complex64().Call(v.Dot("Complex").Call())
	}
	return jen.Id(typ).Call(v.Dot(scalarGetter(typ, op)).Call())
}

// scalarGetter is the method of ir.Scalar whose value converts to typ.
func scalarGetter(typ string, op *schema.Op) string {
	if strings.HasPrefix(typ, "int") || strings.HasPrefix(typ, "uint") {
		return "Int"
	}
	return "Float"
}
