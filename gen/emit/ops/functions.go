package ops

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// coreForms are the functions of package core that apply each kind.
var coreForms = map[ir.BodyKind]string{
	ir.Elementwise: "Elementwise", ir.Reduction: "Reduce", ir.Scan: "Scan", ir.Opaque: "Kernel",
}

// functions prints the function of an operator and its other forms.
func (f *goFile) functions(op *schema.Op) {
	switch {
	case op.Parallel():
		f.parallel(op)
	case op.Kind == ir.Composition:
		f.composition(op)
	case op.Kind == ir.ViewBody:
		f.view(op)
	default:
		f.plain(op)
	}
	if unit.HasOut(op) {
		f.outForm(op)
	}
	if unit.HasInPlace(op) {
		name := op.GoName + "InPlace"
		f.Doc(name + " is " + op.GoName + " with the result written to " + unit.Local(op.Params[0].Name) + ".")
		f.Func().Id(name).Params(f.e.CoreParams(op)...).Error().Block(
			jen.Return(gofile.CoreName("ElementwiseInPlace").Call(append(gofile.Codes(f.applyCall(op)), apart(op)...)...)))
		f.Line()
	}
}

// goName is the name of op's function: unexported where it serves one gradient.
func (e *emitter) funcName(op *schema.Op) string {
	if e.DerivedOps[op] {
		return unit.Lower(op.GoName)
	}
	return op.GoName
}

// apart returns the operands of an element-wise operator, which are given to core
// beside the core.Apply; nothing for operators of other kinds.
func apart(op *schema.Op) []jen.Code {
	if op.Kind != ir.Elementwise || op.Parallel() {
		return nil
	}
	var out []jen.Code
	for _, p := range op.Operands() {
		if p.Type == schema.TensorList {
			return nil
		}
		out = append(out, jen.Id(unit.Local(p.Name)))
	}
	return out
}

// applyCall prints the call of the function that makes op's core.Apply.
func (f *goFile) applyCall(op *schema.Op) code {
	args, _ := f.applyParams(op)
	return jen.Id(unit.Lower(op.GoName) + "Apply").Call(args...)
}

// applyParams returns the arguments and parameters of the function that makes op's
// core.Apply: those of op, without operands that are given to core beside it.
func (f *goFile) applyParams(op *schema.Op) (args, params []jen.Code) {
	if len(apart(op)) == 0 || op.Shape != nil {
		return gofile.CoreArgs(op), f.e.CoreParams(op)
	}
	var list gofile.ParamList
	for _, p := range op.Params {
		if !slices.Contains(op.Operands(), p) {
			args = append(args, jen.Id(unit.Local(p.Name)))
			list.Add(unit.Local(p.Name), f.e.CoreType(op, p))
		}
	}
	return args, list.Code()
}

// plain prints an operator that a backend runs:
//
//	func <Name>(<params>) *core.Tensor {
//		return core.<Kind>(<name>Apply(<args>), <operands>)
//	}
//
// With several results these are made of what core.<Kind>All returns.
func (f *goFile) plain(op *schema.Op) {
	name := f.e.funcName(op)
	f.Doc(gofile.OpDoc(op, name))
	fn := f.Func().Id(name).Params(f.e.CoreParams(op)...).Add(gofile.CoreResults(op))
	apply := f.applyBody(op)
	if unit.HasOut(op) || unit.HasInPlace(op) {
		apply = f.applyCall(op)
	}
	form := coreForms[op.Kind]
	if len(op.Results) > 1 && op.Kind != ir.Opaque {
		form += "All"
	}
	call := gofile.CoreName(form).Call(append(gofile.Codes(apply), apart(op)...)...)
	body := f.inParts(op)
	if body != nil {
		body = append(f.accepted(op), body...)
	}
	switch {
	case op.Results[0].List, op.Kind != ir.Opaque && len(op.Results) == 1:
		fn.Block(append(body, jen.Return(call))...)
	case len(op.Results) == 1:
		fn.Block(append(body, jen.Return(gofile.CoreName("KernelOne").Call(apply)))...)
	default:
		var outs []jen.Code
		for i := range op.Results {
			outs = append(outs, jen.Id("results").Index(jen.Lit(i)))
		}
		fn.Block(append(body, jen.Id("results").Op(":=").Add(call), jen.Return(outs...))...)
	}
	f.Line()
	if unit.HasOut(op) || unit.HasInPlace(op) {
		_, params := f.applyParams(op)
		f.Func().Id(unit.Lower(op.GoName) + "Apply").Params(params...).Add(gofile.CoreName("Apply")).Block(
			jen.Return(f.applyBody(op)))
		f.Line()
	}
}

