package ops

import (
	"slices"

	"github.com/dave/jennifer/jen"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
)

// together prints gradients that are results of one call, which is made once for those
// that are wanted:
//
//	if grad.Needs(0) || grad.Needs(2) {
//		dx, dsrc := <call>
//		if grad.Needs(0) {
//			grad.Set(0, dx)
//		}
//		...
//	}
//
// It returns nil where op's gradients are not of that kind.
func (e *emitter) together(op *schema.Op, parts []*gradPart) []jen.Code {
	var call *schema.Value
	results := map[string]*gradPart{}
	for i, g := range written(op) {
		from, result := picked(g)
		if from == nil || parts[i].wide != asIs || call != nil && !sameValue(from, call) {
			return nil
		}
		call, results[result] = from, parts[i]
	}
	if len(results) < 2 || len(results) != len(parts) {
		return nil
	}
	p := &block{e: e, op: op, backward: true}
	made := p.value(*call)
	var lhs, sets []jen.Code
	var wanted code
	for _, r := range call.Op.Results {
		part, name := results[r.Name], unit.Local(r.Name)
		if part == nil {
			lhs = append(lhs, jen.Id("_"))
			continue
		}
		needs := jen.Id("grad").Dot("Needs").Call(jen.Lit(part.operand))
		lhs = append(lhs, jen.Id(name))
		sets = append(sets, jen.If(needs.Clone()).Block(e.set(op, part, jen.Id(name))))
		if wanted == nil {
			wanted = needs.Clone()
		} else {
			wanted = wanted.Op("||").Add(needs.Clone())
		}
	}
	names := reads(written(op)[0].Block)
	body := e.gradLocals(op, func(n string) bool { return names[n] }, func(_ string, x code) code { return x })
	body = append(append(body, p.out...), jen.List(lhs...).Op(":=").Add(made))
	return []jen.Code{jen.If(wanted).Block(append(body, sets...)...)}
}

// written are the gradients that op has.
func written(op *schema.Op) (out []*schema.Grad) {
	for i := range op.Grads {
		if g := &op.Grads[i]; !g.None {
			out = append(out, g)
		}
	}
	return out
}

// picked returns the call that a gradient is one of several results of, and which; nil where
// it is more than that.
func picked(g *schema.Grad) (call *schema.Value, result string) {
	if g.Block == nil || len(g.Block.Stmts) != 1 || len(g.Block.Stmts[0].Values) != 1 {
		return nil, ""
	}
	v := &g.Block.Stmts[0].Values[0]
	if v.Kind != schema.SelectValue || v.Args[0].Kind != schema.CallValue {
		return nil, ""
	}
	return &v.Args[0], v.Name
}

// sameValue reports whether two expressions are written alike.
func sameValue(a, b *schema.Value) bool {
	l, r := a.Literal, b.Literal
	return a.Kind == b.Kind && a.Type == b.Type && a.Name == b.Name && a.Op == b.Op &&
		l.Nil == r.Nil && l.Scalar == r.Scalar && slices.Equal(l.Ints, r.Ints) && l.Str == r.Str && l.DType == r.DType &&
		slices.EqualFunc(a.Args, b.Args, func(x, y schema.Value) bool { return sameValue(&x, &y) })
}
