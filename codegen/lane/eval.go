package lane

import (
	"math"

	"github.com/sinter-go/sinter/ir"
)

// An Evaluator runs a program on one lane at a time. Values are bits in the low end
// of a uint64, the rest zero; a mask is 0 or 1. One Evaluator is for one goroutine.
type Evaluator struct {
	// Calls are the functions that Prog.Call names. Missing ones give zero.
	Calls map[string]func(t Type, args []uint64) uint64

	p    *Prog
	live []bool
	vals []uint64
	outs []uint64
}

// NewEvaluator returns an Evaluator of p, which must not change afterwards.
func NewEvaluator(p *Prog) *Evaluator {
	return &Evaluator{p: p, live: p.Live(), vals: make([]uint64, len(p.nodes)), outs: make([]uint64, len(p.outs))}
}

// Eval runs a program that calls nothing, on bits of its inputs, without scalars.
func Eval(p *Prog, args ...uint64) []uint64 { return NewEvaluator(p).Eval(args, nil, 0) }

// Eval returns the results, which the next call overwrites.
func (e *Evaluator) Eval(args, scalars []uint64, index int64) []uint64 {
	for i := 1; i < len(e.vals); i++ {
		if !e.live[i] {
			continue
		}
		n := &e.p.nodes[i]
		switch n.Op {
		case OpArg:
			e.vals[i] = args[n.Imm]
		case OpScalar:
			e.vals[i] = scalars[n.Imm]
		case OpConst:
			e.vals[i] = n.Imm
		case OpIndex:
			e.vals[i] = uint64(index)
		case OpCall:
			e.vals[i] = e.call(n)
		default:
			from := n.Type
			if n.Args[0] != 0 {
				from = e.p.nodes[n.Args[0]].Type
			}
			e.vals[i] = e.step(n, from, e.vals[n.Args[0]], e.vals[n.Args[1]], e.vals[n.Args[2]]) & n.Type.ones()
		}
	}
	for i, v := range e.p.outs {
		e.outs[i] = e.vals[v]
	}
	return e.outs
}

func (e *Evaluator) call(n *Node) uint64 {
	f := e.Calls[n.Name]
	if f == nil {
		return 0
	}
	var args []uint64
	for _, a := range n.Args {
		if a != 0 {
			args = append(args, e.vals[a])
		}
	}
	return f(n.Type, args)
}

// step computes one operation whose first operand has type from.
func (e *Evaluator) step(n *Node, from Type, a, b, c uint64) uint64 {
	switch n.Op {
	case OpAnd:
		return a & b
	case OpOr:
		return a | b
	case OpXor:
		return a ^ b
	case OpAndNot:
		return a &^ b
	case OpBits, OpMaskTo, OpFromMask:
		return a
	case OpSelect:
		if a != 0 {
			return b
		}
		return c
	case OpLookup:
		table := e.p.tables[n.Imm]
		return table[a&uint64(len(table)-1)]
	case OpWiden, OpNarrow, OpFToI, OpFToITrunc, OpIToF:
		return convert(n, from, a)
	}
	switch from {
	case F32:
		return step32(n, math.Float32frombits(uint32(a)), math.Float32frombits(uint32(b)), math.Float32frombits(uint32(c)))
	case F64:
		return step64(n, math.Float64frombits(a), math.Float64frombits(b), math.Float64frombits(c))
	}
	return stepInt(n, from, a, b)
}

// signed is the value of an integer's bits, U8's unsigned.
func signed(t Type, a uint64) int64 {
	if t == U8 {
		return int64(a)
	}
	s := 64 - 8*t.Size()
	return int64(a<<s) >> s
}

func convert(n *Node, from Type, a uint64) uint64 {
	f := float64(math.Float32frombits(uint32(a)))
	switch from {
	case F64:
		f = math.Float64frombits(a)
	case F16:
		f = float64(ir.Half(a).Float32())
	}
	switch n.Op {
	case OpIToF:
		if n.Type == F32 {
			return uint64(math.Float32bits(float32(int32(a))))
		}
		return math.Float64bits(float64(int64(a)))
	case OpFToI, OpFToITrunc:
		if n.Op == OpFToI {
			f = math.RoundToEven(f)
		} else {
			f = math.Trunc(f)
		}
		least := -math.Ldexp(1, 8*n.Type.Size()-1)
		if !(f >= least && f < -least) {
			f = least
		}
		return uint64(int64(f))
	}
	switch {
	case n.Type == F64:
		return math.Float64bits(f)
	case n.Type == F32:
		return uint64(math.Float32bits(float32(f)))
	case n.Type == F16:
		return uint64(ir.HalfFrom(float32(f)))
	}
	return uint64(signed(from, a))
}

