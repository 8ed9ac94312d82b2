package lower

import (
	"math"

	"github.com/sinter-go/sinter/codegen/lane"
)

func comparison(fn string) (p lane.Pred, ok bool) {
	switch fn {
	case "eq":
		return lane.EQ, true
	case "ne":
		return lane.NE, true
	case "lt":
		return lane.LT, true
	case "le":
		return lane.LE, true
	case "gt":
		return lane.GT, true
	case "ge":
		return lane.GE, true
	}
	return p, false
}

func rounding(fn string) (r lane.Rounding, ok bool) {
	switch fn {
	case "floor":
		return lane.Floor, true
	case "ceil":
		return lane.Ceil, true
	case "trunc":
		return lane.Trunc, true
	case "round":
		return lane.Nearest, true
	}
	return r, false
}

// float is a function of floats; no value where there is none of it.
func (l *lowerer) float(fn string, args []lane.V) lane.V {
	a, b := args[0], args[len(args)-1]
	t := l.Type(a)
	if pred, ok := comparison(fn); ok {
		return l.Cmp(pred, a, b)
	}
	if r, ok := rounding(fn); ok {
		return l.Round(a, r)
	}
	switch fn {
	case "add":
		return l.Add(a, b)
	case "sub":
		return l.Sub(a, b)
	case "mul":
		return l.Mul(a, b)
	case "div":
		return l.ratio(a, b)
	case "neg":
		return l.Neg(a)
	case "abs":
		return l.Abs(a)
	case "sqrt":
		return l.Sqrt(a)
	case "fma":
		return l.FMA(a, args[1], b)
	case "truncdiv":
		return l.Round(l.ratio(a, b), lane.Trunc)
	case "copysign":
		return l.CopySign(a, b)
	case "isnan", "isinf", "isfinite", "signbit":
		return l.classify(fn, a)
	case "sign":
		return l.Select(l.Cmp(lane.GT, a, l.number(t, 0)), l.number(t, 1),
			l.Select(l.Cmp(lane.LT, a, l.number(t, 0)), l.number(t, -1), l.Mul(a, l.number(t, 0))))
	case "angle":
		return l.Select(l.Cmp(lane.UNO, a, a), a, l.Select(l.Cmp(lane.LT, a, l.number(t, 0)), l.ConstF(t, math.Pi), l.number(t, 0)))
	case "imag":
		return l.number(t, 0)
	case "min":
		return l.least(a, b)
	case "max":
		return l.greatest(a, b)
	case "fmin", "fmax":
		both := l.least
		if fn == "fmax" {
			both = l.greatest
		}
		return l.Select(l.Cmp(lane.UNO, a, a), b, l.Select(l.Cmp(lane.UNO, b, b), a, both(a, b)))
	case "fmod", "rem", "remainder", "floordiv":
		return l.remainders(fn, a, b)
	}
	return l.caller(l.Prog, fn, args...)
}

func (l *lowerer) classify(fn string, a lane.V) lane.V {
	t := l.Type(a)
	switch fn {
	case "isnan":
		return l.Cmp(lane.UNO, a, a)
	case "isinf":
		return l.Cmp(lane.EQ, l.Abs(a), l.ConstF(t, math.Inf(1)))
	case "isfinite":
		return l.Cmp(lane.LT, l.Abs(a), l.ConstF(t, math.Inf(1)))
	}
	return l.Cmp(lane.LT, l.Bits(a, t.Int()), l.ConstI(t.Int(), 0))
}

// ratio is a / b. By a power of two whose reciprocal is a normal number it is the product with
// that: both are the same number, rounded once.
func (l *lowerer) ratio(a, b lane.V) lane.V {
	if c, ok := l.constantOf(b); ok {
		most := 1022
		if l.Type(b) == lane.F32 {
			most = 126
		}
		if m, e := math.Frexp(c); math.Abs(m) == 0.5 && max(e-1, 1-e) <= most {
			return l.Mul(a, l.ConstF(l.Type(b), 1/c))
		}
	}
	return l.Div(a, b)
}

