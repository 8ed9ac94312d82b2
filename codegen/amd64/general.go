package amd64

import (
	"encoding/binary"
	"fmt"
)

// arithmetic are the instructions with the encodings of ADD: the digit of the immediate
// ones, and the opcode of register to register.
var arithmetic = map[string]struct{ digit, op byte }{
	"ADDQ": {0, 0x01}, "ANDQ": {4, 0x21}, "SUBQ": {5, 0x29}, "XORQ": {6, 0x31}, "CMPQ": {7, 0x39}, "XORL": {6, 0x31}, "CMPL": {7, 0x39},
}

// unary are the instructions of one register, with opcode and digit.
var unary = map[string]struct{ op, digit byte }{"NEGQ": {0xf7, 3}, "INCQ": {0xff, 0}, "DECQ": {0xff, 1}}

// conditions are the low bits of conditional jumps.
var conditions = map[string]byte{"JCC": 3, "JEQ": 4, "JZ": 4, "JNE": 5, "JNZ": 5, "JLT": 12, "JGE": 13, "JLE": 14, "JGT": 15}

// loads and stores by general registers: opcodes with their escape, and the width.
var moves = map[string]struct {
	load, store []byte
	wide, short bool // 8 bytes; 2 bytes
}{
	"MOVQ": {load: []byte{0x8b}, store: []byte{0x89}, wide: true}, "MOVL": {load: []byte{0x8b}, store: []byte{0x89}},
	"MOVW": {store: []byte{0x89}, short: true}, "MOVB": {store: []byte{0x88}},
	"MOVBLZX": {load: []byte{0x0f, 0xb6}}, "MOVWLZX": {load: []byte{0x0f, 0xb7}},
	"LEAQ": {load: []byte{0x8d}, wide: true}, "CMOVQLT": {load: []byte{0x0f, 0x4c}, wide: true},
}

// general encodes an instruction of general registers; false if it is none.
func (e *encoder) general(in Inst) (bool, error) {
	a := in.Args
	kinds := ""
	for _, x := range a {
		kinds += string(" vkrimpdls"[x.Kind])
	}
	if kinds == "ms" || kinds == "rs" || kinds == "sr" && in.Op == "LEAQ" {
		kinds = "mr"
	}
	if n, ok := arithmetic[in.Op]; ok {
		return true, e.arithmetic(in, n.digit, n.op, in.Op[len(in.Op)-1] == 'Q', kinds)
	}
	if u, ok := unary[in.Op]; ok && kinds == "r" {
		e.rex(true, 0, a[0])
		e.put(u.op)
		e.modRM(int8(u.digit), a[0], 1, 0)
		return true, nil
	}
	if m, ok := moves[in.Op]; ok {
		return true, e.move(in, m.load, m.store, m.wide, m.short)
	}
	switch in.Op {
	case "RET":
		e.put(0xc3)
	case "SFENCE":
		e.put(0x0f, 0xae, 0xf8)
	case "PREFETCHT0", "PREFETCHT1":
		e.rex(false, 0, a[0])
		e.put(0x0f, 0x18)
		e.modRM(int8(in.Op[9]-'0')+1, a[0], 1, 0)
	case "SHLQ", "SHRQ":
		e.shift(int8(map[string]byte{"SHLQ": 4, "SHRQ": 5}[in.Op]), a)
	case "TESTQ", "TESTL":
		e.test(in.Op == "TESTQ", a)
	case "PCALIGN":
		e.align(int(a[0].Disp))
	case "JMP", "CALL":
		e.jump(in)
	default:
		if _, ok := conditions[in.Op]; !ok {
			return false, nil
		}
		e.jump(in)
	}
	return true, nil
}

