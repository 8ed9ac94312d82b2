package lower

import (
	"math"

	"github.com/sinter-go/sinter/codegen/lane"
)

// Quiet returns the program without the care for NaN of those roundings to bfloat16 that need
// none: of what arithmetic gives of such numbers. A NaN of arithmetic is quiet, and its bits are
// those of an operand that is NaN, or the processor's, so its lower half is zero and what is
// added to it for rounding goes no further.
func Quiet(p *lane.Prog) *lane.Prog {
	found := false
	by := make([]lane.V, p.Len())
	for i := range by {
		v := lane.V(i)
		by[i] = v
		if i == 0 {
			continue
		}
		if n := p.Node(v); n.Op == lane.OpSelect && n.Type == lane.I32 && roundsQuiet(p, n) {
			by[i], found = n.Args[2], true
		}
	}
	if !found {
		return p
	}
	return p.Replaced(func(v lane.V) lane.V { return by[v] })
}

// roundsQuiet reports whether a selection is that of bf16Bits, of a number that Quiet means.
func roundsQuiet(p *lane.Prog, n lane.Node) bool {
	test, quiet, up := p.Node(n.Args[0]), p.Node(n.Args[1]), p.Node(n.Args[2])
	x := test.Args[0]
	if test.Op != lane.OpCmp || lane.Pred(test.Imm) != lane.UNO || test.Args[1] != x || p.Type(x) != lane.F32 || quiet.Op != lane.OpOr || up.Op != lane.OpAdd {
		return false
	}
	bits := func(v lane.V) bool { b := p.Node(v); return b.Op == lane.OpBits && b.Args[0] == x }
	odd, sum := p.Node(up.Args[1]), p.Node(up.Args[0])
	if !bits(quiet.Args[0]) || !isConst(p, quiet.Args[1], quietBit) || odd.Op != lane.OpAnd || sum.Op != lane.OpAdd || !bits(sum.Args[0]) || !isConst(p, sum.Args[1], 0x7fff) {
		return false
	}
	switch of := p.Node(x); of.Op {
	case lane.OpAdd, lane.OpSub, lane.OpMul, lane.OpDiv, lane.OpFMA, lane.OpFNMA, lane.OpFMS, lane.OpSqrt:
		for _, a := range of.Args {
			if a != 0 && !upper(p, a) {
				return false
			}
		}
		return true
	}
	return false
}

// quietBit is that of a float32 that is NaN and quiet.
const quietBit = 0x400000

func isConst(p *lane.Prog, v lane.V, bits uint64) bool {
	n := p.Node(v)
	return n.Op == lane.OpConst && n.Imm == bits
}

// upper reports whether a float32 has no bits in its lower half where it is NaN.
func upper(p *lane.Prog, v lane.V) bool {
	n := p.Node(v)
	if n.Op == lane.OpConst {
		return !math.IsNaN(float64(math.Float32frombits(uint32(n.Imm))))
	}
	if n.Op != lane.OpBits || p.Type(n.Args[0]) != lane.I32 {
		return false
	}
	of := p.Node(n.Args[0])
	return of.Op == lane.OpShl && of.Imm == 16 || of.Op == lane.OpAnd && isConst(p, of.Args[1], 0xffff0000)
}
