package lower

import (
	"fmt"
	"strings"

	"github.com/sinter-go/sinter/codegen/lane"
)

// moves reports whether an operation treats all types of a width alike.
func moves(op lane.Op) bool {
	switch op {
	case lane.OpArg, lane.OpScalar, lane.OpConst, lane.OpSelect, lane.OpMaskTo,
		lane.OpAnd, lane.OpOr, lane.OpXor, lane.OpAndNot, lane.OpFromMask:
		return true
	}
	return false
}

// unsigned reports whether an operation treats integers alike, whatever their sign.
func unsigned(op lane.Op) bool {
	switch op {
	case lane.OpAdd, lane.OpSub, lane.OpMul, lane.OpShl, lane.OpShlV, lane.OpShrV:
		return true
	}
	return false
}

// neutral reports whether p does the same on signed integers in place of its own
// types.
func neutral(p *lane.Prog) bool {
	for i, live := range p.Live() {
		if !live {
			continue
		}
		n := p.Node(lane.V(i))
		t := p.Type(n.Args[0])
		switch {
		case n.Op == lane.OpCmp:
			if t.IsFloat() || n.Imm > uint64(lane.NE) {
				return false
			}
		case unsigned(n.Op):
			if t.IsFloat() {
				return false
			}
		case !moves(n.Op):
			return false
		}
		for _, a := range n.Args { // bytes made of masks stay U8
			if p.Node(a).Op == lane.OpFromMask {
				return false
			}
		}
	}
	return true
}

// Neutral returns a program that does what p does, over signed integers where
// nothing in p tells these from its own types.
func Neutral(p *lane.Prog) *lane.Prog {
	if !neutral(p) {
		return p
	}
	q := &lane.Prog{}
	to := make([]lane.V, p.Len())
	for i, live := range p.Live() {
		if live {
			to[i] = signed(q, p.Node(lane.V(i)), to)
		}
	}
	for _, v := range p.Outs() {
		q.Out(to[v])
	}
	if q.Err() != nil {
		return p
	}
	return q
}

// signed adds n to q with the integers of its type's width.
func signed(q *lane.Prog, n lane.Node, to []lane.V) lane.V {
	a, b, c := to[n.Args[0]], to[n.Args[1]], to[n.Args[2]]
	switch n.Op {
	case lane.OpArg:
		return q.Arg(int(n.Imm), n.Type.Int())
	case lane.OpScalar:
		return q.Scalar(int(n.Imm), n.Type.Int())
	case lane.OpConst:
		if n.Type.IsMask() {
			return q.ConstBits(n.Type, n.Imm)
		}
		return q.ConstBits(n.Type.Int(), n.Imm)
	case lane.OpSelect:
		return q.Select(a, b, c)
	case lane.OpMaskTo:
		return q.MaskTo(a, n.Type)
	case lane.OpFromMask:
		return q.FromMask(a)
	case lane.OpCmp:
		return q.Cmp(lane.Pred(n.Imm), a, b)
	case lane.OpAnd:
		return q.And(a, b)
	case lane.OpOr:
		return q.Or(a, b)
	case lane.OpXor:
		return q.Xor(a, b)
	case lane.OpAndNot:
		return q.AndNot(a, b)
	case lane.OpAdd:
		return q.Add(a, b)
	case lane.OpSub:
		return q.Sub(a, b)
	case lane.OpMul:
		return q.Mul(a, b)
	case lane.OpShl:
		return q.Shl(a, int(n.Imm))
	case lane.OpShlV:
		return q.ShlV(a, b)
	}
	return q.ShrV(a, b)
}

// Key is a text that programs have in common if they do the same.
func Key(p *lane.Prog) string {
	var b strings.Builder
	number := make([]int, p.Len())
	count := 0
	for i, live := range p.Live() {
		if !live {
			continue
		}
		count++
		number[i] = count
		n := p.Node(lane.V(i))
		fmt.Fprintf(&b, "%v %v %d %s", n.Op, n.Type, n.Imm, n.Name)
		if n.Op == lane.OpLookup {
			fmt.Fprint(&b, p.Table(n.Imm))
		}
		for _, a := range n.Args {
			fmt.Fprintf(&b, " %d", number[a])
		}
		b.WriteByte(';')
	}
	for _, v := range p.Outs() {
		fmt.Fprintf(&b, " out %d", number[v])
	}
	return b.String()
}