// inParts prints how an operator is computed by the one that stands for it, where the
// device has no code of it. What a kernel's rule of shapes refuses is left to the kernel,
// which says so, since its parts may take more:
//
//	if core.InParts(&<name>Op, <place or nil>, <operands>) && core.Shaped(<shapes>) {
//		return <Parts>(<args>)
//	}
func (f *goFile) inParts(op *schema.Op) []jen.Code {
	if op.Fallback == nil {
		return nil
	}
	args := []jen.Code{jen.Op("&").Id(opVar(op)), jen.Nil()}
	if op.Factory() {
		args[1] = jen.Id("place")
	}
	for _, p := range op.Operands() {
		args = append(args, jen.Id(unit.Local(p.Name)))
	}
	cond := gofile.CoreName("InParts").Call(args...)
	if rule := f.shapes(op); rule != nil && op.Shape != nil {
		cond = cond.Op("&&").Add(gofile.CoreName("Shaped").Call(rule))
	}
	return []jen.Code{jen.If(cond).Block(
		jen.Return(jen.Qual(f.e.OpsOf(op.Fallback), f.e.funcName(op.Fallback)).Call(gofile.CoreArgs(op)...)))}
}

// applyBody prints the core.Apply of one application.
func (f *goFile) applyBody(op *schema.Op) code {
	items := []jen.Code{gofile.Field("Op", jen.Op("&").Id(opVar(op)))}
	if len(op.Operands()) > 0 && !op.Parallel() && len(apart(op)) == 0 {
		items = append(items, gofile.Field("In", operandList(op)))
	}
	if vals := attrValues(op); len(vals) > 0 {
		items = append(items, gofile.Field("Attrs", jen.Index().Add(gofile.IRName("Value")).Values(vals...)))
	}
	if op.Switch != nil {
		items = append(items, gofile.Field("Variant", jen.Int().Call(jen.Id(unit.Local(op.Switch.Name)))))
	}
	items = append(items, f.applyAxes(op)...)
	if rule := f.shapes(op); rule != nil {
		items = append(items, gofile.Field("Shapes", rule))
	}
	if f.e.differentiable(op) {
		items = append(items, gofile.Field("Backward", jen.Id(backwardName(op))))
		if save := f.e.saves(op); save != nil {
			items = append(items, gofile.Field("Save", save))
		}
	}
	if op.Factory() {
		items = append(items, gofile.Field("Place", jen.Id("place")))
	}
	return gofile.CoreName("Apply").Add(gofile.Rows(items...))
}

func backwardName(op *schema.Op) string { return unit.Lower(op.GoName) + "Backward" }

// operandList prints the operands as one slice, a list's members last.
func operandList(op *schema.Op) code {
	var items []jen.Code
	var list code
	for _, p := range op.Operands() {
		if p.Type == schema.TensorList {
			list = jen.Id(unit.Local(p.Name))
			continue
		}
		items = append(items, jen.Id(unit.Local(p.Name)))
	}
	switch {
	case list == nil:
		return jen.Index().Add(gofile.TensorType()).Values(items...)
	case len(items) == 0:
		return list
	}
	return jen.Append(jen.Index().Add(gofile.TensorType()).Values(items...), list.Op("..."))
}

// applyAxes prints what reductions, scans and the dtype option add.
func (f *goFile) applyAxes(op *schema.Op) []jen.Code {
	var items []jen.Code
	for _, p := range op.Attrs() {
		switch {
		case op.Kind == ir.Reduction && p.Name == "dim":
			items = append(items, gofile.Field("Dims", jen.Id(unit.Local(p.Name))))
		case op.Kind == ir.Scan && p.Name == "dim":
			items = append(items, gofile.Field("Dims", jen.Index().Int().Values(jen.Id(unit.Local(p.Name)))))
		case op.Kind == ir.Reduction && p.Name == "keepdim":
			items = append(items, gofile.Field("KeepDim", jen.Id(unit.Local(p.Name))))
		case p.Type == schema.DType:
			items = append(items, gofile.Field("DType", jen.Id(unit.Local(p.Name))))
		}
	}
	return items
}

