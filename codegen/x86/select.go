package x86

import (
	"github.com/sinter-go/sinter/codegen/lane"
)

// value is a lane value in a virtual register; of masks perhaps the complement.
type value struct {
	v   vreg
	not bool
}

// selector turns a program into instructions over virtual registers. Every value
// takes one register, or a part of one: lanes is the number of lanes for which the
// widest type fills it.
type selector struct {
	isa   ISA
	bytes int // of a register
	lanes int
	p     *lane.Prog
	arg   func(i int, t lane.Type) vreg
	defs  []vdef // defs[0] is none
	insts []inst
	vals  []value
	homes map[vdef]vreg
	skip  int // elements beyond the loop's index of the copy that is being selected
	calls bool
}

// widest is the size of the widest value that a program's results depend on.
func widest(p *lane.Prog) int {
	size := 1
	live := p.Live()
	for v := 1; v < p.Len(); v++ {
		if live[v] {
			size = max(size, p.Type(lane.V(v)).Size())
		}
	}
	return size
}

func newSelector(p *lane.Prog, isa ISA, lanes int) *selector {
	return &selector{
		isa: isa, bytes: isa.vectorBytes(), lanes: lanes, p: p, defs: make([]vdef, 1),
		vals: make([]value, p.Len()), homes: map[vdef]vreg{},
	}
}

// run selects instructions for all values that results depend on.
func (s *selector) run() error {
	if err := s.p.Err(); err != nil {
		return err
	}
	live, start := s.p.Live(), len(s.insts)
	for v := 1; v < s.p.Len(); v++ {
		if !live[v] {
			continue
		}
		n := s.p.Node(lane.V(v))
		x, ok := s.node(n)
		if !ok {
			return unsupported(s.isa, n)
		}
		s.vals[v] = x
	}
	if s.isa == AVX512 {
		s.fuse(start)
	}
	return nil
}

// interleave selects copies of the code for consecutive vectors, each with what
// finish adds to it, and merges them instruction by instruction: the processor then
// finds independent work within a short stretch.
func (s *selector) interleave(copies int, finish func(copy int)) error {
	var parts [][]inst
	for c := range copies {
		s.skip, s.insts = c*s.lanes, make([]inst, 0, s.p.Len())
		if err := s.run(); err != nil {
			return err
		}
		finish(c)
		parts = append(parts, s.insts)
	}
	s.insts = make([]inst, 0, copies*len(parts[0]))
	for i := range parts[0] {
		for _, part := range parts {
			if i < len(part) {
				s.insts = append(s.insts, part[i])
			}
		}
	}
	return nil
}

// out is the register of a result.
func (s *selector) out(i int) vreg { return s.vals[s.p.Outs()[i]].v }

func (s *selector) def(d vdef) vreg {
	s.defs = append(s.defs, d)
	return vreg(len(s.defs) - 1)
}

// atHome is the register of a value that lies in memory.
func (s *selector) atHome(d vdef) vreg {
	if v, ok := s.homes[d]; ok {
		return v
	}
	v := s.def(d)
	s.homes[d] = v
	return v
}

// size is the bytes of a value of a type.
func (s *selector) size(t lane.Type) int { return s.lanes * t.Size() }

func (s *selector) constant(t lane.Type, bits uint64) vreg {
	return s.constantOf(splat(t.Size(), bits), s.size(t))
}

func (s *selector) constantOf(c constant, bytes int) vreg {
	return s.atHome(vdef{bytes: bytes, home: homeConst, value: c})
}

// What an instruction allows, for emit.
const (
	fMem = 1 << iota // the last source in memory
	fExact
	fComm
	fTied
	fEarly
	fB4 // AVX-512: the last source a broadcast element of 4 bytes
	fB8
	fWide // operands named by the full register
	fHalf // operands named by 16 bytes
	fMask // an opmask as result
)

func (s *selector) emit(flags, bytes int, op string, imm int, src ...vreg) vreg {
	in := inst{op: op, imm: imm, src: src, mem: flags&fMem != 0, exact: flags&fExact != 0,
		comm: flags&fComm != 0, tied: flags&fTied != 0, early: flags&fEarly != 0}
	if s.isa == AVX512 {
		switch {
		case flags&fB4 != 0:
			in.bcst = 4
		case flags&fB8 != 0:
			in.bcst = 8
		}
	}
	if flags&fWide != 0 {
		in.width = s.bytes
	}
	if flags&fHalf != 0 {
		in.width = 16
	}
	in.dst = s.def(vdef{bytes: bytes, mask: flags&fMask != 0})
	s.insts = append(s.insts, in)
	return in.dst
}

