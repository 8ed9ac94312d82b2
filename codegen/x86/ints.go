package x86

import "github.com/sinter-go/sinter/codegen/lane"

// integer selects arithmetic of integers.
func (s *selector) integer(op lane.Op, t lane.Type, a, b vreg) vreg {
	size, f := s.size(t), fMem|broadcast(t)
	switch op {
	case lane.OpAdd:
		return s.op(f|fComm, size, "VPADD"+suffix(t), a, b)
	case lane.OpSub:
		return s.op(f, size, "VPSUB"+suffix(t), a, b)
	case lane.OpMulU32:
		return s.op(f|fComm, size, "VPMULUDQ", a, b)
	case lane.OpMul:
		return s.multiply(t, a, b)
	}
	if t == lane.I64 && s.isa == AVX2 {
		m := s.op(fMem, size, "VPCMPGTQ", a, b)
		if op == lane.OpMin {
			a, b = b, a
		}
		return s.choose(t, value{v: m}, a, b)
	}
	name := "VPMIN"
	if op == lane.OpMax {
		name = "VPMAX"
	}
	if t == lane.U8 {
		return s.op(f|fComm, size, name+"UB", a, b)
	}
	return s.op(f|fComm, size, name+"S"+suffix(t), a, b)
}

func (s *selector) multiply(t lane.Type, a, b vreg) vreg {
	size := s.size(t)
	switch t {
	case lane.I16:
		return s.op(fMem|fComm, size, "VPMULLW", a, b)
	case lane.I32:
		return s.op(fMem|fComm|fB4, size, "VPMULLD", a, b)
	case lane.I64:
		if s.isa == AVX512 {
			return s.op(fMem|fComm|fB8, size, "VPMULLQ", a, b)
		}
		// The low halves' product, and the cross products in the high half.
		cross := s.op(fMem|fComm, size, "VPMULLD", s.emit(fMem, size, "VPSHUFD", 0xb1, b), a)
		sum := s.op(fComm, size, "VPADDD", cross, s.emit(0, size, "VPSRLQ", 32, cross))
		return s.op(fComm, size, "VPADDQ", s.op(fMem|fComm, size, "VPMULUDQ", a, b), s.emit(0, size, "VPSLLQ", 32, sum))
	}
	// Bytes: products of words give the even ones, of words shifted down the odd.
	odd := s.op(fComm, size, "VPMULLW", s.emit(0, size, "VPSRLW", 8, a), s.emit(0, size, "VPSRLW", 8, b))
	even := s.logic(lane.OpAnd, lane.I8, s.op(fMem|fComm, size, "VPMULLW", a, b), s.constantOf(splat(2, 0xff), size))
	return s.logic(lane.OpOr, lane.I8, even, s.emit(0, size, "VPSLLW", 8, odd))
}

// shift shifts by a constant.
func (s *selector) shift(op lane.Op, t lane.Type, a vreg, n int) vreg {
	size := s.size(t)
	name := map[lane.Op]string{lane.OpShl: "VPSLL", lane.OpShr: "VPSRL", lane.OpSar: "VPSRA"}[op]
	switch {
	case t.Size() == 1:
		return s.shiftBytes(op, a, n, size)
	case t == lane.I64 && op == lane.OpSar && s.isa == AVX2:
		return s.signed64(a, func(x vreg) vreg { return s.emit(0, size, "VPSRLQ", n, x) })
	}
	return s.emit(0, size, name+suffix(t), n, a)
}

// shiftBytes shifts words and clears what came over from the neighbour.
func (s *selector) shiftBytes(op lane.Op, a vreg, n, size int) vreg {
	if op == lane.OpShl {
		return s.logic(lane.OpAnd, lane.I8, s.emit(0, size, "VPSLLW", n, a), s.constant(lane.I8, 0xff<<n&0xff))
	}
	x := s.logic(lane.OpAnd, lane.I8, s.emit(0, size, "VPSRLW", n, a), s.constant(lane.I8, 0xff>>n))
	if op == lane.OpShr {
		return x
	}
	sign := s.constant(lane.I8, 0x80>>n) // extend by flipping and subtracting the sign
	return s.op(fMem, size, "VPSUBB", s.logic(lane.OpXor, lane.I8, x, sign), sign)
}

// signed64 makes of a logical shift to the right an arithmetic one: the complement
// of a negative number has zeros to shift in.
func (s *selector) signed64(a vreg, shift func(vreg) vreg) vreg {
	size := s.size(lane.I64)
	sign := s.op(fMem, size, "VPCMPGTQ", s.constant(lane.I64, 0), a)
	return s.op(0, size, "VPXOR", shift(s.op(fMem, size, "VPXOR", sign, a)), sign)
}

// shiftBy shifts by lane. Bytes, and words with AVX2, are for legalize to widen.
func (s *selector) shiftBy(op lane.Op, t lane.Type, a, n vreg) vreg {
	size := s.size(t)
	name := map[lane.Op]string{lane.OpShlV: "VPSLLV", lane.OpShrV: "VPSRLV", lane.OpSarV: "VPSRAV"}[op]
	switch {
	case t.Size() == 1 || t.Size() == 2 && s.isa == AVX2:
		return 0
	case t == lane.I64 && op == lane.OpSarV && s.isa == AVX2:
		return s.signed64(a, func(x vreg) vreg { return s.op(fMem, size, "VPSRLVQ", x, n) })
	}
	return s.op(fMem|broadcast(t), size, name+suffix(t), a, n)
}

