package amd64

import (
	"fmt"
	"strings"
)

// vectorInst is an instruction of vectors or masks with its operands in their places.
type vectorInst struct {
	f            *form
	reg, vvvv    int8
	rm           Arg
	imm          []byte
	mask         int8
	zero, bcst   bool
	bytes        uint8 // of the vectors
	high         bool  // a vector register that only EVEX has
	hasV, hasReg bool
}

// vector encodes an instruction of vectors or masks.
func (e *encoder) vector(in Inst) error {
	name, suffix, _ := strings.Cut(in.Op, ".")
	list, ok := forms()[name]
	if !ok {
		return fmt.Errorf("amd64: no instruction %s", in.Op)
	}
	for i := range list {
		v := vectorInst{f: &list[i]}
		switch suffix {
		case "":
		case "BCST":
			v.bcst = true
		case "Z":
			v.zero = true
		default:
			return fmt.Errorf("amd64: %s: no suffix .%s", name, suffix)
		}
		if !v.place(in.Args) || v.bcst && (v.f.bcst == 0 || !v.rm.memory()) {
			continue
		}
		v.size(name, in.Args)
		evex := v.bytes == 64 || v.high || v.mask > 0 || v.bcst || v.zero
		switch {
		case !evex && v.f.vex != no:
			e.vex(&v)
		case v.f.evex != no:
			e.evex(&v)
		default:
			continue
		}
		return nil
	}
	return fmt.Errorf("amd64: no encoding of %s", in)
}

// order is the operands of each layout, in Go's order.
var order = [...]string{rm: "mr", mr: "rm", rvm: "mvr", mvr: "rvm", rmv: "vmr", rmi: "imr", mri: "irm", rvmi: "imvr", vmi: "imv", rvmr: "smvr", gather: "vmr", alone: ""}

// place puts operands where the form wants them; false if they do not suit it.
func (v *vectorInst) place(args []Arg) bool {
	if len(args) == 0 {
		return v.f.lay == alone
	}
	places := order[v.f.lay]
	if n := len(args); n == len(places)+1 && args[n-2].Kind == Mask {
		v.mask = args[n-2].Reg
		args = append(args[:n-2:n-2], args[n-1])
	}
	if len(args) != len(places) {
		return false
	}
	for i, a := range args {
		switch places[i] {
		case 'm':
			if !v.f.rm.takes(a) {
				return false
			}
			v.rm = a
			v.high = v.high || a.Kind == Vector && a.Reg > 15
		case 'i':
			if a.Kind != Imm {
				return false
			}
			v.imm = []byte{byte(a.Disp)}
		default:
			if a.Kind != Vector && a.Kind != Mask && a.Kind != General {
				return false
			}
			v.high = v.high || a.Kind == Vector && a.Reg > 15
			switch places[i] {
			case 'r':
				v.reg, v.hasReg = a.Reg, true
			case 'v':
				v.vvvv, v.hasV = a.Reg, true
			case 's':
				v.imm = []byte{byte(a.Reg << 4)}
			}
			if v.high && v.f.evex == no || a.Kind == General && !v.general(places[i]) {
				return false
			}
		}
	}
	return v.masks(args)
}

// general reports whether a general register may stand in a place that is not ModRM.rm:
// as a result of instructions that read vectors or masks, or with BMI.
func (v *vectorInst) general(place byte) bool {
	switch {
	case v.f.rm == generalOrMemory && v.f.lay == rmv:
		return true
	case place != 'r':
		return false
	}
	switch v.f.op {
	case 0x50, 0x93, 0x2c, 0x2d:
		return true
	}
	return false
}

// masks reports whether mask registers stand where the form has them: as a result of
// comparisons, which only EVEX has, or in instructions of masks.
func (v *vectorInst) masks(args []Arg) bool {
	last := args[len(args)-1]
	if v.f.rm == maskOnly || v.f.rm == maskOrMemory {
		return last.Kind == Mask || last.Kind == Memory || last.Kind == General && v.f.op == 0x93
	}
	if last.Kind == Mask && v.f.rm != generalOnly && v.f.rm != mem {
		if v.f.evex == no {
			return false
		}
		v.high = true
	}
	return true
}

