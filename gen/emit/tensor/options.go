package tensor

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// optional is an optional argument that public operators take: one name in the schema is
// one option.
type optional struct {
	param *schema.Param
	op    *schema.Op // the first that has it
	users []string   // Go names of the operators that take it
}

// optionName is the name of the function that makes the option, or of the type whose
// constants are the option. Options are read by it.
func optionName(p *schema.Param) string {
	if p.Type == schema.DType {
		return "OfType"
	}
	return schema.GoName(p.Name)
}

// options returns the options that public operators of ops take, by name.
func options(ops []*schema.Op) []*optional {
	var out []*optional
	for _, op := range ops {
		if !unit.Public(op) {
			continue
		}
		for _, p := range optionsOf(op) {
			i := slices.IndexFunc(out, func(o *optional) bool { return optionName(o.param) == optionName(p) })
			if i < 0 {
				i = len(out)
				out = append(out, &optional{param: p, op: op})
			}
			if o := out[i]; !slices.Contains(o.users, op.GoName) {
				o.users = append(o.users, op.GoName)
			}
		}
	}
	slices.SortFunc(out, func(a, b *optional) int { return cmp.Compare(optionName(a.param), optionName(b.param)) })
	return out
}

// ownOptions are the options that the emitted package has functions or constants for:
// another schema's package takes those of the standard one where they are of one kind.
func (e *emitter) ownOptions() []*optional {
	own := options(e.Spec.Ops)
	if e.Std {
		return own
	}
	standard := options(e.Spec.Base.Ops)
	return slices.DeleteFunc(own, func(o *optional) bool {
		return slices.ContainsFunc(standard, func(s *optional) bool { return sameKind(o.param, s.param) }) || o.param.Type == schema.DType
	})
}

// sameKind reports whether one option serves both arguments.
func sameKind(p, q *schema.Param) bool {
	return optionName(p) == optionName(q) && p.Type == q.Type && slices.Equal(p.Enum, q.Enum)
}

// optionsOf returns the optional arguments of one operator.
func optionsOf(op *schema.Op) []*schema.Param {
	return slices.DeleteFunc(slices.Clone(op.Params), func(p *schema.Param) bool { return !p.Option })
}

// takesOptions reports whether op's public function ends in options.
func takesOptions(op *schema.Op) bool { return op.Factory() || len(optionsOf(op)) > 0 }

// optionNames are the options that op takes, as package option lists them.
func optionNames(op *schema.Op) []string {
	var names []string
	for _, p := range optionsOf(op) {
		names = append(names, optionName(p))
	}
	if op.Factory() {
		names = append(names, creationNames()...)
	}
	return names
}

// creation are the options that every factory takes, in the order of
// core.CreationOptions.
var creation = []struct{ name, doc string }{
	{"On", "creates a tensor on device d."},
	{"OfType", ""},
	{"RequireGrad", "makes a created tensor a leaf that collects its gradient."},
	{"Pinned", "creates a tensor in page-locked host memory, from which copies to accelerators of d's kind, or without d of the kind there is, can be asynchronous. Such memory is costly to get and is taken from all programs of the machine: use it for what is copied often."},
}

// optionType is the type of every option.
func (e *emitter) optionType() code { return e.standard("Option") }

func option(name string) code { return jen.Qual(gofile.OptionPath, name) }

// publicOptions emits the functions that make options and the enums.
func (e *emitter) publicOptions() {
	own := e.ownOptions()
	if e.Std || slices.ContainsFunc(own, func(o *optional) bool { return o.param.Type != schema.Enum }) {
		f := e.goFile(e.Spec.Package, "options.go", "")
		if e.Std {
			f.standardOptions()
		}
		for _, o := range own {
			if o.param.Type != schema.Enum {
				f.optionFunc(o)
			}
		}
		f.Done()
	}
	enums := e.publicEnums()
	if len(enums) == 0 {
		return
	}
	f := e.goFile(e.Spec.Package, "enums.go", "")
	for _, n := range enums {
		f.publicEnum(n, slices.ContainsFunc(own, func(o *optional) bool { return o.param.Type == schema.Enum && o.param.Name == n.Param }))
	}
	f.Done()
}

// standardOptions prints the type of options, and the options of factories.
func (f *goFile) standardOptions() {
	f.Doc("An Option is an optional argument, as Dim(1) makes one and ReductionSum is one. Each function says which it takes, and one that is given another, or one twice with different values, fails with an error that says so. A nil Option is one that is not given, and so is Bias or Weight of the zero Tensor.")
	f.Type().Id("Option").Op("=").Add(option("Option"))
	f.Line()
	device := jen.Id("d").Qual(gofile.DevicePath, "Device")
	values := map[string]struct {
		param jen.Code
		value code
	}{
		"On":          {device, option("Value").Call(jen.Lit("On"), jen.Id("d"))},
		"RequireGrad": {jen.Id("on").Op("...").Bool(), option("Flag").Call(jen.Lit("RequireGrad"), jen.Id("on"))},
		"Pinned":      {jen.Id("d").Op("...").Qual(gofile.DevicePath, "Device"), option("Value").Call(jen.Lit("Pinned"), gofile.CoreName("PinKind").Call(jen.Id("d")))},
	}
	for _, c := range creation {
		if v, ok := values[c.name]; ok {
			f.Doc(c.name + " " + c.doc + " It is an option of every function that creates one.")
			f.Func().Id(c.name).Params(v.param).Id("Option").Block(jen.Return(v.value))
			f.Line()
		}
	}
}

