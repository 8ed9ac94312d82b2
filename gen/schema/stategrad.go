package schema

import (
	"errors"
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/expr"
)

// A StateGrad is the gradient of a reduction with states for one operand: what reaches
// each state of the results' gradients, and the operand of the states'.
type StateGrad struct {
	States  []*expr.Expr // over gradients of results, arguments and count; nil where nothing reaches the state
	Chosen  []int        // by state: the result that is it, for a maximum or minimum, which the elements equal to it share; else -1
	Operand *expr.Expr   // over gradients of states, the operands and the arguments
}

// DyOfState is the name of a state's gradient.
func DyOfState(s ir.State) string {
	if s.Name == "" {
		return "d_state"
	}
	return "d_" + s.Name
}

// StateGradient derives the gradient of a fold of op for one operand. Every state must be a
// sum, or a maximum or minimum that is a result as it is, and no result may depend on a
// state other than by a factor.
func StateGradient(op *Op, f *expr.Fold, operand string) (g StateGrad, err error) {
	complexToo := op.DTypes&ir.ClassComplex != 0
	var reached []expr.Result
	for i, s := range f.States {
		x := f.Combine[i].Root
		if !sumOrExtremum(x, s.Of("a"), s.Of("b")) {
			return g, fmt.Errorf("%s is combined to what is neither a sum nor max or min of both parts", s.Of("a"))
		}
		d, err := op.stateGradient(f, s, complexToo)
		if err != nil {
			return g, err
		}
		chosen := -1
		if x.Name != "add" && d != nil {
			chosen = slices.IndexFunc(f.Finish, func(x *expr.Expr) bool { return x.String() == s.Of("a") })
			if chosen < 0 || d.String() != op.DyOf(op.Results[chosen]) {
				return g, fmt.Errorf("%s, a maximum or minimum, is not one result as it is", s.Of("a"))
			}
		}
		if d != nil {
			reached = append(reached, expr.Result{Dy: DyOfState(s), Expr: f.Map[i]})
		}
		g.States, g.Chosen = append(g.States, d), append(g.Chosen, chosen)
	}
	if len(reached) == 0 {
		return g, errors.New("no state depends on it")
	}
	g.Operand, err = expr.Gradient(reached, operand, complexToo)
	return g, err
}

// stateGradient returns what reaches a state of the results' gradients, nil for nothing.
func (op *Op) stateGradient(f *expr.Fold, s ir.State, complexToo bool) (*expr.Expr, error) {
	var results []expr.Result
	for k, r := range op.Results {
		if x := f.Finish[k]; x.Uses(s.Of("a")) && (r.DType == ir.Invalid || differentiable.Has(r.DType)) {
			results = append(results, expr.Result{Dy: op.DyOf(r), Expr: x})
		}
	}
	if len(results) == 0 {
		return nil, nil
	}
	d, err := expr.Gradient(results, s.Of("a"), complexToo)
	if err != nil {
		return nil, err
	}
	for _, other := range f.States {
		if d.Uses(other.Of("a")) {
			return nil, fmt.Errorf("finish is not linear in %s", other.Of("a"))
		}
	}
	return d, nil
}
