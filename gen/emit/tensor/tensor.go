// Package tensor emits the package that users import: the Tensor type, a function or a
// method for every form of an operator, and their options. It knows nothing of what
// operators compute.
package tensor

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// CheckNames reports public Go names of u that meet.
func CheckNames(u *unit.Unit) { newEmitter(u).checkPublicNames() }

// Emit adds the package to u.
func Emit(u *unit.Unit) { newEmitter(u).tensorPackage() }

func newEmitter(u *unit.Unit) *emitter { return &emitter{Emitter: &gofile.Emitter{Unit: u}} }

// emitter writes the public package.
type emitter struct {
	*gofile.Emitter
	out bool // the files are of the package of out forms
}

// goFile is a Go file being written.
type goFile struct {
	*gofile.File
	e *emitter
}

func (e *emitter) goFile(pkg, base, doc string) *goFile {
	return &goFile{e.NewFile(pkg, base, doc), e}
}

func (e *emitter) perGroup(pkg string, one func(*goFile, *schema.Op)) {
	e.PerGroup(pkg, func(f *gofile.File, op *schema.Op) { one(&goFile{f, e}, op) })
}

// code is a piece of Go.
type code = *jen.Statement

const tensorDoc = `Package %s computes with tensors on the CPU and on accelerators, and differentiates what it computes.

	x := tensor.From([]float32{1, 2, 3, 4}, 2, 2).RequireGrad()
	y := x.MatMul(x.T()).ReLU().Sum()
	if err := y.Backward(); err != nil {
		log.Fatal(err)
	}
	g, _ := x.Grad()
	fmt.Println(y, g)

A Tensor is a small value. Zeros, Full, Arange, Randn, From and the like make one. Most other functions are methods, too. An operator that may take a number has a second form, as in x.MulScalar(0.5). Methods that end in InPlace write to their first operand, and the functions of package out to a tensor of the right shape.

The guide begins at https://github.com/sinter-go/sinter/blob/main/docs/guide/start.md.

# Options

Optional arguments are given last, as in x.Sum(Dim(0), KeepDim()), and all have the type Option. The documentation of each function lists its options, with their defaults in parentheses. Any other option is an error.

# Errors

An operator that is given something it does not take (other dtypes, shapes that do not fit, several devices, wrong options) returns a tensor that carries the error, with the line of the call. Operators on that tensor return the same error. Item, Data and Backward return it to the program, and Err looks at it earlier. ErrShape and the other error values tell the kinds apart.

An out or in-place form that fails returns the error and changes nothing. The tensor it should have written carries the error too, so that it is found even if the program ignores what the call returned. To go on with the tensor, call its Err first.

# Memory

The collector frees tensors that the program no longer uses. Release and Scope free them at once, which is worth it on accelerators. Views share the elements of the tensor they were made from.`

const userDoc = `Package %s holds operators beside those of package tensor, from a schema of its own. They work on that package's tensors and follow its rules for options, errors and gradients.`

// tensorPackage emits the package that users import.
func (e *emitter) tensorPackage() {
	doc := tensorDoc
	if !e.Std {
		doc = userDoc
	}
	f := e.goFile(e.Spec.Package, "doc.go", strings.Replace(doc, "%s", e.Spec.Package, 1))
	f.Done()
	e.publicOptions()
	e.publicHelpers()
	if e.Std {
		e.handle()
	}
	e.perGroup(e.Spec.Package, func(f *goFile, op *schema.Op) {
		if unit.Public(op) {
			f.public(op)
		}
	})
	e.outPackage()
}

// named prints a name of the emitted package.
func (e *emitter) named(name string) code {
	if e.out {
		return jen.Qual(e.TensorPath(), name)
	}
	return jen.Id(name)
}

// standard prints a name of package tensor.
func (e *emitter) standard(name string) code {
	if e.Std {
		return e.named(name)
	}
	return jen.Qual(unit.StdPath("tensor"), name)
}

// publicTensor is the public tensor type.
func (e *emitter) publicTensor() code { return e.standard("Tensor") }

// scalarType is the public type of a number.
func (e *emitter) scalarType() code { return e.standard("Scalar") }