// shapes prints the function that gives the results' shapes, or nothing where
// they follow from the kind.
func (f *goFile) shapes(op *schema.Op) code {
	sig := jen.Func().Params().Params(jen.Index().Index().Int(), jen.Error())
	if op.Kind == ir.Elementwise && op.Factory() && op.Shape == nil {
		return sig.Block(jen.Return(jen.Index().Index().Int().Values(jen.Id(unit.Local(op.Params[0].Name))), jen.Nil()))
	}
	if op.Shape == nil || op.Kind == ir.Composition {
		return nil
	}
	p := &block{e: f.e, op: op}
	call := f.e.rule(op.Shape, gofile.ShapesPath).Call(p.values(op.Shape.Args)...)
	if len(op.Results) == 1 {
		call = jen.Id("oneShape").Call(call)
	}
	return sig.Block(append(p.out, jen.Return(call))...)
}

// rule prints the function of a shape or view rule; standard is the package of those that
// the schema names without one.
func (e *emitter) rule(r *schema.Rule, standard string) code {
	if r.Pkg == "" {
		return jen.Qual(standard, r.Func)
	}
	return jen.Qual(e.Spec.Imports[r.Pkg], r.Func)
}

// view prints an operator whose result shares its operand's storage:
//
//	func <Name>(<params>) *core.Tensor {
//		layout, err := ir.<Name>View(x.Layout(), <args>)
//		return core.View(core.Apply{...}, layout, err)
//	}
func (f *goFile) view(op *schema.Op) {
	name := f.e.funcName(op)
	p := &block{e: f.e, op: op}
	var args []jen.Code
	for _, v := range op.View.Args {
		if v.Kind == schema.NameValue && v.Type == schema.Tensor {
			args = append(args, jen.Id(unit.Local(v.Name)).Dot("Layout").Call())
			continue
		}
		args = append(args, p.value(v))
	}
	f.Doc(gofile.OpDoc(op, name))
	f.Func().Id(name).Params(f.e.CoreParams(op)...).Add(gofile.CoreResults(op)).Block(append(p.out,
		jen.List(jen.Id("layout"), jen.Err()).Op(":=").Add(f.e.rule(op.View, gofile.IRPath)).Call(args...),
		jen.Return(gofile.CoreName("View").Call(f.applyBody(op), jen.Id("layout"), jen.Err())))...)
	f.Line()
}

// outForm prints the form that writes to dst.
func (f *goFile) outForm(op *schema.Op) {
	name := op.GoName + "Out"
	f.Doc(name + " is " + op.GoName + " with the result written to dst, which has its shape and device.")
	var list gofile.ParamList
	list.Add("dst", gofile.TensorType())
	for _, p := range op.Params {
		list.Add(unit.Local(p.Name), f.e.CoreType(op, p))
	}
	var ret code
	if op.Kind == ir.Composition {
		ret = gofile.CoreName("CopyOut").Call(jen.Id("dst"), jen.Op("&").Id(opVar(op)), jen.Id(op.GoName).Call(gofile.CoreArgs(op)...))
	} else {
		ret = gofile.CoreName(coreForms[op.Kind] + "Out").Call(append(gofile.Codes(jen.Id("dst"), f.applyCall(op)), apart(op)...)...)
	}
	f.Func().Id(name).Params(list.Code()...).Error().Block(jen.Return(ret))
	f.Line()
}

