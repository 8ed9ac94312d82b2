package x86

import "strings"

// fuser replaces instructions for AVX-512, in one run's code, by fewer.
type fuser struct {
	*selector
	made map[vreg]int // by value: the instruction
	uses map[vreg]int // results of the program count as used
	gone map[int]bool
}

// fuse rewrites the instructions from start on: logic of three values becomes one
// instruction, and so does an operation with the choice of its result. Operations
// are taken into others only if nothing else uses them.
func (s *selector) fuse(start int) {
	f := &fuser{selector: s, made: map[vreg]int{}, uses: map[vreg]int{}, gone: map[int]bool{}}
	for i := start; i < len(s.insts); i++ {
		f.made[s.insts[i].dst] = i
		for _, v := range s.insts[i].src {
			f.uses[v]++
		}
	}
	for i := range s.p.Outs() {
		f.uses[s.out(i)]++
	}
	for i := len(s.insts) - 1; i >= start; i-- {
		in := &s.insts[i]
		switch {
		case f.gone[i]:
		case logic(in.op) != nil:
			f.ternary(in)
		case strings.Contains(in.op, "BLENDM"):
			f.choice(in)
		}
	}
	kept := s.insts[:start]
	for i, in := range s.insts[start:] {
		if !f.gone[start+i] {
			f.signs(&in)
			kept = append(kept, in)
		}
	}
	s.insts = kept
}

// sole is the instruction that makes v, if v has one use.
func (f *fuser) sole(v vreg) *inst {
	if i, ok := f.made[v]; ok && f.uses[v] == 1 {
		return &f.insts[i]
	}
	return nil
}

// logic is what an instruction on bits does to bytes, nil of another.
func logic(op string) func(x, y uint8) uint8 {
	switch op {
	case "VANDPS", "VANDPD", "VPANDD", "VPANDQ":
		return func(x, y uint8) uint8 { return x & y }
	case "VORPS", "VORPD", "VPORD", "VPORQ":
		return func(x, y uint8) uint8 { return x | y }
	case "VXORPS", "VXORPD", "VPXORD", "VPXORQ":
		return func(x, y uint8) uint8 { return x ^ y }
	case "VANDNPS", "VANDNPD", "VPANDND", "VPANDNQ":
		return func(x, y uint8) uint8 { return y &^ x }
	}
	return nil
}

// tables are the bytes of the operands of three-valued logic: an operand's bit in
// each of the eight cases. A fourth operand is one too many.
var tables = [4]uint8{0xf0, 0xcc, 0xaa}

// ternary makes one instruction of in and the logic that it alone depends on, as
// much as has at most three operands.
func (f *fuser) ternary(in *inst) {
	open := map[vreg]bool{}
	operands := f.operands(nil, in.src, open)
	for grown := true; grown; {
		grown = false
		for _, v := range operands {
			by := f.sole(v)
			if by == nil || logic(by.op) == nil || grown {
				continue
			}
			open[v] = true
			if more := f.operands(nil, in.src, open); len(more) <= 3 {
				operands, grown = more, true
			} else {
				delete(open, v)
			}
		}
	}
	if len(open) == 0 || len(operands) < 2 {
		return
	}
	table := f.table(in, operands, open)
	for v := range open {
		f.gone[f.made[v]] = true
	}
	for len(operands) < 3 {
		operands = append(operands, operands[1])
	}
	in.form, in.src, in.imm, in.comm = ternary, operands, int(table), false
	in.op = map[int]string{4: "VPTERNLOGD", 8: "VPTERNLOGQ"}[in.bcst]
}

// operands adds to list what src depends on through the open values, up to four.
func (f *fuser) operands(list, src []vreg, open map[vreg]bool) []vreg {
	for _, v := range src {
		if open[v] {
			list = f.operands(list, f.insts[f.made[v]].src, open)
		} else if _, ok := f.byte(list, v); !ok && len(list) < len(tables) {
			list = append(list, v)
		}
	}
	return list
}