// wrap prints the conversion of a core handle to a public tensor.
func (e *emitter) wrap(h code) code { return e.standard("Wrap").Call(h) }

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
		return e.publicEnumType(p)
	}
	return gofile.PlainType(p.Type)
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
	if len(optionsOf(op)) > 0 {
		f.optionReader(op)
	}
	forms := []form{{e: f.e, op: op, name: op.GoName}}
	if unit.HasScalarForm(op) {
		forms = append(forms, form{e: f.e, op: op, name: op.GoName + "Scalar", scalars: true})
	}
	if op.Factory() && op.Params[0].Type == schema.Ints && op.Params[0].Name == "shape" {
		forms = append(forms, form{e: f.e, op: op, name: op.GoName + "Like", like: true})
		if f.e.Std {
			f.function(form{e: f.e, op: op, name: "New" + op.GoName, newLike: true, method: true})
		}
	}
	for _, fm := range forms {
		f.function(fm)
		if f.e.Std && unit.HasMethod(op) && !(fm.scalars && op.Params[0].OrScalar) {
			m := fm
			m.method = true
			f.function(m)
		}
		if unit.HasInPlace(op) && !(fm.scalars && op.Params[0].OrScalar) {
			o := fm
			o.suffix, o.method = "InPlace", f.e.Std
			f.function(o)
		}
	}
}

// function prints one form.
func (f *goFile) function(fm form) {
	fm.receiver = ""
	params := fm.params()
	f.Doc(fm.doc())
	fn := f.Func()
	name := fm.goName()
	if fm.method {
		fn = fn.Params(jen.Id(fm.receiver).Id("Tensor"))
	}
	fn = fn.Id(name).Params(params.Code()...)
	if fm.suffix != "" {
		fn = fn.Error()
	} else {
		fn = fn.Add(fm.results())
	}
	fn.Block(fm.body()...)
	f.Line()
}

// goName is the form's name: those that write to a given tensor have a package of their
// own, and are called there as the others are here.
func (fm *form) goName() string {
	if fm.suffix == "Out" {
		return fm.name
	}
	return fm.name + fm.suffix
}

// params returns the parameters and, for a method, sets the receiver.
func (fm *form) params() *gofile.ParamList {
	list := &gofile.ParamList{}
	op := fm.op
	if fm.suffix == "Out" {
		list.Add("dst", fm.e.publicTensor())
	}
	if fm.like {
		list.Add("x", fm.e.publicTensor())
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
			fm.receiver = unit.Local(p.Name)
			continue
		}
		if p.Type == schema.Ints && i == last && !takesOptions(op) {
			list.Variadic(unit.Local(p.Name), jen.Int())
			continue
		}
		list.Add(unit.Local(p.Name), typ)
	}
	if takesOptions(op) {
		list.Variadic("opts", fm.e.optionType())
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
		names = append(names, jen.Id(unit.Local(r.Name)))
	}
	return jen.Params(jen.List(names...).Add(fm.e.publicTensor()))
}

// body prints the call of package ops with public arguments made core ones.
func (fm *form) body() []jen.Code {
	op := fm.op
	var body, args []jen.Code
	like := fm.likeHandle()
	if fm.like || fm.newLike {
		body = append(body, jen.If(jen.Id("bad").Op(":=").Add(gofile.CoreName("FirstError")).Call(like), jen.Id("bad").Op("!=").Nil()).Block(
			jen.Return(fm.e.wrap(jen.Id("bad")))))
	}
	if takesOptions(op) {
		body = append(body, fm.readOptions(like)...)
	}
	if op.Tags&ir.TagSeeded != 0 {
		body = append(body, jen.List(jen.Id("seed"), jen.Id("offset")).Op(":=").Qual(gofile.RandomPath, "Next").Call())
	}
	if fm.suffix == "Out" {
		args = append(args, jen.Id("dst").Dot("Handle").Call())
	}
	for _, p := range op.Params {
		arg, pre := fm.arg(p)
		body = append(body, pre...)
		args = append(args, arg)
	}
	if op.Factory() {
		args = append(args, jen.Id("place"))
	}
	call := jen.Qual(fm.e.OpsPath(), op.GoName+fm.suffix).Call(args...)
	if op.FixedFactory() {
		call = gofile.CoreName("Recast").Call(call, jen.Id("place"))
	}
	return append(body, fm.returns(call)...)
}

