package x86

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"sort"
	"strings"
)

// Registers are numbered through: vectors from 0, opmasks from 32.
const maskBase = 32

// numRegisters are those of vectors and of masks.
const numRegisters = maskBase + 8

// allocator gives the instructions of straight-line code registers, in order. A
// value that must leave its register goes to another that calls preserve, to its
// home or to the frame; of several, that which is used last leaves first.
type allocator struct {
	*selector
	*liveness
	masked bool // arrays are read and written under the tail's mask
	dry    bool // nothing is emitted: the cost alone is wanted
	limit  float64
	strict bool   // no value may go to the frame
	usable uint64 // registers that may be used, by bit
	sites  sites
	want   map[vreg]int // the register that a value should be in at the end

	pos    int
	past   int                // calls before the current instruction or at it
	in     [numRegisters]vreg // by register: what it holds
	pinned []bool             // by value: it keeps its register
	at     []int32            // by value: its register, or -1
	slot   []int32            // by value: offset in the frame, or -1
	cursor []int32            // by value: its first use that is not before pos, in liveness.at
	src    []vreg             // operands of the current instruction
	free   []int32            // slots that are free again
	left   []int32            // slots that are so after the current instruction, which may read them
	frame  int                // bytes in use; slots have a register's size
	code   []code
	cost   float64
	spills int // values that went to the frame
}

// A liveness is where a selector's values are used.
type liveness struct {
	uses   []int32 // positions of all values' uses, ascending for each
	first  []int32 // by value: where its uses begin; one more at the end
	callAt []int
}

// never is a position beyond all code.
const never = 1 << 30

// live finds the uses of the code so far.
func (s *selector) live() *liveness {
	l := &liveness{first: make([]int32, len(s.defs)+1)}
	n := 0
	for i, in := range s.insts {
		for _, v := range in.src {
			l.first[v]++
		}
		n += len(in.src)
		if in.form == call {
			l.callAt = append(l.callAt, i)
		}
	}
	sum := int32(0)
	for v, k := range l.first {
		l.first[v] = sum
		sum += k
	}
	l.uses = make([]int32, n)
	fill := append([]int32(nil), l.first...)
	for i, in := range s.insts {
		for _, v := range in.src {
			l.uses[fill[v]] = int32(i)
			fill[v]++
		}
	}
	return l
}

// used reports whether a value is used at all.
func (l *liveness) used(v vreg) bool { return l.first[v] < l.first[v+1] }

// sites say where the surroundings of the code keep what is not in registers.
type sites struct {
	scalars string      // the operand that holds the scalars' address
	index   string      // the operand that holds the index of the loop's first element
	buffers map[int]int // arrays of elements too small for masked moves: copies in the frame
}

// newAllocator prepares the allocation of code. What recycled holds, if it is not nil, is
// used again.
func newAllocator(s *selector, live *liveness, pinned map[vreg]int, usable uint64, recycled *allocator) *allocator {
	n := len(s.defs)
	a := &allocator{selector: s, liveness: live, usable: usable, limit: math.Inf(1)}
	if recycled != nil && len(recycled.at) == n {
		a.at, a.slot, a.cursor, a.pinned, a.free, a.left, a.src = recycled.at, recycled.slot, recycled.cursor, recycled.pinned, recycled.free[:0], recycled.left[:0], recycled.src
		clear(a.pinned)
	} else {
		block := make([]int32, 3*n)
		a.at, a.slot, a.cursor, a.pinned = block[:n:n], block[n:2*n:2*n], block[2*n:], make([]bool, n)
	}
	for v := range a.at {
		a.at[v], a.slot[v] = -1, -1
	}
	copy(a.cursor, live.first)
	for v := range s.defs {
		if r := s.defs[v].fixed; r > 0 {
			a.hold(vreg(v), r-1)
		}
	}
	for v, r := range pinned {
		a.hold(v, r)
		a.pinned[v] = true
	}
	return a
}

