package lane

import "math"

// slot is the input or scalar of an index, whose type is fixed by its first use.
func (p *Prog) slot(op Op, list *[]Type, i int, t Type) V {
	if i < 0 || i > 64 || t == Invalid || t.IsMask() {
		return p.fail(op, "index %d of type %v: want 0..64 and a type that memory holds", i, t)
	}
	for len(*list) <= i {
		*list = append(*list, Invalid)
	}
	if old := (*list)[i]; old != Invalid && old != t {
		return p.fail(op, "%d is %v already, not %v", i, old, t)
	}
	(*list)[i] = t
	return p.add(Node{Op: op, Type: t, Imm: uint64(i)})
}

// Arg is the lane's element of input i.
func (p *Prog) Arg(i int, t Type) V { return p.slot(OpArg, &p.args, i, t) }

// Scalar is scalar i, the same in all lanes.
func (p *Prog) Scalar(i int, t Type) V { return p.slot(OpScalar, &p.scalars, i, t) }

// ConstF32 is a constant.
func (p *Prog) ConstF32(x float32) V { return p.ConstBits(F32, uint64(math.Float32bits(x))) }

// ConstF64 is a constant.
func (p *Prog) ConstF64(x float64) V { return p.ConstBits(F64, math.Float64bits(x)) }

// ConstF is the constant x rounded to a float type.
func (p *Prog) ConstF(t Type, x float64) V {
	switch t {
	case F32:
		return p.ConstF32(float32(x))
	case F64:
		return p.ConstF64(x)
	}
	return p.fail(OpConst, "%v is no float", t)
}

// ConstI is the constant x, its low bits, of an integer type.
func (p *Prog) ConstI(t Type, x int64) V {
	if !t.IsInt() {
		return p.fail(OpConst, "%v is no integer", t)
	}
	return p.ConstBits(t, uint64(x))
}

// ConstBits is the constant of a type with the given low bits; a mask's is true
// unless they are zero.
func (p *Prog) ConstBits(t Type, bits uint64) V {
	if t == Invalid {
		return p.fail(OpConst, "no type")
	}
	if t.IsMask() && bits != 0 {
		bits = 1
	}
	return p.add(Node{Op: OpConst, Type: t, Imm: bits & t.ones()})
}

// Index is the linear index of the lane, an I64.
func (p *Prog) Index() V { return p.add(Node{Op: OpIndex, Type: I64}) }

// same adds an operation on values of one type that ok accepts.
func (p *Prog) same(op Op, ok func(Type) bool, args ...V) V {
	n := Node{Op: op, Type: p.Type(args[0])}
	for i, a := range args {
		if p.Type(a) != n.Type || !ok(n.Type) {
			return p.fail(op, "operand %d is %v beside %v", i, p.Type(a), n.Type)
		}
		n.Args[i] = a
	}
	return p.add(n)
}

func anyType(t Type) bool  { return t != Invalid }
func number(t Type) bool   { return t.IsFloat() || t.IsInt() }
func isMask(t Type) bool   { return t.IsMask() }
func isFloat(t Type) bool  { return t.IsFloat() }
func isInt(t Type) bool    { return t.IsInt() }
func isWide64(t Type) bool { return t == I64 }

// Add is a + b; integers wrap.
func (p *Prog) Add(a, b V) V { return p.same(OpAdd, number, a, b) }

// Sub is a - b; integers wrap.
func (p *Prog) Sub(a, b V) V { return p.same(OpSub, number, a, b) }

// Mul is a * b; integers wrap.
func (p *Prog) Mul(a, b V) V { return p.same(OpMul, number, a, b) }

// MulU32 is the 64-bit product of the low 32 bits of two I64, taken as unsigned.
func (p *Prog) MulU32(a, b V) V { return p.same(OpMulU32, isWide64, a, b) }

// Div is a / b of floats.
func (p *Prog) Div(a, b V) V { return p.same(OpDiv, isFloat, a, b) }

// FMA is a*b + c, rounded once.
func (p *Prog) FMA(a, b, c V) V { return p.same(OpFMA, isFloat, a, b, c) }

// FNMA is -a*b + c, rounded once.
func (p *Prog) FNMA(a, b, c V) V { return p.same(OpFNMA, isFloat, a, b, c) }

// FMS is a*b - c, rounded once.
func (p *Prog) FMS(a, b, c V) V { return p.same(OpFMS, isFloat, a, b, c) }

// Sqrt is the square root.
func (p *Prog) Sqrt(a V) V { return p.same(OpSqrt, isFloat, a) }

