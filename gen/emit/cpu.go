package emit

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

const cpuDoc = `Package cpu holds the scalar functions of the element-wise operators, reductions and scans, and the loops over contiguous elements that the CPU backend runs. Each operator has a table by variant and compute dtype.`

// cpuPackage emits the CPU code of every operator that has expressions.
func (e *emitter) cpuPackage() {
	f := e.goFile("cpu", "doc.go", cpuDoc)
	f.done()
	e.perGroup("cpu", func(f *goFile, op *schema.Op) {
		switch op.Kind {
		case ir.Elementwise, ir.Joint:
			f.loops(op)
		case ir.Reduction, ir.Scan:
			f.folds(op)
		}
	})
}

// variantName is the base of a variant's function names.
func variantName(op *schema.Op, v schema.Variant) string {
	return lower(op.GoName) + schema.GoName(v.Name)
}

// tableType is []*[ir.NumDTypes]<elem>.
func tableType(elem code) code {
	return jen.Index().Op("*").Index(irName("NumDTypes")).Add(elem)
}

// loops prints an element-wise operator.
func (f *goFile) loops(op *schema.Op) {
	var table []jen.Code
	for _, v := range op.Variants {
		graphs := map[ir.DType]*expr.Graph{}
		for _, d := range computeDTypes(op) {
			g, err := v.Check(d)
			if err != nil {
				f.e.fail(op, "%v", err)
				return
			}
			graphs[d] = g
		}
		fams := families(computeDTypes(op), func(d ir.DType, types expr.GoTypes) string { return printedText(graphs[d], types) })
		base := variantName(op, v)
		var entries []jen.Code
		for _, fam := range fams {
			g := graphs[fam.dtypes[0]]
			f.Comment("// " + base + fam.suffix + ": " + v.String())
			f.scalarFunc(base+fam.suffix, fam, fam.types(), g)
			f.loop(op, base+fam.suffix, fam, g)
			for _, d := range fam.dtypes {
				entries = append(entries, jen.Add(dtypeName(d)).Op(":").Add(fam.instance(base+fam.suffix+"Loop", d)))
			}
		}
		table = append(table, jen.Values(entries...))
	}
	f.doc(op.GoName + " holds the loops of " + op.Name + ", by variant and compute dtype.")
	f.Var().Id(op.GoName).Op("=").Add(tableType(irName("Loop"))).Add(rows(table...))
	f.Line()
}

// loop prints:
//
//	func <name>Loop[T num.Float](n int, p []unsafe.Pointer, s []ir.Scalar, _ int64) {
//		out, x := unsafe.Slice((*T)(p[0]), n), unsafe.Slice((*T)(p[1]), n)
//		alpha := T(s[0].Float())
//		for i := range out {
//			out[i] = <name>(x[i], alpha)
//		}
//	}
func (f *goFile) loop(op *schema.Op, name string, fam *family, g *expr.Graph) {
	types := fam.types()
	var outs, views []jen.Code
	for i, root := range g.Roots {
		outs = append(outs, jen.Id(loopResult(op, i)))
		views = append(views, sliceAt(i, kindType(root.Kind, types)))
	}
	names := slices.Clone(outs)
	var args, setup []jen.Code
	scalars, index := jen.Id("_"), jen.Id("_")
	for _, in := range inputsOf(g) {
		id := jen.Id(loopLocal(in.name))
		switch at := operandIndex(op, in.name); {
		case at >= 0:
			names = append(names, id)
			views = append(views, sliceAt(at+len(outs), kindType(in.kind, types)))
			args = append(args, id.Clone().Index(jen.Id("i")))
		case in.name == "index" && !hasParam(op, "index"):
			index = jen.Id("index")
			args = append(args, jen.Id("index").Op("+").Int64().Call(jen.Id("i")))
		default:
			scalars = jen.Id("s")
			setup = append(setup, id.Clone().Op(":=").Add(scalarRead(op, in, types)))
			args = append(args, id)
		}
	}
	body := []jen.Code{jen.List(names...).Op(":=").List(views...)}
	body = append(body, setup...)
	var element []jen.Code
	for _, out := range outs {
		element = append(element, jen.Add(out).Index(jen.Id("i")))
	}
	body = append(body, jen.For(jen.Id("i").Op(":=").Range().Add(outs[0])).Block(
		jen.List(element...).Op("=").Add(fam.typed(name, g)).Call(args...)))
	fn := f.Func().Id(name + "Loop")
	if tp := fam.typeParams(); tp != nil {
		fn = fn.Types(tp...)
	}
	fn.Params(jen.Id("n").Int(), jen.Id("p").Index().Qual("unsafe", "Pointer"), scalars.Index().Add(irName("Scalar")), index.Int64()).Block(body...)
	f.Line()
}

// sliceAt prints n elements of type typ at p[i].
func sliceAt(i int, typ string) code { return sliceOf(jen.Id("p").Index(jen.Lit(i)), typ) }

// sliceOf prints n elements of type typ at a pointer.
func sliceOf(p code, typ string) code {
	return jen.Qual("unsafe", "Slice").Call(jen.Parens(jen.Op("*").Id(typ)).Call(p), jen.Id("n"))
}

// loopResult is the Go name of a result inside a loop.
func loopResult(op *schema.Op, i int) string {
	if op.Kind == ir.Joint {
		return "new" + schema.GoName(op.Results[i].Name)
	}
	return "out"
}

// operandIndex returns the position of an operand among those of a loop, or -1: of a
// joint operator those that are written over come first.
func operandIndex(op *schema.Op, name string) int {
	operands := op.Operands()
	if op.Kind == ir.Joint {
		slices.SortStableFunc(operands, func(p, q *schema.Param) int {
			switch {
			case p.Written == q.Written:
				return 0
			case p.Written:
				return -1
			}
			return 1
		})
	}
	return slices.IndexFunc(operands, func(p *schema.Param) bool { return p.Name == name })
}

func hasParam(op *schema.Op, name string) bool {
	for _, p := range op.Params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// loopNames are what emitted loops call their own variables.
var loopNames = []string{"n", "p", "s", "i", "q", "v", "a", "b", "acc", "out", "xs", "sum", "total", "identity", "results", "other", "lanes", "m", "full", "j", "part"}

// loopLocal returns the Go name of an operand or an argument inside a loop.
func loopLocal(name string) string {
	if slices.Contains(loopNames, name) {
		return name + "Value"
	}
	return local(name)
}
