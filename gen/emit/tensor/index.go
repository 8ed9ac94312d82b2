package tensor

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
)

// indexPath is the package that indexing is forwarded to.
const indexPath = unit.Module + "/runtime/index"

// indexOps are the operators that indexing is made of, by the names package index has
// for them.
var indexOps = []struct{ name, op string }{
	{"Region", "Region"}, {"RegionPut", "RegionPut"}, {"Flip", "Flip"}, {"Reshape", "Reshape"}, {"Expand", "Expand"},
	{"WrappedIndex", "WrappedIndex"}, {"AxisIndex", "AxisIndex"}, {"Steps", "WindowIndex"},
	{"IndexSelect", "IndexSelect"}, {"Scatter", "Scatter"}, {"ScatterOut", "ScatterOut"}, {"IndexAdd", "IndexAdd"}, {"IndexAddOut", "IndexAddOut"},
	{"MaskedSelect", "MaskedSelect"}, {"Nonzero", "Nonzero"}, {"Where", "Where"}, {"Add", "Add"}, {"AddInPlace", "AddInPlace"},
	{"Full", "Full"}, {"SumTo", "SumTo"},
}

// indexNames are the declarations of index.go besides methods of Tensor.
var indexNames = []string{"Range", "Span", "Place", "Open", "Whole", "NewAxis", "Ellipsis"}

// indexMethods are Tensor's methods in index.go.
var indexMethods = []string{"Index", "At"}

// index emits the reading and writing of parts of tensors.
func (e *emitter) index() {
	f := e.goFile(e.Spec.Package, "index.go", "")
	f.Doc("The words of an index that are not numbers. They are texts, so a text may have them too: \"..., None\" (None is NewAxis).")
	f.Const().Defs(
		jen.Id("Whole").Op("=").Lit(":").Comment("all of an axis"),
		jen.Id("NewAxis").Op("=").Lit("newaxis").Comment("a new axis of extent 1"),
		jen.Id("Ellipsis").Op("=").Lit("...").Comment("as many whole axes as the others leave"),
		jen.Id("Open").Op("=").Qual(indexPath, "Open").Comment("the bound of a Range that goes as far as the axis does"))
	f.Line()
	f.Doc("A Span is a range of an axis, made by Range.")
	f.Type().Id("Span").Struct(jen.List(jen.Id("from"), jen.Id("to"), jen.Id("step")).Int())
	f.Line()
	f.Doc("Range is from:to in an index: the elements from from to before to. Negative bounds count from the end, what lies outside is cut, and Open stands for a bound that is left out, so Range(1, Open) is 1 and all that follow.")
	f.Func().Id("Range").Params(jen.List(jen.Id("from"), jen.Id("to")).Int()).Id("Span").Block(
		jen.Return(jen.Id("Span").Values(jen.Id("from"), jen.Id("to"), jen.Lit(1))))
	f.Line()
	f.Doc("By is from:to:step in an index: every step-th element of s, from its first on. A negative step goes down, so Range(Open, Open).By(-1) is an axis in reverse.")
	f.Func().Params(jen.Id("s").Id("Span")).Id("By").Params(jen.Id("step").Int()).Id("Span").Block(
		jen.Return(jen.Id("Span").Values(jen.Id("s").Dot("from"), jen.Id("s").Dot("to"), jen.Id("step"))))
	f.Line()
	f.Doc("Bounds returns what s was made of.")
	f.Func().Params(jen.Id("s").Id("Span")).Id("Bounds").Params().Params(jen.List(jen.Id("from"), jen.Id("to"), jen.Id("step")).Int()).Block(
		jen.Return(jen.Id("s").Dot("from"), jen.Id("s").Dot("to"), jen.Id("s").Dot("step")))
	f.Line()
	f.indexForms()
	f.Done()
}