// Min is the lesser; of floats b, if one is NaN or both are zero.
func (p *Prog) Min(a, b V) V { return p.same(OpMin, number, a, b) }

// Max is the greater; of floats b, if one is NaN or both are zero.
func (p *Prog) Max(a, b V) V { return p.same(OpMax, number, a, b) }

// Round rounds a float to an integral float.
func (p *Prog) Round(a V, r Rounding) V {
	if !p.Type(a).IsFloat() || r > Trunc {
		return p.fail(OpRound, "%v to direction %d", p.Type(a), r)
	}
	return p.add(Node{Op: OpRound, Type: p.Type(a), Args: [3]V{a}, Imm: uint64(r)})
}

// Scale2 is x * 2^n, rounded once, for an integral float n with |n| at most 252
// (F32) or 2044 (F64) and x at least 2^-10 and at most 2^10 in magnitude, zero,
// infinite or NaN. Other values give some float; but AVX-512 takes any finite x, and
// any n, rounded down: 0 * 2^Inf is NaN.
func (p *Prog) Scale2(x, n V) V { return p.same(OpScale2, isFloat, x, n) }

// GetExp is the exponent of |a| as a float: the integer e with 2^e <= |a| < 2^(e+1),
// -Inf for zero, +Inf for infinities. AVX2 has no instruction for it.
func (p *Prog) GetExp(a V) V { return p.same(OpGetExp, isFloat, a) }

// GetMant is a * 2^-e for the integer e that brings it into [least, 2·least), where
// least is 3/4 or 1: 1 for zero and +Inf, -1 for -0, NaN for other negative values.
// AVX2 has no instruction for it.
func (p *Prog) GetMant(a V, least float64) V {
	if !p.Type(a).IsFloat() || least != 0.75 && least != 1 {
		return p.fail(OpGetMant, "%v from %g on", p.Type(a), least)
	}
	return p.add(Node{Op: OpGetMant, Type: p.Type(a), Args: [3]V{a}, Imm: uint64(4 * least)})
}

// MinAbs is the float of lesser magnitude, with its sign: the negative one of two
// that differ in sign alone, the other one if one is NaN. AVX2 has no instruction
// for it.
func (p *Prog) MinAbs(a, b V) V { return p.same(OpMinAbs, isFloat, a, b) }

// MinMag is the lesser magnitude, without sign: the other one's if one is NaN. AVX2
// has no instruction for it.
func (p *Prog) MinMag(a, b V) V { return p.same(OpMinMag, isFloat, a, b) }

// Recip14 is 1/a to 14 bits: within 2^-14 of it, and not the same bits everywhere. It
// is exact for powers of two, infinities and zeros. AVX2 has no instruction for it.
func (p *Prog) Recip14(a V) V { return p.same(OpRecip14, isFloat, a) }

// Rsqrt14 is 1/sqrt(a) to 14 bits, as Recip14 is 1/a. It is exact for powers of four,
// infinities and zeros, and NaN below zero. AVX2 has no instruction for it.
func (p *Prog) Rsqrt14(a V) V { return p.same(OpRsqrt14, isFloat, a) }

// And is the bits of both.
func (p *Prog) And(a, b V) V { return p.same(OpAnd, anyType, a, b) }

// Or is the bits of either.
func (p *Prog) Or(a, b V) V { return p.same(OpOr, anyType, a, b) }

// Xor is the bits of one.
func (p *Prog) Xor(a, b V) V { return p.same(OpXor, anyType, a, b) }

// AndNot is the bits of a that are not in b.
func (p *Prog) AndNot(a, b V) V { return p.same(OpAndNot, anyType, a, b) }

// Not is the complement of a's bits.
func (p *Prog) Not(a V) V {
	t := p.Type(a)
	if t == Invalid {
		return p.fail(OpXor, "no operand")
	}
	return p.Xor(a, p.ConstBits(t, t.ones()))
}

// sign is the sign bit of a float type.
func (p *Prog) sign(t Type) V { return p.ConstBits(t, 1<<(8*t.Size()-1)) }

// Abs is the magnitude. That of the least integer is itself.
func (p *Prog) Abs(a V) V {
	t := p.Type(a)
	switch {
	case t.IsFloat():
		return p.AndNot(a, p.sign(t))
	case t == U8:
		return a
	case t.IsInt():
		return p.Max(a, p.Neg(a))
	}
	return p.fail(OpAnd, "magnitude of %v", t)
}