// convert selects conversions.
func (s *selector) convert(op lane.Op, from, to lane.Type, a vreg) vreg {
	size := s.size(to)
	switch {
	case from == lane.F16:
		return s.op(fMem|fExact, size, "VCVTPH2PS", a)
	case to == lane.F16:
		return s.emit(0, size, "VCVTPS2PH", int(lane.Nearest), a)
	case op == lane.OpWiden && to == lane.F64:
		return s.op(fMem|fExact, size, "VCVTPS2PD", a)
	case op == lane.OpNarrow && to == lane.F32:
		if s.size(from) == 64 {
			return s.op(fMem, size, "VCVTPD2PS", a)
		}
		return s.op(0, size, "VCVTPD2PS"+regName(0, s.size(from))[:1], a)
	case op == lane.OpWiden || op == lane.OpNarrow:
		return s.resize(from, to, a)
	case from == lane.F32:
		if op == lane.OpFToI {
			return s.op(fMem, size, "VCVTPS2DQ", a)
		}
		return s.op(fMem, size, "VCVTTPS2DQ", a)
	case from == lane.I32:
		return s.op(fMem, size, "VCVTDQ2PS", a)
	case s.isa == AVX512:
		return s.op(fMem, size, map[lane.Op]string{lane.OpFToI: "VCVTPD2QQ", lane.OpFToITrunc: "VCVTTPD2QQ", lane.OpIToF: "VCVTQQ2PD"}[op], a)
	case op == lane.OpIToF:
		return s.int64ToFloat(a)
	}
	return s.floatToInt64(op, a)
}

// int64ToFloat adds the halves as floats of known exponents, rounding once.
func (s *selector) int64ToFloat(a vreg) vreg {
	size := s.size(lane.I64)
	c := func(bits uint64) vreg { return s.constant(lane.F64, bits) }
	high := s.emit(0, size, "VPSRAD", 16, a)
	high = s.emit(fMem, size, "VPBLENDW", 0x33, high, s.constant(lane.I64, 0))
	high = s.op(fMem|fComm, size, "VPADDQ", high, c(0x4438000000000000)) // 3 * 2^67
	low := s.emit(fMem, size, "VPBLENDW", 0x88, a, c(0x4330000000000000))
	return s.op(fMem|fComm, size, "VADDPD", s.op(fMem, size, "VSUBPD", high, c(0x4438001000000000)), low)
}

// floatToInt64 converts lane by lane.
func (s *selector) floatToInt64(op lane.Op, a vreg) vreg {
	one := "VCVTSD2SIQ"
	if op == lane.OpFToITrunc {
		one = "VCVTTSD2SIQ"
	}
	pair := func(x vreg) vreg {
		low := s.op(0, 16, "%convert "+one, x)
		high := s.op(0, 16, "%convert "+one, s.emit(fHalf, 16, "VPERMILPD", 1, x))
		return s.op(fHalf, s.size(lane.I64), "VPUNPCKLQDQ", low, high)
	}
	if s.size(lane.F64) == 16 {
		return pair(a)
	}
	low := pair(a)
	high := s.op(fHalf, 16, "VMOVAPS", pair(s.emit(0, 16, "VEXTRACTF128", 1, a)))
	return s.emit(0, 32, "VINSERTI128", 1, low, high)
}

// resize widens or narrows integers.
func (s *selector) resize(from, to lane.Type, a vreg) vreg {
	size := s.size(to)
	letters := map[int]string{1: "B", 2: "W", 4: "D", 8: "Q"}
	switch {
	case from.Size() == to.Size():
		return a
	case from.Size() < to.Size():
		op := "VPMOVSX"
		if from == lane.U8 {
			op = "VPMOVZX"
		}
		return s.op(fMem|fExact, size, op+letters[from.Size()]+letters[to.Size()], a)
	case s.isa == AVX512:
		return s.op(0, size, "VPMOV"+letters[from.Size()]+letters[to.Size()], a)
	}
	// Each half's kept bytes go to its lower end.
	ratio := from.Size() / to.Size()
	var data []byte
	for len(data) < 16 {
		for i := 0; i < 16; i += from.Size() {
			for k := range to.Size() {
				data = append(data, byte(i+k))
			}
		}
	}
	shuffle := s.constantOf(constant{data: string(data[:16])}, s.size(from))
	if s.size(from) <= 16 {
		return s.op(fMem, size, "VPSHUFB", a, shuffle)
	}
	x := s.op(fMem, s.size(from), "VPSHUFB", a, shuffle)
	high := s.emit(0, 16, "VEXTRACTI128", 1, x)
	return s.op(fHalf, size, "VPUNPCKL"+map[int]string{2: "QDQ", 4: "DQ", 8: "WD"}[ratio], x, high)
}
