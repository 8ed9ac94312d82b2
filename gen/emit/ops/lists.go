package ops

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// parallel prints an operator that writes over lists of tensors:
//
//	func <Name>(<params>) error {
//		apply := core.Apply{...}
//		dst, err := joined(&<name>Op, len(<first list>), <lists that are written>)
//		if err == nil {
//			apply.In, err = joined(&<name>Op, len(<first list>), <other lists>)
//		}
//		if err != nil {
//			return err
//		}
//		return core.KernelInto(apply, dst)
//	}
func (f *goFile) parallel(op *schema.Op) {
	lists := op.Operands()
	join := func(some []*schema.Param) code {
		args := []jen.Code{jen.Op("&").Id(opVar(op)), jen.Len(jen.Id(unit.Local(lists[0].Name)))}
		for _, p := range some {
			args = append(args, jen.Id(unit.Local(p.Name)))
		}
		return jen.Id("joined").Call(args...)
	}
	var written []*schema.Param
	for _, r := range op.Results { // in the order of the descriptor
		i := slices.IndexFunc(lists, func(p *schema.Param) bool { return p.Name == r.Name })
		written = append(written, lists[i])
	}
	body := []jen.Code{
		jen.Id("apply").Op(":=").Add(f.applyBody(op)),
		jen.List(jen.Id("dst"), jen.Err()).Op(":=").Add(join(written)),
	}
	if read := readOperands(op); len(read) > 0 {
		body = append(body, jen.If(jen.Err().Op("==").Nil()).Block(
			jen.List(jen.Id("apply").Dot("In"), jen.Err()).Op("=").Add(join(read))))
	}
	body = append(body,
		jen.If(jen.Err().Op("!=").Nil()).Block(jen.Return(jen.Err())),
		jen.Return(gofile.CoreName("KernelInto").Call(jen.Id("apply"), jen.Id("dst"))))
	f.Doc(gofile.OpDoc(op, op.GoName) + " The lists have one length, and their i-th tensors belong together.")
	f.Func().Id(op.GoName).Params(f.e.CoreParams(op)...).Error().Block(body...)
	f.Line()
}

// readOperands returns the operands that descriptors list: all but those that a
// kernel writes over.
func readOperands(op *schema.Op) []*schema.Param {
	return slices.DeleteFunc(op.Operands(), func(p *schema.Param) bool { return p.Written })
}

// joinedHelper prints what makes one list of several.
func (f *goFile) joinedHelper() {
	tensors := jen.Index().Add(gofile.TensorType())
	f.Doc("joined returns the tensors of several lists, one list after the other. Each must have n.")
	f.Func().Id("joined").Params(jen.Id("op").Op("*").Add(gofile.IRName("Op")), jen.Id("n").Int(), jen.Id("lists").Op("...").Add(tensors)).Params(tensors, jen.Error()).Block(
		jen.For(jen.List(jen.Id("_"), jen.Id("l")).Op(":=").Range().Id("lists")).Block(
			jen.If(jen.Len(jen.Id("l")).Op("!=").Id("n")).Block(
				jen.Return(jen.Nil(), gofile.CoreName("Fail").Call(jen.Id("op"), jen.Qual("fmt", "Errorf").Call(
					jen.Lit("%w: lists of %d and %d tensors; want as many in each"), gofile.IRName("ErrShape"), jen.Id("n"), jen.Len(jen.Id("l")))).Dot("Err").Call()))),
		jen.If(jen.Len(jen.Id("lists")).Op("==").Lit(1)).Block(jen.Return(jen.Id("lists").Index(jen.Lit(0)), jen.Nil())),
		jen.Return(jen.Qual("slices", "Concat").Call(jen.Id("lists").Op("...")), jen.Nil()))
	f.Line()
}
