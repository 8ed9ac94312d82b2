package x86test

import (
	"github.com/sinter-go/sinter/codegen/lane"
)

// conversions are between every two types that convert.
func (l *list) conversions() {
	for _, from := range append(floats, ints...) {
		var outs []lane.Type
		for _, to := range append(floats, ints...) {
			if from.IsFloat() == to.IsFloat() && from.Size() != to.Size() {
				outs = append(outs, to)
			}
		}
		l.add("convert"+title(from), func(p *lane.Prog) {
			for _, to := range outs {
				if from.Size() < to.Size() {
					p.Out(p.Widen(p.Arg(0, from), to))
				} else {
					p.Out(p.Narrow(p.Arg(0, from), to))
				}
			}
		})
		if from.Size() == 8 || from.Size() == 1 { // between two types alone: more lanes
			l.add("resize"+title(from), func(p *lane.Prog) {
				if from.Size() == 1 {
					p.Out(p.Widen(p.Arg(0, from), lane.I16))
					return
				}
				p.Out(p.Narrow(p.Arg(0, from), outs[0]))
			})
		}
	}
	l.unary("narrow", lane.I16, func(p *lane.Prog, a lane.V) lane.V { return p.Narrow(a, lane.I8) })
	l.unary("narrow", lane.I32, func(p *lane.Prog, a lane.V) lane.V { return p.Narrow(a, lane.I16) })
	l.unary("widen", lane.F16, func(p *lane.Prog, a lane.V) lane.V { return p.Widen(a, lane.F32) })
	l.add("narrowToF16", func(p *lane.Prog) { p.Out(p.Narrow(p.Arg(0, lane.F32), lane.F16)) })
	l.unary("toF32Of", lane.I32, (*lane.Prog).IToF)
	l.unary("toF64Of", lane.I64, (*lane.Prog).IToF)
	l.binary("mulU32", lane.I64, (*lane.Prog).MulU32)
	l.binary("bits", lane.F32, func(p *lane.Prog, a, b lane.V) lane.V {
		return p.Add(p.Bits(a, lane.I32), p.Bits(b, lane.I32))
	})
}

// fusions are operations that one instruction may do together, each alone in its
// result, with operands that stay, die, and are constants.
func (l *list) fusions(t lane.Type) {
	l.group("logic", t, func(p *lane.Prog, a, b, c lane.V) []lane.V {
		k, q := p.ConstBits(t, 0x5aa5), p.ConstBits(t, 0x77)
		return []lane.V{p.Or(p.AndNot(a, k), p.And(b, k)), p.And(p.Or(a, b), c), p.Xor(p.Xor(a, b), p.Add(a, c)),
			p.AndNot(p.And(a, p.Not(b)), c), p.AndNot(c, p.Or(p.Sub(a, b), k)), p.Not(p.Or(a, b)), p.And(p.Xor(a, q), k),
			p.Or(p.And(a, b), p.Or(p.And(b, c), p.And(a, c))), p.Xor(p.Sub(b, a), p.Not(p.Sub(c, a)))}
	})
	signs := t.Int()
	l.group("chosen", t, func(p *lane.Prog, a, b, c lane.V) []lane.V {
		zero, one := p.ConstBits(t, 0), p.ConstBits(t, 0x41)
		outs := []lane.V{p.Select(p.Cmp(lane.LT, p.Bits(a, signs), p.ConstI(signs, 0)), p.Min(b, c), c),
			p.Select(p.Cmp(lane.GE, p.Bits(a, signs), p.ConstI(signs, 0)), b, p.Sub(a, b)),
			p.Select(p.ToMask(p.Bits(b, signs)), a, p.Add(b, c))}
		for pred := lane.EQ; pred <= lane.GE; pred++ {
			k := p.ConstBits(t, 0x3f0+uint64(pred))
			outs = append(outs, p.Select(p.Cmp(pred, a, p.Add(b, k)), p.Add(p.Sub(a, k), one), p.Sub(a, k)),
				p.Select(p.Cmp(pred, b, p.Sub(c, k)), a, p.Max(k, p.Add(c, k))),
				p.Select(p.Cmp(pred, c, p.Add(a, k)), p.Sub(c, k), zero),
				p.Select(p.Cmp(pred, a, p.Sub(c, k)), zero, p.Sub(k, b)))
		}
		return outs
	})
}

