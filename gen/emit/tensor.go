package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

const tensorDoc = `Package %s computes with tensors on the CPU and on accelerators, and differentiates what it computes.

A Tensor is a small value. Operators are functions and methods; their optional arguments are typed values given last, as in Sum(x, Dim(0), KeepDim(true)). An operator that may take a number has a second form, as in x.MulScalar(0.5). XxxOut writes to a tensor of the right shape, XxxInPlace to the first operand.

An operator given bad operands returns a tensor that carries the error with the line of the call, and operators on it return it unchanged. Whatever leaves the package (Item, Data, Backward, the out and in-place forms) returns it as an error; Err looks at it earlier. An out or in-place form that fails changes nothing, and leaves its error in the tensor too: a program that goes on with the tensor reads it with Err first, and one that passed over the error meets it at the next use.`

const userDoc = `Package %s holds operators beside those of package tensor, from a schema of its own. They work on that package's tensors and follow its rules for options, errors and gradients.`

// tensorPackage emits the package that users import.
func (e *emitter) tensorPackage() {
	doc := tensorDoc
	if !e.std {
		doc = userDoc
	}
	f := e.goFile(e.spec.Package, "doc.go", strings.Replace(doc, "%s", e.spec.Package, 1))
	f.done()
	e.publicOptions()
	e.publicHelpers()
	if e.std {
		e.handle()
	}
	e.perGroup(e.spec.Package, func(f *goFile, op *schema.Op) {
		if public(op) {
			f.public(op)
		}
	})
}

// publicTensor is the public tensor type.
func (e *emitter) publicTensor() code {
	if e.std {
		return jen.Id("Tensor")
	}
	return jen.Qual(stdPath("tensor"), "Tensor")
}

// scalarType is the public type of a number.
func (e *emitter) scalarType() code {
	if e.std {
		return jen.Id("Scalar")
	}
	return jen.Qual(stdPath("tensor"), "Scalar")
}

// wrap prints the conversion of a core handle to a public tensor.
func (e *emitter) wrap(h code) code {
	if e.std {
		return jen.Id("Wrap").Call(h)
	}
	return jen.Qual(stdPath("tensor"), "Wrap").Call(h)
}

// publicType is the Go type of a parameter of a public function.
func (e *emitter) publicType(op *schema.Op, p *schema.Param, scalars bool) code {
	switch {
	case p.OrScalar && scalars, p.Type == schema.Scalar:
		return e.scalarType()
	case p.Type == schema.Tensor:
		return e.publicTensor()
	case p.Type == schema.TensorList:
		return jen.Index().Add(e.publicTensor())
	case p.Type == schema.Enum:
		return jen.Id(schema.GoName(p.Name))
	}
	return plainType(p.Type)
}

// form is one public function of an operator.
type form struct {
	e        *emitter
	op       *schema.Op
	name     string
	scalars  bool   // numbers for the operands that may be numbers
	suffix   string // "", "Out" or "InPlace"
	like     bool   // a factory's form with the shape and place of another tensor
	newLike  bool   // a factory's method: the place of the receiver
	method   bool
	receiver string
}

// public prints every public form of op.
func (f *goFile) public(op *schema.Op) {
	f.optionInterface(op)
	forms := []form{{e: f.e, op: op, name: op.GoName}}
	if hasScalarForm(op) {
		forms = append(forms, form{e: f.e, op: op, name: op.GoName + "Scalar", scalars: true})
	}
	if op.Factory() && op.Params[0].Type == schema.Ints && op.Params[0].Name == "shape" {
		forms = append(forms, form{e: f.e, op: op, name: op.GoName + "Like", like: true})
		if f.e.std {
			f.function(form{e: f.e, op: op, name: "New" + op.GoName, newLike: true, method: true})
		}
	}
	for _, fm := range forms {
		f.function(fm)
		if f.e.std && hasMethod(op) && !(fm.scalars && op.Params[0].OrScalar) {
			m := fm
			m.method = true
			f.function(m)
		}
		if hasOut(op) {
			o := fm
			o.suffix = "Out"
			f.function(o)
		}
		if hasInPlace(op) && !(fm.scalars && op.Params[0].OrScalar) {
			o := fm
			o.suffix, o.method = "InPlace", f.e.std
			f.function(o)
		}
	}
}

// hasMethod reports whether op's function is also a method of its first operand.
func hasMethod(op *schema.Op) bool {
	return !op.NoMethod && len(op.Params) > 0 && op.Params[0].Type == schema.Tensor && !op.Params[0].Optional
}

