package emit

import (
	"slices"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// realGraph returns the graph that is lowered for g, and how many of its elements one of
// g's is. Lanes hold no complex numbers, but sums are those of the parts, and a
// complex64 that is only moved is an integer. Others are returned as they are.
func realGraph(v schema.Variant, g *expr.Graph) (*expr.Graph, int) {
	t, n := ir.Int64, 1
	switch {
	case !g.T.IsComplex():
		return g, 1
	case all(g, func(v *expr.Value) bool { return partwise(g, v) }):
		t, n = g.T.Real(), 2
	case g.T != ir.Complex64 || !all(g, moved):
		return g, 1
	}
	r, err := v.Expr.Check(t)
	if err != nil || len(r.Values) != len(g.Values) {
		return g, 1
	}
	return r, n
}

func all(g *expr.Graph, f func(v *expr.Value) bool) bool {
	return !slices.ContainsFunc(g.Values, func(v *expr.Value) bool { return !f(v) })
}

// partwise reports whether the parts of v follow from those of its arguments, each
// alone.
func partwise(g *expr.Graph, v *expr.Value) bool {
	switch v.Op {
	case expr.OpConst:
		return zero(v)
	case expr.OpName:
		return v.Kind == expr.TKind && slices.ContainsFunc(g.Env.Operands, func(o expr.Operand) bool { return o.Name == v.Name })
	}
	return v.Kind == expr.TKind && (v.Name == "add" || v.Name == "sub" || v.Name == "neg")
}

// moved reports whether v is one of its arguments.
func moved(v *expr.Value) bool {
	switch v.Op {
	case expr.OpConst:
		return zero(v)
	case expr.OpName:
		return v.Kind == expr.TKind || v.Kind == expr.BoolKind
	}
	return v.Name == "where"
}

// zero reports whether all bits of a constant are zero.
func zero(v *expr.Value) bool { return v.Kind == expr.TKind && v.Const.String() == "0" }