// composition prints an operator made of others:
//
//	func <Name>(<params>) *core.Tensor {
//		in := []*core.Tensor{<operands>}
//		if t := core.Refused(&<name>Op, in...); t != nil {
//			return t
//		}
//		<where it rounds more than once: see widening>
//		out := <name>Compose(<args>)
//		core.Composed(&<name>Op, in, out)
//		return out
//	}
func (f *goFile) composition(op *schema.Op) {
	name := f.e.funcName(op)
	f.Doc(gofile.OpDoc(op, name))
	fn := f.Func().Id(name).Params(f.e.CoreParams(op)...).Add(gofile.CoreResults(op))
	body := slices.Concat(f.accepted(op), f.inParts(op), f.refusal(op), f.mixing(op), f.widening(op))
	if f.e.differentiable(op) {
		fn.Block(append(body, f.customBody(op)...)...)
	} else {
		fn.Block(append(body, f.composedBody(op)...)...)
	}
	f.Line()
	f.composeBody(op)
}

// customBody prints a composition with a gradient of its own:
//
//	results := core.Custom(core.Apply{...}, func() []*core.Tensor { ... })
//	return results[0]
func (f *goFile) customBody(op *schema.Op) []jen.Code {
	ret := jen.Return(f.composedAll(op))
	if len(op.Results) == 1 {
		ret = jen.Return(jen.Index().Add(gofile.TensorType()).Values(f.composed(op)))
	}
	return []jen.Code{
		jen.Id("results").Op(":=").Add(gofile.CoreName("Custom")).Call(f.applyBody(op), jen.Func().Params().Index().Add(gofile.TensorType()).Block(ret)),
		jen.Return(eachOf("results", op)...),
	}
}

// eachOf prints the elements of a list of op's results.
func eachOf(list string, op *schema.Op) (values []jen.Code) {
	for i := range op.Results {
		values = append(values, jen.Id(list).Index(jen.Lit(i)))
	}
	return values
}

// composedBody prints a composition that its parts differentiate.
func (f *goFile) composedBody(op *schema.Op) []jen.Code {
	var outs, body []jen.Code
	for i := range op.Results {
		outs = append(outs, jen.Id(resultName(op, i)))
	}
	in := jen.Nil()
	if len(op.Operands()) > 0 {
		in = jen.Id("in")
	}
	several := len(op.Results) > 1 // they are named
	if several && (op.GoCompose != nil || f.e.looks(op)) {
		end := []jen.Code{jen.Op("&").Id(opVar(op)), in}
		for _, out := range outs {
			end = append(end, jen.Op("&").Add(out))
		}
		body = append(body, jen.Defer().Add(gofile.CoreName("Ended")).Call(end...))
	}
	made, results, value := outs, outs, f.composed(op)
	kind := gofile.CoreResults(op)
	if several && makesMore(op) {
		made, results, value = []jen.Code{jen.Id("outs")}, eachOf("outs", op), f.composedAll(op)
		kind = jen.Index().Add(gofile.TensorType())
	}
	define := ":="
	if several && !makesMore(op) {
		define = "="
	}
	if op.NoGrad && !(op.GoCompose != nil && len(op.Operands()) == 0) { // of no tensors Go code records nothing
		if define == ":=" {
			body = append(body, jen.Var().Add(made[0]).Add(kind))
		}
		body = append(body, gofile.CoreName("NoGrad").Call(jen.Func().Params().Block(jen.List(made...).Op("=").Add(value))))
	} else {
		body = append(body, jen.List(made...).Op(define).Add(value))
	}
	named := append([]jen.Code{jen.Op("&").Id(opVar(op)), in}, made...)
	if op.Results[0].List || several && makesMore(op) {
		named[2] = jen.Add(made[0]).Op("...")
	}
	return append(body, gofile.CoreName("Composed").Call(named...), jen.Return(results...))
}

// resultName is the Go name of a result inside op's function.
func resultName(op *schema.Op, i int) string {
	if len(op.Results) == 1 {
		return "out"
	}
	return unit.Local(op.Results[i].Name)
}

// composed prints the call of an operator's composition, which releases what it makes
// on the way where it makes any.
func (f *goFile) composed(op *schema.Op) code {
	call := f.composeCall(op)
	if len(op.Results) > 1 || op.Results[0].List || !makesMore(op) && !f.e.looks(op) {
		return call
	}
	return gofile.CoreName("Composing").Call(jen.Func().Params().Add(gofile.TensorType()).Block(jen.Return(call)))
}