func hasScalarForm(op *schema.Op) bool {
	for _, p := range op.Params {
		if p.OrScalar {
			return true
		}
	}
	return false
}

// optionInterface prints the type of op's options.
func (f *goFile) optionInterface(op *schema.Op) {
	opts := optionOps(op)
	if len(opts) == 0 {
		return
	}
	name := optionInterface(op)
	marker := lower(name)
	var names, types []string
	for _, p := range opts {
		if p.Type == schema.Enum {
			names = append(names, "a value of "+optionName(p))
		} else {
			names = append(names, optionName(p))
		}
		types = append(types, optionType(p))
	}
	if op.Factory() {
		for _, c := range creation {
			if c.typ != "DTypeOption" || !contains(types, c.typ) {
				names, types = append(names, c.ctor), append(types, c.typ)
			}
		}
	}
	f.doc(article(name) + " is an option of " + op.GoName + ": " + orList(names) + ".")
	f.Type().Id(name).Interface(jen.Id("option"), jen.Id(marker).Params())
	f.Line()
	for _, t := range types {
		f.Func().Params(jen.Id(t)).Id(marker).Params().Block()
	}
	f.Line()
}

func contains(list []string, s string) bool {
	for _, x := range list {
		if x == s {
			return true
		}
	}
	return false
}

func orList(names []string) string {
	if n := len(names); n > 1 {
		return strings.Join(names[:n-1], ", ") + " or " + names[n-1]
	}
	return strings.Join(names, "")
}

// function prints one form.
func (f *goFile) function(fm form) {
	fm.receiver = ""
	params := fm.params()
	f.doc(fm.doc())
	fn := f.Func()
	name := fm.name + fm.suffix
	if fm.method {
		fn = fn.Params(jen.Id(fm.receiver).Id("Tensor"))
	}
	fn = fn.Id(name).Params(params.code()...)
	if fm.suffix != "" {
		fn = fn.Error()
	} else {
		fn = fn.Add(fm.results())
	}
	fn.Block(fm.body()...)
	f.Line()
}

// params returns the parameters and, for a method, sets the receiver.
func (fm *form) params() *paramList {
	list := &paramList{}
	op := fm.op
	if fm.suffix == "Out" {
		list.add("dst", fm.e.publicTensor())
	}
	if fm.like {
		list.add("x", fm.e.publicTensor())
	}
	if fm.newLike {
		fm.receiver = "t"
	}
	last := len(op.Params) - 1
	for i, p := range op.Params {
		if p.Option || fm.skips(p) {
			continue
		}
		typ := fm.e.publicType(op, p, fm.scalars)
		if fm.method && i == 0 && !fm.newLike {
			fm.receiver = local(p.Name)
			continue
		}
		if p.Type == schema.Ints && i == last && !takesOptions(op) {
			list.variadic(local(p.Name), "int")
			continue
		}
		list.add(local(p.Name), typ)
	}
	if takesOptions(op) {
		list.variadic("opts", optionInterface(op))
	}
	return list
}

// skips reports parameters that the public function fills in itself.
func (fm *form) skips(p *schema.Param) bool {
	if fm.op.Tags&ir.TagSeeded != 0 && (p.Name == "seed" || p.Name == "offset") {
		return true
	}
	return fm.like && p.Name == "shape"
}

func (fm *form) results() code {
	op := fm.op
	if op.Results[0].List {
		return jen.Index().Add(fm.e.publicTensor())
	}
	if len(op.Results) == 1 {
		return fm.e.publicTensor()
	}
	var names []jen.Code
	for _, r := range op.Results {
		names = append(names, jen.Id(local(r.Name)))
	}
	return jen.Params(jen.List(names...).Add(fm.e.publicTensor()))
}

// body prints the call of package ops with public arguments made core ones.
func (fm *form) body() []jen.Code {
	op := fm.op
	var body []jen.Code
	if takesOptions(op) {
		body = append(body, jen.Id("s").Op(":=").Id("collect").Call(fm.defaults(), jen.Id("opts")))
	}
	if op.Tags&ir.TagSeeded != 0 {
		body = append(body, jen.List(jen.Id("seed"), jen.Id("offset")).Op(":=").Qual(randomPath, "Next").Call())
	}
	var args []jen.Code
	if fm.suffix == "Out" {
		args = append(args, jen.Id("dst").Dot("Handle").Call())
	}
	for _, p := range op.Params {
		arg, pre := fm.arg(p)
		body = append(body, pre...)
		args = append(args, arg)
	}
	like := jen.Nil()
	if op.Factory() {
		switch {
		case fm.like:
			like = jen.Id("x").Dot("Handle").Call()
		case fm.newLike:
			like = jen.Id("t").Dot("Handle").Call()
		}
		if fm.like || fm.newLike {
			body = append(body, jen.If(jen.Id("bad").Op(":=").Add(coreName("FirstError")).Call(like.Clone()), jen.Id("bad").Op("!=").Nil()).Block(
				jen.Return(fm.e.wrap(jen.Id("bad")))))
		}
		args = append(args, jen.Id("s").Dot("place").Call(like))
	}
	call := jen.Qual(fm.e.opsPath(), op.GoName+fm.suffix).Call(args...)
	if op.FixedFactory() {
		call = jen.Id("s").Dot("as").Call(call, like.Clone())
	}
	return append(body, fm.returns(call)...)
}