// shapes are programs of several types, many values, and calls.
func (l *list) shapes() {
	l.binary("sum", lane.F32, (*lane.Prog).Add)
	l.binary("sum", lane.I8, (*lane.Prog).Add)
	l.add("selectBytes", func(p *lane.Prog) {
		p.Out(p.Select(p.ToMask(p.Arg(0, lane.U8)), p.Arg(1, lane.F32), p.Arg(2, lane.F32)))
	})
	l.add("selectBytesDouble", func(p *lane.Prog) {
		p.Out(p.Select(p.ToMask(p.Arg(0, lane.U8)), p.Arg(1, lane.F64), p.Arg(2, lane.F64)))
	})
	l.add("compareDoubleSelectFloat", func(p *lane.Prog) {
		m := p.Cmp(lane.GE, p.Arg(0, lane.F64), p.Arg(1, lane.F64))
		p.Out(p.Select(m, p.Arg(2, lane.F32), p.Arg(3, lane.F32)))
		p.Out(p.FromMask(m))
	})
	l.add("lookupMixed", func(p *lane.Prog) { // lookups in part of a register
		i := p.Narrow(p.Arg(0, lane.I64), lane.I32)
		table := []uint64{9, 8, 7, 6, 5, 4, 3, 2, 1, 0, 11, 12, 13, 14, 15, 16}
		p.Out(p.ShlV(p.Lookup(i, lane.I32, table), p.And(i, p.ConstI(lane.I32, 7))))
		p.Out(p.Add(p.Lookup(i, lane.I32, table[:4]), i))
	})
	l.add("index", func(p *lane.Prog) { p.Out(p.Add(p.Index(), p.Arg(0, lane.I64))) })
	l.add("indexScalar", func(p *lane.Prog) { p.Out(p.Add(p.Index(), p.Mul(p.Scalar(0, lane.I64), p.Scalar(1, lane.I64)))) })
	l.add("indexFloat", func(p *lane.Prog) {
		p.Out(p.IToF(p.Narrow(p.Index(), lane.I32)))
	})
	for _, t := range ints {
		if t.Size() < 8 {
			l.unary("indexInPlace", t, func(p *lane.Prog, a lane.V) lane.V {
				i := p.Narrow(p.And(p.Index(), p.ConstI(lane.I64, 0x70ff)), t.Int())
				return p.Select(p.Cmp(lane.LE, p.And(p.Index(), p.Scalar(0, lane.I64)), p.Scalar(1, lane.I64)), a, p.Add(a, p.Bits(i, t)))
			})
		}
	}
	l.add("constant", func(p *lane.Prog) { p.Out(p.ConstF32(2.5)); p.Out(p.ConstI(lane.I8, 0)) })
	l.add("copy", func(p *lane.Prog) { p.Out(p.Arg(0, lane.I16)) })
	l.add("nineInputs", func(p *lane.Prog) {
		sum := p.Arg(0, lane.I32)
		for i := 1; i < 9; i++ {
			sum = p.Add(p.Mul(sum, p.ConstI(lane.I32, int64(2*i+1))), p.Arg(i, lane.I32))
		}
		p.Out(sum)
	})
	l.binary("callWide", lane.F32, func(p *lane.Prog, a, b lane.V) lane.V {
		return p.Add(p.Call("testWide", a, b), p.Call("testWide", b, p.Call("testWide", b, a)))
	})
	for _, t := range floats {
		l.pressure(t)
		l.unary("expLike", t, ExpLike)
		l.calls(t)
	}
}

// pressure keeps more values alive than there are registers.
func (l *list) pressure(t lane.Type) {
	l.binary("pressure", t, func(p *lane.Prog, a, b lane.V) lane.V {
		var vals []lane.V
		var masks []lane.V
		for i := range 40 {
			vals = append(vals, p.FMA(a, p.ConstF(t, float64(i)+0.5), b))
			if i < 12 {
				masks = append(masks, p.Cmp(lane.LT, vals[i], p.ConstF(t, float64(3*i))))
			}
		}
		sum := a
		for i, v := range vals {
			if i < len(masks) {
				v = p.Select(masks[i], v, b)
			}
			sum = p.Add(p.Mul(sum, p.ConstF(t, 0.25)), v)
		}
		return sum
	})
}

// ExpLike is a polynomial in the manner of exp, without its limits.
func ExpLike(p *lane.Prog, x lane.V) lane.V {
	t := p.Type(x)
	c := func(v float64) lane.V { return p.ConstF(t, v) }
	x = p.Max(c(-80), p.Min(c(80), x))
	n := p.Round(p.Mul(x, c(1.4426950408889634)), lane.Nearest)
	r := p.FNMA(n, c(0.6931471805599453), x)
	q := c(1.0 / 720)
	for _, k := range []float64{1.0 / 120, 1.0 / 24, 1.0 / 6, 0.5, 1, 1} {
		q = p.FMA(q, r, c(k))
	}
	return p.Scale2(q, n)
}

// Half is a function to call: x/2 + y.
func Half(p *lane.Prog, x, y lane.V) lane.V { return p.FMA(x, p.ConstF(p.Type(x), 0.5), y) }

// Wide is a function to call that computes in double: x*x - y, rounded once.
func Wide(p *lane.Prog, x, y lane.V) lane.V {
	d := p.Widen(x, lane.F64)
	m := p.Cmp(lane.UNO, x, y)
	return p.Select(m, p.ConstF32(-1), p.Narrow(p.FMS(d, d, p.Widen(y, lane.F64)), lane.F32))
}

// calls has values live across calls, in registers and beyond.
func (l *list) calls(t lane.Type) {
	l.unary("call", t, func(p *lane.Prog, a lane.V) lane.V { return p.Call("testExp", a) })
	l.binary("callTwo", t, func(p *lane.Prog, a, b lane.V) lane.V {
		return p.Sub(p.Call("testHalf", a, b), p.Call("testHalf", b, a))
	})
	l.binary("callNested", t, func(p *lane.Prog, a, b lane.V) lane.V {
		m := p.Cmp(lane.LT, a, b)
		e := p.Call("testExp", a)
		h := p.Call("testHalf", p.Add(a, e), e)
		return p.Select(m, p.Call("testHalf", h, p.Mul(b, e)), p.FMA(h, p.ConstF(t, 3), e))
	})
	l.binary("callPressure", t, func(p *lane.Prog, a, b lane.V) lane.V {
		var vals []lane.V
		for i := range 24 {
			vals = append(vals, p.FMA(a, p.ConstF(t, float64(i)), b))
		}
		sum := p.Call("testHalf", vals[3], vals[2])
		for i, v := range vals {
			if i%8 == 1 {
				sum = p.Call("testHalf", v, sum)
			}
			sum = p.FMA(sum, p.ConstF(t, 0.125), v)
		}
		return sum
	})
}
