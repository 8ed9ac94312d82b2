package x86

import (
	"fmt"
	"sort"
	"strings"
)

// Registers are numbered through: vectors from 0, opmasks from 32.
const maskBase = 32

// allocator gives the instructions of straight-line code registers, in order. A
// value that must leave its register goes to another that calls preserve, to its
// home or to the frame; of several, that which is used last leaves first.
type allocator struct {
	*selector
	masked bool // arrays are read and written under the tail's mask
	pinned map[vreg]int
	usable func(reg int) bool
	sites  sites
	want   map[vreg]int // the register that a value should be in at the end

	uses   [][]int // by value: positions, ascending
	callAt []int
	pos    int
	in     []vreg // by register: what it holds
	at     []int  // by value: its register, or -1
	slot   []int  // by value: offset in the frame, or -1
	free   []int  // slots that are free again
	left   []int  // slots that are so after the current instruction, which may read them
	frame  int    // bytes in use; slots have a register's size
	code   []code
	cost   float64
	spills int // values that went to the frame
}

// sites say where the surroundings of the code keep what is not in registers.
type sites struct {
	scalars string      // the operand that holds the scalars' address
	index   string      // the operand that holds the index of the loop's first element
	buffers map[int]int // arrays of elements too small for masked moves: copies in the frame
}

func newAllocator(s *selector, pinned map[vreg]int, usable func(int) bool) *allocator {
	a := &allocator{selector: s, pinned: pinned, usable: usable,
		uses: make([][]int, len(s.defs)), in: make([]vreg, maskBase+8), at: make([]int, len(s.defs)), slot: make([]int, len(s.defs))}
	for v := range a.at {
		a.at[v], a.slot[v] = -1, -1
	}
	for v, d := range s.defs {
		if d.fixed > 0 {
			a.hold(vreg(v), d.fixed-1)
		}
	}
	for v, r := range pinned {
		a.hold(v, r)
	}
	for i, in := range s.insts {
		for _, v := range in.src {
			a.uses[v] = append(a.uses[v], i)
		}
		if in.form == call {
			a.callAt = append(a.callAt, i)
		}
	}
	return a
}

func (a *allocator) hold(v vreg, reg int) {
	a.in[reg], a.at[v] = v, reg
}

// next is the position of the first use of v after p; beyond all code if none.
func (a *allocator) next(v vreg, p int) int {
	for _, u := range a.uses[v] {
		if u > p {
			return u
		}
	}
	return 1 << 30
}

// dies reports whether v has no use after the current instruction.
func (a *allocator) dies(v vreg) bool {
	_, pinned := a.pinned[v]
	return !pinned && a.next(v, a.pos) == 1<<30
}

func (a *allocator) drop(v vreg) {
	if r := a.at[v]; r >= 0 {
		a.in[r], a.at[v] = 0, -1
	}
}

// registersOf are the registers that can hold v, those first that suit it: a value
// that a call follows wants one that calls preserve.
func (a *allocator) registersOf(v vreg) []int {
	var first, rest []int
	lo, hi, kept := 0, a.isa.registers(), a.isa.preserved()
	if a.defs[v].mask {
		lo, hi, kept = maskBase+firstMask, maskBase+8, maskBase+preservedMask
	}
	last := a.pos
	if u := a.uses[v]; len(u) > 0 {
		last = u[len(u)-1]
	}
	across := false
	for _, c := range a.callAt {
		across = across || c > a.pos && c < last
	}
	for r := lo; r < hi; r++ {
		if !a.usable(r) {
			continue
		}
		if (r >= kept) == across {
			first = append(first, r)
		} else {
			rest = append(rest, r)
		}
	}
	return append(first, rest...)
}

// take returns a free register for v, evicting a value if there is none. It takes
// none that holds a value in keep.
func (a *allocator) take(v vreg, keep ...vreg) (int, error) {
	if r, ok := a.want[v]; ok && a.in[r] == 0 {
		return r, nil
	}
	best, far := -1, -1
	for _, r := range a.registersOf(v) {
		w := a.in[r]
		if w == 0 {
			return r, nil
		}
		if _, pinned := a.pinned[w]; pinned || contains(keep, w) {
			continue
		}
		d := a.next(w, a.pos-1)
		if a.defs[w].home != noHome {
			d += 4 // such a value need not be stored
		}
		if d > far {
			best, far = r, d
		}
	}
	if best < 0 {
		return 0, fmt.Errorf("x86: %v: an instruction needs more registers than there are", a.isa)
	}
	a.evict(a.in[best])
	return best, nil
}

func contains(list []vreg, v vreg) bool {
	for _, w := range list {
		if w == v {
			return true
		}
	}
	return false
}

