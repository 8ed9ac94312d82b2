package schema

import (
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// Number returns which numbers p may be given as: any that is only added, subtracted,
// multiplied or taken bit by bit, exact ones where a body may return them unchanged,
// or a kernel written by hand may. Compositions leave that to their parts.
func (op *Op) Number(p *Param) ir.Number {
	if !p.OrScalar {
		return ir.NumberAny
	}
	if op.Kind == ir.Opaque {
		return ir.NumberExact
	}
	n := ir.NumberAny
	for _, v := range op.Variants {
		for _, x := range v.Exprs {
			switch {
			case selects(x.Root, p.Name):
				return ir.NumberExact
			case !wraps(x.Root, p.Name):
				n = ir.NumberInt
			}
		}
	}
	return n
}

// selects reports whether an expression can have the value of a name as it is.
func selects(n *expr.Node, name string) bool {
	switch {
	case n.Op == expr.OpName:
		return n.Name == name
	case n.Op != expr.OpCall:
		return false
	case n.Name == "where":
		return selects(n.Args[1], name) || selects(n.Args[2], name)
	case slices.Contains([]string{"min", "max", "fmin", "fmax"}, n.Name):
		return selects(n.Args[0], name) || selects(n.Args[1], name)
	}
	return false
}

// wraps reports whether a name is only used where integers modulo two to their width
// give the right result.
func wraps(n *expr.Node, name string) bool {
	if n.Op != expr.OpCall || slices.Contains([]string{"add", "sub", "mul", "neg", "and", "or", "xor", "andnot", "not"}, n.Name) {
		return !slices.ContainsFunc(n.Args, func(a *expr.Node) bool { return !wraps(a, name) })
	}
	return !n.Uses(name)
}
