// Package x86test has programs that between them use every operation of package
// lane on every type, to test what package x86 makes of them: the test is in package jit.
package x86test

import (
	"strings"

	"github.com/sinter-go/sinter/codegen/lane"
)

// A Case is a program to test as a loop.
type Case struct {
	Name string
	Prog *lane.Prog
	// Tiny: inputs are kept within the domain of Scale2.
	Tiny bool
	// Only512: AVX2 cannot compute it.
	Only512 bool
}

type build func(p *lane.Prog)

type list []Case

func (l *list) add(name string, b build) {
	p := &lane.Prog{}
	b(p)
	*l = append(*l, Case{Name: name, Prog: p})
}

var floats = []lane.Type{lane.F32, lane.F64}
var ints = []lane.Type{lane.I8, lane.I16, lane.I32, lane.I64, lane.U8}

func title(t lane.Type) string { return strings.ToUpper(t.String()) }

// Cases returns the programs.
func Cases() []Case {
	var l list
	for _, t := range floats {
		l.floats(t)
	}
	for _, t := range ints {
		l.ints(t)
	}
	for _, t := range append(floats, ints...) {
		l.any(t)
	}
	l.conversions()
	l.shapes()
	l.randoms()
	return l
}

// binary adds a program of one operation of two values.
func (l *list) binary(name string, t lane.Type, op func(p *lane.Prog, a, b lane.V) lane.V) {
	l.add(name+title(t), func(p *lane.Prog) { p.Out(op(p, p.Arg(0, t), p.Arg(1, t))) })
}

func (l *list) unary(name string, t lane.Type, op func(p *lane.Prog, a lane.V) lane.V) {
	l.add(name+title(t), func(p *lane.Prog) { p.Out(op(p, p.Arg(0, t))) })
}

// group adds one program of several results.
func (l *list) group(name string, t lane.Type, outs func(p *lane.Prog, a, b, c lane.V) []lane.V) {
	l.add(name+title(t), func(p *lane.Prog) {
		for _, v := range outs(p, p.Arg(0, t), p.Arg(1, t), p.Arg(2, t)) {
			p.Out(v)
		}
	})
}

func (l *list) floats(t lane.Type) {
	l.group("float", t, func(p *lane.Prog, a, b, c lane.V) []lane.V {
		return []lane.V{p.Div(a, b), p.CopySign(a, b), p.Sqrt(a), p.FMA(a, b, c), p.FNMA(a, b, c), p.FMS(a, b, c),
			p.Round(a, lane.Nearest), p.Round(a, lane.Floor), p.Round(a, lane.Ceil), p.Round(a, lane.Trunc),
			p.FToI(a), p.FToITrunc(b), p.FromMask(p.Cmp(lane.UNO, a, b))}
	})
	l.add("scale2"+title(t), func(p *lane.Prog) {
		p.Out(p.Scale2(p.Arg(0, t), p.Round(p.Arg(1, t), lane.Nearest)))
	})
	(*l)[len(*l)-1].Tiny = true
	l.group("exponent", t, func(p *lane.Prog, a, _, _ lane.V) []lane.V {
		return []lane.V{p.GetExp(a), p.GetMant(a, 0.75), p.GetMant(a, 1)}
	})
	(*l)[len(*l)-1].Only512 = true
	l.group("magnitude", t, func(p *lane.Prog, a, b, c lane.V) []lane.V {
		limit := p.ConstF(t, 2.5)
		return []lane.V{p.MinAbs(a, b), p.MinAbs(limit, c), p.MinAbs(c, p.ConstF(t, -1)), p.MinMag(a, b), p.MinMag(limit, c)}
	})
	(*l)[len(*l)-1].Only512 = true
	l.unary("fmaForms", t, func(p *lane.Prog, x lane.V) lane.V {
		// Every operand in turn dies, stays, is a constant, or is repeated.
		c1, c2 := p.ConstF(t, 0.5), p.ConstF(t, -3)
		y := p.FMA(x, x, c1)
		z := p.FMA(y, c2, x)
		w := p.FNMA(c1, z, y)
		v := p.FMS(w, w, w)
		return p.FMA(p.FMA(x, y, z), p.FMA(c2, v, c1), p.FMA(w, x, v))
	})
	l.add("lookup"+title(t), func(p *lane.Prog) {
		for n := 16; n >= 2; n /= 2 {
			lookups(p, t, n)
		}
	})
	if t == lane.F32 {
		l.add("lookup32"+title(t), func(p *lane.Prog) { lookups(p, t, 32) })
		(*l)[len(*l)-1].Only512 = true
		l.add("lookupHalf"+title(t), func(p *lane.Prog) { // beside values twice as wide
			lookups(p, t, 32)
			p.Out(p.Widen(p.Arg(1, t), lane.F64))
		})
		(*l)[len(*l)-1].Only512 = true
	}
	l.add("scaleDown"+title(t), func(p *lane.Prog) {
		p.Out(p.Scale2(p.MinMag(p.Arg(0, t), p.ConstF(t, 1e9)), p.Arg(1, t)))
	})
	(*l)[len(*l)-1].Only512 = true
}