// registers are the bits of those for which f is true.
func registers(f func(r int) bool) uint64 {
	set := uint64(0)
	for r := range numRegisters {
		if f(r) {
			set |= 1 << r
		}
	}
	return set
}

func (a *allocator) hold(v vreg, reg int) {
	a.in[reg], a.at[v] = v, int32(reg)
}

// next is the position of the first use of v that is not before the current instruction,
// or if after is true that is behind it; never if there is none.
func (a *allocator) next(v vreg, after bool) int {
	c, end := a.cursor[v], a.first[v+1]
	for c < end && int(a.uses[c]) < a.pos {
		c++
	}
	a.cursor[v] = c
	for after && c < end && int(a.uses[c]) == a.pos {
		c++
	}
	if c < end {
		return int(a.uses[c])
	}
	if len(a.want) > 0 {
		if _, ok := a.want[v]; ok {
			return len(a.insts)
		}
	}
	return never
}

// dies reports whether v has no use after the current instruction.
func (a *allocator) dies(v vreg) bool { return !a.pinned[v] && a.next(v, true) == never }

func (a *allocator) drop(v vreg) {
	if r := a.at[v]; r >= 0 {
		a.in[r], a.at[v] = 0, -1
	}
}

// across reports whether a call comes between the current instruction and the last use
// of v.
func (a *allocator) across(v vreg) bool {
	if a.past == len(a.callAt) {
		return false
	}
	last := a.pos
	if _, ok := a.want[v]; ok {
		last = len(a.insts)
	} else if a.used(v) {
		last = int(a.liveness.uses[a.first[v+1]-1])
	}
	return a.callAt[a.past] < last
}

// registersOf are the registers that can hold v, those first that suit it: a value
// that a call follows wants one that calls preserve.
func (a *allocator) registersOf(v vreg) (first, rest uint64) {
	lo, hi, kept := 0, a.isa.registers(), a.isa.preserved()
	if a.defs[v].mask {
		lo, hi, kept = maskBase+firstMask, maskBase+8, maskBase+preservedMask
	}
	all := a.usable & (1<<hi - 1<<lo)
	first, rest = all&(1<<kept-1), all&^(1<<kept-1)
	if a.across(v) {
		first, rest = rest, first
	}
	return first, rest
}

