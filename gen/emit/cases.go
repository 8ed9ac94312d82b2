package emit

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

const casesDoc = `Package opcases is the table of operators with their test data, for package optest.`

// casesPackage emits the test table and the test that runs it.
func (e *emitter) casesPackage() {
	f := e.goFile("opcases", "opcases.go", casesDoc)
	var names []jen.Code
	for _, op := range e.spec.Ops {
		if !op.Parallel() {
			names = append(names, jen.Id(caseVar(op)))
		}
	}
	f.doc("Cases are the operators of the schema that return tensors, sorted by name.")
	f.Var().Id("Cases").Op("=").Index().Qual(optestPath, "Operator").Add(rows(names...))
	f.done()
	e.perGroup("opcases", func(f *goFile, op *schema.Op) {
		if !e.derivedOps[op] && !op.Parallel() {
			f.testCase(op)
		}
	})
	e.casesTest()
}

func caseVar(op *schema.Op) string { return lower(op.GoName) + "Case" }

// casesTest emits the test file.
func (e *emitter) casesTest() {
	f := e.goFile("opcases", "opcases_test.go", "")
	f.doc("TestOperators checks every operator of the schema; optest says how.")
	f.Func().Id("TestOperators").Params(jen.Id("t").Op("*").Qual("testing", "T")).Block(
		jen.Qual(optestPath, "Run").Call(jen.Id("t"), jen.Id("Cases")))
	f.done()
}

// testCase prints one entry of the table.
func (f *goFile) testCase(op *schema.Op) {
	items := []jen.Code{
		field("Op", jen.Qual(f.e.opsPath(), op.GoName+"Op").Call()),
		field("Schema", jen.Lit(f.e.target.Source)),
		field("Call", f.caller(op, "")),
	}
	if hasOut(op) {
		items = append(items, field("Out", f.caller(op, "Out")))
	}
	if hasInPlace(op) {
		items = append(items, field("InPlace", f.caller(op, "InPlace")))
	}
	if attrs := f.attrValues(op, nil); attrs != nil {
		items = append(items, field("Defaults", attrs))
	}
	t := op.Test
	items = append(items, field("Domain", jen.Index(jen.Lit(2)).Float64().Values(floatLit(t.Domain[0]), floatLit(t.Domain[1]))))
	if len(t.Domains) > 0 {
		items = append(items, field("Domains", f.domains(op)))
	}
	items = append(items, field("ULP", floatLit(t.ULP)))
	if len(t.Avoid) > 0 {
		var list []jen.Code
		for _, v := range t.Avoid {
			list = append(list, floatLit(v))
		}
		items = append(items, field("Avoid", jen.Index().Float64().Values(list...)))
	}
	if len(t.Cases) > 0 {
		items = append(items, field("Cases", f.literalCases(op)))
	}
	if len(t.Samples) > 0 {
		items = append(items, field("Samples", f.samples(op)))
	}
	items = append(items, field("Grad", f.grads(op)))
	if rows := f.benchRows(op); rows != nil {
		items = append(items, field("Bench", rows))
	}
	if f.e.readsRounded(op) {
		items = append(items, field("Rounded", jen.True()))
	}
	f.Var().Id(caseVar(op)).Op("=").Qual(optestPath, "Operator").Add(rows(items...))
	f.Line()
}

// caller prints the closure that applies one form to test arguments.
func (f *goFile) caller(op *schema.Op, suffix string) code {
	args := f.callArgs(op)
	fn := jen.Qual(f.e.opsPath(), op.GoName+suffix)
	a := jen.Id("a").Qual(optestPath, "Args")
	switch {
	case suffix == "Out":
		return jen.Func().Params(jen.Id("dst").Add(tensorType()), a).Error().Block(
			jen.Return(fn.Call(append([]jen.Code{jen.Id("dst")}, args...)...)))
	case suffix != "":
		return jen.Func().Params(a).Error().Block(jen.Return(fn.Call(args...)))
	}
	sig := jen.Func().Params(a).Index().Add(tensorType())
	call := fn.Call(args...)
	switch {
	case op.Results[0].List:
		return sig.Block(jen.Return(call))
	case len(op.Results) == 1:
		return sig.Block(jen.Return(jen.Index().Add(tensorType()).Values(call)))
	}
	return sig.Block(jen.Return(jen.Qual(optestPath, "Results").Call(call)))
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
			args = append(args, f.e.attrRead(op, p, jen.Id("a").Dot("Attrs").Index(jen.Lit(p.Attr))))
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
			n, pkg := f.e.enumOf(op, p)
			vals = append(vals, irName("IntValue").Call(jen.Qual(pkg, n.value(l.Str))))
			continue
		}
		if p.Type == schema.Ints && l.Ints == nil && l.Extents == nil {
			vals = append(vals, irName("IntsValue").Call(jen.Nil()))
			continue
		}
		if p.Type == schema.Scalar && l.Scalar.Category() == ir.CategoryNone {
			l.Scalar = ir.IntScalar(0)
		}
		vals = append(vals, attrValue(p, f.e.literal(op, p, l)))
	}
	return jen.Index().Add(irName("Value")).Values(vals...)
}

func (f *goFile) domains(op *schema.Op) code {
	var list []jen.Code
	for _, p := range op.Operands() {
		d := op.Test.Domains[p.Name]
		list = append(list, jen.Values(floatLit(d[0]), floatLit(d[1])))
	}
	return jen.Index().Index(jen.Lit(2)).Float64().Values(list...)
}

func (f *goFile) literalCases(op *schema.Op) code {
	var list []jen.Code
	for _, c := range op.Test.Cases {
		var in []jen.Code
		for _, v := range c.In {
			in = append(in, scalarLit(v))
		}
		items := []jen.Code{field("In", jen.Index().Add(irName("Scalar")).Values(in...))}
		if attrs := f.attrValues(op, c.Args); attrs != nil {
			items = append(items, field("Attrs", attrs))
		}
		list = append(list, jen.Values(append(items, field("Want", scalarLit(c.Want)))...))
	}
	return jen.Index().Qual(optestPath, "Case").Add(rows(list...))
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
		items := []jen.Code{field("Shapes", jen.Index().Index().Int().Values(shapes...))}
		if attrs := f.attrValues(op, s.Args); attrs != nil {
			items = append(items, field("Attrs", attrs))
		}
		if len(s.Values) > 0 {
			var vals []string
			for _, p := range op.Operands() {
				vals = append(vals, s.Values[p.Name])
			}
			items = append(items, field("Values", stringList(vals)))
		}
		list = append(list, jen.Values(items...))
	}
	return jen.Index().Qual(optestPath, "Sample").Add(rows(list...))
}

// grads prints which operands have a gradient.
func (f *goFile) grads(op *schema.Op) code {
	var list []jen.Code
	for i := range op.Operands() {
		list = append(list, jen.Lit(!op.NoGrad && !op.Test.NoGradient && i < len(op.Grads) && !op.Grads[i].None))
	}
	return jen.Index().Bool().Values(list...)
}