// lookups are those in a table of n values, which are of type t and integers as wide.
func lookups(p *lane.Prog, t lane.Type, n int) {
	table := make([]uint64, n)
	for i := range table {
		table[i] = uint64(i)*0x0123456701234567 + 0x3f000000
		if t == lane.F32 {
			table[i] &= 1<<32 - 1
		}
	}
	p.Out(p.Lookup(p.Arg(0, t.Int()), t, table))
	p.Out(p.Lookup(p.Arg(0, t.Int()), t.Int(), table))
}

func (l *list) ints(t lane.Type) {
	l.group("shift", t, func(p *lane.Prog, a, b, c lane.V) []lane.V {
		outs := []lane.V{p.FromMask(p.ToMask(c)), p.ShlV(a, b), p.ShrV(a, b), p.SarV(a, b)}
		for _, n := range []int{1, 3, 8*t.Size() - 1} {
			outs = append(outs, p.Shl(a, n), p.Shr(a, n), p.Sar(a, n))
		}
		return outs
	})
}

func (l *list) any(t lane.Type) {
	l.group("arith", t, func(p *lane.Prog, a, b, _ lane.V) []lane.V {
		return []lane.V{p.Add(a, b), p.Sub(a, b), p.Mul(a, b), p.Min(a, b), p.Max(a, b), p.And(a, b), p.Or(a, b),
			p.Xor(a, b), p.AndNot(a, b), p.Not(a), p.Abs(a), p.Neg(a)}
	})
	l.group("compare", t, func(p *lane.Prog, a, b, _ lane.V) []lane.V {
		zero := p.ConstBits(t, 0)
		lt := p.Cmp(lane.LT, a, b)
		outs := []lane.V{p.Select(lt, a, zero), p.Select(lt, zero, b)}
		for pred := lane.EQ; pred <= lane.GE; pred++ {
			m := p.Cmp(pred, a, b)
			outs = append(outs, p.FromMask(m), p.Select(m, p.Add(a, b), b))
		}
		return outs
	})
	l.group("masks", t, func(p *lane.Prog, a, b, c lane.V) []lane.V {
		ne, lt, le := p.Cmp(lane.NE, a, b), p.Cmp(lane.LT, b, c), p.Cmp(lane.LE, c, a)
		var outs []lane.V
		for _, m := range []lane.V{p.MaskAnd(ne, le), p.MaskOr(ne, le), p.MaskXor(ne, lt),
			p.MaskOr(p.MaskNot(lt), p.MaskNot(le)), p.AndNot(lt, ne), p.MaskAnd(lt, p.MaskNot(le)),
			p.Select(ne, lt, le), p.MaskOr(lt, p.ConstBits(t.Mask(), 1))} {
			outs = append(outs, p.FromMask(m))
		}
		return outs
	})
	l.fusions(t)
	l.add("scalars"+title(t), func(p *lane.Prog) {
		p.Out(p.Sub(p.Mul(p.Arg(0, t), p.Scalar(0, t)), p.Scalar(1, t)))
	})
}