// op emits an instruction without an immediate.
func (s *selector) op(flags, bytes int, op string, src ...vreg) vreg {
	return s.emit(flags, bytes, op, -1, src...)
}

// broadcast is the flag of the broadcast operands of a type's instructions.
func broadcast(t lane.Type) int {
	switch t.Size() {
	case 4:
		return fB4
	case 8:
		return fB8
	}
	return 0
}

// suffix is that of a type's arithmetic instructions.
func suffix(t lane.Type) string {
	switch {
	case t == lane.F32:
		return "PS"
	case t == lane.F64:
		return "PD"
	}
	return map[int]string{1: "B", 2: "W", 4: "D", 8: "Q"}[t.Size()]
}

// node selects one operation; false if the instruction set has no way.
func (s *selector) node(n lane.Node) (value, bool) {
	var a, b, c value
	for i, x := range []*value{&a, &b, &c} {
		*x = s.vals[n.Args[i]]
	}
	from := n.Type
	if n.Args[0] != 0 {
		from = s.p.Type(n.Args[0])
	}
	switch n.Op {
	case lane.OpArg:
		return value{v: s.arg(int(n.Imm), n.Type)}, true
	case lane.OpScalar:
		return value{v: s.atHome(vdef{bytes: s.size(n.Type), home: homeScalar, at: int(n.Imm), size: n.Type.Size()})}, true
	case lane.OpConst:
		return s.constNode(n)
	case lane.OpIndex:
		return value{v: s.atHome(vdef{bytes: s.size(n.Type), home: homeIndex, skip: s.skip})}, true
	case lane.OpBits:
		return a, true
	case lane.OpCmp:
		return s.compare(lane.Pred(n.Imm), from, a.v, b.v), true
	case lane.OpSelect:
		return value{v: s.choose(n.Type, a, b.v, c.v)}, true
	case lane.OpMaskTo:
		if s.isa == AVX512 {
			return a, true
		}
		return value{v: s.resize(from.Int(), n.Type.Int(), a.v), not: a.not}, true
	case lane.OpFromMask:
		return value{v: s.truth(from, a)}, true
	case lane.OpAnd, lane.OpOr, lane.OpXor, lane.OpAndNot:
		if n.Type.IsMask() {
			return s.maskLogic(n.Op, a, b), true
		}
		return value{v: s.logic(n.Op, n.Type, a.v, b.v)}, true
	case lane.OpFMA, lane.OpFNMA, lane.OpFMS:
		op := map[lane.Op]string{lane.OpFMA: "VFMADD", lane.OpFNMA: "VFNMADD", lane.OpFMS: "VFMSUB"}[n.Op]
		v := s.op(fMem|broadcast(n.Type), s.size(n.Type), op+"%s"+suffix(n.Type), a.v, b.v, c.v)
		s.insts[len(s.insts)-1].form = fma
		return value{v: v}, true
	case lane.OpCall:
		return s.call(n), true
	case lane.OpLookup:
		v := s.lookup(n.Type, a.v, s.p.Table(n.Imm))
		return value{v: v}, v != 0
	case lane.OpShl, lane.OpShr, lane.OpSar:
		return value{v: s.shift(n.Op, n.Type, a.v, int(n.Imm))}, true
	case lane.OpShlV, lane.OpShrV, lane.OpSarV:
		v := s.shiftBy(n.Op, n.Type, a.v, b.v)
		return value{v: v}, v != 0
	case lane.OpFToI, lane.OpFToITrunc, lane.OpIToF, lane.OpWiden, lane.OpNarrow:
		return value{v: s.convert(n.Op, from, n.Type, a.v)}, true
	}
	if n.Type.IsFloat() {
		v := s.float(n, a.v, b.v)
		return value{v: v}, v != 0
	}
	return value{v: s.integer(n.Op, n.Type, a.v, b.v)}, true
}