func boolBits(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func compare[T int64 | float32 | float64](p Pred, a, b T) uint64 {
	switch p {
	case EQ:
		return boolBits(a == b)
	case NE:
		return boolBits(a != b)
	case LT:
		return boolBits(a < b)
	case LE:
		return boolBits(a <= b)
	case GT:
		return boolBits(a > b)
	case GE:
		return boolBits(a >= b)
	}
	return boolBits(a != a || b != b)
}

// least is the processor's minimum: b unless a is less.
func least[T int64 | float32 | float64](a, b T) T {
	if a < b {
		return a
	}
	return b
}

func greatest[T int64 | float32 | float64](a, b T) T {
	if a > b {
		return a
	}
	return b
}

func round(r Rounding, x float64) float64 {
	switch r {
	case Floor:
		return math.Floor(x)
	case Ceil:
		return math.Ceil(x)
	case Trunc:
		return math.Trunc(x)
	}
	return math.RoundToEven(x)
}

// fma32 is a*b + c rounded once. The product is exact in float64; the sum is
// rounded there to odd, which makes the second rounding right.
func fma32(a, b, c float32) float32 {
	x, y := float64(a)*float64(b), float64(c)
	s := x + y
	if math.IsInf(s, 0) || s != s {
		return float32(s)
	}
	t := s - x
	if err := (x - (s - t)) + (y - t); err != 0 && math.Float64bits(s)&1 == 0 {
		if (err > 0) == (s > 0) {
			s = math.Float64frombits(math.Float64bits(s) + 1)
		} else {
			s = math.Float64frombits(math.Float64bits(s) - 1)
		}
	}
	return float32(s)
}

func step32(n *Node, a, b, c float32) uint64 {
	var r float32
	switch n.Op {
	case OpCmp:
		return compare(Pred(n.Imm), a, b)
	case OpAdd:
		r = a + b
	case OpSub:
		r = a - b
	case OpMul:
		r = a * b
	case OpDiv:
		r = a / b
	case OpFMA:
		r = fma32(a, b, c)
	case OpFNMA:
		r = fma32(-a, b, c)
	case OpFMS:
		r = fma32(a, b, -c)
	case OpSqrt:
		r = float32(math.Sqrt(float64(a)))
	case OpMin:
		r = least(a, b)
	case OpMax:
		r = greatest(a, b)
	case OpRound:
		r = float32(round(Rounding(n.Imm), float64(a)))
	case OpScale2:
		r = float32(scale2(float64(a), float64(b)))
	case OpGetExp:
		r = float32(math.Logb(float64(a)))
	case OpGetMant:
		r = float32(mantissa(float64(a), float64(n.Imm)/4))
	case OpMinAbs:
		r = float32(leastMagnitude(float64(a), float64(b)))
	case OpMinMag:
		r = float32(math.Abs(leastMagnitude(float64(a), float64(b))))
	case OpRecip14:
		r = math.Float32frombits(math.Float32bits(1/a) &^ (1<<9 - 1))
	case OpRsqrt14:
		r = math.Float32frombits(math.Float32bits(float32(1/math.Sqrt(float64(a)))) &^ (1<<9 - 1))
	}
	return uint64(math.Float32bits(r))
}

// scale2 is x * 2^n in float64, where n is rounded down and clamped to what cannot matter.
func scale2(x, n float64) float64 {
	if n != n || x == 0 && n > math.MaxFloat64 {
		return math.NaN()
	}
	return math.Ldexp(x, int(math.Floor(max(-5000, min(5000, n)))))
}

// leastMagnitude is a or b.
func leastMagnitude(a, b float64) float64 {
	x, y := math.Abs(a), math.Abs(b)
	if y != y || x < y || x == y && math.Signbit(a) {
		return a
	}
	return b
}

// mantissa scales x into [least, 2·least).
func mantissa(x, least float64) float64 {
	switch {
	case x != x || x < 0:
		return math.NaN()
	case x == 0 || math.IsInf(x, 1):
		return math.Copysign(1, x)
	}
	m, _ := math.Frexp(x) // in [1/2, 1)
	if m < least {
		return 2 * m
	}
	return m
}

func step64(n *Node, a, b, c float64) uint64 {
	var r float64
	switch n.Op {
	case OpCmp:
		return compare(Pred(n.Imm), a, b)
	case OpAdd:
		r = a + b
	case OpSub:
		r = a - b
	case OpMul:
		r = a * b
	case OpDiv:
		r = a / b
	case OpFMA:
		r = math.FMA(a, b, c)
	case OpFNMA:
		r = math.FMA(-a, b, c)
	case OpFMS:
		r = math.FMA(a, b, -c)
	case OpSqrt:
		r = math.Sqrt(a)
	case OpMin:
		r = least(a, b)
	case OpMax:
		r = greatest(a, b)
	case OpRound:
		r = round(Rounding(n.Imm), a)
	case OpScale2:
		r = scale2(a, b)
	case OpGetExp:
		r = math.Logb(a)
	case OpGetMant:
		r = mantissa(a, float64(n.Imm)/4)
	case OpMinAbs:
		r = leastMagnitude(a, b)
	case OpMinMag:
		r = math.Abs(leastMagnitude(a, b))
	case OpRecip14:
		r = math.Float64frombits(math.Float64bits(1/a) &^ (1<<38 - 1))
	case OpRsqrt14:
		r = math.Float64frombits(math.Float64bits(1/math.Sqrt(a)) &^ (1<<38 - 1))
	}
	return math.Float64bits(r)
}

func stepInt(n *Node, t Type, a, b uint64) uint64 {
	x, y := signed(t, a), signed(t, b)
	switch n.Op {
	case OpAdd:
		return a + b
	case OpSub:
		return a - b
	case OpMul:
		return a * b
	case OpMulU32:
		return uint64(uint32(a)) * uint64(uint32(b))
	case OpMin:
		return uint64(least(x, y))
	case OpMax:
		return uint64(greatest(x, y))
	case OpCmp:
		return compare(Pred(n.Imm), x, y)
	case OpShl, OpShr, OpSar:
		return shiftBits(n.Op+(OpShlV-OpShl), t, a, n.Imm)
	case OpShlV, OpShrV, OpSarV:
		return shiftBits(n.Op, t, a, b)
	}
	return 0
}

func shiftBits(op Op, t Type, a, by uint64) uint64 {
	switch op {
	case OpShlV:
		return a << by
	case OpShrV:
		return a >> by
	}
	s := 64 - 8*t.Size() // U8 too: by its top bit
	return uint64(int64(a<<s) >> s >> by)
}