// likeHandle prints the handle of the tensor that a factory's result is like.
func (fm *form) likeHandle() code {
	switch {
	case fm.like:
		return jen.Id("x").Dot("Handle").Call()
	case fm.newLike:
		return jen.Id("t").Dot("Handle").Call()
	}
	return jen.Nil()
}

// readOptions prints the statements that read the form's options.
func (fm *form) readOptions(like code) []jen.Code {
	var vars []jen.Code
	args := gofile.Codes(jen.Id("opts"))
	read := jen.Id(readerName(fm.op))
	for _, p := range optionsOf(fm.op) {
		vars = append(vars, jen.Id(unit.Local(p.Name)))
	}
	if fm.op.Factory() {
		vars, args = append(vars, jen.Id("place")), append(args, like)
		if len(vars) == 1 {
			read = gofile.CoreName("PlacementOf")
		}
	}
	return gofile.Codes(
		jen.List(append(vars, jen.Err())...).Op(":=").Add(read).Call(args...),
		jen.If(jen.Err().Op("!=").Nil()).Block(fm.failed(gofile.CoreName("Refuse").Call(fm.operands()...))))
}

// operands prints the operator, the error and the operands that may carry one of their
// own.
func (fm *form) operands() []jen.Code {
	args := gofile.Codes(jen.Qual(fm.e.OpsPath(), fm.op.GoName+"Op").Call(), jen.Err())
	for _, p := range fm.op.Params {
		if p.Type == schema.Tensor && !p.Option && !(p.OrScalar && fm.scalars) {
			args = append(args, jen.Id(unit.Local(p.Name)).Dot("Handle").Call())
		}
	}
	return args
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

// arg prints one argument of the call in package ops, and statements it needs
// before it.
func (fm *form) arg(p *schema.Param) (arg code, pre []jen.Code) {
	name := jen.Id(unit.Local(p.Name))
	switch {
	case fm.like && p.Name == "shape":
		return jen.Id("x").Dot("Handle").Call().Dot("Shape").Call(), nil
	case p.OrScalar && fm.scalars:
		return jen.Id("number").Call(jen.Qual(fm.e.OpsPath(), fm.op.GoName+"Op").Call(), name), nil
	case p.Option:
		return name, nil
	case p.Type == schema.Ints: // kept as a shape or for the gradient
		return jen.Qual("slices", "Clone").Call(name), nil
	case p.Type == schema.Tensor:
		return name.Dot("Handle").Call(), nil
	case p.Type == schema.TensorList:
		return jen.Id("handles").Call(name), nil
	case p.Type == schema.Enum:
		n, pkg := fm.e.EnumOf(fm.op, p)
		return jen.Qual(pkg, n.GoName).Call(name), nil
	case p.Type == schema.Scalar:
		v := unit.Local(p.Name) + "Value"
		return jen.Id(v), []jen.Code{
			jen.List(jen.Id(v), jen.Err()).Op(":=").Add(gofile.IRName("ScalarOf")).Call(name),
			jen.If(jen.Err().Op("!=").Nil()).Block(fm.bad())}
	}
	return name, nil
}

// bad prints the return for an argument that is no number.
func (fm *form) bad() code {
	return fm.failed(gofile.CoreName("Fail").Call(jen.Qual(fm.e.OpsPath(), fm.op.GoName+"Op").Call(), jen.Err()))
}

// failed prints the return of a tensor that carries an error.
func (fm *form) failed(failed code) code {
	switch {
	case fm.suffix != "":
		written := "dst"
		if fm.suffix == "InPlace" {
			written = unit.Local(fm.op.Params[0].Name)
		}
		return jen.Return(gofile.CoreName("NotWritten").Call(jen.Id(written).Dot("Handle").Call(), failed.Dot("Err").Call()))
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
	name := fm.goName()
	switch {
	case fm.like:
		return name + " is " + op.GoName + " with the shape, device and dtype of x." + fm.optionsEnd()
	case fm.newLike:
		return name + " is " + op.GoName + " with the device and dtype of t." + fm.optionsEnd()
	case fm.suffix == "Out":
		return name + " is " + fm.e.Spec.Package + "." + fm.name + " with its result written to dst." + fm.optionsEnd()
	case fm.suffix == "InPlace":
		return name + " is " + fm.name + " with the result written to " + unit.Local(op.Params[0].Name) + ", which must have the result's shape, and a dtype that the result's casts to." + fm.optionsEnd()
	case fm.method && !fm.scalars:
		return name + " " + fm.e.prose(op, unit.FirstSentence(op.Doc)) + "\n\n" + strings.Join(fm.e.facts(op, false), " ")
	case fm.scalars:
		var names []string
		for _, p := range op.Params {
			if p.OrScalar {
				names = append(names, unit.Local(p.Name))
			}
		}
		verb := " is "
		what := "a number, which does not widen the other operands' dtype within its category"
		if len(names) > 1 {
			what = "numbers"
		}
		return name + verb + op.GoName + " where " + strings.Join(names, " and ") + " " + isAre(len(names)) + " " + what + ".\n\n" + strings.Join(fm.e.facts(op, true), " ")
	}
	return fm.e.prose(op, gofile.OpDoc(op, name)) + "\n\n" + strings.Join(fm.e.facts(op, false), " ")
}

// optionsEnd is the last paragraph of a form's documentation where the operator's is not
// repeated.
func (fm *form) optionsEnd() string {
	if options := optionsFact(fm.op); options != "" {
		return "\n\n" + options
	}
	return ""
}

// defaultWords tells an option's default, where it has one to tell.
func defaultWords(p *schema.Param) string {
	if p.Default.Nil {
		return ""
	}
	if p.Type == schema.Enum {
		return " (" + schema.GoName(p.Name) + schema.GoName(p.Default.Str) + ")"
	}
	return " (" + unit.SchemaLiteral(p) + ")"
}

func isAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// publicHelpers emits what public functions share.
func (e *emitter) publicHelpers() {
	f := e.goFile(e.Spec.Package, "convert.go", "")
	f.numberHelper()
	f.handlesHelper()
	f.Doc("wrapAll returns several handles as tensors.")
	f.Func().Id("wrapAll").Params(jen.Id("hs").Index().Add(gofile.TensorType())).Index().Add(e.publicTensor()).Block(
		jen.Id("ts").Op(":=").Make(jen.Index().Add(e.publicTensor()), jen.Len(jen.Id("hs"))),
		jen.For(jen.List(jen.Id("i"), jen.Id("h")).Op(":=").Range().Id("hs")).Block(
			jen.Id("ts").Index(jen.Id("i")).Op("=").Add(e.wrap(jen.Id("h")))),
		jen.Return(jen.Id("ts")))
	f.Done()
}

// numberHelper prints the conversion of a number to an operand.
func (f *goFile) numberHelper() {
	f.Doc("number returns a number as an operand, or the error that it is none.")
	f.Func().Id("number").Params(jen.Id("op").Op("*").Add(gofile.IRName("Op")), jen.Id("v").Add(f.e.scalarType())).Add(gofile.TensorType()).Block(
		jen.List(jen.Id("s"), jen.Err()).Op(":=").Add(gofile.IRName("ScalarOf")).Call(jen.Id("v")),
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(gofile.CoreName("Fail").Call(jen.Id("op"), jen.Err()))),
		jen.Return(gofile.CoreName("ScalarTensor").Call(jen.Id("s"))))
	f.Line()
}

// handlesHelper prints the conversion of a list of tensors.
func (f *goFile) handlesHelper() {
	f.Doc("handles returns the handles of several tensors.")
	f.Func().Id("handles").Params(jen.Id("xs").Index().Add(f.e.publicTensor())).Index().Add(gofile.TensorType()).Block(
		jen.Id("hs").Op(":=").Make(jen.Index().Add(gofile.TensorType()), jen.Len(jen.Id("xs"))),
		jen.For(jen.List(jen.Id("i"), jen.Id("x")).Op(":=").Range().Id("xs")).Block(
			jen.Id("hs").Index(jen.Id("i")).Op("=").Id("x").Dot("Handle").Call()),
		jen.Return(jen.Id("hs")))
	f.Line()
}
