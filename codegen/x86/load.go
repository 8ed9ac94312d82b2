package x86

import (
	"fmt"
	"strings"
)

// load brings v from its home or from the frame into register r, which the caller
// has made free.
func (a *allocator) load(v vreg, r int) {
	d := &a.defs[v]
	switch {
	case a.slot[v] >= 0 && d.mask:
		a.cost += 2
		a.emitCode("KMOVQ", a.regAt(r, 0), a.inSlot(v))
	case a.slot[v] >= 0:
		a.cost += 2
		a.emitCode("VMOVUPS", a.regAt(r, a.bytes), a.inSlot(v))
	case d.home == homeConst:
		a.loadConst(d, r)
	case d.home == homeScalar:
		a.cost += 2
		a.text("MOVQ %s, R13", a.sites.scalars)
		a.broadcast(d.size, operand{kind: inText, text: fmt.Sprintf("%d(R13)", 8*d.at)}, r)
	case d.home == homeIndex:
		a.loadIndex(d, r)
	case d.home == homeArray:
		a.cost++
		a.loadArray(d, r)
	}
}

func (a *allocator) loadConst(d *vdef, r int) {
	bytes := max(16, d.bytes)
	switch {
	case d.value.isZero():
		a.cost += 0.3
		op := "VPXOR"
		if r >= 16 {
			op = "VPXORD"
		}
		x := a.regAt(r, 16)
		a.emitCode(op, x, x, x)
	case d.value.isOnes():
		a.cost += 0.5
		x := a.regAt(r, bytes)
		if a.isa == AVX512 {
			a.emitCode("VPTERNLOGD", x, x, x, a.immediate(255))
		} else {
			a.emitCode("VPCMPEQD", x, x, x)
		}
	case d.value.size > 0:
		a.cost++
		size := d.value.size
		if a.isa == AVX2 || size < 4 {
			size = max(4, size) // one instruction for all, from data that others share
		}
		a.broadcast(size, a.data(&d.value, size), r)
	default:
		a.cost++
		a.emitCode("VMOVUPS", a.regAt(r, bytes), a.data(&d.value, bytes))
	}
}

// broadcast fills register r with an element in memory.
func (a *allocator) broadcast(size int, from operand, r int) {
	op := map[int]string{1: "VPBROADCASTB", 2: "VPBROADCASTW", 4: "VBROADCASTSS", 8: "VBROADCASTSD"}[size]
	a.emitCode(op, a.regAt(r, a.bytes), from)
}

// loadIndex adds the lanes' numbers to the index of the first.
func (a *allocator) loadIndex(d *vdef, r int) {
	a.cost += 3
	a.text("MOVQ %s, R12", a.sites.index)
	a.emitCode("LEAQ", operand{kind: inText, text: "R12"}, operand{kind: inArray, bytes: 1, skip: d.skip, text: "R12"})
	var data []byte
	for i := range max(2, a.lanes) {
		data = append(data, byte(i), 0, 0, 0, 0, 0, 0, 0)
	}
	x := a.regAt(r, max(16, d.bytes))
	a.emitCode("VMOVQ", a.regAt(r, 16), operand{kind: inText, text: "R12"})
	a.emitCode("VPBROADCASTQ", x, a.regAt(r, 16))
	a.emitCode("VPADDQ", x, x, operand{kind: inConst, text: string(data)})
}

// moves are the instructions that load and store so many bytes.
func move(bytes int) string {
	switch {
	case bytes >= 16:
		return "VMOVUPS"
	case bytes == 8:
		return "VMOVQ"
	}
	return "VMOVD"
}

// maskedMove is the AVX-512 move of elements of a size.
func maskedMove(size int) string {
	return map[int]string{1: "VMOVDQU8", 2: "VMOVDQU16", 4: "VMOVUPS", 8: "VMOVUPD"}[size]
}

