package tensor

import (
	"maps"
	"slices"

	"github.com/sinter-go/sinter/gen/emit/unit"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
)

// An extent is what is known of its shape in terms of an operator's operands.
type extent struct {
	of     []string // operands whose shapes broadcast to it, sorted; none for a number
	within []string // operands to whose shapes it broadcasts, as a mean that keeps its axes
	known  bool
}

var unknown = extent{}

// join is the shape that several broadcast to.
func join(list []extent) extent {
	out := extent{known: true}
	for _, e := range list {
		if !e.known {
			return unknown
		}
		out.of, out.within = append(out.of, e.of...), append(out.within, e.within...)
	}
	out.of, out.within = unique(out.of), unique(out.within)
	if len(out.of) > 0 {
		for _, w := range out.within {
			if !slices.Contains(out.of, w) {
				return unknown
			}
		}
		out.within = nil
	}
	return out
}

func unique(list []string) []string {
	list = slices.Clone(list)
	slices.Sort(list)
	return slices.Compact(list)
}

// equal reports whether two are known to be of one shape.
func (e extent) equal(o extent) bool {
	return e.known && o.known && slices.Equal(e.of, o.of) && len(e.within) == 0 && len(o.within) == 0
}

// resultOf returns the shape of op's results for operands of the given ones, if all results
// have one that follows from what op is made of.
func resultOf(op *schema.Op, env map[string]extent) extent {
	var operands []extent
	for _, p := range op.Operands() {
		if e, ok := env[p.Name]; ok {
			operands = append(operands, e)
		}
	}
	first := func() extent {
		if len(operands) == 0 {
			return unknown
		}
		return operands[0]
	}
	switch {
	case op.Factory():
		return unknown
	case op.Kind == ir.Elementwise:
		return join(operands)
	case op.Kind == ir.Scan:
		return first()
	case op.Kind == ir.Opaque && op.Shape != nil && op.Shape.Pkg == "" && slices.Contains(keeping, op.Shape.Func):
		return first()
	case op.View != nil && op.View.Pkg == "" && slices.Contains(keeping, op.View.Func):
		return first()
	case len(op.Compose) == 0:
		return unknown
	}
	out := unknown
	for i := range op.Compose {
		e := blockOf(op.Compose[i].Stmts, env)
		if !e.known || i > 0 && !out.equal(e) {
			return unknown
		}
		out = e
	}
	return out
}

// keeping are the rules whose results have the shape of the first operand.
var keeping = []string{"SameShape", "AlongShape", "FlipShape", "SortShape", "TwiceShape", "ScatterShape", "IndexAddShape",
	"SameView", "RankView", "LeastRankView", "MostRankView", "ValueRangeView", "AxisView", "RefuseView", "RefuseOfView", "PaddedAxesView"}

// blockOf returns the shape that all returns of a body agree on.
func blockOf(stmts []schema.Stmt, env map[string]extent) extent {
	env = maps.Clone(env)
	var returned []extent
	var run func(stmts []schema.Stmt)
	run = func(stmts []schema.Stmt) {
		for i := range stmts {
			switch s := &stmts[i]; {
			case s.If != nil || s.Return:
				run(s.Body)
				for j := range s.Values {
					if v := &s.Values[j]; !refuses(v) {
						returned = append(returned, valueOf(v, env))
					}
				}
			default:
				e := valueOf(&s.Values[0], env)
				for _, name := range append([]string{s.Define}, s.Names...) {
					env[name] = e
				}
			}
		}
	}
	run(stmts)
	if len(returned) == 0 {
		return unknown
	}
	for _, r := range returned[1:] {
		if !r.equal(returned[0]) {
			return unknown
		}
	}
	return returned[0]
}

// refuses reports whether a value is an error.
func refuses(v *schema.Value) bool {
	return v.Kind == schema.CallValue && v.Op.View != nil && (v.Op.View.Func == "RefuseView" || v.Op.View.Func == "RefuseOfView")
}

// valueOf returns the shape of a tensor in a body.
func valueOf(v *schema.Value, env map[string]extent) extent {
	switch v.Kind {
	case schema.NameValue:
		return env[v.Name]
	case schema.LiteralValue, schema.ConvertValue:
		return extent{known: true}
	case schema.SelectValue:
		return valueOf(&v.Args[0], env)
	case schema.CallValue:
		inner := map[string]extent{}
		keeps := false
		for i, p := range v.Op.Params {
			a := &v.Args[i]
			keeps = keeps || p.Name == "keepdim" && a.Kind == schema.LiteralValue && a.Literal.Scalar.Bool()
			if p.Operand < 0 || a.Kind == schema.LiteralValue && a.Literal.Nil {
				continue
			}
			inner[p.Name] = valueOf(a, env)
		}
		if keeps {
			e := inner[v.Op.Operands()[0].Name]
			return extent{known: e.known, within: append(slices.Clone(e.of), e.within...)}
		}
		return resultOf(v.Op, inner)
	}
	return unknown
}

// composed says what shape op's results have where it follows from what it is made of, for
// the operands that are tensors; "" elsewhere.
func composed(op *schema.Op, operands []*schema.Param) string {
	env := map[string]extent{}
	for _, p := range op.Operands() {
		if p.Type == schema.Tensor {
			env[p.Name] = extent{known: true}
		}
	}
	for _, p := range operands {
		env[p.Name] = extent{known: true, of: []string{p.Name}}
	}
	e := resultOf(op, env)
	switch {
	case !e.known || len(e.within) > 0:
		return ""
	case len(e.of) == 0:
		return "no axes"
	case len(e.of) == 1:
		return "that of " + unit.Local(e.of[0])
	}
	var names []string
	for _, p := range operands {
		if slices.Contains(e.of, p.Name) {
			names = append(names, operandName(op, p.Name))
		}
	}
	return "that to which " + listed(names) + " broadcast"
}
