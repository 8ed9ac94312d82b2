package emit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// option is an optional argument's public type: every option of the schema with
// the same name shares it.
type option struct {
	param *schema.Param
	op    *schema.Op // the first that has it
	users []string   // Go names of the operators that take it
}

// ctor is the name of the function that makes the option, or of the enum type
// whose constants are the option.
func (o *option) ctor() string { return optionName(o.param) }

// typeName is the Go type of the option.
func (o *option) typeName() string { return optionType(o.param) }

func optionName(p *schema.Param) string {
	if p.Type == schema.DType {
		return "OfType"
	}
	return schema.GoName(p.Name)
}

func optionType(p *schema.Param) string {
	if p.Type == schema.Enum {
		return schema.GoName(p.Name)
	}
	if p.Type == schema.DType {
		return "DTypeOption"
	}
	return schema.GoName(p.Name) + "Option"
}

// optionField is the option's field in the struct that collects them.
func optionField(p *schema.Param) string {
	if p.Type == schema.DType {
		return "dtype"
	}
	return lower(schema.GoName(p.Name))
}

// public reports whether op has a function in the package users import.
func public(op *schema.Op) bool { return op.Tags&ir.TagHidden == 0 }

// options returns the options that public operators take, by name.
func (e *emitter) options() []*option {
	var out []*option
	for _, op := range e.spec.Ops {
		if !public(op) {
			continue
		}
		for _, p := range op.Params {
			if !p.Option {
				continue
			}
			i := slices.IndexFunc(out, func(o *option) bool { return optionType(o.param) == optionType(p) })
			if i < 0 {
				i = len(out)
				out = append(out, &option{param: p, op: op})
			}
			if o := out[i]; !slices.Contains(o.users, op.GoName) {
				o.users = append(o.users, op.GoName)
			}
		}
	}
	slices.SortFunc(out, func(a, b *option) int { return cmp.Compare(a.typeName(), b.typeName()) })
	return out
}

// factories reports whether some public operator takes creation options.
func (e *emitter) factories() bool {
	return slices.ContainsFunc(e.spec.Ops, func(op *schema.Op) bool { return public(op) && op.Factory() })
}

// fixedFactories reports whether some public factory makes one dtype.
func (e *emitter) fixedFactories() bool {
	return slices.ContainsFunc(e.spec.Ops, func(op *schema.Op) bool { return public(op) && op.FixedFactory() })
}

// optionOps names the options of one operator; creation adds those of factories.
func optionOps(op *schema.Op) []*schema.Param {
	var out []*schema.Param
	for _, p := range op.Params {
		if p.Option {
			out = append(out, p)
		}
	}
	return out
}

// takesOptions reports whether op's public function ends in options.
func takesOptions(op *schema.Op) bool { return op.Factory() || len(optionOps(op)) > 0 }

// optionInterface names the type of op's options.
func optionInterface(op *schema.Op) string {
	if op.Factory() && len(optionOps(op)) == 0 {
		return "CreateOption"
	}
	return op.GoName + "Option"
}

// creation are the options that every factory takes.
var creation = []struct{ typ, ctor, doc string }{
	{"DeviceOption", "On", "On creates the tensor on device d."},
	{"DTypeOption", "OfType", ""},
	{"RequireGradOption", "RequireGrad", "RequireGrad makes the created tensor a leaf that collects its gradient."},
	{"PinnedOption", "Pinned", "Pinned creates the tensor in page-locked host memory, from which copies to accelerators of d's kind, or without d of the kind there is, can be asynchronous. Such memory is costly to get and is taken from all programs of the machine: use it for what is copied often."},
}

// publicOptions emits the option types and what collects them.
func (e *emitter) publicOptions() {
	opts := e.options()
	enums := e.publicEnums()
	if len(opts) == 0 && len(enums) == 0 && !e.factories() {
		return
	}
	f := e.goFile(e.spec.Package, "options.go", "")
	if len(opts) > 0 || e.factories() {
		f.collector(opts)
	}
	dtype := false
	for _, o := range opts {
		dtype = dtype || o.param.Type == schema.DType
		if o.param.Type != schema.Enum {
			f.optionDecl(o)
		}
	}
	f.done()
	if e.factories() {
		f := e.goFile(e.spec.Package, "create.go", "")
		f.creationOptions(dtype)
		f.done()
	}
	if len(enums) == 0 {
		return
	}
	f = e.goFile(e.spec.Package, "enums.go", "")
	for _, n := range enums {
		f.publicEnum(n, slices.ContainsFunc(opts, func(o *option) bool { return o.typeName() == n.goName }))
	}
	f.done()
}

