package lower

import (
	"github.com/sinter-go/sinter/codegen/lane"
)

// integer is a function of integers; no value where there is none of it.
func (l *lowerer) integer(fn string, args []lane.V) lane.V {
	a, b := args[0], args[len(args)-1]
	t := l.Type(a)
	if pred, ok := comparison(fn); ok {
		return l.asBool(l.Cmp(pred, a, b))
	}
	switch fn {
	case "add":
		return l.Add(a, b)
	case "sub":
		return l.Sub(a, b)
	case "mul":
		return l.Mul(a, b)
	case "neg":
		return l.Neg(a)
	case "and":
		return l.And(a, b)
	case "or":
		return l.Or(a, b)
	case "xor":
		return l.Xor(a, b)
	case "andnot":
		return l.AndNot(a, b)
	case "not":
		return l.Not(a)
	case "min":
		return l.Min(a, b)
	case "max":
		return l.Max(a, b)
	case "abs":
		return l.Abs(a)
	case "floor", "ceil", "trunc", "round":
		return a
	case "sign":
		return l.integerSign(a)
	case "signbit":
		return l.asBool(l.Cmp(lane.LT, a, l.ConstI(t, 0)))
	case "isnan", "isinf":
		return l.asBool(l.ConstBits(t.Mask(), 0))
	case "isfinite":
		return l.asBool(l.ConstBits(t.Mask(), 1))
	case "imag":
		return l.ConstI(t, 0)
	case "angle":
		return l.Select(l.Cmp(lane.LT, a, l.ConstI(t, 0)), l.ConstI(t, 3), l.ConstI(t, 0))
	case "shl", "shr":
		return l.shifted(fn, a, b)
	case "div", "truncdiv", "rem", "fmod", "floordiv", "remainder":
		return l.divided(fn, a, b)
	}
	return 0
}

// asBool is a mask as this expression has bools.
func (l *lowerer) asBool(m lane.V) lane.V {
	if l.bytes {
		return l.FromMask(m)
	}
	return l.MaskTo(m, laneTypes[l.g.T])
}

func (l *lowerer) integerSign(a lane.V) lane.V {
	t := l.Type(a)
	if t == lane.U8 {
		return l.Min(a, l.ConstI(t, 1))
	}
	return l.Max(l.ConstI(t, -1), l.Min(l.ConstI(t, 1), a))
}

// shifted shifts a by n. Counts of both expr's meaning and the lanes' that are
// negative or too great shift every bit out.
func (l *lowerer) shifted(fn string, a, n lane.V) lane.V {
	t, wide := l.Type(a), l.Type(n)
	if t.Size() < wide.Size() { // an int64 beside a narrower number
		return 0
	}
	if t.Size() > wide.Size() {
		n = l.Widen(n, t)
	} else if t != wide {
		n = l.Bits(n, t)
	}
	switch {
	case fn == "shl":
		return l.ShlV(a, n)
	case t == lane.U8:
		return l.ShrV(a, n)
	}
	return l.SarV(a, n)
}

// divided is a quotient, or a remainder by it.
func (l *lowerer) divided(fn string, a, b lane.V) lane.V {
	t := l.Type(a)
	zero := l.ConstI(t, 0)
	q := l.quotient(a, b)
	if q == 0 {
		return 0
	}
	q = l.Select(l.Cmp(lane.EQ, b, zero), zero, q)
	if fn == "div" || fn == "truncdiv" {
		return q
	}
	r := l.Sub(a, l.Mul(q, b)) // a where b is 0
	if fn == "rem" || fn == "fmod" {
		return r
	}
	opposite := l.MaskAnd(l.Cmp(lane.NE, r, zero), l.MaskXor(l.Cmp(lane.LT, r, zero), l.Cmp(lane.LT, b, zero)))
	opposite = l.MaskAnd(opposite, l.Cmp(lane.NE, b, zero))
	if fn == "remainder" {
		return l.Select(opposite, l.Add(r, b), r)
	}
	return l.Select(opposite, l.Sub(q, l.ConstI(t, 1)), q)
}

// quotient is a/b toward zero where b is not 0. It divides in floats that hold every
// quotient's whole part: those of 24 bits for integers of up to 16, those of 53 for
// integers of 32. The least integer by -1 wraps when it is narrowed.
func (l *lowerer) quotient(a, b lane.V) lane.V {
	t := l.Type(a)
	wide := lane.I32
	switch t {
	case lane.I64:
		return l.caller(l.Prog, Quotient, a, b)
	case lane.I32:
		wide = lane.I64
	}
	x, y := l.Widen(a, wide), l.Widen(b, wide)
	return l.Narrow(l.FToITrunc(l.Div(l.IToF(x), l.IToF(y))), t)
}

// Quotient is the name of a/b toward zero of int64, where b is not 0, among functions
// that are called.
const Quotient = "quotient"

// LongQuotient adds the function Quotient to a program that has conversions between
// int64 and float64 at its disposal: it divides in float64, which leaves a remainder
// of |b| + 2^12 at most, and divides that, which may give one too many where b has
// more than 53 bits: the remainder then has the wrong sign. All else wraps as it
// should.
func LongQuotient(p *lane.Prog, a, b lane.V) lane.V {
	zero, one := p.ConstI(lane.I64, 0), p.ConstI(lane.I64, 1)
	divisor := p.IToF(b)
	q := p.FToITrunc(p.Div(p.IToF(a), divisor))
	r := p.Sub(a, p.Mul(q, b))
	more := p.FToITrunc(p.Div(p.IToF(r), divisor))
	q, r = p.Add(q, more), p.Sub(r, p.Mul(more, b))
	wrong := p.MaskAnd(p.Cmp(lane.NE, r, zero), p.Cmp(lane.LT, p.Xor(r, a), zero))
	step := p.Or(p.Select(p.Cmp(lane.LT, p.Xor(a, b), zero), p.ConstI(lane.I64, -1), zero), one)
	return p.Select(wrong, p.Sub(q, step), q)
}