func (a *allocator) loadArray(d *vdef, r int) {
	x, at := a.regAt(r, d.bytes), operand{kind: inArray, n: d.at, bytes: d.size, skip: d.skip}
	switch {
	case !a.masked:
		a.emitCode(move(d.bytes), x, at)
	case a.isa == AVX512:
		a.emitCode(maskedMove(d.size)+".Z", x, operand{kind: inMask, n: tailMask}, at)
	case d.size < 4:
		a.emitCode(move(d.bytes), x, operand{kind: inSlot, n: a.sites.buffers[d.at]})
	default:
		a.tailLanes(d.size, x)
		a.emitCode("VMASKMOVP"+suffixOf(d.size), x, x, at)
	}
}

func suffixOf(size int) string {
	if size == 8 {
		return "D"
	}
	return "S"
}

// tailTable is what tails cut masks of, at a distance before its middle.
const tailTable = "\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff\xff" +
	"\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00"

// tailLanes sets x to ones in as many lanes as are left: R11 has the table's
// address, AX the number's negative.
func (a *allocator) tailLanes(size int, x operand) {
	a.emitCode("VMOVUPS", x, operand{kind: inText, text: fmt.Sprintf("32(R11)(AX*%d)", size)})
}

// store writes a value to an array.
func (a *allocator) store(in *inst) error {
	v := in.src[0]
	if err := a.ensure(v); err != nil {
		return err
	}
	x, at := a.reg(v, 0), operand{kind: inArray, n: in.at, bytes: in.size, skip: in.skip}
	switch {
	case !a.masked:
		a.emitCode(move(a.defs[v].bytes), at, x)
	case a.isa == AVX512:
		a.emitCode(maskedMove(in.size), at, operand{kind: inMask, n: tailMask}, x)
	case in.size < 4:
		a.emitCode(move(a.defs[v].bytes), operand{kind: inSlot, n: a.sites.buffers[in.at]}, x)
	default:
		r, err := a.take(v, v)
		if err != nil {
			return err
		}
		mask := a.regAt(r, a.defs[v].bytes)
		a.tailLanes(in.size, mask)
		a.emitCode("VMASKMOVP"+suffixOf(in.size), at, mask, x)
	}
	a.leave(in.src)
	return nil
}

// element writes the first lane of a value to a scalar's place.
func (a *allocator) element(in *inst) error {
	v := in.src[0]
	if err := a.ensure(v); err != nil {
		return err
	}
	a.text("MOVQ %s, R13", a.sites.scalars)
	a.text("%s %s, R12", move(max(4, in.size)), regName(int(a.at[v]), 16))
	if in.size == 1 {
		a.text("ANDQ $255, R12")
	}
	a.text("MOVQ R12, %d(R13)", 8*in.at)
	a.leave(in.src)
	return nil
}

// special allocates what is several instructions.
func (a *allocator) special(in *inst) error {
	op, arg, _ := strings.Cut(in.op, " ")
	for _, v := range in.src {
		if err := a.ensure(v, in.src...); err != nil {
			return err
		}
	}
	r12 := operand{kind: inText, text: "R12"}
	switch {
	case op == "%gather": // the mask is used up, the registers differ
		m, err := a.take(in.dst, in.src...)
		if err != nil {
			return err
		}
		idx := a.reg(in.src[0], a.bytes)
		a.in[m] = in.src[0] // no longer free, for define
		dst, err := a.define(in, in.src...)
		a.in[m] = 0
		if err != nil {
			return err
		}
		mask := a.regAt(m, a.bytes)
		a.emitCode("LEAQ", r12, operand{kind: inConst, text: arg})
		a.emitCode("VPCMPEQD", mask, mask, mask)
		a.emitCode("VGATHERQPD", dst, operand{kind: inText, text: fmt.Sprintf("(R12)(%s*8)", regName(idx.n, idx.bytes))}, mask)
		a.leave(in.src)
		return nil
	case op == "%convert":
		x := a.reg(in.src[0], 16)
		a.leave(in.src)
		dst, err := a.define(in)
		if err != nil {
			return err
		}
		a.emitCode(arg, r12, x)
		a.emitCode("VMOVQ", dst, r12)
		return nil
	}
	dst, err := a.define(in)
	if err != nil {
		return err
	}
	a.emitCode(op, dst, dst, dst)
	return nil
}