func (s *selector) constNode(n lane.Node) (value, bool) {
	if !n.Type.IsMask() {
		return value{v: s.constant(n.Type, n.Imm)}, true
	}
	if s.isa == AVX512 {
		return value{v: s.op(fMask, 8, "KXORQ %zero"), not: n.Imm != 0}, true
	}
	return value{v: s.constant(n.Type.Int(), 0), not: n.Imm != 0}, true
}

// call selects the call of a subroutine.
func (s *selector) call(n lane.Node) value {
	var src []vreg
	for _, a := range n.Args {
		if a != 0 {
			src = append(src, s.vals[a].v)
		}
	}
	v := s.op(0, s.size(n.Type), Symbol(n.Name, n.Type, s.isa), src...)
	s.insts[len(s.insts)-1].form = call
	s.calls = true
	return value{v: v}
}

// float selects arithmetic of floats.
func (s *selector) float(n lane.Node, a, b vreg) vreg {
	t, size, f := n.Type, s.size(n.Type), fMem|broadcast(n.Type)
	switch n.Op {
	case lane.OpAdd:
		return s.op(f|fComm, size, "VADD"+suffix(t), a, b)
	case lane.OpMul:
		return s.op(f|fComm, size, "VMUL"+suffix(t), a, b)
	case lane.OpSub:
		return s.op(f, size, "VSUB"+suffix(t), a, b)
	case lane.OpDiv:
		return s.op(f, size, "VDIV"+suffix(t), a, b)
	case lane.OpMin:
		return s.op(f, size, "VMIN"+suffix(t), a, b)
	case lane.OpMax:
		return s.op(f, size, "VMAX"+suffix(t), a, b)
	case lane.OpSqrt:
		return s.op(f, size, "VSQRT"+suffix(t), a)
	case lane.OpRound:
		return s.round(t, a, lane.Rounding(n.Imm))
	}
	switch {
	case s.isa == AVX2 && n.Op == lane.OpScale2:
		return s.scale2(t, a, b)
	case s.isa == AVX2:
		return 0
	case n.Op == lane.OpScale2:
		return s.op(f, size, "VSCALEF"+suffix(t), a, b)
	case n.Op == lane.OpGetExp:
		return s.op(f, size, "VGETEXP"+suffix(t), a)
	case n.Op == lane.OpRecip14:
		return s.op(f, size, "VRCP14"+suffix(t), a)
	case n.Op == lane.OpRsqrt14:
		return s.op(f, size, "VRSQRT14"+suffix(t), a)
	case n.Op == lane.OpMinAbs:
		return s.emit(f|fComm, size, "VRANGE"+suffix(t), 2|1<<2, a, b) // least magnitude; its sign
	case n.Op == lane.OpMinMag:
		return s.emit(f|fComm, size, "VRANGE"+suffix(t), 2|2<<2, a, b) // least magnitude; no sign
	}
	from := map[uint64]int{3: 3, 4: 0}[n.Imm]                  // [3/4, 3/2); [1, 2)
	return s.emit(f, size, "VGETMANT"+suffix(t), 2<<2|from, a) // NaN for negative values
}

func (s *selector) round(t lane.Type, a vreg, r lane.Rounding) vreg {
	op := "VROUND"
	if s.isa == AVX512 {
		op = "VRNDSCALE"
	}
	return s.emit(fMem|broadcast(t), s.size(t), op+suffix(t), 8|int(r), a) // 8: without the inexact exception
}

// scale2 multiplies by two powers of two whose exponents add up to n, so that only
// the last product can be inexact.
func (s *selector) scale2(t lane.Type, x, n vreg) vreg {
	half, magic, up := uint64(0x3f000000), uint64(0x4b00007f), 23 // 0.5; 2^23 + 127
	if t == lane.F64 {
		half, magic, up = 0x3fe0000000000000, 0x43300000000003ff, 52 // 0.5; 2^52 + 1023
	}
	size, f := s.size(t), fMem|broadcast(t)
	power := func(e vreg) vreg { // the low bits of e + magic are e's biased exponent
		return s.shift(lane.OpShl, t.Int(), s.op(f|fComm, size, "VADD"+suffix(t), e, s.constant(t, magic)), up)
	}
	h := s.round(t, s.op(f|fComm, size, "VMUL"+suffix(t), n, s.constant(t, half)), lane.Nearest)
	rest := s.op(f, size, "VSUB"+suffix(t), n, h)
	x = s.op(f|fComm, size, "VMUL"+suffix(t), x, power(h))
	return s.op(f|fComm, size, "VMUL"+suffix(t), x, power(rest))
}