func (fm *form) returns(call code) []jen.Code {
	op := fm.op
	switch {
	case fm.suffix != "":
		return []jen.Code{jen.Return(call)}
	case op.Results[0].List:
		return []jen.Code{jen.Return(jen.Id("wrapAll").Call(call))}
	case len(op.Results) == 1:
		return []jen.Code{jen.Return(fm.e.wrap(call))}
	}
	var vars, vals []jen.Code
	for i := range op.Results {
		r := "r" + string(rune('0'+i))
		vars, vals = append(vars, jen.Id(r)), append(vals, fm.e.wrap(jen.Id(r)))
	}
	return []jen.Code{jen.List(vars...).Op(":=").Add(call), jen.Return(vals...)}
}

// defaults prints the options' defaults; zero values are left out.
func (fm *form) defaults() code {
	var items []jen.Code
	for _, p := range fm.op.Params {
		if !p.Option || isZero(p) {
			continue
		}
		items = append(items, field(optionField(p), fm.e.literal(fm.op, p, p.Default)))
	}
	return jen.Id("options").Values(items...)
}

// isZero reports whether a parameter's default is its Go type's zero value.
func isZero(p *schema.Param) bool {
	d := p.Default
	switch p.Type {
	case schema.Tensor, schema.TensorList:
		return true
	case schema.Int, schema.Float:
		return d.Scalar.Float() == 0
	case schema.Bool:
		return !d.Scalar.Bool()
	case schema.Ints:
		return d.Nil
	case schema.String:
		return d.Str == ""
	case schema.DType:
		return d.DType == ir.Invalid
	case schema.Enum:
		return d.Str == p.Enum[0]
	}
	return false
}

// arg prints one argument of the call in package ops, and statements it needs
// before it.
func (fm *form) arg(p *schema.Param) (arg code, pre []jen.Code) {
	name := jen.Id(local(p.Name))
	if p.Option {
		name = jen.Id("s").Dot(optionField(p))
	}
	switch {
	case fm.like && p.Name == "shape":
		return jen.Id("x").Dot("Handle").Call().Dot("Shape").Call(), nil
	case p.OrScalar && fm.scalars:
		return jen.Id("number").Call(jen.Qual(fm.e.opsPath(), fm.op.GoName+"Op").Call(), name), nil
	case p.Option && p.Type != schema.Scalar:
		return name, nil
	case p.Type == schema.Ints: // kept as a shape or for the gradient
		return jen.Qual("slices", "Clone").Call(name), nil
	case p.Type == schema.Tensor:
		return name.Dot("Handle").Call(), nil
	case p.Type == schema.TensorList:
		return jen.Id("handles").Call(name), nil
	case p.Type == schema.Enum:
		n, pkg := fm.e.enumOf(fm.op, p)
		return jen.Qual(pkg, n.goName).Call(name), nil
	case p.Type == schema.Scalar:
		v := local(p.Name) + "Value"
		return jen.Id(v), []jen.Code{
			jen.List(jen.Id(v), jen.Err()).Op(":=").Add(irName("ScalarOf")).Call(name),
			jen.If(jen.Err().Op("!=").Nil()).Block(fm.bad())}
	}
	return name, nil
}

// bad prints the return for an argument that is no number.
func (fm *form) bad() code {
	failed := coreName("Fail").Call(jen.Qual(fm.e.opsPath(), fm.op.GoName+"Op").Call(), jen.Err())
	switch {
	case fm.suffix != "":
		return jen.Return(failed.Dot("Err").Call())
	case fm.op.Results[0].List:
		return jen.Return(jen.Index().Add(fm.e.publicTensor()).Values(fm.e.wrap(failed)))
	}
	var vals []jen.Code
	for range fm.op.Results {
		vals = append(vals, fm.e.wrap(failed.Clone()))
	}
	return jen.Return(vals...)
}