// optionKind is how values of a type are given and read.
type optionKind struct {
	make, read string // functions of package option, methods of its Reader
	words      string // what the value is
}

func kindOf(p *schema.Param) optionKind {
	switch p.Type {
	case schema.Bool:
		return optionKind{"Flag", "Flag", "without a bool it is true"}
	case schema.Int:
		return optionKind{"Int", "Int", "an int"}
	case schema.Ints:
		return optionKind{"Ints", "Ints", "any number of ints"}
	case schema.Float:
		return optionKind{"Float", "Float", "a float64"}
	case schema.DType:
		return optionKind{"Int", "Int", "a dtype"}
	case schema.Scalar:
		return optionKind{"Number", "", "a number"}
	case schema.Tensor:
		return optionKind{"Value", "", "the zero Tensor stands for none"}
	}
	return optionKind{"Value", "", "a " + p.Type.String()}
}

// optionFunc prints the function that makes an option.
func (f *goFile) optionFunc(o *optional) {
	p, name := o.param, optionName(o.param)
	kind := kindOf(p)
	v := unit.Local(p.Name)
	if p.Type == schema.Bool {
		v = "on"
	}
	given := jen.Id(v)
	var param jen.Code
	value := given.Clone()
	var body []jen.Code
	switch p.Type {
	case schema.Bool:
		param = given.Clone().Op("...").Bool()
	case schema.Ints:
		param = given.Clone().Op("...").Int()
	case schema.Tensor:
		param, value = given.Clone().Add(f.e.publicTensor()), given.Clone().Dot("Handle").Call()
		body = append(body, jen.If(given.Clone().Op("==").Parens(f.e.publicTensor().Values())).Block(jen.Return(jen.Nil())))
	case schema.DType:
		param, value = jen.Id("d").Id("DType"), jen.Int().Call(jen.Id("d"))
	case schema.Scalar:
		param = given.Clone().Add(f.e.scalarType())
	default:
		param = given.Clone().Add(gofile.PlainType(p.Type))
	}
	if p.Type == schema.DType {
		f.Doc(name + " gives the dtype of the result. " + takers(o.users, true))
	} else {
		what := "gives an argument"
		if text, ok := f.e.Spec.Options[p.Name]; ok {
			what = f.e.prose(o.op, text)
		}
		f.Doc(fmt.Sprintf("%s %s; %s. %s", name, what, kind.words, takers(o.users, false)))
	}
	f.Func().Id(name).Params(param).Add(f.e.optionType()).Block(append(body, jen.Return(option(kind.make).Call(jen.Lit(name), value)))...)
	f.Line()
}

// maxTakers is up to how many operators an option's documentation names.
const maxTakers = 12

// takers says which functions take an option.
func takers(users []string, factories bool) string {
	list := slices.Clone(users)
	if factories {
		list = append(list, "every function that creates a tensor")
	}
	if n := len(list); n > maxTakers {
		return fmt.Sprintf("It is an option of %d functions, each of which says so.", n)
	}
	return "It is an option of " + listed(list) + "."
}

// readerName is the function that reads op's options.
func readerName(op *schema.Op) string { return unit.Lower(op.GoName) + "Options" }

// optionReader prints:
//
//	func <name>Options(opts []Option) (<arguments of package ops>, err error) {
//		o := option.Read(opts)
//		<argument> = o.Int("<Option>", <default>)
//		...
//		return <arguments>, o.Err("<Option>, ...")
//	}
//
// Of a factory it also returns the placement, that of the tensor like where there is one.
func (f *goFile) optionReader(op *schema.Op) {
	var params, results gofile.ParamList
	params.Add("opts", jen.Index().Add(f.e.optionType()))
	body := gofile.Codes(jen.Id("o").Op(":=").Add(option("Read")).Call(jen.Id("opts")))
	var values []jen.Code
	for _, p := range optionsOf(op) {
		if op.Factory() && p.Type == schema.DType {
			f.e.Fail(op, "the argument %s: OfType is an option of every factory, which gives its result that dtype", p.Name)
		}
		name := unit.Local(p.Name)
		results.Add(name, f.e.CoreType(op, p))
		body = append(body, jen.Id(name).Op("=").Add(f.e.readOption(op, p)))
		values = append(values, jen.Id(name))
	}
	if op.Factory() {
		params.Add("like", gofile.TensorType())
		results.Add("place", jen.Op("*").Add(gofile.CoreName("Placement")))
		body = append(body, jen.Id("place").Op("=").Add(gofile.CoreName("ReadPlacement")).Call(jen.Op("&").Id("o"), jen.Id("like")))
		values = append(values, jen.Id("place"))
	}
	results.Add("err", jen.Error())
	values = append(values, jen.Id("o").Dot("Err").Call(jen.Lit(strings.Join(optionNames(op), ", "))))
	f.Doc(readerName(op) + " reads the options of " + op.GoName + ".")
	f.Func().Id(readerName(op)).Params(params.Code()...).Params(results.Code()...).Block(append(body, jen.Return(values...))...)
	f.Line()
}