// Neg is -a; of a float with the sign flipped, NaN and zero too.
func (p *Prog) Neg(a V) V {
	t := p.Type(a)
	switch {
	case t.IsFloat():
		return p.Xor(a, p.sign(t))
	case t.IsInt():
		return p.Sub(p.ConstI(t, 0), a)
	}
	return p.fail(OpXor, "negative of %v", t)
}

// CopySign is the magnitude of a with the sign of b, floats.
func (p *Prog) CopySign(a, b V) V {
	t := p.Type(a)
	if !t.IsFloat() || p.Type(b) != t {
		return p.fail(OpOr, "sign of %v for %v", p.Type(b), t)
	}
	return p.Or(p.AndNot(a, p.sign(t)), p.And(b, p.sign(t)))
}

func (p *Prog) shift(op Op, a V, n int) V {
	t := p.Type(a)
	if !t.IsInt() || n < 0 || n >= 8*t.Size() {
		return p.fail(op, "%v by %d: want an integer and a count below its width", t, n)
	}
	if n == 0 {
		return a
	}
	return p.add(Node{Op: op, Type: t, Args: [3]V{a}, Imm: uint64(n)})
}

// Shl is a << n.
func (p *Prog) Shl(a V, n int) V { return p.shift(OpShl, a, n) }

// Shr is a >> n with zeros shifted in, of signed types too.
func (p *Prog) Shr(a V, n int) V { return p.shift(OpShr, a, n) }

// Sar is a >> n with the top bit shifted in, of U8 too.
func (p *Prog) Sar(a V, n int) V { return p.shift(OpSar, a, n) }

// ShlV is a << n by lane; a count that is negative or not below the width, taken
// as unsigned, shifts all bits out.
func (p *Prog) ShlV(a, n V) V { return p.same(OpShlV, isInt, a, n) }

// ShrV is Shr by lane, with counts as in ShlV.
func (p *Prog) ShrV(a, n V) V { return p.same(OpShrV, isInt, a, n) }

// SarV is Sar by lane, with counts as in ShlV.
func (p *Prog) SarV(a, n V) V { return p.same(OpSarV, isInt, a, n) }

// Cmp compares.
func (p *Prog) Cmp(pred Pred, a, b V) V {
	t := p.Type(a)
	if p.Type(b) != t || !number(t) || pred > UNO || pred == UNO && !t.IsFloat() {
		return p.fail(OpCmp, "predicate %d of %v and %v", pred, t, p.Type(b))
	}
	return p.add(Node{Op: OpCmp, Type: t.Mask(), Args: [3]V{a, b}, Imm: uint64(pred)})
}

// masks adds an operation on masks, the second as wide as the first.
func (p *Prog) masks(op Op, a, b V) V { return p.same(op, isMask, a, p.MaskTo(b, p.Type(a))) }

// MaskAnd is a && b, of a's width.
func (p *Prog) MaskAnd(a, b V) V { return p.masks(OpAnd, a, b) }

// MaskOr is a || b, of a's width.
func (p *Prog) MaskOr(a, b V) V { return p.masks(OpOr, a, b) }

// MaskXor is a != b, of a's width.
func (p *Prog) MaskXor(a, b V) V { return p.masks(OpXor, a, b) }

// MaskNot is !a.
func (p *Prog) MaskNot(a V) V {
	if !p.Type(a).IsMask() {
		return p.fail(OpXor, "%v is no mask", p.Type(a))
	}
	return p.Not(a)
}

// MaskTo is the mask m beside lanes of the width of t.
func (p *Prog) MaskTo(m V, t Type) V {
	if !p.Type(m).IsMask() || t == Invalid {
		return p.fail(OpMaskTo, "%v for %v", p.Type(m), t)
	}
	if p.Type(m) == t.Mask() {
		return m
	}
	return p.add(Node{Op: OpMaskTo, Type: t.Mask(), Args: [3]V{m}})
}

// Select is a where m is true, else b. The mask may be of another width.
func (p *Prog) Select(m, a, b V) V {
	t := p.Type(a)
	if !p.Type(m).IsMask() || t == Invalid || p.Type(b) != t {
		return p.fail(OpSelect, "%v ? %v : %v", p.Type(m), t, p.Type(b))
	}
	if t.IsMask() {
		m = p.MaskTo(m, t)
		return p.Or(p.And(a, m), p.AndNot(b, m))
	}
	if a == b {
		return a
	}
	return p.add(Node{Op: OpSelect, Type: t, Args: [3]V{p.MaskTo(m, t), a, b}})
}

// ToMask is v != 0 of an integer v.
func (p *Prog) ToMask(v V) V {
	t := p.Type(v)
	if !t.IsInt() {
		return p.fail(OpCmp, "%v is no integer", t)
	}
	return p.Cmp(NE, v, p.ConstI(t, 0))
}

