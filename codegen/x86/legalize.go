package x86

import "github.com/sinter-go/sinter/codegen/lane"

// legalize replaces operations that an instruction set lacks by others.
func legalize(p *lane.Prog, isa ISA) *lane.Prog {
	return p.Rewrite(func(to *lane.Prog, n lane.Node) (lane.V, bool) {
		switch n.Op {
		case lane.OpShlV, lane.OpShrV, lane.OpSarV:
			if n.Type.Size() == 1 || n.Type.Size() == 2 && isa == AVX2 {
				return shiftWide(to, n), true
			}
		}
		return 0, false
	})
}

// shiftWide shifts small integers in lanes of 4 bytes. The count's bits are taken as
// unsigned, so that all that shift everything out still do.
func shiftWide(to *lane.Prog, n lane.Node) lane.V {
	mask := to.ConstI(lane.I32, 1<<(8*n.Type.Size())-1)
	unsigned := func(v lane.V) lane.V { return to.And(to.Widen(v, lane.I32), mask) }
	by := unsigned(n.Args[1])
	var r lane.V
	switch n.Op {
	case lane.OpShlV:
		r = to.ShlV(to.Widen(n.Args[0], lane.I32), by)
	case lane.OpShrV:
		r = to.ShrV(unsigned(n.Args[0]), by)
	default:
		a := n.Args[0]
		if n.Type == lane.U8 {
			a = to.Bits(a, lane.I8)
		}
		r = to.SarV(to.Widen(a, lane.I32), by)
	}
	return to.Narrow(r, n.Type)
}
