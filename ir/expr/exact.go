package expr

import (
	"math"
	"slices"
)

// exactFunctions give, of numbers that a narrower float holds, a number that it holds:
// an operator made of them rounds nothing when it stores its result.
var exactFunctions = []string{
	"neg", "where", "abs", "sign", "min", "max", "fmin", "fmax", "floor", "ceil", "trunc", "round", "rem", "fmod",
	"copysign", "conj", "real", "imag", "complex", "and", "or", "xor", "andnot", "not", "shl", "shr", "int", "cast",
}

// mostExact is the largest integer up to which every float of 16 bits has all.
const mostExact = 256

// Exact reports whether the expression of numbers that a narrower float holds is such a
// number, if free is the set of names that stand for such: the operands. A bool is.
func (e *Expr) Exact(free func(name string) bool) bool { return e.Root.exact(free) }

func (n *Node) exact(free func(name string) bool) bool {
	switch n.Op {
	case OpConst:
		v := n.Value.Float()
		return v == math.Trunc(v) && math.Abs(v) <= mostExact || math.IsInf(v, 0) || math.IsNaN(v)
	case OpName:
		return free(n.Name)
	}
	f := functions[n.Name]
	switch {
	case f == nil:
		return false
	case f.rule == toBool || f.rule == logic:
		return true // however its arguments were computed
	case n.Name == "where":
		return n.Args[1].exact(free) && n.Args[2].exact(free)
	case !slices.Contains(exactFunctions, n.Name):
		return false
	}
	return !slices.ContainsFunc(n.Args, func(a *Node) bool { return !a.exact(free) })
}

// Portable reports whether every device gives the same bits of the values, of floats that are
// no NaN: at most one operation is computed, which IEEE 754 says how to round.
func (g *Graph) Portable() bool {
	calls := 0
	for _, v := range g.Values {
		switch v.Op {
		case OpName:
			if v.Name == "index" {
				return false
			}
		case OpCall:
			calls++
			switch v.Name {
			case "add", "sub", "mul", "div", "neg":
			default:
				return false
			}
		}
	}
	return calls <= 1 && g.T.IsFloat()
}
