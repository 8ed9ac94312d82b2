package emit

import (
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

const opsDoc = `Package ops applies operators to core handles: one function for each operator, its out and in-place forms, its gradient and its descriptor. Optional arguments stand after the others, in the order of the schema. Package %s is the same for programs; this one is for gradients, compositions and code that builds on them.

An operator given bad operands returns a tensor that carries the error.`

// opsPackage emits descriptors, functions and gradients.
func (e *emitter) opsPackage() {
	e.perGroup("ops", func(f *goFile, op *schema.Op) {
		f.descriptor(op)
		f.accessor(op)
		f.functions(op)
		f.backward(op)
	})
	e.opsTable()
	if len(e.enums) > 0 {
		e.opsEnums()
	}
}

// opVar names the variable that holds op's descriptor.
func opVar(op *schema.Op) string { return lower(op.GoName) + "Op" }

// opDoc is the doc comment of op's function called name.
func opDoc(op *schema.Op, name string) string { return name + " " + op.Doc }

// opsTable emits the package comment, the list of all descriptors and helpers.
func (e *emitter) opsTable() {
	f := e.goFile("ops", "ops.go", strings.Replace(opsDoc, "%s", e.spec.Package, 1))
	var items []jen.Code
	for _, op := range e.all() {
		items = append(items, jen.Op("&").Id(opVar(op)))
	}
	f.doc("Descriptors returns the descriptor of every operator, sorted by name, those made for gradients among them. Descriptors must not be changed.")
	f.Func().Id("Descriptors").Params().Index().Op("*").Qual(irPath, "Op").Block(
		jen.Return(jen.Index().Op("*").Qual(irPath, "Op").Add(rows(items...))))
	f.helpers()
	f.done()
}

// accessor prints the function that hands out op's descriptor.
func (f *goFile) accessor(op *schema.Op) {
	if op.Tags&ir.TagHidden != 0 && f.e.derivedOps[op] {
		return
	}
	name := op.GoName + "Op"
	f.doc(name + " returns the descriptor of " + op.Name + ", which must not be changed.")
	f.Func().Id(name).Params().Op("*").Qual(irPath, "Op").Block(jen.Return(jen.Op("&").Id(opVar(op))))
}

// descriptor prints:
//
//	var <name>Op = ir.Op{
//		Name: "<name>", ...
//	}
func (f *goFile) descriptor(op *schema.Op) {
	items := []jen.Code{
		field("Name", jen.Lit(op.Name)),
		field("Doc", jen.Lit(firstSentence(op.Doc))),
		field("Kind", irName(kindConst[op.Kind])),
	}
	if in := f.operands(op); len(in) > 0 {
		items = append(items, field("In", jen.Index().Add(irName("Operand")).Values(in...)))
	}
	if attrs := attrTable(op); len(attrs) > 0 {
		items = append(items, field("Attrs", jen.Index().Add(irName("Attr")).Values(attrs...)))
	}
	items = append(items, field("Out", jen.Index().Add(irName("Result")).Values(resultTable(op)...)))
	items = append(items, field("DTypes", dtypeSet(op.DTypes)), field("Promote", irName(promoteConst[op.Promote])))
	if op.Promote == ir.PromoteFixed {
		items = append(items, field("Fixed", dtypeName(op.Fixed)))
	}
	items = append(items, field("Switch", jen.Lit(switchIndex(op))))
	if bodies := bodyTable(op); len(bodies) > 0 {
		items = append(items, field("Bodies", jen.Index().Add(irName("Body")).Add(rows(bodies...))))
	}
	if op.EmptyFail {
		items = append(items, field("EmptyFail", jen.True()))
	}
	if len(op.Special) > 0 {
		items = append(items, field("Special", jen.Index().Add(irName("Special")).Add(rows(f.specialTable(op)...))))
	}
	items = append(items, f.kernels(op)...)
	if tags := tagSet(op.Tags); tags != nil {
		items = append(items, field("Tags", tags))
	}
	f.Var().Id(opVar(op)).Op("=").Add(irName("Op")).Add(rows(items...))
	f.Line()
}

func firstSentence(doc string) string {
	doc = strings.Join(strings.Fields(doc), " ")
	if i := strings.Index(doc, ". "); i >= 0 {
		return doc[:i+1]
	}
	return doc
}

// kernels prints the fields that hold an operator's code.
func (f *goFile) kernels(op *schema.Op) []jen.Code {
	var items []jen.Code
	switch op.Kind {
	case ir.Elementwise, ir.Joint:
		items = append(items, field("CPU", irName("CPUKernels").Values(field("Elementwise", jen.Qual(f.e.pkg("cpu"), op.GoName)))))
	case ir.Reduction:
		items = append(items, field("CPU", irName("CPUKernels").Values(field("Reduce", jen.Qual(f.e.pkg("cpu"), op.GoName)))))
	case ir.Scan:
		items = append(items, field("CPU", irName("CPUKernels").Values(field("Scan", jen.Qual(f.e.pkg("cpu"), op.GoName)))))
	case ir.Kernel:
		items = append(items,
			field("CPU", irName("CPUKernels").Values(field("Kernel", f.e.goRef(op.Kernel.CPU)))),
			field("Ref", f.e.goRef(op.Kernel.Ref)))
	}
	switch {
	case f.e.hasCUDA(op):
		items = append(items, field("CUDA", jen.Qual(f.e.pkg("cuda"), op.GoName)))
	case launches(op):
		launch := []jen.Code{field("Launch", f.e.goRef(op.Kernel.CUDA))}
		if !f.e.std {
			launch = append(launch, field("Source", jen.Qual(f.e.pkg("kernels"), "Source")))
		}
		items = append(items, field("CUDA", irName("CUDAKernels").Values(launch...)))
	}
	return items
}

// goRef prints a Go function that the schema names.
func (e *emitter) goRef(r schema.GoRef) code {
	return jen.Qual(e.spec.Imports[r.Pkg], r.Func)
}

var kindConst = map[ir.BodyKind]string{
	ir.Elementwise: "Elementwise", ir.Joint: "Joint", ir.Reduction: "Reduction", ir.Scan: "Scan", ir.Kernel: "Kernel",
	ir.ViewBody: "ViewBody", ir.Composition: "Composition",
}

var promoteConst = map[ir.Promotion]string{
	ir.PromoteNone: "PromoteNone", ir.PromoteArith: "PromoteArith", ir.PromoteArithFloat: "PromoteArithFloat",
	ir.PromoteCompare: "PromoteCompare", ir.PromoteSumAcc: "PromoteSumAcc", ir.PromoteToReal: "PromoteToReal",
	ir.PromoteToComplex: "PromoteToComplex", ir.PromoteFirst: "PromoteFirst", ir.PromoteFixed: "PromoteFixed", ir.PromoteOption: "PromoteOption",
}

var attrConst = map[schema.Type]string{
	schema.Int: "AttrInt", schema.Ints: "AttrInts", schema.Float: "AttrFloat", schema.Scalar: "AttrScalar",
	schema.Bool: "AttrBool", schema.Enum: "AttrEnum", schema.DType: "AttrDType", schema.String: "AttrString",
}

var tagNames = []struct {
	tag  ir.Tag
	name string
}{
	{ir.TagPointwise, "TagPointwise"}, {ir.TagReduction, "TagReduction"}, {ir.TagView, "TagView"},
	{ir.TagNondeterministic, "TagNondeterministic"}, {ir.TagSeeded, "TagSeeded"}, {ir.TagSyncs, "TagSyncs"}, {ir.TagWrites, "TagWrites"},
	{ir.TagTF32, "TagTF32"}, {ir.TagFactory, "TagFactory"}, {ir.TagHidden, "TagHidden"}, {ir.TagExact, "TagExact"},
}

func tagSet(tags ir.Tag) code {
	var out code
	for _, t := range tagNames {
		switch {
		case tags&t.tag == 0:
		case out == nil:
			out = irName(t.name)
		default:
			out = out.Op("|").Add(irName(t.name))
		}
	}
	return out
}

func (f *goFile) operands(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, p := range readOperands(op) {
		items := []jen.Code{field("Name", jen.Lit(p.Name))}
		if p.DTypes != 0 {
			items = append(items, field("DTypes", dtypeSet(p.DTypes)))
		}
		if p.Fixed != ir.Invalid {
			items = append(items, field("Fixed", dtypeName(p.Fixed)))
		}
		if p.Optional {
			items = append(items, field("Optional", jen.True()))
		}
		if p.Type == schema.TensorList && !p.Parallel {
			items = append(items, field("Variadic", jen.True()))
		}
		if n := op.Number(p); n != ir.NumberAny {
			items = append(items, field("Number", irName(map[ir.Number]string{ir.NumberInt: "NumberInt", ir.NumberExact: "NumberExact"}[n])))
		}
		out = append(out, jen.Values(items...))
	}
	return out
}

func attrTable(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, p := range op.Attrs() {
		items := []jen.Code{field("Name", jen.Lit(p.Name)), field("Kind", irName(attrConst[p.Type]))}
		if p.Type == schema.Enum {
			items = append(items, field("Enum", stringList(p.Enum)))
		}
		out = append(out, jen.Values(items...))
	}
	return out
}

func stringList(list []string) code {
	var items []jen.Code
	for _, s := range list {
		items = append(items, jen.Lit(s))
	}
	return jen.Index().String().Values(items...)
}

func resultTable(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, r := range op.Results {
		items := []jen.Code{field("Name", jen.Lit(r.Name))}
		if r.DType != ir.Invalid {
			items = append(items, field("DType", dtypeName(r.DType)))
		}
		if r.Acc {
			items = append(items, field("Acc", jen.True()))
		}
		out = append(out, jen.Values(items...))
	}
	return out
}

func switchIndex(op *schema.Op) int {
	if op.Switch == nil {
		return -1
	}
	return op.Switch.Attr
}

func bodyTable(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, v := range op.Variants {
		if v.Joint != nil {
			var texts []jen.Code
			for _, x := range v.Joint {
				texts = append(texts, jen.Lit(x.String()))
			}
			out = append(out, jen.Values(field("Joint", jen.Index().String().Values(texts...))))
			continue
		}
		if v.Expr != nil {
			items := []jen.Code{field("Expr", jen.Lit(v.Expr.String()))}
			if in := op.Operands(); len(in) == 1 && isName(v.Expr, in[0].Name) {
				items = append(items, field("Identity", jen.True()))
			}
			if v.Expr.Indexed() {
				items = append(items, field("Indexed", jen.True()))
			}
			out = append(out, jen.Values(items...))
			continue
		}
		out = append(out, jen.Values(
			field("Init", jen.Lit(v.Init.String())), field("Map", jen.Lit(v.Map.String())),
			field("Combine", jen.Lit(v.Combine.String())), field("Finish", jen.Lit(v.Finish.String()))))
	}
	return out
}

// specialTable prints the numbers that make op another operator.
func (f *goFile) specialTable(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, s := range op.Special {
		other := jen.Op("&").Id(opVar(s.Op))
		if !f.e.own(s.Op) {
			other = jen.Qual(f.e.opsOf(s.Op), s.Op.GoName+"Op").Call()
		}
		out = append(out, jen.Values(field("Operand", jen.Lit(s.Operand.Operand)), field("Value", jen.Lit(s.Value)), field("Op", other)))
	}
	return out
}

// opsEnums emits the types of enum arguments.
func (e *emitter) opsEnums() {
	f := e.goFile("ops", "enums.go", "")
	for _, n := range e.enums {
		f.doc(n.goName + " is the argument " + n.param + " of " + e.usersOf(n) + ".")
		f.Type().Id(n.goName).Uint8()
		f.Line()
		f.doc("The values of " + n.goName + ".")
		var consts, names []jen.Code
		for i, name := range n.names {
			c := jen.Id(n.value(name))
			if i == 0 {
				c = c.Id(n.goName).Op("=").Iota()
			}
			consts = append(consts, c)
			names = append(names, jen.Lit(name))
		}
		f.Const().Defs(consts...)
		f.Line()
		table := lower(n.goName) + "Names"
		f.Var().Id(table).Op("=").Index(jen.Op("...")).String().Values(names...)
		f.Line()
		f.doc("String returns the value's name in the schema.")
		f.Func().Params(jen.Id("v").Id(n.goName)).Id("String").Params().String().Block(
			jen.If(jen.Int().Call(jen.Id("v")).Op("<").Len(jen.Id(table))).Block(jen.Return(jen.Id(table).Index(jen.Id("v")))),
			jen.Return(jen.Lit("unknown")))
		f.Line()
	}
	f.done()
}

// usersOf names the operators that take the enum.
func (e *emitter) usersOf(n *enum) string {
	var names []string
	for _, op := range e.spec.Ops {
		for _, p := range op.Params {
			if p.Type == schema.Enum && p.Name == n.param {
				names = append(names, op.Name)
			}
		}
	}
	if len(names) > 1 {
		return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1]
	}
	return strings.Join(names, "")
}