// arithmetic encodes instructions like ADD. CMP names its operands the other way about.
func (e *encoder) arithmetic(in Inst, digit, op byte, wide bool, kinds string) error {
	a, b := in.Args[0], in.Args[1]
	if digit == 7 {
		a, b = b, a
	}
	switch {
	case a.Kind == General && b.Kind == General:
		e.rex(wide, a.Reg, b)
		e.put(op)
		e.modRM(a.Reg, b, 1, 0)
	case a.Kind == Imm && b.Kind == General && a.Disp == int64(int32(a.Disp)):
		e.rex(wide, 0, b)
		switch {
		case a.Disp == int64(int8(a.Disp)):
			e.put(0x83)
			e.modRM(int8(digit), b, 1, 1)
			e.put(byte(a.Disp))
			return nil
		case b.Reg == 0:
			e.put(op + 4)
		default:
			e.put(0x81)
			e.modRM(int8(digit), b, 1, 4)
		}
		e.put32(a.Disp)
	default:
		return fmt.Errorf("amd64: no encoding of %s (%s)", in, kinds)
	}
	return nil
}

// move encodes loads, stores and moves of immediates.
func (e *encoder) move(in Inst, load, store []byte, wide, short bool) error {
	a, b := in.Args[0], in.Args[1]
	if short {
		e.put(0x66)
	}
	switch {
	case a.Kind == Imm && b.Kind == General:
		e.immediate(a.Disp, b.Reg, wide)
	case a.Kind == Imm && wide && a.Disp == int64(int32(a.Disp)):
		e.rex(wide, 0, b)
		e.put(0xc7)
		e.modRM(0, b, 1, 4)
		e.put32(a.Disp)
	case a.Kind == General && store != nil:
		e.rexByte(wide, a.Reg, b, in.Op == "MOVB")
		e.put(store...)
		e.modRM(a.Reg, b, 1, 0)
	case b.Kind == General && load != nil:
		e.rex(wide, b.Reg, a)
		e.put(load...)
		e.modRM(b.Reg, a, 1, 0)
	default:
		return fmt.Errorf("amd64: no encoding of %s", in)
	}
	return nil
}

// immediate loads a number: 4 bytes without a sign, 4 with, or 8.
func (e *encoder) immediate(n int64, reg int8, wide bool) {
	r := Arg{Kind: General, Reg: reg}
	switch {
	case !wide || n > 1<<31-1 && n == int64(uint32(n)):
		e.rex(false, 0, r)
		e.put(0xb8 | byte(reg&7))
		e.put32(n)
	case n == int64(int32(n)):
		e.rex(true, 0, r)
		e.put(0xc7)
		e.modRM(0, r, 1, 4)
		e.put32(n)
	default:
		e.rex(true, 0, r)
		e.put(0xb8 | byte(reg&7))
		e.code = binary.LittleEndian.AppendUint64(e.code, uint64(n))
	}
}

func (e *encoder) shift(digit int8, a []Arg) {
	e.rex(true, 0, a[1])
	if a[0].Disp == 1 {
		e.put(0xd1)
		e.modRM(digit, a[1], 1, 0)
		return
	}
	e.put(0xc1)
	e.modRM(digit, a[1], 1, 1)
	e.put(byte(a[0].Disp))
}

func (e *encoder) test(wide bool, a []Arg) {
	if a[0].Kind == General {
		e.rex(wide, a[0].Reg, a[1])
		e.put(0x85)
		e.modRM(a[0].Reg, a[1], 1, 0)
		return
	}
	e.rex(wide, 0, a[1])
	if a[1].Reg == 0 {
		e.put(0xa9)
	} else {
		e.put(0xf7)
		e.modRM(0, a[1], 1, 4)
	}
	e.put32(a[0].Disp)
}

// rex writes a REX prefix if one is needed.
func (e *encoder) rex(wide bool, reg int8, rm Arg) { e.rexByte(wide, reg, rm, false) }

// rexByte is rex, and for a byte of a register above BX always writes one.
func (e *encoder) rexByte(wide bool, reg int8, rm Arg, oneByte bool) {
	v := vectorInst{reg: reg, rm: rm}
	r, x, b, _ := v.regBits()
	p := bit(wide)<<3 | bit(r)<<2 | bit(x)<<1 | bit(b)
	if p != 0 || oneByte && reg >= 4 {
		e.put(0x40 | p)
	}
}
