package ops

import (
	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// reduceGrad is the gradient of one body of a reduction by rule: of a sum, what
// finish and map pass on; of a maximum or minimum, the gradient shared evenly
// among the elements that equal it.
type reduceGrad struct {
	extremum       bool
	finish, mapped *expr.Expr // over dy, and a and count, or the operand
	variant        schema.Variant
}

func (e *emitter) reduceGrad(op *schema.Op, v schema.Variant) *reduceGrad {
	complexToo := op.DTypes&ir.ClassComplex != 0
	g := &reduceGrad{extremum: v.Combine.Root.Name != "add", variant: v}
	var err error
	if g.mapped, err = v.Map.Gradient(op.Params[0].Name, complexToo); err == nil {
		g.finish, err = v.Finish.Gradient("a", complexToo)
	}
	switch {
	case err != nil:
		e.Fail(op, "grad: %v; write it, or none", err)
	case g.finish.Uses("a"):
		e.Fail(op, "grad: none can be derived where finish is not linear in a; write it, or none")
	case g.extremum && !isName(g.finish, "dy"):
		e.Fail(op, "grad: none can be derived for max or min with a finish; write it, or none")
	}
	return g
}

// reductionReads returns the names whose values the gradient of a reduction needs.
func (e *emitter) reductionReads(op *schema.Op, operand string) map[string]bool {
	names := map[string]bool{}
	if op.HasStates() {
		for _, v := range op.Variants {
			e.stateReads(op, v, operand, names)
		}
		return names
	}
	x := op.Params[0].Name
	for _, v := range op.Variants {
		g := e.reduceGrad(op, v)
		if g.mapped == nil || g.finish == nil {
			continue
		}
		list := append(namesIn(g.mapped), namesIn(g.finish)...)
		if g.extremum {
			list = append(append(list, namesIn(v.Map)...), x, op.Results[0].Name)
		}
		for _, n := range list {
			names[n] = true
		}
	}
	delete(names, "dy")
	delete(names, "a")
	delete(names, "count")
	return names
}

// reductionGrad prints:
//
//	dy := Reshape(grad.Dy(0), shapes.KeptShape(grad.InShape(0), grad.Dims()))
//	grad.Set(0, Expand(<what finish and map make of dy>, grad.InShape(0)))
func (e *emitter) reductionGrad(op *schema.Op, g *schema.Grad, part *gradPart) {
	part.names = e.reductionReads(op, g.Operand.Name)
	shape, dims := jen.Id("grad").Dot("InShape").Call(jen.Lit(0)), jen.Id("grad").Dot("Dims").Call()
	kept := func() code { return gofile.ShapesName("KeptShape").Call(shape.Clone(), dims.Clone()) }
	bodies := make([][]jen.Code, len(op.Variants))
	for range 2 { // whether one of them is computed wide tells on all
		for i, v := range op.Variants {
			if v.Fold != nil {
				bodies[i] = e.stateGrad(op, v, g, part)
			} else {
				bodies[i] = e.variantGrad(op, part, e.reduceGrad(op, v), kept)
			}
		}
	}
	if !op.HasStates() {
		dy := part.widen("dy", jen.Id("grad").Dot("Dy").Call(jen.Lit(0)))
		part.body = []jen.Code{jen.Id("dy").Op(":=").Add((&composer{e: e, op: op}).apply("reshape", dy, kept()))}
	}
	if op.Switch == nil {
		part.body = append(part.body, bodies[0]...)
		return
	}
	part.names[op.Switch.Name] = true
	var cases []jen.Code
	for i, b := range bodies {
		n, pkg := e.EnumOf(op, op.Switch)
		cases = append(cases, jen.Case(jen.Qual(pkg, n.Value(op.Switch.Enum[i]))).Block(b...))
	}
	part.body = append(part.body, jen.Switch(jen.Id(unit.Local(op.Switch.Name))).Block(cases...))
}

// variantGrad prints the gradient of one body, from dy with the reduced axes
// kept.
func (e *emitter) variantGrad(op *schema.Op, part *gradPart, g *reduceGrad, kept func() code) []jen.Code {
	if g.mapped == nil || g.finish == nil {
		return nil
	}
	c := &composer{e: e, op: op, free: map[string]bool{"count": true}}
	var body []jen.Code
	shape, dims := jen.Id("grad").Dot("InShape").Call(jen.Lit(0)), jen.Id("grad").Dot("Dims").Call()
	if g.finish.Uses("count") {
		body = append(body, jen.Id("count").Op(":=").Float64().Call(gofile.ShapesName("ReducedNumel").Call(shape.Clone(), dims.Clone())))
	}
	if !isName(g.finish, "dy") {
		body = append(body, jen.Id("dy").Op("=").Add(c.expr(g.finish)))
	}
	if g.extremum {
		out := jen.Id(unit.Local(op.Results[0].Name))
		chosen := c.apply("eq", c.expr(g.variant.Map), c.apply("reshape", out, kept()))
		body = append(body,
			jen.Id("share").Op(":=").Add(c.apply("to_dtype", chosen, jen.Id("dy").Dot("DType").Call())),
			jen.Id("dy").Op("=").Add(c.apply("div", c.apply("mul", jen.Id("dy"), jen.Id("share")), c.apply("sum", jen.Id("share"), dims.Clone(), jen.True()))))
	}
	dx := c.expr(g.mapped)
	if !g.mapped.Uses(op.Params[0].Name) && !g.extremum {
		dx = c.apply("expand", dx, shape.Clone())
	}
	part.spoiled["dy"] = true
	for _, n := range namesIn(g.mapped) {
		part.spoiled[n] = true
	}
	part.onlyTensors(op)
	part.wide = max(part.wide, e.wide(op, c.roundings))
	return append(body, e.set(op, part, dx))
}
