package x86

import "github.com/sinter-go/sinter/codegen/lane"

// floatPredicates are the immediates of VCMPPS: ordered and quiet, but for NE.
var floatPredicates = [...]int{lane.EQ: 0, lane.NE: 4, lane.LT: 0x11, lane.LE: 0x12, lane.GT: 0x1e, lane.GE: 0x1d, lane.UNO: 3}

// intPredicates are the immediates of VPCMPD.
var intPredicates = [...]int{lane.EQ: 0, lane.NE: 4, lane.LT: 1, lane.LE: 2, lane.GT: 6, lane.GE: 5}

func (s *selector) compare(p lane.Pred, t lane.Type, a, b vreg) value {
	if t.IsFloat() {
		flags, size := fMem|broadcast(t), s.size(t)
		if s.isa == AVX512 {
			flags |= fMask
		}
		return value{v: s.emit(flags, size, "VCMP"+suffix(t), floatPredicates[p], a, b)}
	}
	if s.isa == AVX512 {
		if s.defs[b].home == homeConst && s.defs[b].value.isZero() && (p == lane.EQ || p == lane.NE) {
			return value{v: s.op(fMask, 8, "VPTESTM"+suffix(t), a, a), not: p == lane.EQ}
		}
		op := "VPCMP"
		if t == lane.U8 {
			op = "VPCMPU"
		}
		return value{v: s.emit(fMem|fMask|broadcast(t), 8, op+suffix(t), intPredicates[p], a, b)}
	}
	return s.compareInt2(p, t, a, b)
}

// compareInt2 compares integers with AVX2, which knows equal and signed greater.
func (s *selector) compareInt2(p lane.Pred, t lane.Type, a, b vreg) value {
	size := s.size(t)
	switch p {
	case lane.EQ, lane.NE:
		return value{s.op(fMem|fComm, size, "VPCMPEQ"+suffix(t), a, b), p == lane.NE}
	case lane.LT:
		a, b, p = b, a, lane.GT
	case lane.GE:
		a, b, p = b, a, lane.LE
	}
	if t == lane.U8 { // a <= b: the lesser is a
		le := s.op(fMem|fComm, size, "VPCMPEQB", s.op(fMem|fComm, size, "VPMINUB", a, b), a)
		return value{le, p == lane.GT}
	}
	return value{s.op(fMem, size, "VPCMPGT"+suffix(t), a, b), p == lane.LE}
}

// plain is the mask itself rather than its complement.
func (s *selector) plain(t lane.Type, m value) vreg {
	if !m.not {
		return m.v
	}
	if s.isa == AVX512 {
		return s.op(fMask, 8, "KNOTQ", m.v)
	}
	return s.logic(lane.OpXor, t.Int(), m.v, s.constant(t.Int(), ^uint64(0)))
}

// maskLogic combines masks, with De Morgan's laws for complements.
func (s *selector) maskLogic(op lane.Op, a, b value) value {
	if op == lane.OpAndNot {
		op, b.not = lane.OpAnd, !b.not
	}
	and := op == lane.OpAnd
	switch {
	case op == lane.OpXor:
		return value{s.maskOp("XOR", a.v, b.v), a.not != b.not}
	case a.not == b.not:
		if and == !a.not {
			return value{s.maskOp("AND", a.v, b.v), a.not}
		}
		return value{s.maskOp("OR", a.v, b.v), a.not}
	case a.not:
		a, b = b, a
	}
	if and { // a & ^b
		return value{s.maskOp("ANDN", b.v, a.v), false}
	}
	return value{s.maskOp("ANDN", a.v, b.v), true} // a | ^b = ^(^a & b)
}

func (s *selector) maskOp(name string, a, b vreg) vreg {
	if s.isa == AVX512 {
		return s.op(fMask, 8, "K"+name+"Q", a, b)
	}
	return s.op(0, max(s.defs[a].bytes, s.defs[b].bytes), "VP"+name, a, b)
}

// choose is a where m is true, else b.
func (s *selector) choose(t lane.Type, m value, a, b vreg) vreg {
	if m.not {
		a, b = b, a
	}
	size := s.size(t)
	if s.isa == AVX512 {
		op := "VPBLENDM"
		if t.IsFloat() {
			op = "VBLENDM"
		}
		return s.op(fMem|broadcast(t), size, op+suffix(t), m.v, b, a)
	}
	zero := func(v vreg) bool { return s.defs[v].home == homeConst && s.defs[v].value.isZero() }
	switch {
	case zero(b) && t.Size() >= 4:
		return s.op(fMem, size, "VANDPS", m.v, a)
	case zero(b):
		return s.op(fMem, size, "VPAND", m.v, a)
	case zero(a) && t.Size() >= 4:
		return s.op(fMem, size, "VANDNPS", m.v, b)
	case zero(a):
		return s.op(fMem, size, "VPANDN", m.v, b)
	}
	op := map[int]string{1: "VPBLENDVB", 2: "VPBLENDVB", 4: "VBLENDVPS", 8: "VBLENDVPD"}[t.Size()]
	v := s.op(0, size, op, b, a, m.v)
	return v
}

// truth is bytes of 0 and 1.
func (s *selector) truth(from lane.Type, m value) vreg {
	one := s.constant(lane.U8, 1)
	if s.isa == AVX512 {
		return s.op(0, s.size(lane.U8), "VMOVDQU8.Z", s.plain(from, m), one)
	}
	bytes := m.v
	if from.Size() > 1 {
		bytes = s.resize(from.Int(), lane.I8, m.v)
	}
	if m.not {
		return s.op(fMem, s.size(lane.U8), "VPANDN", bytes, one)
	}
	return s.op(fMem, s.size(lane.U8), "VPAND", bytes, one)
}