// FromMask is a U8: 1 where m is true, else 0.
func (p *Prog) FromMask(m V) V {
	if !p.Type(m).IsMask() {
		return p.fail(OpFromMask, "%v is no mask", p.Type(m))
	}
	return p.add(Node{Op: OpFromMask, Type: U8, Args: [3]V{m}})
}

// FToI rounds a float to the nearest integer of its width, halves to even. What
// does not fit, and NaN, becomes the least integer.
func (p *Prog) FToI(a V) V { return p.ftoi(OpFToI, a) }

// FToITrunc is FToI toward zero.
func (p *Prog) FToITrunc(a V) V { return p.ftoi(OpFToITrunc, a) }

func (p *Prog) ftoi(op Op, a V) V {
	if !p.Type(a).IsFloat() {
		return p.fail(op, "%v is no float", p.Type(a))
	}
	return p.add(Node{Op: op, Type: p.Type(a).Int(), Args: [3]V{a}})
}

// IToF is the float of the width of an I32 or I64 that is nearest to it.
func (p *Prog) IToF(a V) V {
	switch p.Type(a) {
	case I32:
		return p.add(Node{Op: OpIToF, Type: F32, Args: [3]V{a}})
	case I64:
		return p.add(Node{Op: OpIToF, Type: F64, Args: [3]V{a}})
	}
	return p.fail(OpIToF, "%v is neither i32 nor i64", p.Type(a))
}

// Bits is the value of type t with a's bits.
func (p *Prog) Bits(a V, t Type) V {
	from := p.Type(a)
	if !number(from) || !number(t) || from.Size() != t.Size() {
		return p.fail(OpBits, "%v as %v", from, t)
	}
	if from == t {
		return a
	}
	if n := p.nodes[a]; n.Op == OpBits && p.Type(n.Args[0]) == t {
		return n.Args[0]
	} else if n.Op == OpConst {
		return p.ConstBits(t, n.Imm)
	}
	return p.add(Node{Op: OpBits, Type: t, Args: [3]V{a}})
}

// Widen is a as a wider type of the same kind: the sign extended, zeros for U8.
func (p *Prog) Widen(a V, t Type) V {
	from := p.Type(a)
	if !alike(from, t) || from.Size() >= t.Size() {
		return p.fail(OpWiden, "%v to %v", from, t)
	}
	return p.add(Node{Op: OpWiden, Type: t, Args: [3]V{a}})
}

// Narrow is a as a narrower type of the same kind: an integer's low bits, a float
// rounded to nearest.
func (p *Prog) Narrow(a V, t Type) V {
	from := p.Type(a)
	if !alike(from, t) || from.Size() <= t.Size() {
		return p.fail(OpNarrow, "%v to %v", from, t)
	}
	return p.add(Node{Op: OpNarrow, Type: t, Args: [3]V{a}})
}

// alike reports whether both are floats, or integers, that have conversions.
func alike(a, b Type) bool {
	if a == F16 || b == F16 {
		return a == F32 || b == F32
	}
	return a.IsFloat() == b.IsFloat() && number(a) && number(b)
}

// Lookup is table[idx mod len(table)], where idx is an I32 for types of 4 bytes
// and an I64 for types of 8. The table holds the bits of 2, 4, 8, 16 or 32 values; one of
// 32 is of 4 bytes a value, and AVX2 has no instruction for it.
func (p *Prog) Lookup(idx V, t Type, table []uint64) V {
	n := len(table)
	if t.Size() < 4 || t.IsMask() || p.Type(idx) != t.Int() || n < 2 || n > 32 || n > 16 && t.Size() > 4 || n&(n-1) != 0 {
		return p.fail(OpLookup, "%d values of %v by %v: want 2, 4, 8 or 16 of 4 or 8 bytes or 32 of 4, by an integer as wide", n, t, p.Type(idx))
	}
	at := len(p.tables)
	for i, old := range p.tables {
		if equal(old, table) {
			at = i
		}
	}
	if at == len(p.tables) {
		p.tables = append(p.tables, append([]uint64(nil), table...))
	}
	return p.add(Node{Op: OpLookup, Type: t, Args: [3]V{idx}, Imm: uint64(at)})
}

func equal(a, b []uint64) bool {
	if len(a) != len(b) {
		return false
	}
	for i := range a {
		if a[i] != b[i] {
			return false
		}
	}
	return true
}

