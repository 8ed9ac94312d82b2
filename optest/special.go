package optest

import (
	"math"

	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/expr"
)

// exact are the functions that return one of their operands, a bool or an
// integer: nothing they compute overflows, underflows or is rounded.
var exact = map[string]bool{
	"where": true, "land": true, "lor": true, "lnot": true,
	"eq": true, "ne": true, "lt": true, "le": true, "gt": true, "ge": true,
	"isnan": true, "isinf": true, "isfinite": true, "signbit": true,
	"min": true, "max": true, "fmin": true, "fmax": true, "neg": true, "abs": true, "copysign": true,
	"floor": true, "ceil": true, "trunc": true, "round": true,
}

// roundsOnce reports whether every body of the operator computes at most one
// function that rounds. The reference's wider arithmetic then differs in the last
// step alone; otherwise what a step overflows or underflows on the way, it may not.
func (r runner) roundsOnce() bool {
	env := body.Env(r.o.Op)
	for _, b := range r.o.Op.Bodies {
		for _, text := range b.Exprs {
			e, err := expr.Parse(text, env)
			if err != nil || roundings(e.Root) > 1 {
				return false
			}
		}
	}
	return true
}

// roundings counts the functions in an expression that are not exact.
func roundings(n *expr.Node) int {
	count := 0
	if n.Op == expr.OpCall && !exact[n.Name] {
		count++
	}
	for _, a := range n.Args {
		count += roundings(a)
	}
	return count
}

// specials are the values that scalar code gets wrong, for operand i when the
// operator computes in dtype dt. The extremes are left out of formulas, which may
// overflow on the way to a result that does not. A quick run has a part of them where there are
// many operands, each operator and operand another.
func (r runner) specials(i int, dt ir.DType) []ir.Scalar {
	list := r.allSpecials(r.operandDType(i, dt))
	n := len(list)
	if r.quick {
		n = min(n, int(math.Pow(quickSpecials, 1/float64(len(r.o.Op.In)))))
	}
	some := make([]ir.Scalar, n)
	for k := range some {
		some[k] = list[(len(r.o.Op.Name)+i+k*len(list)/n)%len(list)]
	}
	return some
}

// quickSpecials is how many combinations of special values of its operands an operator has in a quick run,
// at most.
const quickSpecials = 80

// allSpecials are the special values of a dtype.
func (r runner) allSpecials(dt ir.DType) []ir.Scalar {
	switch dt.Category() {
	case ir.CategoryBool:
		return []ir.Scalar{ir.BoolScalar(false), ir.BoolScalar(true)}
	case ir.CategoryInt:
		bits := 8 * dt.Size()
		if dt == ir.Uint8 {
			return ints(0, 1, 2, 127, 128, 254, 255)
		}
		most := int64(1)<<(bits-1) - 1
		return ints(0, 1, -1, 2, -2, 7, most, most-1, -most, -most-1)
	case ir.CategoryFloat:
		list := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, 2, math.Inf(1), math.Inf(-1), math.NaN()}
		if r.roundsOnce() {
			list = append(list, -0.5, -2, tiny(dt), -tiny(dt), tiny(dt)/4, largest(dt), -largest(dt), 1+Epsilon(dt))
		}
		var out []ir.Scalar
		for _, f := range list {
			out = append(out, ir.FloatScalar(f))
		}
		return out
	}
	return nil
}

func ints(list ...int64) []ir.Scalar {
	var out []ir.Scalar
	for _, i := range list {
		out = append(out, ir.IntScalar(i))
	}
	return out
}