// byte is that of v, if v is an operand, its complement, or a constant of equal bits.
func (f *fuser) byte(operands []vreg, v vreg) (uint8, bool) {
	d := f.defs[v]
	isConst := d.home == homeConst && d.value.size > 0
	switch {
	case isConst && d.value.isZero():
		return 0, true
	case isConst && d.value.isOnes():
		return 0xff, true
	}
	for i, o := range operands {
		c := f.defs[o]
		switch {
		case o == v:
			return tables[i], true
		case isConst && c.home == homeConst && c.bytes == d.bytes && c.value == d.value.complement():
			return ^tables[i], true
		}
	}
	return 0, false
}

// table is the byte of the result of in.
func (f *fuser) table(in *inst, operands []vreg, open map[vreg]bool) uint8 {
	var args [2]uint8
	for i, v := range in.src {
		if open[v] {
			args[i] = f.table(&f.insts[f.made[v]], operands, open)
		} else {
			args[i], _ = f.byte(operands, v)
		}
	}
	return logic(in.op)(args[0], args[1])
}

// permuted is the table of a ternary whose operand k is operand order[k] of another
// with the given table.
func permuted(table int, order [3]int) int {
	r := 0
	for to := range 8 {
		from := 0
		for k, o := range order {
			from |= to >> (2 - k) & 1 << (2 - o)
		}
		r |= table >> from & 1 << to
	}
	return r
}

// maskable is the size of the elements, 4 or 8 bytes, of an operation that can be done
// under a mask, and 0 of others.
func maskable(op string) int {
	base, size := op, 4
	for _, suffix := range []string{"PS", "PD", "D", "Q"} {
		if b, ok := strings.CutSuffix(op, suffix); ok {
			base = b
			if suffix == "PD" || suffix == "Q" {
				size = 8
			}
			break
		}
	}
	switch base {
	case "VADD", "VSUB", "VMUL", "VDIV", "VMIN", "VMAX", "VSQRT", "VRNDSCALE", "VSCALEF", "VGETEXP", "VGETMANT", "VRANGE",
		"VPADD", "VPSUB", "VPMULL", "VPMINS", "VPMAXS":
		return size
	}
	return 0
}

// choice makes one instruction of a choice and the operation that gives one of its
// values, where the other stays: src of in are the mask, the value where it is
// false, and that where it is true.
func (f *fuser) choice(in *inst) {
	m, no, yes := in.src[0], in.src[1], in.src[2]
	size := in.bcst
	if size == 0 { // bytes and words
		return
	}
	switch {
	case f.operation(yes, size) != nil:
		f.under(in, m, no, yes)
	case f.operation(no, size) != nil && f.invert(m):
		f.under(in, m, yes, no)
	}
}

// operation is what alone gives v, if it can be done under a mask of elements of a size.
func (f *fuser) operation(v vreg, size int) *inst {
	if by := f.sole(v); by != nil && by.form == plain && by.width == 0 && maskable(by.op) == size {
		return by
	}
	return nil
}

// under makes in the operation that gives v, under mask m, with old where the mask
// is false.
func (f *fuser) under(in *inst, m, old, v vreg) {
	at, dst := f.made[v], in.dst
	*in = f.insts[at]
	in.dst = dst
	f.gone[at] = true
	if d := f.defs[old]; d.home == homeConst && d.value.isZero() {
		in.zero, in.src = true, append([]vreg{m}, in.src...)
		return
	}
	in.form, in.comm, in.src = merge, false, append([]vreg{old, m}, in.src...)
}

// invert makes the comparison that gives m its opposite, if nothing else uses it.
func (f *fuser) invert(m vreg) bool {
	by := f.sole(m)
	switch {
	case by == nil:
		return false
	case strings.HasPrefix(by.op, "VCMPP"), strings.HasPrefix(by.op, "VPCMP"):
		by.imm ^= 4
	case strings.HasPrefix(by.op, "VPTESTM"):
		by.op = "VPTESTNM" + by.op[len("VPTESTM"):]
	default:
		return false
	}
	return true
}

// signs takes the signs of integers for their comparison with zero.
func (f *fuser) signs(in *inst) {
	if in.imm != 1 || !strings.HasPrefix(in.op, "VPCMP") || strings.HasPrefix(in.op, "VPCMPU") {
		return
	}
	if d := f.defs[in.src[1]]; d.home == homeConst && d.value.isZero() {
		in.op = "VPMOV" + in.op[len("VPCMP"):] + "2M"
		in.src, in.imm, in.mem, in.bcst = in.src[:1], -1, false, 0
	}
}
