package ops

import (
	"slices"
	"strings"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir/expr"
)

// stateReads adds the names whose values the derived gradient of a reduction with states
// needs for one operand. What the results' gradients are reshaped from is read where it is
// needed.
func (e *emitter) stateReads(op *schema.Op, v schema.Variant, operand string, names map[string]bool) {
	g, err := schema.StateGradient(op, v.Fold, operand)
	if err != nil {
		e.Fail(op, "grad: %v; write it, or none", err)
		return
	}
	lists := []*expr.Expr{g.Operand}
	for i, x := range g.States {
		if x == nil || !g.Operand.Uses(schema.DyOfState(v.Fold.States[i])) {
			continue
		}
		lists = append(lists, x)
		if k := g.Chosen[i]; k >= 0 {
			lists = append(lists, v.Fold.Map[i])
			names[op.Results[k].Name] = true
		}
	}
	own := dyNames(op)
	for _, s := range v.Fold.States {
		own = append(own, schema.DyOfState(s))
	}
	for _, x := range lists {
		for _, n := range namesIn(x) {
			if n != "count" && !slices.Contains(own, n) {
				names[n] = true
			}
		}
	}
}

// stateGrad prints the derived gradient of one body of a reduction with states:
//
//	kept := shapes.KeptShape(grad.Space(), grad.Dims())
//	dyOut := ops.Reshape(grad.Dy(0), kept)
//	dSum := <what finish makes of the results' gradients>
//	grad.Set(0, ops.Expand(<what map makes of the states'>, grad.Space()))
func (e *emitter) stateGrad(op *schema.Op, v schema.Variant, grad *schema.Grad, part *gradPart) []jen.Code {
	g, err := schema.StateGradient(op, v.Fold, grad.Operand.Name)
	if err != nil {
		return nil // stateReads reported it
	}
	c := &composer{e: e, op: op, free: map[string]bool{"count": true}}
	space := jen.Id("grad").Dot("Space").Call()
	body := []jen.Code{jen.Id("kept").Op(":=").Add(gofile.ShapesName("KeptShape")).Call(space.Clone(), jen.Id("grad").Dot("Dims").Call())}
	needed := func(i int) bool { return g.States[i] != nil && g.Operand.Uses(schema.DyOfState(v.Fold.States[i])) }
	reads := func(name string) bool {
		for i, x := range g.States {
			if needed(i) && x.Uses(name) {
				return true
			}
		}
		return false
	}
	for i, r := range op.Results {
		if name := op.DyOf(r); reads(name) {
			dy := part.widen(name, jen.Id("grad").Dot("Dy").Call(jen.Lit(i)))
			body = append(body, jen.Id(unit.Local(name)).Op(":=").Add(c.apply("reshape", dy, jen.Id("kept"))))
			part.spoiled[name] = true
		}
	}
	if reads("count") {
		body = append(body, jen.Id("count").Op(":=").Float64().Call(gofile.IRName("HostReducedNumel").Call(space.Clone(), jen.Id("grad").Dot("Dims").Call())))
	}
	for i, x := range g.States {
		name := schema.DyOfState(v.Fold.States[i])
		if !needed(i) {
			continue
		}
		d := jen.Id(unit.Local(name))
		body = append(body, d.Clone().Op(":=").Add(c.expr(x)))
		if k := g.Chosen[i]; k >= 0 {
			out, share := jen.Id(unit.Local(op.Results[k].Name)), jen.Id(unit.Local("share_of_"+strings.TrimPrefix(name, "d_")))
			chosen := c.apply("eq", c.expr(v.Fold.Map[i]), c.apply("reshape", out, jen.Id("kept")))
			body = append(body,
				share.Clone().Op(":=").Add(c.apply("to_dtype", chosen, d.Clone().Dot("DType").Call())),
				d.Clone().Op("=").Add(c.apply("div", c.apply("mul", d.Clone(), share.Clone()), c.apply("sum", share.Clone(), jen.Id("grad").Dot("Dims").Call(), jen.True()))))
		}
	}
	dx := c.expr(g.Operand)
	if len(op.Operands()) > 1 || !g.Operand.Uses(op.Params[0].Name) && g.Chosen[0] < 0 {
		dx = c.apply("expand", dx, space.Clone())
	}
	for _, n := range namesIn(g.Operand) {
		part.spoiled[n] = true
	}
	part.onlyTensors(op)
	part.wide = max(part.wide, e.wide(op, c.roundings))
	return append(body, e.set(op, part, dx))
}
