// Package bodies is what the code for CPUs and for GPUs have in common of the bodies of
// operators: the checked parts of a fold, and where operands stand. It prints nothing.
package bodies

import (
	"slices"

	"github.com/sinter-go/sinter/gen/schema"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// OperandIndex returns the position of an operand among those of a loop, or -1: of a
// joint operator those that are written over come first.
func OperandIndex(op *schema.Op, name string) int {
	operands := op.Operands()
	if op.Kind == ir.Joint {
		slices.SortStableFunc(operands, func(p, q *schema.Param) int {
			switch {
			case p.Written == q.Written:
				return 0
			case p.Written:
				return -1
			}
			return 1
		})
	}
	return slices.IndexFunc(operands, func(p *schema.Param) bool { return p.Name == name })
}

// HasParam reports whether op has a parameter of that name.
func HasParam(op *schema.Op, name string) bool {
	for _, p := range op.Params {
		if p.Name == name {
			return true
		}
	}
	return false
}

// Fold is one variant of a reduction or scan for one compute dtype: its parts,
// checked. Combine and finish compute in the accumulator's dtype.
type Fold struct {
	Acc                        ir.DType
	Init, Mapped, Comb, Finish *expr.Graph
}

// CheckFold checks the parts of v for operands of compute dtype d.
func CheckFold(v schema.Variant, d ir.DType) (*Fold, error) {
	m, err := v.Map.Check(d)
	if err != nil {
		return nil, err
	}
	out := &Fold{Acc: m.Result(), Mapped: m}
	for _, part := range []struct {
		to *(*expr.Graph)
		x  *expr.Expr
	}{{&out.Init, v.Init}, {&out.Comb, v.Combine}, {&out.Finish, v.Finish}} {
		if *part.to, err = part.x.Check(out.Acc); err != nil {
			return nil, err
		}
	}
	return out, nil
}

var CategoryNames = map[ir.Category]string{
	ir.CategoryBool: "Bool", ir.CategoryInt: "Int", ir.CategoryFloat: "Float", ir.CategoryComplex: "Complex",
}