// takes reports whether an operand may stand in ModRM.rm.
func (k rmKind) takes(a Arg) bool {
	switch k {
	case mem:
		return a.memory()
	case generalOrMemory:
		return a.memory() || a.Kind == General
	case generalOnly:
		return a.Kind == General
	case maskOnly:
		return a.Kind == Mask
	case maskOrMemory:
		return a.memory() || a.Kind == Mask
	}
	return a.memory() || a.Kind == Vector
}

// memory reports whether a is in memory.
func (a Arg) memory() bool {
	return a.Kind == Memory || a.Kind == Data || a.Kind == Param || a.Kind == Symbol
}

// size finds the vectors' bytes: those of the largest register, or what the name says.
func (v *vectorInst) size(name string, args []Arg) {
	for _, a := range args {
		if a.Kind == Vector {
			v.bytes = max(v.bytes, a.Size)
		}
	}
	switch { // where the operand that may be in memory is larger than the register
	case v.f.long, name == "VCVTPD2PSY":
		v.bytes = 32
	case name == "VCVTPD2PS":
		v.bytes = 64
	}
}

// regBits are the bits of registers' numbers that prefixes hold: R, X, B and the high
// ones of EVEX; each is set if the bit of the number is.
func (v *vectorInst) regBits() (r, x, b, r2 bool) {
	r, r2 = v.reg&8 != 0, v.reg&16 != 0
	switch v.rm.Kind {
	case Vector:
		b, x = v.rm.Reg&8 != 0, v.rm.Reg&16 != 0
	case General, Mask:
		b = v.rm.Reg&8 != 0
	case Memory:
		b = v.rm.Base != None && v.rm.Base&8 != 0
		x = v.rm.Index != None && v.rm.Index&8 != 0
	}
	return r, x, b, r2
}

func bit(b bool) byte {
	if b {
		return 1
	}
	return 0
}

// fields are the two instruction fields that hold registers: ModRM.reg and vvvv.
func (v *vectorInst) fields() (reg int8, vvvv byte) {
	reg, vvvv = v.reg, byte(^v.vvvv&15)
	if v.f.lay == vmi {
		reg = int8(v.f.ext)
	}
	if !v.hasV {
		vvvv = 15
	}
	return reg, vvvv
}

// vex writes the VEX encoding, in two bytes where they hold all.
func (e *encoder) vex(v *vectorInst) {
	r, x, b, _ := v.regBits()
	reg, vvvv := v.fields()
	l, w := bit(v.bytes == 32), v.f.vex-w0
	if v.f.m == 1 && w == 0 && !x && !b {
		e.put(0xc5, bit(!r)<<7|vvvv<<3|l<<2|v.f.pp, v.f.op)
	} else {
		e.put(0xc4, bit(!r)<<7|bit(!x)<<6|bit(!b)<<5|v.f.m, w<<7|vvvv<<3|l<<2|v.f.pp, v.f.op)
	}
	if v.rm.Kind != 0 {
		e.modRM(reg, v.rm, 1, len(v.imm))
	}
	e.put(v.imm...)
}

// evex writes the EVEX encoding.
func (e *encoder) evex(v *vectorInst) {
	r, x, b, r2 := v.regBits()
	reg, vvvv := v.fields()
	w := v.f.evex - w0
	l := v.bytes >> 5 // 0, 1 or 2 for 16, 32 or 64 bytes
	v2 := !(v.hasV && v.vvvv&16 != 0)
	e.put(0x62, bit(!r)<<7|bit(!x)<<6|bit(!b)<<5|bit(!r2)<<4|v.f.m, w<<7|vvvv<<3|4|v.f.pp,
		bit(v.zero)<<7|l<<5|bit(v.bcst)<<4|bit(v2)<<3|byte(v.mask), v.f.op)
	e.modRM(reg, v.rm, v.unit(), len(v.imm))
	e.put(v.imm...)
}

// unit is what an 8-bit displacement counts in.
func (v *vectorInst) unit() int64 {
	n := int64(max(v.bytes, 16))
	switch {
	case v.bcst:
		return int64(v.f.bcst)
	case v.f.unit == full:
		return n
	}
	return v.f.unit.of(n)
}