// publicEnums returns the enums that public operators take.
func (e *emitter) publicEnums() []*enum {
	var out []*enum
	for _, n := range e.enums {
		used := slices.ContainsFunc(e.spec.Ops, func(op *schema.Op) bool {
			return public(op) && slices.ContainsFunc(op.Params, func(p *schema.Param) bool {
				return p.Type == schema.Enum && p.Name == n.param
			})
		})
		if used {
			out = append(out, n)
		}
	}
	return out
}

// collector prints the struct of all options and the function that fills it.
func (f *goFile) collector(opts []*option) {
	var fields []jen.Code
	for _, o := range opts {
		fields = append(fields, jen.Id(optionField(o.param)).Add(f.e.fieldType(o.op, o.param)))
	}
	if f.e.factories() {
		if !slices.ContainsFunc(opts, func(o *option) bool { return o.param.Type == schema.DType }) {
			fields = append(fields, jen.Id("dtype").Add(irName("DType")))
		}
		fields = append(fields,
			jen.Id("device").Qual(devicePath, "Device"), jen.Id("placed").Bool().Comment("device was given"),
			jen.Id("requireGrad").Bool(),
			jen.Id("pin").Qual(devicePath, "Kind").Comment("of the accelerators to be page-locked for; the CPU for none"))
	}
	f.doc("options holds every optional argument; an operator reads those it takes.")
	f.Type().Id("options").Struct(fields...)
	f.Line()
	f.Type().Id("option").Interface(jen.Id("set").Params(jen.Op("*").Id("options")))
	f.Line()
	f.doc("optionSets are the sets that options are applied to, which an interface's method is handed. They are zero while they are here.")
	f.Var().Id("optionSets").Op("=").Qual("sync", "Pool").Values(jen.Dict{
		jen.Id("New"): jen.Func().Params().Any().Block(jen.Return(jen.New(jen.Id("options"))))})
	f.Line()
	f.doc("collect returns the defaults s with opts applied. It copies only where there are any.")
	f.Func().Id("collect").Types(jen.Id("O").Id("option")).Params(jen.Id("s").Id("options"), jen.Id("opts").Index().Id("O")).Id("options").Block(
		jen.If(jen.Len(jen.Id("opts")).Op("==").Lit(0)).Block(jen.Return(jen.Id("s"))),
		jen.Id("all").Op(":=").Id("optionSets").Dot("Get").Call().Assert(jen.Op("*").Id("options")),
		jen.Op("*").Id("all").Op("=").Id("s"),
		jen.For(jen.List(jen.Id("_"), jen.Id("o")).Op(":=").Range().Id("opts")).Block(
			jen.If(jen.Any().Call(jen.Id("o")).Op("!=").Nil()).Block(jen.Id("o").Dot("set").Call(jen.Id("all")))),
		jen.Id("s").Op("=").Op("*").Id("all"),
		jen.Op("*").Id("all").Op("=").Id("options").Values(),
		jen.Id("optionSets").Dot("Put").Call(jen.Id("all")),
		jen.Return(jen.Id("s")))
	f.Line()
}

