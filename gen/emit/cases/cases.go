// Package cases emits the table of operators with their test data and bench rows, and
// the test that runs it. It knows what package optest is given, and nothing of how it
// tests.
package cases

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// Emit adds the table of u. readsRounded reports whether an operator's gradient is made
// of results as they were rounded to 16 bits.
func Emit(u *unit.Unit, readsRounded func(*schema.Op) bool) {
	e := &emitter{&gofile.Emitter{Unit: u}, readsRounded}
	e.casesPackage()
}

// emitter writes the table's package.
type emitter struct {
	*gofile.Emitter
	readsRounded func(*schema.Op) bool // whether a gradient is made of rounded results
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

const casesDoc = `Package opcases is the table of operators with their test data, for package optest.`

// casesPackage emits the test table and the test that runs it.
func (e *emitter) casesPackage() {
	f := e.goFile("opcases", "opcases.go", casesDoc)
	var names []jen.Code
	for _, op := range e.Spec.Ops {
		if !op.Parallel() {
			names = append(names, jen.Id(caseVar(op)))
		}
	}
	f.Doc("Cases are the operators of the schema that return tensors, sorted by name.")
	f.Var().Id("Cases").Op("=").Index().Qual(gofile.OptestPath, "Operator").Add(gofile.Rows(names...))
	f.Done()
	e.perGroup("opcases", func(f *goFile, op *schema.Op) {
		if !e.DerivedOps[op] && !op.Parallel() {
			f.testCase(op)
		}
	})
	e.casesTest()
}

func caseVar(op *schema.Op) string { return unit.Lower(op.GoName) + "Case" }

// casesTest emits the test file.
func (e *emitter) casesTest() {
	f := e.goFile("opcases", "opcases_test.go", "")
	f.Doc("TestOperators checks every operator of the schema; optest says how.")
	run := []jen.Code{jen.Qual(gofile.OptestPath, "Run").Call(jen.Id("t"), jen.Id("Cases"))}
	if !e.Std && slices.ContainsFunc(e.Spec.Ops, func(op *schema.Op) bool { return op.Kind == ir.Opaque }) {
		run = append([]jen.Code{jen.Qual(gofile.OptestPath, "Reference").Call(jen.Qual(e.Pkg("ref"), "Kernels").Call())}, run...)
	}
	f.Func().Id("TestOperators").Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(run...)
	f.Done()
}

// testCase prints one entry of the table.
func (f *goFile) testCase(op *schema.Op) {
	items := []jen.Code{
		gofile.Field("Op", jen.Qual(f.e.OpsPath(), op.GoName+"Op").Call()),
		gofile.Field("Schema", jen.Lit(f.e.Target.Source)),
		gofile.Field("Call", f.caller(op, "")),
	}
	if unit.HasOut(op) {
		items = append(items, gofile.Field("Out", f.caller(op, "Out")))
	}
	if unit.HasInPlace(op) {
		items = append(items, gofile.Field("InPlace", f.caller(op, "InPlace")))
	}
	if attrs := f.attrValues(op, nil); attrs != nil {
		items = append(items, gofile.Field("Defaults", attrs))
	}
	t := op.Test
	items = append(items, gofile.Field("Domain", jen.Index(jen.Lit(2)).Float64().Values(gofile.FloatLit(t.Domain[0]), gofile.FloatLit(t.Domain[1]))))
	if len(t.Domains) > 0 {
		items = append(items, gofile.Field("Domains", f.domains(op)))
	}
	items = append(items, gofile.Field("ULP", gofile.FloatLit(t.ULP)))
	if len(t.Avoid) > 0 {
		var list []jen.Code
		for _, v := range t.Avoid {
			list = append(list, gofile.FloatLit(v))
		}
		items = append(items, gofile.Field("Avoid", jen.Index().Float64().Values(list...)))
	}
	if len(t.Cases) > 0 {
		items = append(items, gofile.Field("Cases", f.literalCases(op)))
	}
	if len(t.Samples) > 0 {
		items = append(items, gofile.Field("Samples", f.samples(op)))
	}
	items = append(items, gofile.Field("Grad", f.grads(op)))
	if rows := f.benchRows(op); rows != nil {
		items = append(items, gofile.Field("Bench", rows))
	}
	if f.e.readsRounded(op) {
		items = append(items, gofile.Field("Rounded", jen.True()))
	}
	f.Var().Id(caseVar(op)).Op("=").Qual(gofile.OptestPath, "Operator").Add(gofile.Rows(items...))
	f.Line()
}

// caller prints the closure that applies one form to test arguments.
func (f *goFile) caller(op *schema.Op, suffix string) code {
	args := f.callArgs(op)
	fn := jen.Qual(f.e.OpsPath(), op.GoName+suffix)
	a := jen.Id("a").Qual(gofile.OptestPath, "Args")
	switch {
	case suffix == "Out":
		return jen.Func().Params(jen.Id("dst").Add(gofile.TensorType()), a).Error().Block(
			jen.Return(fn.Call(append([]jen.Code{jen.Id("dst")}, args...)...)))
	case suffix != "":
		return jen.Func().Params(a).Error().Block(jen.Return(fn.Call(args...)))
	}
	sig := jen.Func().Params(a).Index().Add(gofile.TensorType())
	call := fn.Call(args...)
	switch {
	case op.Results[0].List:
		return sig.Block(jen.Return(call))
	case len(op.Results) == 1:
		return sig.Block(jen.Return(jen.Index().Add(gofile.TensorType()).Values(call)))
	}
	return sig.Block(jen.Return(jen.Qual(gofile.OptestPath, "Results").Call(call)))
}

// callArgs prints the arguments of a call from an optest.Args called a.
func (f *goFile) callArgs(op *schema.Op) []jen.Code {
	var args []jen.Code
	at := map[*schema.Param]int{}
	n := 0
	for _, p := range op.Operands() {
		if p.Type != schema.TensorList {
			at[p] = n
			n++
		}
	}
	for _, p := range op.Params {
		switch {
		case p.Type == schema.TensorList && n == 0:
			args = append(args, jen.Id("a").Dot("In"))
		case p.Type == schema.TensorList:
			args = append(args, jen.Id("a").Dot("In").Index(jen.Lit(n), jen.Empty()))
		case p.Type == schema.Tensor:
			args = append(args, jen.Id("a").Dot("In").Index(jen.Lit(at[p])))
		default:
			args = append(args, f.e.AttrRead(op, p, jen.Id("a").Dot("Attrs").Index(jen.Lit(p.Attr))))
		}
	}
	if op.Factory() {
		args = append(args, jen.Id("a").Dot("Place"))
	}
	return args
}

// attrValues prints every attribute: the given ones, defaults for the others,
// and zero values for arguments that have none.
func (f *goFile) attrValues(op *schema.Op, given map[string]schema.Literal) code {
	attrs := op.Attrs()
	if len(attrs) == 0 {
		return nil
	}
	var vals []jen.Code
	for _, p := range attrs {
		l, ok := given[p.Name]
		if !ok {
			l = p.Default
		}
		if p.Type == schema.Enum {
			if l.Str == "" {
				l.Str = p.Enum[0]
			}
			n, pkg := f.e.EnumOf(op, p)
			vals = append(vals, gofile.IRName("IntValue").Call(jen.Qual(pkg, n.Value(l.Str))))
			continue
		}
		if p.Type == schema.Ints && l.Ints == nil && l.Extents == nil {
			vals = append(vals, gofile.IRName("IntsValue").Call(jen.Nil()))
			continue
		}
		if p.Type == schema.Scalar && l.Scalar.Category() == ir.CategoryNone {
			l.Scalar = ir.IntScalar(0)
		}
		vals = append(vals, gofile.AttrValue(p, f.e.Literal(op, p, l)))
	}
	return jen.Index().Add(gofile.IRName("Value")).Values(vals...)
}

func (f *goFile) domains(op *schema.Op) code {
	var list []jen.Code
	for _, p := range op.Operands() {
		d := op.Test.Domains[p.Name]
		list = append(list, jen.Values(gofile.FloatLit(d[0]), gofile.FloatLit(d[1])))
	}
	return jen.Index().Index(jen.Lit(2)).Float64().Values(list...)
}

func (f *goFile) literalCases(op *schema.Op) code {
	var list []jen.Code
	for _, c := range op.Test.Cases {
		var in, want []jen.Code
		for _, v := range c.In {
			in = append(in, gofile.ScalarLit(v))
		}
		for _, v := range c.Want {
			want = append(want, gofile.ScalarLit(v))
		}
		items := []jen.Code{gofile.Field("In", jen.Index().Add(gofile.IRName("Scalar")).Values(in...))}
		if attrs := f.attrValues(op, c.Args); attrs != nil {
			items = append(items, gofile.Field("Attrs", attrs))
		}
		list = append(list, jen.Values(append(items, gofile.Field("Want", jen.Index().Add(gofile.IRName("Scalar")).Values(want...)))...))
	}
	return jen.Index().Qual(gofile.OptestPath, "Case").Add(gofile.Rows(list...))
}

func (f *goFile) samples(op *schema.Op) code {
	var list []jen.Code
	for _, s := range op.Test.Samples {
		var shapes []jen.Code
		for _, shape := range s.Shapes {
			var dims []jen.Code
			for _, d := range shape {
				dims = append(dims, jen.Lit(d))
			}
			shapes = append(shapes, jen.Values(dims...))
		}
		items := []jen.Code{gofile.Field("Shapes", jen.Index().Index().Int().Values(shapes...))}
		if attrs := f.attrValues(op, s.Args); attrs != nil {
			items = append(items, gofile.Field("Attrs", attrs))
		}
		if len(s.Values) > 0 {
			var vals []string
			for _, p := range op.Operands() {
				vals = append(vals, s.Values[p.Name])
			}
			items = append(items, gofile.Field("Values", gofile.StringList(vals)))
		}
		list = append(list, jen.Values(items...))
	}
	return jen.Index().Qual(gofile.OptestPath, "Sample").Add(gofile.Rows(list...))
}

// grads prints which operands have a gradient.
func (f *goFile) grads(op *schema.Op) code {
	var list []jen.Code
	for i := range op.Operands() {
		list = append(list, jen.Lit(!op.NoGrad && !op.Test.NoGradient && i < len(op.Grads) && !op.Grads[i].None))
	}
	return jen.Index().Bool().Values(list...)
}