// indexForms prints Index, At and the methods of what At returns.
func (f *goFile) indexForms() {
	list := func() code { return jen.Id("ix").Op("...").Any() }
	f.Doc(`Index returns the part of t that ix names. Each of ix is about the next axis of t; axes that are left over are whole:

  - 1, -1: the element there, without the axis; negative numbers count from the end
  - Range(1, -1): a range, also with Open bounds, and By a step, which may be negative
  - Whole, Ellipsis: one axis, and as many as others leave
  - NewAxis: a new axis of extent 1
  - rows: an int32 or int64 Tensor, or a list ([]int), of places along the axis
  - t.Gt(u): a bool Tensor, or a []bool, that lies over as many axes as it has itself: the elements where it is true
  - "1:-1, ..., 0": a text with any number of integers, ranges (from:to:step), "...", "newaxis" and "None"

Numbers, ranges that go up and new axes make a view: it shares t's elements, and gradients flow through it. A range that goes down makes a copy.

Tensors of places broadcast to one shape, which stands in the result where they stand in ix, or first where a range, a new axis or an ellipsis with axes lies between them. PyTorch has the same rule. NumPy has it, too, but counts numbers as such tensors. A mask counts as the tensors of places, one for each axis it lies over, of its true elements, and the host waits for their number. The result is a copy. A place that is named several times gets the sum of the gradients.

An index that is out of range, and ix that do not suit t's shape, are errors that name the axis and its extent.`)
	f.Func().Params(jen.Id("t").Id("Tensor")).Id("Index").Params(list()).Id("Tensor").Block(
		jen.Return(jen.Id("Wrap").Call(jen.Id("indexing").Dot("Read").Call(handleOf("t"), jen.Id("ix")))))
	f.Line()
	f.Doc(`At returns the place in t that ix names, to be written to, in the words of Index:

	t.At("1:-1, 0").SetScalar(0)
	t.At(rows).Add(u)

Nothing is written, and no mistake found, before a method of the place is called.`)
	f.Func().Params(jen.Id("t").Id("Tensor")).Id("At").Params(list()).Id("Place").Block(
		jen.Return(jen.Id("Place").Values(jen.Id("t"), jen.Id("ix"))))
	f.Line()
	f.Doc(`A Place is a part of a tensor, made by At. Its methods write to the tensor, and so to all that share its elements, and convert what they are given to its dtype and device. A method that fails changes nothing, and its error is returned and left in the tensor.

While operators are recorded and the tensor or the value requires gradients, the tensor stands for the new elements from then on. It must then be no leaf that requires gradients and no view.`)
	f.Type().Id("Place").Struct(jen.Id("t").Id("Tensor"), jen.Id("ix").Index().Any())
	f.Line()
	method := func(name, doc string, param code, target string, add bool) {
		f.Doc(name + " " + doc)
		var given code = jen.Id("value")
		if target == "Write" {
			given = handleOf("value")
		}
		f.Func().Params(jen.Id("p").Id("Place")).Id(name).Params(jen.Id("value").Add(param)).Error().Block(
			jen.Return(jen.Id("indexing").Dot(target).Call(jen.Id("p").Dot("t").Dot("Handle").Call(), given, jen.Lit(add), jen.Id("p").Dot("ix"))))
		f.Line()
	}
	method("Set", "writes value, which broadcasts to the place. Where places are named more than once, one of the values is written, on the CPU the last.", jen.Id("Tensor"), "Write", false)
	method("SetScalar", "writes a number, which the tensor's dtype must hold. With a mask the host does not wait.", jen.Id("Scalar"), "WriteNumber", false)
	method("Add", "adds value, which broadcasts to the place, to what is there. A place that is named more than once receives every value.", jen.Id("Tensor"), "Write", true)
	method("AddScalar", "adds a number, which must be of no higher category than the tensor's elements.", jen.Id("Scalar"), "WriteNumber", true)
	var fields []jen.Code
	for _, o := range indexOps {
		fields = append(fields, gofile.Field(o.name, jen.Qual(unit.StdPath("ops"), o.op)))
	}
	f.Comment("indexing has the operators that indexing is made of.")
	f.Var().Id("indexing").Op("=").Qual(indexPath, "Operators").Add(gofile.Rows(fields...))
	f.Line()
}
