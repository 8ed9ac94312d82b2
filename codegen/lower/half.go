package lower

import (
	"github.com/sinter-go/sinter/codegen/lane"
	"github.com/sinter-go/sinter/ir"
)

// Signs returns a program over bits that computes as p does where p does no more to
// floats than to change their signs, whatever float dtype of 16 bits they are; else nil.
func Signs(p *lane.Prog) *lane.Prog {
	q := &lane.Prog{}
	to := make([]lane.V, p.Len())
	for i, live := range p.Live() {
		n := p.Node(lane.V(i))
		if !live {
			continue
		}
		if n.Type != lane.F32 {
			return nil
		}
		a, b := to[n.Args[0]], to[n.Args[1]]
		switch {
		case n.Op == lane.OpArg:
			to[i] = q.Arg(int(n.Imm), lane.I16)
		case n.Op == lane.OpConst && n.Imm == 1<<31:
			to[i] = q.ConstBits(lane.I16, 1<<15)
		case n.Op == lane.OpAnd:
			to[i] = q.And(a, b)
		case n.Op == lane.OpOr:
			to[i] = q.Or(a, b)
		case n.Op == lane.OpXor:
			to[i] = q.Xor(a, b)
		case n.Op == lane.OpAndNot:
			to[i] = q.AndNot(a, b)
		default:
			return nil
		}
	}
	for _, v := range p.Outs() {
		q.Out(to[v])
	}
	return q
}

// Stored returns a program that computes as p does, with operands and results that are
// float32 in p held in memory as a 16-bit float, to which results are rounded.
func Stored(p *lane.Prog, as ir.DType) *lane.Prog {
	same := func(int) ir.DType { return as }
	return StoredAs(p, same, same)
}

// StoredAs is Stored where each operand and result that is float32 in p has a dtype of its
// own, which may be float32.
func StoredAs(p *lane.Prog, in, out func(i int) ir.DType) *lane.Prog {
	q := &lane.Prog{}
	args := make([]lane.V, len(p.Args()))
	for i, t := range p.Args() {
		switch {
		case t == lane.Invalid:
		case t != lane.F32:
			args[i] = q.Arg(i, t)
		default:
			args[i] = Load(q, i, in(i))
		}
	}
	for i, v := range q.Inline(p, args...) {
		if q.Type(v) == lane.F32 {
			v = Store(q, v, out(i))
		}
		q.Out(v)
	}
	return Quiet(q)
}

// Load returns operand i, which is of a dtype in memory, as what is computed with.
func Load(p *lane.Prog, i int, d ir.DType) lane.V {
	switch d {
	case ir.Float16:
		return p.Widen(p.Arg(i, lane.F16), lane.F32)
	case ir.BFloat16:
		return p.Bits(p.Shl(p.Widen(p.Arg(i, lane.I16), lane.I32), 16), lane.F32)
	}
	return p.Arg(i, Type(d))
}

// Store returns what is computed with as it is in memory as a dtype, to which it is rounded unless
// Rounded gave it.
func Store(p *lane.Prog, v lane.V, d ir.DType) lane.V {
	switch n := p.Node(v); d {
	case ir.Float16:
		if of := p.Node(n.Args[0]); n.Op == lane.OpWiden && of.Op == lane.OpNarrow && of.Type == lane.F16 {
			return n.Args[0]
		}
		return p.Narrow(v, lane.F16)
	case ir.BFloat16:
		if of := p.Node(n.Args[0]); n.Op == lane.OpBits && of.Op == lane.OpAnd && isConst(p, of.Args[1], 0xffff0000) {
			return p.Narrow(p.Shr(n.Args[0], 16), lane.I16)
		}
		return roundBF16(p, v)
	}
	return v
}

// Rounded returns what is computed with rounded to what a dtype has in memory.
func Rounded(p *lane.Prog, v lane.V, d ir.DType) lane.V {
	switch d {
	case ir.Float16:
		return p.Widen(p.Narrow(v, lane.F16), lane.F32)
	case ir.BFloat16:
		return p.Bits(p.And(bf16Bits(p, v), p.ConstI(lane.I32, -1<<16)), lane.F32)
	}
	return v
}

// Narrow returns a program that computes as p does, with operands from the given one on
// that are float64 in p held in memory as float32.
func Narrow(p *lane.Prog, from int) *lane.Prog {
	q := &lane.Prog{}
	args := make([]lane.V, len(p.Args()))
	for i, t := range p.Args() {
		switch {
		case t == lane.Invalid:
		case i >= from && t == lane.F64:
			args[i] = q.Widen(q.Arg(i, lane.F32), lane.F64)
		default:
			args[i] = q.Arg(i, t)
		}
	}
	for _, v := range q.Inline(p, args...) {
		q.Out(v)
	}
	return q
}

// roundBF16 rounds to nearest even; NaN becomes quiet.
func roundBF16(p *lane.Prog, x lane.V) lane.V {
	return p.Narrow(p.Shr(bf16Bits(p, x), 16), lane.I16)
}

// bf16Bits returns the bits of x such that the upper half of them is x rounded by roundBF16.
func bf16Bits(p *lane.Prog, x lane.V) lane.V {
	c := func(n int64) lane.V { return p.ConstI(lane.I32, n) }
	bits := p.Bits(x, lane.I32)
	odd := p.And(p.Shr(bits, 16), c(1))
	up := p.Add(p.Add(bits, c(0x7fff)), odd)
	quiet := p.Or(bits, c(quietBit))
	return p.Select(p.Cmp(lane.UNO, x, x), quiet, up)
}
