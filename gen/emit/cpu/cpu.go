// Package cpu emits what the CPU runs: scalar functions and loops in Go, the same
// loops in assembly or the call that has them made, and the document about them. It
// knows nothing of tensors, gradients or other devices.
package cpu

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/bodies"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// Backend is the CPU.
var Backend = gofile.Backend{Kind: "cpu", Emit: Emit, Code: func(u *unit.Unit, op *schema.Op) jen.Code {
	switch op.Kind {
	case ir.Elementwise, ir.Joint, ir.Reduction, ir.Scan:
		return jen.Op("&").Qual(u.Pkg("cpu"), op.GoName)
	case ir.Opaque:
		if op.Kernel["cpu"].Func == "" {
			return nil // its parts stand for it
		}
		return gofile.IRName("KernelFunc").Call(gofile.GoRef(u, op.Kernel["cpu"]))
	}
	return nil
}}

// Emit adds the CPU's files to u.
func Emit(u *unit.Unit) {
	e := &emitter{Emitter: &gofile.Emitter{Unit: u}, lists: map[string][]string{}}
	e.cpuPackage()
	e.vectorCode()
}

// emitter writes the CPU's files.
type emitter struct {
	*gofile.Emitter
	ownFolds []ownFold           // reductions that package fold has no loops for
	lists    map[string][]string // names of the lists of assembly, by their type
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

const cpuDoc = `Package cpu holds the scalar functions of the element-wise operators, reductions and scans, and the loops over contiguous elements that the CPU backend runs. Each operator has a table by variant and compute dtype.`

// cpuPackage emits the CPU code of every operator that has expressions.
func (e *emitter) cpuPackage() {
	f := e.goFile("cpu", "doc.go", cpuDoc)
	f.Done()
	e.perGroup("cpu", func(f *goFile, op *schema.Op) {
		switch {
		case !op.On("cpu"):
		case op.HasStates():
			f.parts(op)
		case op.Kind == ir.Elementwise, op.Kind == ir.Joint:
			f.loops(op)
		case op.Kind == ir.Reduction, op.Kind == ir.Scan:
			f.folds(op)
		}
	})
}

// variantName is the base of a variant's function names.
func variantName(op *schema.Op, v schema.Variant) string {
	return unit.Lower(op.GoName) + schema.GoName(v.Name)
}

// tableType is []*[ir.NumDTypes]<elem>.
func tableType(elem code) code {
	return jen.Index().Op("*").Index(gofile.IRName("NumDTypes")).Add(elem)
}

// loops prints an element-wise operator.
func (f *goFile) loops(op *schema.Op) {
	var table []jen.Code
	for _, v := range op.Variants {
		graphs := map[ir.DType]*expr.Graph{}
		for _, d := range unit.ComputeDTypes(op) {
			g, err := v.Check(d)
			if err != nil {
				f.e.Fail(op, "%v", err)
				return
			}
			graphs[d] = g
		}
		fams := families(unit.ComputeDTypes(op), func(d ir.DType, types expr.GoTypes) string { return printedText(graphs[d], types) })
		base := variantName(op, v)
		var entries []jen.Code
		for _, fam := range fams {
			g := graphs[fam.dtypes[0]]
			text := v.String()
			if op.Kind == ir.Elementwise && len(op.Results) > 1 { // they have too much in common to be printed apart
				text = unit.ResultNames(op)
			}
			f.Comment("// " + base + fam.suffix + ": " + text)
			f.scalarFunc(base+fam.suffix, fam, fam.types(), g)
			f.loop(op, base+fam.suffix, fam, g)
			for _, d := range fam.dtypes {
				entries = append(entries, jen.Add(gofile.DTypeName(d)).Op(":").Add(fam.instance(base+fam.suffix+"Loop", d)))
			}
		}
		table = append(table, jen.Values(entries...))
	}
	makes := "Loops"
	if part := op.Variants[0].Part(); part != "" {
		makes = schema.GoName(part)
	}
	f.Doc(op.GoName + " holds the loops of " + op.Name + ", by variant and compute dtype.")
	f.table(op, gofile.Field("Loops", tableType(jen.Qual(gofile.VectorPath, "Func")).Add(gofile.Rows(table...))), "Vectors", "Make", makes)
}

// parts prints a reduction with states.
func (f *goFile) parts(op *schema.Op) {
	var items []jen.Code
	for _, part := range op.Parts() {
		f.loops(part)
		items = append(items, gofile.Field(strings.TrimPrefix(part.GoName, op.GoName), jen.Op("&").Id(part.GoName)))
	}
	if alone := aloneLoops(op); alone != nil {
		items = append(items, gofile.Field("Alone", tableType(jen.Op("*").Qual(gofile.VectorPath, "FoldFuncs")).Add(gofile.Rows(alone...))))
	}
	f.Doc(op.GoName + " holds the loops of the parts of " + op.Name + ".")
	f.Var().Id(op.GoName).Op("=").Qual(gofile.VectorPath, "Code").Values(gofile.Field("Parts", jen.Op("&").Qual(gofile.VectorPath, "Parts").Add(gofile.Rows(items...))))
	f.Line()
}

// table prints the variable that holds an operator's loops, with the field for its
// assembly, or for what makes vector code at run time.
func (f *goFile) table(op *schema.Op, loops jen.Code, assembly, hook, makes string) {
	items := []jen.Code{loops}
	switch {
	case f.e.Target.NoAssembly:
		items = append(items, gofile.Field(hook, jen.Qual(madePath, makes)))
	case assembly != "":
		items = append(items, gofile.Field(assembly, jen.Id(listName(op, assembly))))
	}
	f.Var().Id(op.GoName).Op("=").Qual(gofile.VectorPath, "Code").Add(gofile.Rows(items...))
	f.Line()
}

// listName names the list of an operator's assembly, as the field of package vector's Code.
func listName(op *schema.Op, field string) string { return unit.Lower(op.GoName) + field }

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
		switch at := bodies.OperandIndex(op, in.name); {
		case at >= 0:
			names = append(names, id)
			views = append(views, sliceAt(at+len(outs), kindType(in.kind, types)))
			args = append(args, id.Clone().Index(jen.Id("i")))
		case in.name == "index" && !bodies.HasParam(op, "index"):
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
	fn.Params(jen.Id("n").Int(), jen.Id("p").Index().Qual("unsafe", "Pointer"), scalars.Index().Add(gofile.IRName("Scalar")), index.Int64()).Block(body...)
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
	if len(op.Results) > 1 || op.Kind == ir.Joint {
		return "new" + schema.GoName(op.Results[i].Name)
	}
	return "out"
}

// loopNames are what emitted loops call their own variables.
var loopNames = []string{"n", "p", "s", "i", "q", "v", "a", "b", "acc", "out", "xs", "sum", "total", "identity", "results", "other", "lanes", "m", "full", "j", "part"}

// loopLocal returns the Go name of an operand or an argument inside a loop.
func loopLocal(name string) string {
	if slices.Contains(loopNames, name) {
		return name + "Value"
	}
	return unit.Local(name)
}