// readOption prints how an argument of package ops is read from the reader o.
func (e *emitter) readOption(op *schema.Op, p *schema.Param) code {
	name := jen.Lit(optionName(p))
	missing := e.Literal(op, p, p.Default)
	switch p.Type {
	case schema.Enum:
		_, pkg := e.EnumOf(op, p)
		return jen.Qual(pkg, schema.GoName(p.Name)).Call(option("Choice").Call(jen.Op("&").Id("o"), e.publicEnumType(p).Call(missing)))
	case schema.DType:
		return gofile.IRName("DType").Call(jen.Id("o").Dot("Int").Call(name, jen.Int().Call(missing)))
	case schema.Scalar:
		return gofile.CoreName("ReadScalar").Call(jen.Op("&").Id("o"), name, missing)
	case schema.Bool, schema.Int, schema.Float, schema.Ints:
		return jen.Id("o").Dot(kindOf(p).read).Call(name, missing)
	case schema.Tensor:
		return option("Get").Types(gofile.TensorType()).Call(jen.Op("&").Id("o"), name, missing)
	}
	return option("Get").Call(jen.Op("&").Id("o"), name, missing)
}

// publicEnums returns the enums that public operators take and that the emitted package
// declares.
func (e *emitter) publicEnums() []*unit.Enum {
	var out []*unit.Enum
	for _, n := range e.Enums {
		if slices.ContainsFunc(e.Spec.Ops, func(op *schema.Op) bool { return takesEnum(op, n.Param) }) && !e.standardEnum(n.Param, n.Names) {
			out = append(out, n)
		}
	}
	return out
}

func takesEnum(op *schema.Op, name string) bool {
	return unit.Public(op) && slices.ContainsFunc(op.Params, func(p *schema.Param) bool { return p.Type == schema.Enum && p.Name == name })
}

// standardEnum reports whether package tensor declares an enum for another schema's
// argument: one of the same name and values, and an option where that is one.
func (e *emitter) standardEnum(name string, values []string) bool {
	if e.Std {
		return false
	}
	takes := func(ops []*schema.Op, asOption bool) bool {
		return slices.ContainsFunc(ops, func(op *schema.Op) bool {
			return unit.Public(op) && slices.ContainsFunc(op.Params, func(p *schema.Param) bool {
				return p.Type == schema.Enum && p.Name == name && slices.Equal(p.Enum, values) && (p.Option || !asOption)
			})
		})
	}
	return takes(e.Spec.Base.Ops, takes(e.Spec.Ops, true))
}

// publicEnumType is the public type of an enum's values.
func (e *emitter) publicEnumType(p *schema.Param) code {
	if e.standardEnum(p.Name, p.Enum) {
		return jen.Qual(unit.StdPath("tensor"), schema.GoName(p.Name))
	}
	return e.named(schema.GoName(p.Name))
}

// publicEnum prints an enum's public type; where it is an option its constants are given
// as they are.
func (f *goFile) publicEnum(n *unit.Enum, isOption bool) {
	what := "is an argument"
	if text, ok := f.e.Spec.Options[n.Param]; ok {
		what = f.e.prose(n.First, text)
	}
	var users []string
	for _, op := range f.e.Spec.Ops {
		if takesEnum(op, n.Param) {
			users = append(users, op.GoName)
		}
	}
	if isOption {
		what += "; its values are options. " + takers(users, false)
	} else {
		what += " of " + listed(users) + "."
	}
	f.Doc(n.GoName + " " + what)
	f.Type().Id(n.GoName).Qual(f.e.OpsPath(), n.GoName)
	f.Line()
	f.Doc("The values of " + n.GoName + ".")
	var consts []jen.Code
	for _, name := range n.Names {
		consts = append(consts, jen.Id(n.Value(name)).Id(n.GoName).Op("=").Id(n.GoName).Call(jen.Qual(f.e.OpsPath(), n.Value(name))))
	}
	f.Const().Defs(consts...)
	f.Line()
	f.Doc("String returns the value's name in the schema.")
	f.Func().Params(jen.Id("v").Id(n.GoName)).Id("String").Params().String().Block(
		jen.Return(jen.Qual(f.e.OpsPath(), n.GoName).Call(jen.Id("v")).Dot("String").Call()))
	f.Line()
	if isOption {
		f.Doc("OptionName makes the values options.")
		f.Func().Params(jen.Id(n.GoName)).Id("OptionName").Params().String().Block(jen.Return(jen.Lit(n.GoName)))
		f.Line()
	}
}
