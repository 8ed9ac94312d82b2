// Package ops emits the operators on core handles: descriptors, functions, their out
// and in-place forms, compositions and gradients. It knows nothing of the loops that
// descriptors name, nor of the package that users import.
package ops

import (
	"slices"
	"strconv"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// An Emitter emits the operators of one unit.
type Emitter struct{ e *emitter }

// New adds to u the operators that its gradients are computed by, which every other
// emitter must see.
func New(u *unit.Unit, backends []gofile.Backend) Emitter {
	e := &emitter{Emitter: &gofile.Emitter{Unit: u}, backends: backends, rounding: map[*schema.Op]bool{}}
	e.fuse()
	return Emitter{e}
}

// Emit adds the operators' package to the unit.
func (o Emitter) Emit() { o.e.opsPackage() }

// ReadsRounded reports whether the gradient of op is made of results as they were
// rounded to 16 bits: its own, or those of its parts.
func (o Emitter) ReadsRounded(op *schema.Op) bool { return o.e.readsRounded(op) }

// emitter writes the operators' package.
type emitter struct {
	*gofile.Emitter
	backends []gofile.Backend // whose code descriptors name
	// fused are the hidden operators that compute derived gradients, by operator and
	// operand.
	fused    map[*schema.Op]map[string]*schema.Op
	goNames  map[string]bool     // Go names of fused operators
	rounding map[*schema.Op]bool // what rounds has found
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
	if len(e.Enums) > 0 {
		e.opsEnums()
	}
}

// opVar names the variable that holds op's descriptor.
func opVar(op *schema.Op) string { return unit.Lower(op.GoName) + "Op" }

// opsTable emits the package comment, the list of all descriptors and helpers.
func (e *emitter) opsTable() {
	f := e.goFile("ops", "ops.go", strings.Replace(opsDoc, "%s", e.Spec.Package, 1))
	var items []jen.Code
	for _, op := range e.all() {
		items = append(items, jen.Op("&").Id(opVar(op)))
	}
	f.Doc("Descriptors returns the descriptor of every operator, sorted by name, those made for gradients among them. Descriptors must not be changed.")
	f.Func().Id("Descriptors").Params().Index().Op("*").Qual(gofile.IRPath, "Op").Block(
		jen.Return(jen.Index().Op("*").Qual(gofile.IRPath, "Op").Add(gofile.Rows(items...))))
	f.helpers()
	f.Done()
}

// accessor prints the function that hands out op's descriptor.
func (f *goFile) accessor(op *schema.Op) {
	if op.Tags&ir.TagHidden != 0 && f.e.DerivedOps[op] {
		return
	}
	name := op.GoName + "Op"
	f.Doc(name + " returns the descriptor of " + op.Name + ", which must not be changed.")
	f.Func().Id(name).Params().Op("*").Qual(gofile.IRPath, "Op").Block(jen.Return(jen.Op("&").Id(opVar(op))))
}

// descriptor prints:
//
//	var <name>Op = ir.Op{
//		Name: "<name>", ...
//	}
func (f *goFile) descriptor(op *schema.Op) {
	items := []jen.Code{
		gofile.Field("Name", jen.Lit(op.Name)),
		gofile.Field("Doc", jen.Lit(unit.FirstSentence(op.Doc))),
		gofile.Field("Kind", gofile.IRName(kindConst[op.Kind])),
	}
	if in := f.operands(op); len(in) > 0 {
		items = append(items, gofile.Field("In", jen.Index().Add(gofile.IRName("Operand")).Values(in...)))
	}
	if attrs := attrTable(op); len(attrs) > 0 {
		items = append(items, gofile.Field("Attrs", jen.Index().Add(gofile.IRName("Attr")).Values(attrs...)))
	}
	items = append(items, gofile.Field("Out", jen.Index().Add(gofile.IRName("Result")).Values(resultTable(op)...)))
	items = append(items, gofile.Field("DTypes", gofile.DTypeSet(op.DTypes)), gofile.Field("Promote", gofile.IRName(promoteConst[op.Promote])))
	if op.Promote == ir.PromoteFixed {
		items = append(items, gofile.Field("Fixed", gofile.DTypeName(op.Fixed)))
	}
	items = append(items, gofile.Field("Switch", jen.Lit(switchIndex(op))))
	if bodies := bodyTable(op); len(bodies) > 0 {
		items = append(items, gofile.Field("Bodies", jen.Index().Add(gofile.IRName("Body")).Add(gofile.Rows(bodies...))))
	}
	if op.EmptyFail {
		items = append(items, gofile.Field("EmptyFail", jen.True()))
	}
	if op.Ordered {
		items = append(items, gofile.Field("Ordered", jen.True()))
	}
	if len(op.Require) > 0 {
		items = append(items, gofile.Field("Require", jen.Index().Add(gofile.IRName("Requirement")).Values(requirements(op)...)))
	}
	if len(op.Special) > 0 {
		items = append(items, gofile.Field("Special", jen.Index().Add(gofile.IRName("Special")).Add(gofile.Rows(f.specialTable(op)...))))
	}
	if code := f.code(op); len(code) > 0 {
		items = append(items, gofile.Field("Code", jen.Index().Add(gofile.IRName("Code")).Values(code...)))
	}
	if op.Fallback != nil {
		items = append(items, gofile.Field("Parts", jen.True()))
	}
	if tags := tagSet(op.Tags | signs(op)); tags != nil {
		items = append(items, gofile.Field("Tags", tags))
	}
	f.Var().Id(opVar(op)).Op("=").Add(gofile.IRName("Op")).Add(gofile.Rows(items...))
	f.Line()
}

// code prints what each backend has for an operator.
func (f *goFile) code(op *schema.Op) []jen.Code {
	var items []jen.Code
	for _, b := range f.e.backends {
		if !op.On(b.Kind) {
			continue
		}
		if op.Kind == ir.Composition && op.Only != nil {
			items = append(items, jen.Values(gofile.Field("For", jen.Lit(b.Kind))))
		}
		if code := b.Code(f.e.Unit, op); code != nil {
			items = append(items, jen.Values(gofile.Field("For", jen.Lit(b.Kind)), gofile.Field("Of", code)))
		}
	}
	return items
}

var kindConst = map[ir.BodyKind]string{
	ir.Elementwise: "Elementwise", ir.Joint: "Joint", ir.Reduction: "Reduction", ir.Scan: "Scan", ir.Opaque: "Opaque",
	ir.ViewBody: "ViewBody", ir.Composition: "Composition",
}

var promoteConst = map[ir.Promotion]string{
	ir.PromoteNone: "PromoteNone", ir.PromoteArith: "PromoteArith", ir.PromoteArithFloat: "PromoteArithFloat",
	ir.PromoteCompare: "PromoteCompare", ir.PromoteSumAcc: "PromoteSumAcc", ir.PromoteToReal: "PromoteToReal",
	ir.PromoteToComplex: "PromoteToComplex", ir.PromoteFirst: "PromoteFirst", ir.PromoteFixed: "PromoteFixed", ir.PromoteOption: "PromoteOption",
}

var attrConst = map[ir.AttrKind]string{
	ir.AttrInt: "AttrInt", ir.AttrInts: "AttrInts", ir.AttrFloat: "AttrFloat", ir.AttrScalar: "AttrScalar",
	ir.AttrBool: "AttrBool", ir.AttrEnum: "AttrEnum", ir.AttrDType: "AttrDType", ir.AttrString: "AttrString",
}

// tagSet prints tags, nil for none. Bits without a name are printed as a number, so that none is lost.
func tagSet(tags ir.Tag) (out code) {
	or := func(c code) {
		if out == nil {
			out = c
			return
		}
		out = out.Op("|").Add(c)
	}
	for n := range ir.TagNames() {
		if tags&n.Tag != 0 {
			or(gofile.IRName(n.Go))
			tags &^= n.Tag
		}
	}
	if tags != 0 {
		or(jen.Op(strconv.FormatUint(uint64(tags), 10)))
	}
	return out
}

func (f *goFile) operands(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, p := range readOperands(op) {
		items := []jen.Code{gofile.Field("Name", jen.Lit(p.Name))}
		if p.DTypes != 0 {
			items = append(items, gofile.Field("DTypes", gofile.DTypeSet(p.DTypes)))
		}
		if p.Fixed != ir.Invalid {
			items = append(items, gofile.Field("Fixed", gofile.DTypeName(p.Fixed)))
		}
		if p.Optional {
			items = append(items, gofile.Field("Optional", jen.True()))
		}
		if p.Type == schema.TensorList && !p.Parallel {
			items = append(items, gofile.Field("Variadic", jen.True()))
		}
		if n := op.Number(p); n != ir.NumberAny {
			items = append(items, gofile.Field("Number", gofile.IRName(map[ir.Number]string{ir.NumberInt: "NumberInt", ir.NumberExact: "NumberExact"}[n])))
		}
		out = append(out, jen.Values(items...))
	}
	return out
}

func attrTable(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, a := range op.Attributes() {
		items := []jen.Code{gofile.Field("Name", jen.Lit(a.Name)), gofile.Field("Kind", gofile.IRName(attrConst[a.Kind]))}
		if a.Kind == ir.AttrEnum {
			items = append(items, gofile.Field("Enum", gofile.StringList(a.Enum)))
		}
		if a.Draws != ir.DrawsNothing {
			items = append(items, gofile.Field("Draws", gofile.IRName(map[ir.Draws]string{ir.DrawsSeed: "DrawsSeed", ir.DrawsOffset: "DrawsOffset"}[a.Draws])))
		}
		out = append(out, jen.Values(items...))
	}
	return out
}

func resultTable(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, r := range op.Results {
		items := []jen.Code{gofile.Field("Name", jen.Lit(r.Name))}
		if r.DType != ir.Invalid {
			items = append(items, gofile.Field("DType", gofile.DTypeName(r.DType)))
		}
		if r.Acc {
			items = append(items, gofile.Field("Acc", jen.True()))
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
		if v.Fold != nil {
			items := []jen.Code{gofile.Field("States", stateTable(v.Fold))}
			if v.Fold.First != nil {
				items = append(items, gofile.Field("First", firstTable(v.Fold)))
			}
			out = append(out, jen.Values(append(items, gofile.Field("Exprs", exprList(v.Exprs)))...))
			continue
		}
		if v.Exprs != nil {
			items := []jen.Code{gofile.Field("Exprs", exprList(v.Exprs))}
			if in := op.Operands(); len(in) == 1 && len(v.Exprs) == 1 && isName(v.Exprs[0], in[0].Name) {
				items = append(items, gofile.Field("Identity", jen.True()))
			}
			if slices.ContainsFunc(v.Exprs, (*expr.Expr).Indexed) {
				items = append(items, gofile.Field("Indexed", jen.True()))
			}
			out = append(out, jen.Values(items...))
			continue
		}
		out = append(out, jen.Values(
			gofile.Field("Init", jen.Lit(v.Init.String())), gofile.Field("Map", jen.Lit(v.Map.String())),
			gofile.Field("Combine", jen.Lit(v.Combine.String())), gofile.Field("Finish", jen.Lit(v.Finish.String()))))
	}
	return out
}

// stateTable prints the states of a reduction.
func stateTable(f *expr.Fold) code {
	var states []jen.Code
	for i, s := range f.States {
		var items []jen.Code
		if s.Name != "" {
			items = append(items, gofile.Field("Name", jen.Lit(s.Name)))
		}
		if s.DType != ir.Invalid {
			items = append(items, gofile.Field("DType", gofile.DTypeName(s.DType)))
		}
		states = append(states, jen.Values(append(items, gofile.Field("Init", jen.Lit(f.Init[i].String())),
			gofile.Field("Map", jen.Lit(f.Map[i].String())), gofile.Field("Combine", jen.Lit(f.Combine[i].String())))...))
	}
	return jen.Index().Add(gofile.IRName("State")).Add(gofile.Rows(states...))
}

// firstTable prints what a reduction makes of first elements.
func firstTable(f *expr.Fold) code {
	var list []jen.Code
	for i, x := range f.First {
		list = append(list, jen.Values(gofile.Field("Name", jen.Lit(strings.TrimPrefix(f.Names[i], ir.First{}.Full()))), gofile.Field("Expr", jen.Lit(x.String()))))
	}
	return jen.Index().Add(gofile.IRName("First")).Values(list...)
}

// exprList prints expressions as a list of texts.
func exprList(list []*expr.Expr) code {
	var texts []string
	for _, x := range list {
		texts = append(texts, x.String())
	}
	return gofile.StringList(texts)
}

// specialTable prints the numbers that make op another operator.
func (f *goFile) specialTable(op *schema.Op) []jen.Code {
	var out []jen.Code
	for _, s := range op.Special {
		other := jen.Op("&").Id(opVar(s.Op))
		if !f.e.Own(s.Op) {
			other = jen.Qual(f.e.OpsOf(s.Op), s.Op.GoName+"Op").Call()
		}
		out = append(out, jen.Values(gofile.Field("Operand", jen.Lit(s.Operand.Operand)), gofile.Field("Value", jen.Lit(s.Value)), gofile.Field("Op", other)))
	}
	return out
}

// opsEnums emits the types of enum arguments.
func (e *emitter) opsEnums() {
	f := e.goFile("ops", "enums.go", "")
	for _, n := range e.Enums {
		f.Doc(n.GoName + " is the argument " + n.Param + " of " + e.UsersOf(n) + ".")
		f.Type().Id(n.GoName).Uint8()
		f.Line()
		f.Doc("The values of " + n.GoName + ".")
		var consts, names []jen.Code
		for i, name := range n.Names {
			c := jen.Id(n.Value(name))
			if i == 0 {
				c = c.Id(n.GoName).Op("=").Iota()
			}
			consts = append(consts, c)
			names = append(names, jen.Lit(name))
		}
		f.Const().Defs(consts...)
		f.Line()
		table := unit.Lower(n.GoName) + "Names"
		f.Var().Id(table).Op("=").Index(jen.Op("...")).String().Values(names...)
		f.Line()
		f.Doc("String returns the value's name in the schema.")
		f.Func().Params(jen.Id("v").Id(n.GoName)).Id("String").Params().String().Block(
			jen.If(jen.Int().Call(jen.Id("v")).Op("<").Len(jen.Id(table))).Block(jen.Return(jen.Id(table).Index(jen.Id("v")))),
			jen.Return(jen.Lit("unknown")))
		f.Line()
	}
	f.Done()
}
