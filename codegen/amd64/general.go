package amd64

import (
	"encoding/binary"
	"fmt"
)

// arithmetic is the instructions with the encodings of ADD: the digit of the immediate
// ones, and the opcode of register to register.
func arithmetic(op string) (digit, code byte, ok bool) {
	switch op {
	case "ADDQ":
		return 0, 0x01, true
	case "ANDQ":
		return 4, 0x21, true
	case "SUBQ":
		return 5, 0x29, true
	case "XORQ", "XORL":
		return 6, 0x31, true
	case "CMPQ", "CMPL":
		return 7, 0x39, true
	}
	return 0, 0, false
}

// unary is the instructions of one register, with opcode and digit.
func unary(op string) (code, digit byte, ok bool) {
	switch op {
	case "NEGQ":
		return 0xf7, 3, true
	case "INCQ":
		return 0xff, 0, true
	case "DECQ":
		return 0xff, 1, true
	}
	return 0, 0, false
}

// conditions are the conditional jumps, with the low bits of their opcodes.
var conditions = [...]struct {
	op   string
	bits byte
}{{"JCC", 3}, {"JEQ", 4}, {"JZ", 4}, {"JNE", 5}, {"JNZ", 5}, {"JLT", 12}, {"JGE", 13}, {"JLE", 14}, {"JGT", 15}}

func conditionOf(op string) (bits byte, ok bool) {
	for _, c := range conditions {
		if c.op == op {
			return c.bits, true
		}
	}
	return 0, false
}

// A transfer is a load or store by a general register: opcodes with their escape, and
// the width.
type transfer struct {
	load, store []byte
	wide, short bool // 8 bytes; 2 bytes
}

func transferOf(op string) (t transfer, ok bool) {
	switch op {
	case "MOVQ":
		t = transfer{load: []byte{0x8b}, store: []byte{0x89}, wide: true}
	case "MOVL":
		t = transfer{load: []byte{0x8b}, store: []byte{0x89}}
	case "MOVW":
		t = transfer{store: []byte{0x89}, short: true}
	case "MOVB":
		t = transfer{store: []byte{0x88}}
	case "MOVBLZX":
		t = transfer{load: []byte{0x0f, 0xb6}}
	case "MOVWLZX":
		t = transfer{load: []byte{0x0f, 0xb7}}
	case "LEAQ":
		t = transfer{load: []byte{0x8d}, wide: true}
	case "CMOVQLT":
		t = transfer{load: []byte{0x0f, 0x4c}, wide: true}
	default:
		return t, false
	}
	return t, true
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
	if digit, op, ok := arithmetic(in.Op); ok {
		return true, e.arithmetic(in, digit, op, in.Op[len(in.Op)-1] == 'Q', kinds)
	}
	if op, digit, ok := unary(in.Op); ok && kinds == "r" {
		e.rex(true, 0, a[0])
		e.put(op)
		e.modRM(int8(digit), a[0], 1, 0)
		return true, nil
	}
	if t, ok := transferOf(in.Op); ok {
		return true, e.move(in, t)
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
	case "SHLQ":
		e.shift(4, a)
	case "SHRQ":
		e.shift(5, a)
	case "TESTQ", "TESTL":
		e.test(in.Op == "TESTQ", a)
	case "PCALIGN":
		e.align(int(a[0].Disp))
	case "JMP", "CALL":
		e.jump(in)
	default:
		if _, ok := conditionOf(in.Op); !ok {
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
func (e *encoder) move(in Inst, t transfer) error {
	a, b := in.Args[0], in.Args[1]
	if t.short {
		e.put(0x66)
	}
	switch {
	case a.Kind == Imm && b.Kind == General:
		e.immediate(a.Disp, b.Reg, t.wide)
	case a.Kind == Imm && t.wide && a.Disp == int64(int32(a.Disp)):
		e.rex(t.wide, 0, b)
		e.put(0xc7)
		e.modRM(0, b, 1, 4)
		e.put32(a.Disp)
	case a.Kind == General && t.store != nil:
		e.rexByte(t.wide, a.Reg, b, in.Op == "MOVB")
		e.put(t.store...)
		e.modRM(a.Reg, b, 1, 0)
	case b.Kind == General && t.load != nil:
		e.rex(t.wide, b.Reg, a)
		e.put(t.load...)
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
