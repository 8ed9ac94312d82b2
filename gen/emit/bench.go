package emit

import (
	"fmt"

	"github.com/dave/jennifer/jen"

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
			if f.e.std {
				f.e.fail(op, "bench: %s cannot be derived; give it, or none with a reason", lacks)
			}
			continue
		}
		list = append(list, jen.Values(f.benchRow(op, b)...))
	}
	if list == nil {
		return nil
	}
	return jen.Index().Qual(optestPath, "Bench").Add(rows(list...))
}

func (f *goFile) benchRow(op *schema.Op, b schema.Bench) (items []jen.Code) {
	for _, t := range []struct{ name, text string }{
		{"Name", b.Name}, {"None", b.None}, {"Only", b.Only}, {"PyTorch", b.PyTorch}, {"Setup", b.Setup},
	} {
		if t.text != "" {
			items = append(items, field(t.name, jen.Lit(t.text)))
		}
	}
	if b.None != "" {
		return items
	}
	if b.DType != ir.Invalid {
		items = append(items, field("DType", dtypeName(b.DType)))
	}
	if b.Without != nil {
		items = append(items, field("Without", stringList(b.Without)))
	}
	size := jen.Id("z")
	var shapes []jen.Code
	for _, s := range b.Shapes {
		shapes = append(shapes, jen.Values(extentList(s)...))
	}
	sample := []jen.Code{field("Shapes", jen.Index().Index().Int().Values(shapes...))}
	if attrs := f.attrValues(op, b.Args); attrs != nil {
		sample = append(sample, field("Attrs", attrs))
	}
	if len(b.Values) > 0 {
		sample = append(sample, field("Values", fills(op, b)))
	}
	return append(items, field("Sample", jen.Func().Params(size.Qual(optestPath, "Extents")).Qual(optestPath, "Sample").Block(
		jen.Return(jen.Qual(optestPath, "Sample").Values(sample...)))))
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
			list = append(list, jen.Qual("fmt", "Sprintf").Call(jen.Lit("index(%d)"), extent(v.Below)))
		}
	}
	return jen.Index().String().Values(list...)
}

// extent prints a number that may depend on the bench's size, z.
func extent(x schema.Extent) code {
	if x.Name == "" {
		return jen.Lit(x.Factor)
	}
	size := jen.Id("z").Dot(schema.GoName(x.Name))
	if x.Factor == 1 {
		return size
	}
	return jen.Lit(x.Factor).Op("*").Add(size)
}

func extentList(list []schema.Extent) (out []jen.Code) {
	for _, x := range list {
		out = append(out, extent(x))
	}
	return out
}

func extents(list []schema.Extent) code { return jen.Index().Int().Values(extentList(list)...) }