// composedAll is composed for several results, as a list.
func (f *goFile) composedAll(op *schema.Op) code {
	call := jen.Id("list").Call(f.composeCall(op))
	if !makesMore(op) {
		return call
	}
	return gofile.CoreName("ComposingAll").Call(jen.Func().Params().Index().Add(gofile.TensorType()).Block(jen.Return(call)))
}

// looks reports whether a composition looks into what it has made.
func (e *emitter) looks(op *schema.Op) bool {
	if op.GoCompose != nil {
		return false
	}
	for i := range op.Compose {
		p := &block{e: e, op: op}
		if p.statements(&op.Compose[i]); p.looks {
			return true
		}
	}
	return false
}

// makesMore reports whether a composition may make tensors with memory of their own
// besides its result, or that its result is a view of.
func makesMore(op *schema.Op) bool {
	if op.GoCompose != nil {
		return len(op.GoCompose.With) > 0
	}
	parts := unit.PartsOf(op)
	return len(parts) > 1 && slices.ContainsFunc(parts, makes) ||
		slices.ContainsFunc(parts, func(part *schema.Op) bool { return len(part.Results) > len(op.Results) })
}

// makes reports whether an operator may make a tensor with memory of its own.
func makes(op *schema.Op) bool {
	if op.Kind == ir.Composition {
		return op.GoCompose != nil || slices.ContainsFunc(unit.PartsOf(op), makes)
	}
	return op.Kind != ir.ViewBody
}

func (f *goFile) composeCall(op *schema.Op) code {
	if op.GoCompose != nil {
		var args, fields []jen.Code
		for _, with := range op.GoCompose.With {
			fn := jen.Qual(f.e.OpsOf(with), f.e.funcName(with))
			args, fields = append(args, fn), append(fields, gofile.Field(with.GoName, fn))
		}
		if in := op.GoCompose.In; in != "" {
			args = gofile.Codes(gofile.GoRef(f.e.Unit, schema.GoRef{Pkg: op.GoCompose.Pkg, Func: in}).Values(fields...))
		}
		return gofile.GoRef(f.e.Unit, *op.GoCompose).Call(append(args, gofile.CoreArgs(op)...)...)
	}
	return jen.Id(unit.Lower(op.GoName) + "Compose").Call(gofile.CoreArgs(op)...)
}

// composeBody prints the statements of a composition.
func (f *goFile) composeBody(op *schema.Op) {
	if op.GoCompose != nil {
		return
	}
	var body []jen.Code
	if op.Switch == nil {
		body = f.e.composeStmts(op, 0)
	} else {
		var cases []jen.Code
		for i, name := range op.Switch.Enum {
			n, pkg := f.e.EnumOf(op, op.Switch)
			cases = append(cases, jen.Case(jen.Qual(pkg, n.Value(name))).Block(f.e.composeStmts(op, i)...))
		}
		bad := gofile.CoreName("Fail").Call(jen.Op("&").Id(opVar(op)), jen.Qual("fmt", "Errorf").Call(
			jen.Lit("unknown "+op.Switch.Name+" %d"), jen.Id(unit.Local(op.Switch.Name))))
		body = []jen.Code{jen.Switch(jen.Id(unit.Local(op.Switch.Name))).Block(cases...), f.e.returnFailed(op, bad, false)}
	}
	results := gofile.CoreResults(op)
	if len(op.Results) > 1 {
		var types []jen.Code
		for range op.Results {
			types = append(types, gofile.TensorType())
		}
		results = jen.Params(types...)
	}
	f.Func().Id(unit.Lower(op.GoName) + "Compose").Params(f.e.CoreParams(op)...).Add(results).Block(body...)
	f.Line()
}

func (e *emitter) composeStmts(op *schema.Op, variant int) []jen.Code {
	p := &block{e: e, op: op}
	return p.statements(&op.Compose[variant])
}

