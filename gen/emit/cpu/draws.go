package cpu

import (
	"fmt"
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/codegen/loops"
	lanes "github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/gen/emit/gofile"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// drawnName is what a body calls the number that is drawn for an element before it runs.
const drawnName = "drawn"

// A drawing is a float32 body that reads one random number of an element. All lanes of a block would
// draw the same words, so that numbers are drawn apart, and the body reads them as an operand.
type drawing struct {
	body         *expr.Graph // with the number as a name
	kind         expr.Kind   // of the number
	seed, offset string      // the scalar arguments
}

// drawingOf returns what a body is as a drawing, nil where it is none.
func drawingOf(op *schema.Op, g *expr.Graph) *drawing {
	var number *expr.Value
	for _, v := range g.Values {
		switch {
		case v.Op == expr.OpCall && expr.Draws(v.Name) && (number != nil || v.Name != "uniform"), v.Op == expr.OpName && v.Name == drawnName:
			return nil
		case v.Op == expr.OpCall && expr.Draws(v.Name):
			number = v
		}
	}
	if number == nil || g.T != ir.Float32 || op.Kind != ir.Elementwise {
		return nil
	}
	for _, a := range number.Args {
		if a.Op != expr.OpName || !slices.ContainsFunc(g.Env.Params, func(p expr.Param) bool { return p.Name == a.Name }) {
			return nil
		}
	}
	return &drawing{replaced(g, number), number.Kind, number.Args[0].Name, number.Args[1].Name}
}

// replaced returns a graph with drawnName in place of number, and without what was read for that alone.
func replaced(g *expr.Graph, number *expr.Value) *expr.Graph {
	h := &expr.Graph{T: g.T, Env: g.Env}
	copies := map[*expr.Value]*expr.Value{}
	var add func(v *expr.Value) *expr.Value
	add = func(v *expr.Value) *expr.Value {
		if c := copies[v]; c != nil {
			c.Uses++
			return c
		}
		c := &expr.Value{Op: expr.OpName, Name: drawnName, Kind: v.Kind}
		if v != number {
			*c = *v
			c.Args = nil
			for _, a := range v.Args {
				c.Args = append(c.Args, add(a))
			}
		}
		c.Uses, c.Order = 1, len(h.Values)
		copies[v] = c
		h.Values = append(h.Values, c)
		return c
	}
	for _, root := range g.Roots {
		h.Roots = append(h.Roots, add(root))
	}
	return h
}

// draw adds the loop of a drawing to a file: a function that draws, and calls the loop of the body.
func (vs *vectors) draw(code *x86.File, f *goFile, op *schema.Op, base string, d *drawing, isa x86.ISA) (string, error) {
	h := d.body
	name := fmt.Sprintf("%s%vDrawn", base, isa)
	numbers := jen.Qual(gofile.DrawPath, "Numbers").Values(jen.Dict{
		jen.Id("Seed"):   jen.Id("s").Index(jen.Lit(scalarSlot(op, d.seed))).Dot("Int").Call(),
		jen.Id("Offset"): jen.Id("s").Index(jen.Lit(scalarSlot(op, d.offset))).Dot("Int").Call(),
	})
	inputs := append(laneInputs(op, h), lanes.Input{Name: drawnName, Kind: d.kind, Index: len(op.Operands())})
	body := loops.Body{Graph: h, Inputs: inputs}
	set, err := body.Loops(isa)
	if err != nil {
		return "", err
	}
	loop, err := vs.function(code, f, base, "", loops.Set{Main: set.Main}, inputs, h)
	if err != nil {
		return "", err
	}
	run := jen.Add(numbers).Dot("Loop").Call(jen.Id("n"), jen.Id("p"), sizes(op, h), jen.Id("s"), jen.Id("index"), jen.Id(loop))
	f.Func().Id(name).Params(jen.Id("n").Int(), jen.Id("p").Index().Qual("unsafe", "Pointer"), jen.Id("s").Index().Add(gofile.IRName("Scalar")), jen.Id("index").Int64()).Block(run)
	f.Line()
	return name, nil
}

// sizes prints the bytes of an element of each result and of each operand.
func sizes(op *schema.Op, g *expr.Graph) jen.Code {
	var list []jen.Code
	for _, root := range g.Roots {
		list = append(list, jen.Lit(g.KindDType(root.Kind).Size()))
	}
	for _, o := range g.Env.Operands {
		d := o.Fixed
		if d == ir.Invalid {
			d = g.T
		}
		list = append(list, jen.Lit(d.Size()))
	}
	return jen.Index().Uint8().Values(list...)
}