// constantOf returns the value of a constant float.
func (l *lowerer) constantOf(v lane.V) (float64, bool) {
	n := l.Node(v)
	switch {
	case n.Op != lane.OpConst:
		return 0, false
	case n.Type == lane.F32:
		return float64(math.Float32frombits(uint32(n.Imm))), true
	}
	return math.Float64frombits(n.Imm), true
}

// least is the lesser of a and b, NaN if one is, with -0 before +0. Min gives its
// second operand where one is NaN or both are zero: of both orders the bits that
// either has are those of NaN and of -0.
func (l *lowerer) least(a, b lane.V) lane.V {
	if _, ok := l.constantOf(b); ok {
		a, b = b, a
	}
	if c, ok := l.constantOf(a); ok && c == c && (c != 0 || !math.Signbit(c)) {
		return l.Min(a, b)
	}
	return l.Or(l.Min(a, b), l.Min(b, a))
}

// greatest is the greater of a and b, NaN if one is, with +0 after -0.
func (l *lowerer) greatest(a, b lane.V) lane.V {
	if _, ok := l.constantOf(b); ok {
		a, b = b, a
	}
	if c, ok := l.constantOf(a); ok && c == c {
		switch m := l.Max(a, b); {
		case c != 0 || math.Signbit(c):
			return m
		default: // -0 becomes +0
			return l.Add(m, a)
		}
	}
	return l.Select(l.Cmp(lane.UNO, a, b), l.Add(a, b), l.And(l.Max(a, b), l.Max(b, a)))
}

// rounds is how often a quotient of 52 bits must be taken off a float32 before
// nothing but the remainder by the smallest divisor is left.
const rounds = 6

// fmod is the remainder of a/b with a's sign, of float32. In float64 each round is
// exact: the quotient's error leaves 2^-52 of the dividend or less, in units of both
// operands' last places, of which there are few enough. The last quotient may be one
// too many, or too few by one where the division leaves next to nothing.
func (l *lowerer) fmod(a, b lane.V) lane.V {
	x, y := l.Widen(a, lane.F64), l.Widen(b, lane.F64)
	inf := l.ConstF64(math.Inf(1))
	size := l.Abs(y)
	over := l.Div(l.ConstF64(1), size)
	r := l.Abs(x)
	for range rounds {
		r = l.FNMA(l.Round(l.Mul(r, over), lane.Trunc), size, r)
	}
	r = l.Select(l.Cmp(lane.LT, r, l.ConstF64(0)), l.Add(r, size), r)
	r = l.Select(l.Cmp(lane.GE, r, size), l.Sub(r, size), r)
	endless := l.MaskAnd(l.Cmp(lane.EQ, size, inf), l.Cmp(lane.LT, l.Abs(x), inf))
	r = l.Select(endless, l.Abs(x), r)
	return l.Narrow(l.CopySign(r, x), lane.F32)
}

// remainders are fmod and what num makes of it.
func (l *lowerer) remainders(fn string, a, b lane.V) lane.V {
	t := l.Type(a)
	if t != lane.F32 {
		return 0
	}
	zero, one := l.number(t, 0), l.number(t, 1)
	r := l.fmod(a, b)
	if fn == "fmod" || fn == "rem" {
		return r
	}
	opposite := l.MaskAnd(l.Cmp(lane.NE, r, zero), l.MaskXor(l.Cmp(lane.LT, r, zero), l.Cmp(lane.LT, b, zero)))
	if fn == "remainder" {
		return l.Select(opposite, l.Add(r, b), r)
	}
	q := l.Div(l.Sub(a, r), b)
	q = l.Select(opposite, l.Sub(q, one), q)
	f := l.Round(q, lane.Floor)
	f = l.Select(l.Cmp(lane.GT, l.Sub(q, f), l.ConstF(t, 0.5)), l.Add(f, one), f)
	f = l.Select(l.Cmp(lane.EQ, q, zero), l.CopySign(zero, l.Div(a, b)), f)
	return l.Select(l.Cmp(lane.EQ, b, zero), l.Div(a, b), f)
}