// logic selects bit operations on values.
func (s *selector) logic(op lane.Op, t lane.Type, a, b vreg) vreg {
	name := map[lane.Op]string{lane.OpAnd: "AND", lane.OpOr: "OR", lane.OpXor: "XOR", lane.OpAndNot: "ANDN"}[op]
	flags := fMem | fComm
	if op == lane.OpAndNot {
		if c := s.defs[b]; c.home == homeConst && c.value.size > 0 {
			// a constant's complement keeps a in place, and may be folded
			return s.logic(lane.OpAnd, t, a, s.constantOf(c.value.complement(), c.bytes))
		}
		a, b, flags = b, a, fMem
	}
	switch {
	case t.IsFloat():
		return s.op(flags|broadcast(t), s.size(t), "V"+name+suffix(t), a, b)
	case s.isa == AVX2:
		return s.op(flags, s.size(t), "VP"+name, a, b)
	case t.Size() == 8:
		return s.op(flags|fB8, s.size(t), "VP"+name+"Q", a, b)
	}
	return s.op(flags|fB4, s.size(t), "VP"+name+"D", a, b)
}

func (s *selector) lookup(t lane.Type, idx vreg, table []uint64) vreg {
	n := len(table)
	part := func(at, max int) vreg { // a register of entries, repeated
		var data []byte
		for len(data) < s.bytes {
			for i := range min(n-at, max) {
				for k := range t.Size() {
					data = append(data, byte(table[at+i]>>(8*k)))
				}
			}
		}
		return s.constantOf(constant{data: string(data[:s.bytes])}, s.bytes)
	}
	if s.isa == AVX2 && t.Size() == 8 {
		return s.gather(idx, table)
	}
	each := s.bytes / t.Size()
	switch {
	case n <= each:
		return s.op(fMem|fWide, s.size(t), "VPERM"+suffix(t), idx, part(0, each))
	case s.isa == AVX512:
		v := s.op(fMem|fWide, s.size(t), "VPERMI2"+suffix(t), idx, part(0, each), part(each, each))
		s.insts[len(s.insts)-1].form = replace
		return v
	case n > 2*each:
		return 0
	}
	low := s.op(fMem|fWide, s.size(t), "VPERM"+suffix(t), idx, part(0, each))
	high := s.op(fMem|fWide, s.size(t), "VPERM"+suffix(t), idx, part(each, each))
	m := s.shift(lane.OpShl, lane.I32, idx, 28) // bit 3 becomes the sign
	return s.choose(t, value{v: m}, high, low)
}

// gather looks 8-byte values up in memory.
func (s *selector) gather(idx vreg, table []uint64) vreg {
	var data []byte
	for len(data) < s.bytes {
		for _, x := range table {
			for k := range 8 {
				data = append(data, byte(x>>(8*k)))
			}
		}
	}
	idx = s.logic(lane.OpAnd, lane.I64, idx, s.constant(lane.I64, uint64(len(table)-1)))
	v := s.op(fEarly, s.bytes, "%gather "+string(data), idx)
	return v
}

// half is the lower or the upper half of a register that is full.
func (s *selector) half(v vreg, upper bool) vreg {
	if !upper {
		low := s.op(0, s.bytes/2, "VMOVAPS", v)
		s.insts[len(s.insts)-1].width = s.bytes / 2
		return low
	}
	return s.emit(0, s.bytes/2, map[ISA]string{AVX2: "VEXTRACTF128", AVX512: "VEXTRACTF64X4"}[s.isa], 1, v)
}

// join makes a full register of halves.
func (s *selector) join(low, high vreg) vreg {
	whole := s.op(0, s.bytes, "VMOVAPS", low)
	s.insts[len(s.insts)-1].width = s.bytes / 2
	return s.emit(0, s.bytes, map[ISA]string{AVX2: "VINSERTF128", AVX512: "VINSERTF64X4"}[s.isa], 1, whole, high)
}
