package ops

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

var comparisonConst = map[ir.Comparison]string{
	ir.Below: "Below", ir.AtMost: "AtMost", ir.Above: "Above", ir.AtLeast: "AtLeast", ir.Equals: "Equals", ir.Differs: "Differs",
}

// requirements prints what op's arguments must be.
func requirements(op *schema.Op) (list []jen.Code) {
	for _, r := range op.Require {
		var relations []jen.Code
		for _, x := range r {
			items := []jen.Code{gofile.Field("Attr", jen.Lit(x.Attr)), gofile.Field("Is", gofile.IRName(comparisonConst[x.Is]))}
			switch {
			case x.Other != 0:
				items = append(items, gofile.Field("Other", jen.Lit(x.Other)))
			case x.Value != 0:
				items = append(items, gofile.Field("Value", gofile.FloatLit(x.Value)))
			}
			relations = append(relations, jen.Values(items...))
		}
		list = append(list, jen.Values(relations...))
	}
	return list
}

// accepted prints how an operator whose call does not begin in package core refuses
// arguments:
//
//	if err := <name>Op.Accepts(<attributes>); err != nil {
//		return core.Refuse(&<name>Op, err, <operands>)
//	}
func (f *goFile) accepted(op *schema.Op) []jen.Code {
	if len(op.Require) == 0 {
		return nil
	}
	refuse := []jen.Code{jen.Op("&").Id(opVar(op)), jen.Err()}
	if len(op.Operands()) > 0 {
		refuse = append(refuse, operandList(op).Op("..."))
	}
	return []jen.Code{jen.If(jen.Err().Op(":=").Id(opVar(op)).Dot("Accepts").Call(attrValues(op)...), jen.Err().Op("!=").Nil()).Block(
		f.e.returnFailed(op, gofile.CoreName("Refuse").Call(refuse...), false))}
}

// attrValues prints the attributes of op as they are handed to it.
func attrValues(op *schema.Op) (vals []jen.Code) {
	for _, p := range op.Attrs() {
		vals = append(vals, gofile.AttrValue(p, jen.Id(unit.Local(p.Name))))
	}
	return vals
}