// helpers prints the few functions that emitted operators share.
func (f *goFile) helpers() {
	shapes := jen.Index().Index().Int()
	f.Line()
	f.Doc("oneShape makes a list of the one result's shape.")
	f.Func().Id("oneShape").Params(jen.Id("shape").Index().Int(), jen.Err().Error()).Params(shapes, jen.Error()).Block(
		jen.Return(jen.Index().Index().Int().Values(jen.Id("shape")), jen.Err()))
	f.Line()
	f.Doc("number returns v as an operand of the lowest priority in promotion.")
	f.Func().Id("number").Params(jen.Id("v").Float64()).Add(gofile.TensorType()).Block(
		jen.Return(gofile.CoreName("ScalarTensor").Call(gofile.IRName("FloatScalar").Call(jen.Id("v")))))
	f.Line()
	f.Doc("solid returns the operand x such that what is computed of it and of numbers has the precision of the gradient dy.")
	f.Func().Id("solid").Params(jen.List(jen.Id("x"), jen.Id("dy")).Add(gofile.TensorType())).Add(gofile.TensorType()).Block(
		jen.Return(gofile.CoreName("Solid").Call(jen.Id("x"), jen.Id("dy").Dot("DType").Call().Dot("Compute").Call())))
	f.Line()
	f.Doc("list returns several results as one slice.")
	f.Func().Id("list").Params(jen.Id("results").Op("...").Add(gofile.TensorType())).Index().Add(gofile.TensorType()).Block(jen.Return(jen.Id("results")))
	f.Line()
	f.Doc("shapesOf returns the shapes of a list operand's members.")
	f.Func().Id("shapesOf").Params(jen.Id("xs").Index().Add(gofile.TensorType())).Add(shapes).Block(
		jen.Id("shapes").Op(":=").Make(shapes, jen.Len(jen.Id("xs"))),
		jen.For(jen.List(jen.Id("i"), jen.Id("x")).Op(":=").Range().Id("xs")).Block(
			jen.Id("shapes").Index(jen.Id("i")).Op("=").Id("x").Dot("Shape").Call()),
		jen.Return(jen.Id("shapes")))
	f.Line()
	f.Doc("inShapes returns the shapes of the operands from the first-th on.")
	f.Func().Id("inShapes").Params(jen.Id("grad").Op("*").Add(gofile.CoreName("Grad")), jen.Id("first").Int()).Add(shapes).Block(
		jen.Var().Id("shapes").Add(shapes),
		jen.For(jen.Id("i").Op(":=").Id("first").Op(";").Id("i").Op("<").Id("grad").Dot("NumIn").Call().Op(";").Id("i").Op("++")).Block(
			jen.Id("shapes").Op("=").Append(jen.Id("shapes"), jen.Id("grad").Dot("InShape").Call(jen.Id("i")))),
		jen.Return(jen.Id("shapes")))
	f.Line()
	if slices.ContainsFunc(f.e.Spec.Ops, (*schema.Op).Parallel) {
		f.joinedHelper()
	}
	sumTo, toDType := f.e.Spec.Lookup("sum_to"), f.e.Spec.Lookup("to_dtype")
	if sumTo == nil || toDType == nil {
		return
	}
	f.Doc("fit gives the gradient dx the shape and dtype of operand i, which may have been broadcast and promoted.")
	f.Func().Id("fit").Params(jen.Id("grad").Op("*").Add(gofile.CoreName("Grad")), jen.Id("i").Int(), jen.Id("dx").Add(gofile.TensorType())).Add(gofile.TensorType()).Block(
		jen.If(jen.Id("grad").Dot("Fits").Call(jen.Id("i"), jen.Id("dx"))).Block(jen.Return(jen.Id("dx"))),
		jen.Id("dx").Op("=").Qual(f.e.OpsOf(sumTo), sumTo.GoName).Call(jen.Id("dx"), jen.Id("grad").Dot("InShape").Call(jen.Id("i"))),
		jen.Return(jen.Qual(f.e.OpsOf(toDType), toDType.GoName).Call(jen.Id("dx"), jen.Id("grad").Dot("InDType").Call(jen.Id("i")))))
}

// differentiable reports whether op has a backward function of its own.
func (e *emitter) differentiable(op *schema.Op) bool {
	return !op.NoGrad && slices.ContainsFunc(op.Grads, func(g schema.Grad) bool {
		return !g.None && (g.Block != nil || g.Derived != nil || g.ByRule && op.Kind != ir.Composition)
	})
}
