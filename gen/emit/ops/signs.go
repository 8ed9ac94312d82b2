package ops

import (
	"math"
	"slices"

	"github.com/sinter-go/sinter/gen/emit/bodies"
	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// signs returns what op does with the sign of integers: ir.TagSignless where it is no
// matter, ir.TagOrders where integers are only compared and handed on, else nothing. It
// follows from the body; of kernels by hand from what they accept, since complex numbers have
// no sign and no order, and from their tags: what is exact hands on elements, and what
// orders compares them, which the schema says.
func signs(op *schema.Op) ir.Tag {
	if !op.DTypes.Has(ir.Int64) || op.Promote == ir.PromoteFixed {
		return 0
	}
	switch op.Kind {
	case ir.Opaque:
		switch {
		case op.DTypes.Has(ir.Complex64):
			return ir.TagSignless
		case op.Tags&ir.TagExact != 0:
			return ir.TagOrders
		}
		return 0
	case ir.Elementwise, ir.Reduction, ir.Scan:
	default:
		return 0
	}
	graphs, ok := bodiesOf(op)
	switch {
	case !ok:
		return 0
	case !slices.ContainsFunc(graphs, func(g *expr.Graph) bool { return !signless(g) }):
		return ir.TagSignless
	case !slices.ContainsFunc(graphs, func(g *expr.Graph) bool { return !orders(op, g) }):
		return ir.TagOrders
	}
	return 0
}

// bodiesOf returns what op computes of int64, part by part, and whether that is known.
func bodiesOf(op *schema.Op) (list []*expr.Graph, ok bool) {
	for _, v := range op.Variants {
		switch {
		case op.Kind == ir.Elementwise:
			g, err := v.Check(ir.Int64)
			if err != nil {
				return nil, false
			}
			list = append(list, g)
		case v.Fold != nil:
			f, err := v.Fold.Check(ir.Int64)
			if err != nil {
				return nil, false
			}
			list = append(list, f.Init, f.Map, f.Combine, f.Finish)
		default:
			f, err := bodies.CheckFold(v, ir.Int64)
			if err != nil {
				return nil, false
			}
			list = append(list, f.Init, f.Mapped, f.Comb, f.Finish)
		}
	}
	return list, len(list) > 0
}

// signless reports whether a body computes the same bits of signed and of unsigned integers.
func signless(g *expr.Graph) bool {
	return !slices.ContainsFunc(g.Values, func(v *expr.Value) bool {
		cut := v.Name == "cast" && v.Args[0].Kind == expr.IntKind
		return v.Op == expr.OpCall && !expr.Signless(v.Name) && !cut && !ofBools(v)
	})
}

// orders reports whether a body does nothing with the elements of op but compare them and
// hand them on, so that it may be given others in the same order.
func orders(op *schema.Op, g *expr.Graph) bool {
	return !slices.ContainsFunc(g.Values, func(v *expr.Value) bool {
		integer := v.Kind != expr.BoolKind
		switch v.Op {
		case expr.OpConst: // but for the largest and the least number
			return integer && v.Const.Int() != math.MaxInt64 && v.Const.Int() != math.MinInt64
		case expr.OpName:
			return v.Name == "index" || v.Name == "count" || slices.ContainsFunc(op.Attrs(), func(p *schema.Param) bool { return p.Name == v.Name })
		}
		return !expr.Orders(v.Name) && (integer || !ofBools(v))
	})
}

// ofBools reports whether a call reads bools alone, which have no sign.
func ofBools(v *expr.Value) bool {
	return !slices.ContainsFunc(v.Args, func(a *expr.Value) bool { return a.Kind != expr.BoolKind })
}