// placement prints how creation options become a core.Placement.
func (f *goFile) placement() {
	f.doc("place returns where a factory creates: like another tensor, or as the defaults and the options say.")
	f.Func().Params(jen.Id("s").Op("*").Id("options")).Id("place").Params(jen.Id("like").Add(tensorType())).Op("*").Add(coreName("Placement")).Block(
		jen.Var().Id("p").Op("*").Add(coreName("Placement")),
		jen.If(jen.Id("like").Op("!=").Nil()).Block(
			jen.Id("p").Op("=").Add(coreName("PlacementLike")).Call(jen.Id("like"))).Else().Block(
			jen.Id("p").Op("=").Add(coreName("DefaultPlacement")).Call()),
		jen.If(jen.Id("s").Dot("placed")).Block(jen.Id("p").Dot("Device").Op("=").Id("s").Dot("device")),
		jen.If(jen.Id("s").Dot("dtype").Op("!=").Add(irName("Invalid"))).Block(jen.Id("p").Dot("DType").Op("=").Id("s").Dot("dtype")),
		jen.List(jen.Id("p").Dot("RequireGrad"), jen.Id("p").Dot("Pin")).Op("=").List(jen.Id("s").Dot("requireGrad"), jen.Id("s").Dot("pin")),
		jen.Return(jen.Id("p")))
	f.Line()
}

// conversion prints what gives the results of factories that make one dtype another.
func (f *goFile) conversion() {
	f.doc("as returns t, which is of the one dtype that its factory makes, with the dtype that the options say, or else that of another tensor. It takes t over.")
	dtype := jen.Id("dtype")
	f.Func().Params(jen.Id("s").Op("*").Id("options")).Id("as").Params(jen.List(jen.Id("t"), jen.Id("like")).Add(tensorType())).Add(tensorType()).Block(
		dtype.Clone().Op(":=").Id("s").Dot("dtype"),
		jen.If(dtype.Clone().Op("==").Add(irName("Invalid")).Op("&&").Id("like").Op("!=").Nil()).Block(
			dtype.Clone().Op("=").Id("like").Dot("DType").Call()),
		jen.If(dtype.Clone().Op("==").Add(irName("Invalid")).Op("||").Id("t").Dot("Err").Call().Op("!=").Nil().Op("||").Add(dtype.Clone()).Op("==").Id("t").Dot("DType").Call()).Block(
			jen.Return(jen.Id("t"))),
		jen.Defer().Id("t").Dot("Release").Call(),
		jen.Id("out").Op(":=").Add(coreName("Cast")).Call(jen.Id("t"), dtype.Clone()),
		jen.If(jen.Id("s").Dot("pin").Op("==").Qual(devicePath, "KindCPU")).Block(jen.Return(jen.Id("out"))),
		jen.Defer().Id("out").Dot("Release").Call(),
		jen.Return(coreName("Pin").Call(jen.Id("out"), jen.Id("s").Dot("pin"))))
	f.Line()
}

// fieldType is the type of an option in the struct that collects them.
func (e *emitter) fieldType(op *schema.Op, p *schema.Param) code {
	if p.Type == schema.Scalar {
		return e.scalarType()
	}
	return e.coreType(op, p)
}

// optionDecl prints one option's type and constructor.
func (f *goFile) optionDecl(o *option) {
	p := o.param
	typ, ctor := o.typeName(), o.ctor()
	f.doc(article(typ) + " is the option that " + ctor + " makes.")
	f.Type().Id(typ).Struct(jen.Id("v").Add(f.e.fieldType(o.op, p)))
	f.Line()
	if p.Type == schema.DType {
		f.doc(ctor + " gives the result dtype d. " + takers(o.users, f.e.factories()))
	} else {
		f.doc(ctor + " gives the argument " + p.Name + ". " + takers(o.users, false))
	}
	arg, val := jen.Id("v").Add(f.e.fieldType(o.op, p)), jen.Id("v")
	switch p.Type {
	case schema.Ints:
		arg, val = jen.Id("v").Op("...").Int(), jen.Qual("slices", "Clone").Call(jen.Id("v"))
	case schema.Tensor:
		arg, val = jen.Id("v").Add(f.e.publicTensor()), jen.Id("v").Dot("Handle").Call()
	case schema.DType:
		arg, val = jen.Id("d").Add(irName("DType")), jen.Id("d")
	}
	f.Func().Id(ctor).Params(arg).Id(typ).Block(jen.Return(jen.Id(typ).Values(val)))
	f.Line()
	f.setter(typ, jen.Id("s").Dot(optionField(p)).Op("=").Id("o").Dot("v"))
}

func (f *goFile) setter(typ string, stmts ...jen.Code) {
	f.Func().Params(jen.Id("o").Id(typ)).Id("set").Params(jen.Id("s").Op("*").Id("options")).Block(stmts...)
	f.Line()
}

