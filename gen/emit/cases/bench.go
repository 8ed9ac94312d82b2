package cases

import (
	"fmt"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// benchRows prints the rows of the bench that an operator has; nil for a hidden one.
// The standard schema says enough for a row of each of its public operators, or why
// there is none.
func (f *goFile) benchRows(op *schema.Op) code {
	var list []jen.Code
	for _, b := range op.Bench {
		if lacks := b.Lacks(op); lacks != "" {
			if f.e.Std {
				f.e.Fail(op, "bench: %s cannot be derived; give it, or none with a reason", lacks)
			}
			continue
		}
		list = append(list, jen.Values(f.benchRow(op, b)...))
	}
	if list == nil {
		return nil
	}
	return jen.Index().Qual(gofile.OptestPath, "Bench").Add(gofile.Rows(list...))
}

func (f *goFile) benchRow(op *schema.Op, b schema.Bench) (items []jen.Code) {
	for _, t := range []struct{ name, text string }{
		{"Name", b.Name}, {"None", b.None}, {"Only", b.Only}, {"PyTorch", b.PyTorch}, {"Setup", b.Setup},
	} {
		if t.text != "" {
			items = append(items, gofile.Field(t.name, jen.Lit(t.text)))
		}
	}
	if b.None != "" {
		return items
	}
	if b.DType != ir.Invalid {
		items = append(items, gofile.Field("DType", gofile.DTypeName(b.DType)))
	}
	if b.Without != nil {
		items = append(items, gofile.Field("Without", gofile.StringList(b.Without)))
	}
	size := jen.Id("z")
	var shapes []jen.Code
	for _, s := range b.Shapes {
		shapes = append(shapes, jen.Values(gofile.ExtentList(s)...))
	}
	sample := []jen.Code{gofile.Field("Shapes", jen.Index().Index().Int().Values(shapes...))}
	if attrs := f.attrValues(op, b.Args); attrs != nil {
		sample = append(sample, gofile.Field("Attrs", attrs))
	}
	if len(b.Values) > 0 {
		sample = append(sample, gofile.Field("Values", fills(op, b)))
	}
	return append(items, gofile.Field("Sample", jen.Func().Params(size.Qual(gofile.OptestPath, "Extents")).Qual(gofile.OptestPath, "Sample").Block(
		jen.Return(jen.Qual(gofile.OptestPath, "Sample").Values(sample...)))))
}

// fills prints how the operands of a row are filled.
func fills(op *schema.Op, b schema.Bench) code {
	var list []jen.Code
	for _, p := range op.Operands() {
		v, given := b.Values[p.Name]
		switch {
		case !given:
			list = append(list, jen.Lit(""))
		case v.Perm:
			list = append(list, jen.Lit("perm"))
		case v.Sorted:
			list = append(list, jen.Lit("sorted"))
		case v.Constrained:
			list = append(list, jen.Lit(fmt.Sprintf("domain(%g, %g)", v.Domain[0], v.Domain[1])))
		case v.Below.Name == "":
			list = append(list, jen.Lit(fmt.Sprintf("index(%d)", v.Below.Factor)))
		default:
			list = append(list, jen.Qual("fmt", "Sprintf").Call(jen.Lit("index(%d)"), gofile.Extent(v.Below)))
		}
	}
	return jen.Index().String().Values(list...)
}