// evict takes v out of its register, stored if nothing else keeps it.
func (a *allocator) evict(v vreg) {
	d := a.defs[v]
	if d.home == noHome && a.slot[v] < 0 {
		if n := len(a.free); n > 0 {
			a.slot[v], a.free = a.free[n-1], a.free[:n-1]
		} else {
			a.slot[v] = a.frame
			a.frame += a.bytes
		}
		a.cost += 2
		a.spills++
		if d.mask {
			a.emitCode("KMOVQ", operand{kind: inSlot, n: a.slot[v]}, a.reg(v, 0))
		} else {
			a.emitCode("VMOVUPS", operand{kind: inSlot, n: a.slot[v]}, a.reg(v, a.bytes))
		}
	}
	a.drop(v)
}

// leave frees the slots and registers of values that the current instruction uses last.
func (a *allocator) leave(src []vreg) {
	for _, v := range src {
		if a.dies(v) {
			a.drop(v)
			if a.slot[v] >= 0 {
				a.left = append(a.left, a.slot[v])
				a.slot[v] = -1
			}
		}
	}
}

func (a *allocator) emitCode(op string, ops ...operand) { a.code = append(a.code, code{op, ops}) }

func (a *allocator) text(format string, args ...any) {
	a.code = append(a.code, code{op: fmt.Sprintf(format, args...)})
}

// reg is the operand of v, which is in a register, with a name for bytes, or for
// its own size if that is 0.
func (a *allocator) reg(v vreg, bytes int) operand {
	if bytes == 0 {
		bytes = a.defs[v].bytes
	}
	return a.regAt(a.at[v], bytes)
}

func (a *allocator) regAt(r, bytes int) operand {
	if r >= maskBase {
		return operand{kind: inMask, n: r - maskBase}
	}
	return operand{kind: inVec, n: r, bytes: bytes}
}

// ensure brings v into a register.
func (a *allocator) ensure(v vreg, keep ...vreg) error {
	if a.at[v] >= 0 {
		return nil
	}
	r, err := a.take(v, keep...)
	if err != nil {
		return err
	}
	a.load(v, r)
	a.hold(v, r)
	return nil
}

// foldable reports whether an instruction can read v in memory.
func (a *allocator) foldable(in *inst, v vreg) bool {
	if !in.mem || a.at[v] >= 0 {
		return false
	}
	d := a.defs[v]
	wide := in.width == 0 || in.width == d.bytes
	switch {
	case a.slot[v] >= 0:
		return d.bytes == a.bytes && !d.mask
	case d.home == homeConst:
		return !d.value.isZero() && !d.value.isOnes() && (d.bytes >= 16 || in.bcst > 0)
	case d.home == homeArray:
		return !a.masked && a.dies(v) && wide && (d.bytes >= 16 || in.exact)
	}
	return false
}

// memory is the operand for a foldable v, and the suffix of the instruction.
func (a *allocator) memory(in *inst, v vreg) (operand, string) {
	d := a.defs[v]
	switch {
	case a.slot[v] >= 0:
		a.cost += 1
		return operand{kind: inSlot, n: a.slot[v]}, ""
	case d.home == homeArray:
		return operand{kind: inArray, n: d.at, bytes: d.size, skip: d.skip}, ""
	}
	a.cost += 0.3
	if in.bcst > 0 && d.value.size > 0 && d.value.size <= in.bcst {
		return operand{kind: inConst, text: d.value.repeat(in.bcst)}, ".BCST"
	}
	bytes := a.bytes
	if in.width == 0 {
		bytes = max(16, d.bytes)
	}
	return operand{kind: inConst, text: d.value.repeat(bytes)}, ""
}