func article(name string) string {
	if strings.ContainsRune("AEIOU", rune(name[0])) {
		return "An " + name
	}
	return "A " + name
}

// takers says which functions take an option.
func takers(users []string, factories bool) string {
	list := slices.Clone(users)
	if factories {
		list = append(list, "every function that creates a tensor")
	}
	switch n := len(list); {
	case n == 1:
		return "It is an option of " + list[0] + "."
	default:
		return "It is an option of " + strings.Join(list[:n-1], ", ") + " and " + list[n-1] + "."
	}
}

// publicEnum prints an enum's public type; where it is an option its constants
// are given as they are.
func (f *goFile) publicEnum(n *enum, isOption bool) {
	what := f.e.usersOf(n)
	f.doc(n.goName + " is the argument " + n.param + " of " + what + ".")
	f.Type().Id(n.goName).Qual(f.e.opsPath(), n.goName)
	f.Line()
	f.doc("The values of " + n.goName + ".")
	var consts []jen.Code
	for _, name := range n.names {
		consts = append(consts, jen.Id(n.value(name)).Op("=").Id(n.goName).Call(jen.Qual(f.e.opsPath(), n.value(name))))
	}
	f.Const().Defs(consts...)
	f.Line()
	f.doc("String returns the value's name in the schema.")
	f.Func().Params(jen.Id("o").Id(n.goName)).Id("String").Params().String().Block(
		jen.Return(jen.Qual(f.e.opsPath(), n.goName).Call(jen.Id("o")).Dot("String").Call()))
	f.Line()
	if isOption {
		f.setter(n.goName, jen.Id("s").Dot(optionField(&schema.Param{Name: n.param})).Op("=").Qual(f.e.opsPath(), n.goName).Call(jen.Id("o")))
	}
}

// creationOptions prints the options of factories.
func (f *goFile) creationOptions(dtypeDone bool) {
	f.doc("A CreateOption says where and how a function creates a tensor: On, OfType, RequireGrad or Pinned.")
	f.Type().Id("CreateOption").Interface(jen.Id("option"), jen.Id("createOption").Params())
	f.Line()
	f.placement()
	if f.e.fixedFactories() {
		f.conversion()
	}
	for _, c := range creation {
		f.Func().Params(jen.Id(c.typ)).Id("createOption").Params().Block()
		f.Line()
		if c.typ == "DTypeOption" {
			if !dtypeDone {
				f.optionDecl(&option{param: &schema.Param{Name: "dtype", Type: schema.DType}, users: nil})
			}
			continue
		}
		f.doc(article(c.typ) + " is the option that " + c.ctor + " makes.")
		var params []jen.Code
		value := jen.Id(c.typ).Values()
		switch c.typ {
		case "DeviceOption":
			f.Type().Id(c.typ).Struct(jen.Id("d").Qual(devicePath, "Device"))
			params = types(jen.Id("d").Qual(devicePath, "Device"))
			value = jen.Id(c.typ).Values(jen.Id("d"))
		case "PinnedOption":
			f.Type().Id(c.typ).Struct(jen.Id("kind").Qual(devicePath, "Kind"))
			params = types(jen.Id("d").Op("...").Qual(devicePath, "Device"))
			value = jen.Id(c.typ).Values(coreName("PinKind").Call(jen.Id("d")))
		default:
			f.Type().Id(c.typ).Struct()
		}
		f.Line()
		f.doc(c.doc)
		f.Func().Id(c.ctor).Params(params...).Id(c.typ).Block(jen.Return(value))
		f.Line()
		switch c.typ {
		case "DeviceOption":
			f.setter(c.typ, jen.List(jen.Id("s").Dot("device"), jen.Id("s").Dot("placed")).Op("=").List(jen.Id("o").Dot("d"), jen.True()))
		case "RequireGradOption":
			f.setter(c.typ, jen.Id("s").Dot("requireGrad").Op("=").True())
		default:
			f.setter(c.typ, jen.Id("s").Dot("pin").Op("=").Id("o").Dot("kind"))
		}
	}
}
