package ops

import (
	"maps"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// refusal prints what a composition begins with: bad operands are its result.
func (f *goFile) refusal(op *schema.Op) []jen.Code {
	if len(op.Operands()) == 0 {
		return nil
	}
	return []jen.Code{
		jen.Id("in").Op(":=").Add(operandList(op)),
		jen.If(jen.Id("t").Op(":=").Add(gofile.CoreName("Refused")).Call(jen.Op("&").Id(opVar(op)), jen.Id("in").Op("..."))).Op(";").Id("t").Op("!=").Nil().Block(
			f.e.returnFailed(op, jen.Id("t"), false)),
	}
}

// widening prints how a composition that rounds more than once is computed of operands
// of 16 bits: in the dtype that these are accumulated in, its results rounded once.
//
//	if to, narrow := core.Narrow(&<name>Op, in, <operands>); narrow {
//		out := core.Composing(func() *core.Tensor { return core.Round(<Name>(core.Wide(<operand>), ...), to) })
//		core.Composed(&<name>Op, in, out)
//		return out
//	}
func (f *goFile) widening(op *schema.Op) []jen.Code {
	widened := f.e.widened(op)
	if len(widened) == 0 {
		return nil
	}
	wide := jen.Id("in").Op("...")
	if len(widened) < len(floats(op)) {
		wide = jen.ListFunc(func(g *jen.Group) {
			for _, p := range widened {
				g.Id(unit.Local(p.Name))
			}
		})
	}
	return []jen.Code{jen.If(jen.List(jen.Id("to"), jen.Id("narrow")).Op(":=").Add(gofile.CoreName("Narrow")).Call(
		jen.Op("&").Id(opVar(op)), jen.Id("in"), wide), jen.Id("narrow")).Block(
		f.again(op, func(p *schema.Param) code {
			switch {
			case !slices.Contains(widened, p):
				return jen.Id(unit.Local(p.Name))
			case p.Type == schema.TensorList:
				return gofile.CoreName("WideAll").Call(jen.Id(unit.Local(p.Name)))
			}
			return gofile.CoreName("Wide").Call(jen.Id(unit.Local(p.Name)))
		}, func(list bool, out code) code {
			if list {
				return gofile.CoreName("RoundAll").Call(out, jen.Id("to"))
			}
			return gofile.CoreName("Round").Call(out, jen.Id("to"))
		})...)}
}

// mixing prints how a composition whose operands may differ in dtype is computed of such:
// in the dtype that they promote to, its first result in that of the first operand.
//
//	if wide, mixed := core.Mixed(&<name>Op, in); mixed {
//		out := core.Composing(func() *core.Tensor { return core.As(<Name>(core.As(<operand>, wide), ...), <first>.DType()) })
//		core.Composed(&<name>Op, in, out)
//		return out
//	}
func (f *goFile) mixing(op *schema.Op) []jen.Code {
	if !op.Mixed {
		return nil
	}
	first := jen.Id(unit.Local(op.Operands()[0].Name)).Dot("DType").Call()
	return []jen.Code{jen.If(jen.List(jen.Id("wide"), jen.Id("mixed")).Op(":=").Add(gofile.CoreName("Mixed")).Call(
		jen.Op("&").Id(opVar(op)), jen.Id("in")), jen.Id("mixed")).Block(
		f.again(op, func(p *schema.Param) code {
			if p.Operand < 0 || p.Fixed != ir.Invalid {
				return jen.Id(unit.Local(p.Name))
			}
			return gofile.CoreName("As").Call(jen.Id(unit.Local(p.Name)), jen.Id("wide"))
		}, func(list bool, out code) code {
			if list {
				return gofile.CoreName("FirstAs").Call(out, first)
			}
			return gofile.CoreName("As").Call(out, first)
		})...)}
}

// again prints the application of a composition to its arguments in another form, and
// what becomes of its result, or of the list of its results.
func (f *goFile) again(op *schema.Op, arg func(*schema.Param) code, result func(list bool, out code) code) []jen.Code {
	var args []jen.Code
	for _, p := range op.Params {
		args = append(args, arg(p))
	}
	again, self := jen.Id(f.e.funcName(op)).Call(args...), jen.Op("&").Id(opVar(op))
	list := op.Results[0].List
	if !list && len(op.Results) == 1 {
		return []jen.Code{
			jen.Id("out").Op(":=").Add(gofile.CoreName("Composing")).Call(jen.Func().Params().Add(gofile.TensorType()).Block(jen.Return(result(false, again)))),
			gofile.CoreName("Composed").Call(self, jen.Id("in"), jen.Id("out")),
			jen.Return(jen.Id("out")),
		}
	}
	ret := jen.Return(jen.Id("outs"))
	if !list {
		again = jen.Id("list").Call(again)
		ret = jen.Return(eachOf("outs", op)...)
	}
	return []jen.Code{
		jen.Id("outs").Op(":=").Add(gofile.CoreName("ComposingAll")).Call(jen.Func().Params().Index().Add(gofile.TensorType()).Block(jen.Return(result(true, again)))),
		gofile.CoreName("Composed").Call(self, jen.Id("in"), jen.Id("outs").Op("...")),
		ret,
	}
}

// A wideness says when a gradient is computed in the dtype that 16-bit floats are
// accumulated in.
type wideness uint8

const (
	asIs     wideness = iota
	ifSpread          // where the operand was broadcast: what its elements contribute is added up
	always            // it rounds more than once
)

// wide says when the gradient of one operand of op, in which so many operators in a row
// round, is computed wide.
func (e *emitter) wide(op *schema.Op, roundings int) wideness {
	switch {
	case op.DTypes&halves == 0 || roundings == 0:
		return asIs
	case roundings > 1:
		return always
	case (op.Kind == ir.Elementwise || op.Kind == ir.Reduction) && len(op.Operands()) > 1:
		return ifSpread
	}
	return asIs
}

// widen prints x, of the given name, as the gradient reads it.
func (part *gradPart) widen(name string, x code) code {
	switch {
	case !part.spoiled[name] || part.wide == asIs:
		return x
	case part.lists[name]:
		return gofile.CoreName("WideAll").Call(x)
	case part.wide == ifSpread:
		return jen.Id("grad").Dot("WideSpread").Call(jen.Lit(part.operand), x)
	}
	return gofile.CoreName("Wide").Call(x)
}

// spoilAll has all tensors that the gradient of an operand of op reads be read wide, if
// any is.
func (part *gradPart) spoilAll(op *schema.Op) {
	for _, n := range tensorsOf(op) {
		part.spoiled[n] = part.names[n]
	}
}

// onlyTensors takes names of other things out of those that are read wide.
func (part *gradPart) onlyTensors(op *schema.Op) {
	tensors := tensorsOf(op)
	maps.DeleteFunc(part.spoiled, func(n string, _ bool) bool { return !slices.Contains(tensors, n) })
}

// shadows prints new definitions of those of the names that the gradient reads wide.
func (part *gradPart) shadows(names []string) (out []jen.Code) {
	if part.wide == asIs {
		return nil
	}
	for _, n := range names {
		if part.spoiled[n] {
			out = append(out, jen.Id(unit.Local(n)).Op(":=").Add(part.widen(n, jen.Id(unit.Local(n)))))
		}
	}
	return out
}

// tensorsOf returns the names that gradients of op read tensors by, in a fixed order:
// those of its results' gradients, its operands and its results.
func tensorsOf(op *schema.Op) []string {
	names := dyNames(op)
	for _, p := range op.Operands() {
		if p.Fixed == ir.Invalid && p.Name != "dy" {
			names = append(names, p.Name)
		}
	}
	for _, r := range op.Results {
		if !isDiscrete(r) && r.DType == ir.Invalid {
			names = append(names, r.Name)
		}
	}
	return names
}

// dyNames are the schema's names of the results' gradients, of those that can have one.
func dyNames(op *schema.Op) []string {
	var names []string
	for _, r := range op.Results {
		if !isDiscrete(r) {
			names = append(names, op.DyOf(r))
		}
	}
	return names
}