// Call is a function of one to three values of one float type, with a result of
// that type. The name is the function's alone, such as exp.
func (p *Prog) Call(name string, args ...V) V {
	if name == "" || len(args) < 1 || len(args) > 3 {
		return p.fail(OpCall, "function %q of %d values: want 1 to 3", name, len(args))
	}
	n := Node{Op: OpCall, Type: p.Type(args[0]), Name: name}
	for i, a := range args {
		if p.Type(a) != n.Type || !n.Type.IsFloat() {
			return p.fail(OpCall, "%s: argument %d is %v", name, i, p.Type(a))
		}
		n.Args[i] = a
	}
	return p.add(n)
}

// Out adds a result. Masks cannot be results: FromMask makes bytes of them.
func (p *Prog) Out(v V) {
	if t := p.Type(v); !number(t) && t != F16 {
		p.fail(OpInvalid, "result %d is %v", len(p.outs), t)
		return
	}
	p.outs = append(p.outs, v)
}

// Inline adds the operations of another program, with the given values as its
// inputs, and returns its results. Its scalars become those of the same index; it
// may not use the lanes' index.
func (p *Prog) Inline(sub *Prog, args ...V) []V {
	return p.InlineWith(sub, p.Scalar, args...)
}

// InlineWith is Inline with scalars that a function gives.
func (p *Prog) InlineWith(sub *Prog, scalar func(i int, t Type) V, args ...V) []V {
	outs := make([]V, len(sub.outs))
	if sub.err != nil {
		if p.err == nil {
			p.err = sub.err
		}
		return outs
	}
	if len(args) != len(sub.args) {
		p.fail(OpCall, "a program of %d inputs, for %d values", len(sub.args), len(args))
		return outs
	}
	live := sub.Live()
	to := make([]V, len(sub.nodes))
	for i := 1; i < len(sub.nodes) && p.err == nil; i++ {
		if live[i] {
			to[i] = p.copyNode(sub, sub.nodes[i], scalar, args, to)
		}
	}
	for i, v := range sub.outs {
		outs[i] = to[v]
	}
	return outs
}

// WithCalls returns the program with calls where call names a function of one value, and
// whether there is any.
func (p *Prog) WithCalls(call func(v V) (name string, x V)) (*Prog, bool) {
	q, found := &Prog{}, false
	live, to := p.Live(), make([]V, len(p.nodes))
	for i := 1; i < len(p.nodes); i++ {
		n := p.nodes[i]
		if !live[i] && n.Op != OpArg && n.Op != OpScalar { // whose places stay, even if none reads them
			continue
		}
		name, x := call(V(i))
		switch {
		case name != "":
			found, to[i] = true, q.Call(name, to[x])
		case n.Op == OpArg:
			to[i] = q.Arg(int(n.Imm), n.Type)
		case n.Op == OpIndex:
			to[i] = q.Index()
		default:
			to[i] = q.copyNode(p, n, q.Scalar, nil, to)
		}
	}
	for _, v := range p.outs {
		q.Out(to[v])
	}
	return q, found
}

// Replaced returns the program with by(v), a value before v or v itself, where it has v.
func (p *Prog) Replaced(by func(v V) V) *Prog {
	q := &Prog{}
	to := make([]V, len(p.nodes))
	for i := 1; i < len(p.nodes); i++ {
		v := by(V(i))
		switch n := p.nodes[i]; {
		case v != V(i):
			to[i] = to[v]
		case n.Op == OpArg:
			to[i] = q.Arg(int(n.Imm), n.Type)
		case n.Op == OpIndex:
			to[i] = q.Index()
		default:
			to[i] = q.copyNode(p, n, q.Scalar, nil, to)
		}
	}
	for _, v := range p.outs {
		q.Out(to[v])
	}
	return q
}

// copyNode adds a node of another program whose values have become to's.
func (p *Prog) copyNode(sub *Prog, n Node, scalar func(i int, t Type) V, args, to []V) V {
	switch n.Op {
	case OpArg:
		if got := p.Type(args[n.Imm]); got != n.Type {
			return p.fail(OpCall, "input %d is %v, not %v", n.Imm, got, n.Type)
		}
		return args[n.Imm]
	case OpScalar:
		return scalar(int(n.Imm), n.Type)
	case OpIndex:
		return p.fail(OpCall, "a program that reads the index cannot be inlined")
	case OpLookup:
		return p.Lookup(to[n.Args[0]], n.Type, sub.tables[n.Imm])
	}
	for k, a := range n.Args {
		if a != 0 {
			n.Args[k] = to[a]
		}
	}
	return p.add(n)
}