// run allocates all instructions. The registers of results are kept.
func (a *allocator) run() error {
	for i := range a.insts {
		a.pos = i
		a.free, a.left = append(a.free, a.left...), nil
		in := a.insts[i] // a copy: operands may change places
		in.src = append([]vreg(nil), in.src...)
		var err error
		switch {
		case in.form == call:
			err = a.call(&in)
		case in.form == fma:
			err = a.fma(&in)
		case in.form == ternary:
			err = a.ternary(&in)
		case in.form == merge, in.form == replace:
			err = a.first(&in)
		case in.form == store:
			err = a.store(&in)
		case strings.Contains(in.op, "%"):
			err = a.special(&in)
		default:
			err = a.plain(&in)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// define gives the result of an instruction a register.
func (a *allocator) define(in *inst, keep ...vreg) (operand, error) {
	r, err := a.take(in.dst, keep...)
	if err != nil {
		return operand{}, err
	}
	a.hold(in.dst, r)
	return a.reg(in.dst, in.width), nil
}

// plain allocates an instruction that only its flags constrain.
func (a *allocator) plain(in *inst) error {
	n := len(in.src)
	last := n - 1
	if in.comm && n >= 2 && a.foldable(in, in.src[last-1]) && !a.foldable(in, in.src[last]) && in.src[last-1] != in.src[last] {
		in.src[last-1], in.src[last] = in.src[last], in.src[last-1]
	}
	if in.comm && in.tied && !a.dies(in.src[0]) && a.dies(in.src[1]) {
		in.src[0], in.src[1] = in.src[1], in.src[0]
	}
	var mem *operand
	op := in.op
	regs := in.src
	if n > 0 && a.foldable(in, in.src[last]) && !contains(in.src[:last], in.src[last]) {
		m, suffix := a.memory(in, in.src[last])
		mem, op, regs = &m, op+suffix, in.src[:last]
	}
	ops := make([]operand, 1, n+2)
	for _, v := range regs {
		if err := a.ensure(v, in.src...); err != nil {
			return err
		}
		ops = append(ops, a.reg(v, in.width))
	}
	if mem != nil {
		ops = append(ops, *mem)
	}
	if in.zero {
		op += ".Z"
	}
	if !in.early {
		a.leave(in.src)
	}
	dst, err := a.define(in, regs...)
	if err != nil {
		return err
	}
	if in.early {
		a.leave(in.src)
	}
	ops[0] = dst
	if in.imm >= 0 {
		ops = append(ops, operand{kind: inText, text: "$" + itoa(in.imm)})
	}
	a.emitCode(op, ops...)
	return nil
}

// clobbered reports whether subroutines may overwrite a register.
func (a *allocator) clobbered(r int) bool {
	if r >= maskBase {
		return r < maskBase+preservedMask
	}
	return r < a.isa.preserved()
}

// call moves what must survive out of the registers that subroutines use, the
// arguments to the first ones, and takes the result from the first.
func (a *allocator) call(in *inst) error {
	for r, v := range a.in {
		if v != 0 && a.clobbered(r) && !a.dies(v) && a.defs[v].home == noHome && a.slot[v] < 0 {
			a.rescue(v, r)
		}
	}
	for i, v := range in.src { // arguments that are in the way of others step aside
		if r := a.at[v]; r >= 0 && r < len(in.src) && r != i {
			to := a.isa.preserved() - 1
			for contains(in.src, a.in[to]) {
				to--
			}
			a.emitCode("VMOVAPS", a.regAt(to, a.bytes), a.regAt(r, a.bytes))
			a.moveTo(v, to)
		}
	}
	for i, v := range in.src {
		switch r := a.at[v]; {
		case r == i:
		case r >= 0:
			a.emitCode("VMOVAPS", a.regAt(i, a.bytes), a.regAt(r, a.bytes))
		default:
			a.load(v, i)
		}
	}
	a.text("CALL %s", in.op)
	a.leave(in.src)
	for r, v := range a.in {
		if v != 0 && a.clobbered(r) {
			a.drop(v)
		}
	}
	a.hold(in.dst, 0)
	return nil
}

func (a *allocator) moveTo(v vreg, r int) {
	a.drop(v)
	if w := a.in[r]; w != 0 {
		a.drop(w)
	}
	a.hold(v, r)
}

// rescue keeps v over a call, in a register that is preserved if one is free.
func (a *allocator) rescue(v vreg, r int) {
	lo, hi := a.isa.preserved(), a.isa.registers()
	if r >= maskBase {
		lo, hi = maskBase+preservedMask, maskBase+8
	}
	for to := lo; to < hi; to++ {
		if a.in[to] == 0 && a.usable(to) {
			op := "VMOVAPS"
			if r >= maskBase {
				op = "KMOVQ"
			}
			a.emitCode(op, a.regAt(to, a.bytes), a.regAt(r, a.bytes))
			a.cost += 0.5
			a.moveTo(v, to)
			return
		}
	}
	at := a.at[v]
	a.evict(v)
	a.hold(v, at) // an argument may still be read there
}

// settle moves results to the registers that are wanted of them, once all code is
// allocated.
func (a *allocator) settle() error {
	todo := make([]vreg, 0, len(a.want))
	for v := range a.want {
		todo = append(todo, v)
	}
	sort.Slice(todo, func(i, j int) bool { return a.want[todo[i]] < a.want[todo[j]] })
	for moved := true; moved && len(todo) > 0; {
		moved = false
		var wait []vreg
		for _, v := range todo {
			r := a.want[v]
			if at := a.at[v]; at != r && contains(todo, a.in[r]) {
				wait = append(wait, v)
				continue
			} else if at != r {
				a.cost += 0.5
				if at < 0 {
					a.load(v, r)
				} else {
					a.emitCode("VMOVAPS", a.regAt(r, a.bytes), a.regAt(at, a.bytes))
				}
				a.moveTo(v, r)
			}
			moved = true
		}
		todo = wait
	}
	if len(todo) > 0 {
		return fmt.Errorf("x86: %v: results in each other's registers", a.isa)
	}
	return nil
}