// doc is the doc comment of one form.
func (fm *form) doc() string {
	op := fm.op
	name := fm.name + fm.suffix
	switch {
	case fm.like:
		return name + " is " + op.GoName + " with the shape, device and dtype of x."
	case fm.newLike:
		return name + " is " + op.GoName + " with the device and dtype of t."
	case fm.suffix == "Out":
		return name + " is " + fm.name + " with the result written to dst, which must have the result's shape and device, and a dtype that the result's casts to."
	case fm.suffix == "InPlace":
		return name + " is " + fm.name + " with the result written to " + local(op.Params[0].Name) + ", which must have the result's shape, and a dtype that the result's casts to."
	case fm.method:
		return name + " is the function " + name + " on " + local(op.Params[0].Name) + ". It " + firstSentence(op.Doc)
	case fm.scalars:
		var names []string
		for _, p := range op.Params {
			if p.OrScalar {
				names = append(names, local(p.Name))
			}
		}
		verb := " is "
		what := "a number, which does not widen the other operands' dtype within its category"
		if len(names) > 1 {
			what = "numbers"
		}
		return name + verb + op.GoName + " where " + strings.Join(names, " and ") + " " + isAre(len(names)) + " " + what + "."
	}
	doc := opDoc(op, name)
	var facts []string
	if len(op.Operands()) > 0 {
		facts = append(facts, "Dtypes: "+dtypeWords(op.DTypes)+".")
	}
	if opts := optionOps(op); len(opts) > 0 {
		var names []string
		for _, p := range opts {
			names = append(names, optionName(p)+defaultWords(p))
		}
		facts = append(facts, "Options: "+strings.Join(names, ", ")+".")
	}
	if len(facts) > 0 {
		doc += "\n\n" + strings.Join(facts, " ")
	}
	return doc
}

// defaultWords tells an option's default, where it has one to tell.
func defaultWords(p *schema.Param) string {
	if p.Default.Nil {
		return ""
	}
	return " (" + schemaLiteral(p) + ")"
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// dtypeWords lists a set of dtypes by classes, then singly.
func dtypeWords(set ir.DTypeSet) string {
	if set == ir.ClassAll {
		return "all"
	}
	var out []string
	for _, c := range []string{"bool", "int", "float", "complex"} {
		if class := ir.Classes[c]; set&class == class {
			out = append(out, c)
			set &^= class
		}
	}
	for _, d := range set.List() {
		out = append(out, d.String())
	}
	return strings.Join(out, ", ")
}

// publicHelpers emits what public functions share.
func (e *emitter) publicHelpers() {
	f := e.goFile(e.spec.Package, "convert.go", "")
	f.doc("number returns a number as an operand, or the error that it is none.")
	f.Func().Id("number").Params(jen.Id("op").Op("*").Add(irName("Op")), jen.Id("v").Add(e.scalarType())).Add(tensorType()).Block(
		jen.List(jen.Id("s"), jen.Err()).Op(":=").Add(irName("ScalarOf")).Call(jen.Id("v")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(coreName("Fail").Call(jen.Id("op"), jen.Err()))),
		jen.Return(coreName("ScalarTensor").Call(jen.Id("s"))))
	f.Line()
	f.doc("handles returns the handles of several tensors.")
	f.Func().Id("handles").Params(jen.Id("xs").Index().Add(e.publicTensor())).Index().Add(tensorType()).Block(
		jen.Id("hs").Op(":=").Make(jen.Index().Add(tensorType()), jen.Len(jen.Id("xs"))),
		jen.For(jen.List(jen.Id("i"), jen.Id("x")).Op(":=").Range().Id("xs")).Block(
			jen.Id("hs").Index(jen.Id("i")).Op("=").Id("x").Dot("Handle").Call()),
		jen.Return(jen.Id("hs")))
	f.Line()
	f.doc("wrapAll returns several handles as tensors.")
	f.Func().Id("wrapAll").Params(jen.Id("hs").Index().Add(tensorType())).Index().Add(e.publicTensor()).Block(
		jen.Id("ts").Op(":=").Make(jen.Index().Add(e.publicTensor()), jen.Len(jen.Id("hs"))),
		jen.For(jen.List(jen.Id("i"), jen.Id("h")).Op(":=").Range().Id("hs")).Block(
			jen.Id("ts").Index(jen.Id("i")).Op("=").Add(e.wrap(jen.Id("h")))),
		jen.Return(jen.Id("ts")))
	f.done()
}