// take returns a free register for v, evicting a value if there is none. It takes
// none that holds a value in keep.
func (a *allocator) take(v vreg, keep ...vreg) (int, error) {
	if len(a.want) > 0 {
		if r, ok := a.want[v]; ok && a.in[r] == 0 {
			return r, nil
		}
	}
	best, far := -1, -1
	first, rest := a.registersOf(v)
	for _, set := range [2]uint64{first, rest} {
		for ; set != 0; set &= set - 1 {
			r := bits.TrailingZeros64(set)
			w := a.in[r]
			if w == 0 {
				return r, nil
			}
			if a.pinned[w] || contains(keep, w) {
				continue
			}
			d := a.next(w, false)
			if a.defs[w].home != noHome {
				d += 4 // such a value need not be stored
			}
			if d > far {
				best, far = r, d
			}
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
	d := &a.defs[v]
	if d.home == noHome && a.slot[v] < 0 {
		if n := len(a.free); n > 0 {
			a.slot[v], a.free = a.free[n-1], a.free[:n-1]
		} else {
			a.slot[v] = int32(a.frame)
			a.frame += a.bytes
		}
		a.cost += 2
		a.spills++
		if d.mask {
			a.emitCode("KMOVQ", a.inSlot(v), a.reg(v, 0))
		} else {
			a.emitCode("VMOVUPS", a.inSlot(v), a.reg(v, a.bytes))
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

func (a *allocator) emitCode(op string, ops ...operand) {
	if !a.dry {
		a.code = append(a.code, code{op, slices.Clone(ops)})
	}
}

func (a *allocator) text(format string, args ...any) {
	if !a.dry {
		a.code = append(a.code, code{op: fmt.Sprintf(format, args...)})
	}
}

// immediate is the operand of a number.
func (a *allocator) immediate(n int) operand {
	if a.dry {
		return operand{kind: inText}
	}
	return operand{kind: inText, text: "$" + itoa(n)}
}

// data is the operand of n bytes of a constant.
func (a *allocator) data(c *constant, n int) operand {
	if a.dry {
		return operand{kind: inConst}
	}
	return operand{kind: inConst, text: c.repeat(n)}
}

// inSlot is the operand of what v left in the frame.
func (a *allocator) inSlot(v vreg) operand { return operand{kind: inSlot, n: int(a.slot[v])} }

// reg is the operand of v, which is in a register, with a name for bytes, or for
// its own size if that is 0.
func (a *allocator) reg(v vreg, bytes int) operand {
	if bytes == 0 {
		bytes = a.defs[v].bytes
	}
	return a.regAt(int(a.at[v]), bytes)
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
	d := &a.defs[v]
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
	d := &a.defs[v]
	switch {
	case a.slot[v] >= 0:
		a.cost += 1
		return a.inSlot(v), ""
	case d.home == homeArray:
		return operand{kind: inArray, n: d.at, bytes: d.size, skip: d.skip}, ""
	}
	a.cost += 0.3
	if in.bcst > 0 && d.value.size > 0 && d.value.size <= in.bcst {
		return a.data(&d.value, in.bcst), ".BCST"
	}
	bytes := a.bytes
	if in.width == 0 {
		bytes = max(16, d.bytes)
	}
	return a.data(&d.value, bytes), ""
}

// errCostly is why the allocation of code ends early that costs more than other is known to.
var errCostly = errors.New("x86: not the cheapest")

// run allocates all instructions. The registers of results are kept.
func (a *allocator) run() error {
	for i := range a.insts {
		a.pos = i
		for a.past < len(a.callAt) && a.callAt[a.past] <= i {
			a.past++
		}
		a.free, a.left = append(a.free, a.left...), a.left[:0]
		in := a.insts[i] // a copy: operands may change places
		a.src = append(a.src[:0], in.src...)
		in.src = a.src
		if err := a.inst(&in); err != nil {
			return err
		}
		if a.cost >= a.limit || a.strict && a.spills > 0 {
			return errCostly
		}
	}
	return nil
}

// inst allocates one instruction.
func (a *allocator) inst(in *inst) error {
	switch {
	case in.form == call:
		return a.call(in)
	case in.form == fma:
		return a.fma(in)
	case in.form == ternary:
		return a.ternary(in)
	case in.form == merge, in.form == replace:
		return a.inPlace(in)
	case in.form == store:
		return a.store(in)
	case in.form == element:
		return a.element(in)
	case strings.IndexByte(in.op, '%') >= 0:
		return a.special(in)
	}
	return a.plain(in)
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
	var mem operand
	inMemory := false
	op := in.op
	regs := in.src
	if n > 0 && a.foldable(in, in.src[last]) && !contains(in.src[:last], in.src[last]) {
		m, suffix := a.memory(in, in.src[last])
		mem, inMemory, regs = m, true, in.src[:last]
		op += suffix
	}
	var room [6]operand
	ops := room[:1]
	for _, v := range regs {
		if err := a.ensure(v, in.src...); err != nil {
			return err
		}
		ops = append(ops, a.reg(v, in.width))
	}
	if inMemory {
		ops = append(ops, mem)
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
		ops = append(ops, a.immediate(in.imm))
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
		if r := int(a.at[v]); r >= 0 && r < len(in.src) && r != i {
			to := a.isa.preserved() - 1
			for contains(in.src, a.in[to]) {
				to--
			}
			a.emitCode("VMOVAPS", a.regAt(to, a.bytes), a.regAt(r, a.bytes))
			a.moveTo(v, to)
		}
	}
	for i, v := range in.src {
		switch r := int(a.at[v]); {
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
		if a.in[to] == 0 && a.usable>>to&1 != 0 {
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
	at := int(a.at[v])
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
			if at := int(a.at[v]); at != r && contains(todo, a.in[r]) {
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
