package x86

import (
	"fmt"
	"math"
	"sort"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/lane"
)

// Registers of loops: AX the elements left or the last index at which the code can
// start, CX the index, BX the address of the arrays' addresses, R11 to R13 scratch.
var pointers = []string{"DX", "SI", "DI", "R8", "R9", "R10"}

// An array is what a loop reads or writes.
type array struct {
	t    lane.Type
	read bool
	used bool
}

// loop is the code of one element-wise loop.
type loop struct {
	isa      ISA
	p        *lane.Prog
	lanes    int
	arrays   []array
	scalars  string // the operand that holds the scalars' address
	index    string
	params   int    // bytes of the function's parameters
	hoisted  []vdef // constants and scalars in registers throughout, the last register first
	main     *allocator
	copies   int // vectors that main computes
	single   *allocator
	tail     *allocator
	array    func(k int) (reg, before string)
	frameLow int    // bytes in the frame below the slots
	chain    bool   // it is Chain's
	words    bool   // it is Words'
	prefix   string // of labels, where a function has several loops
}

// Loop adds what the function Loop makes.
func (f *File) Loop(name string, p *lane.Prog, isa ISA) error { return f.add(Loop(name, p, isa)) }

// Loop makes an element-wise loop over n elements, as vector.Func of backend/cpu/vector:
//
//	func <name><isa>(n int, p []unsafe.Pointer, s []ir.Scalar, index int64)
//
// where p holds the results' arrays, then the inputs'. A result may be an input's
// array. If the program has scalars, s is a *[K]uint64 of their bits in its stead.
func Loop(name string, p *lane.Prog, isa ISA) (*Func, error) {
	return makeLoop(name, p, isa, false, false)
}

// Words adds a Loop whose s is the *uint64 of the bits of its scalars, which it may have none of: as
// package backend/cpu/loop calls it.
func (f *File) Words(name string, p *lane.Prog, isa ISA) error {
	return f.add(makeLoop(name, p, isa, false, true))
}

// Chain makes a Loop of several operators one after the other, each of which waits for the last:
// more vectors are computed side by side, two where it calls functions, too.
func Chain(name string, p *lane.Prog, isa ISA) (*Func, error) {
	return makeLoop(name, p, isa, true, false)
}

func makeLoop(name string, p *lane.Prog, isa ISA, chain, words bool) (*Func, error) {
	l, err := newLoop(p, isa)
	if err == nil {
		l.chain, l.words = chain, words
		err = l.ready()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var b amd64.Block
	l.printEntry(&b)
	l.print(&b)
	return l.function(name, &b), nil
}

// function makes the function of a loop.
func (l *loop) function(name string, body *amd64.Block) *Func {
	sig, _ := l.scalarsParam()
	return function(name+l.isa.String(), fmt.Sprintf("n int, p []unsafe.Pointer, %s, index int64", sig), body, l.frame(), l.params)
}

// printEntry loads the number of elements and the addresses.
func (l *loop) printEntry(b *amd64.Block) {
	b.Asm("\tMOVQ n+0(FP), AX\n\tMOVQ p_base+8(FP), BX\n")
	for k := range min(len(l.arrays), len(pointers)) {
		b.Asm("\tMOVQ %d(BX), %s\n", 8*k, pointers[k])
	}
}

// scalarsParam is the declaration of a function's scalars, and their address's name
// in the assembly.
func scalarsParam(p *lane.Prog) (decl, name string) {
	if k := len(p.Scalars()); k > 0 {
		return fmt.Sprintf("s *[%d]uint64", k), "s"
	}
	return "s []ir.Scalar", "s_base"
}

func (l *loop) scalarsParam() (decl, name string) {
	if l.words {
		return "s *uint64", "s"
	}
	return scalarsParam(l.p)
}

// ready makes the code of an element-wise loop's function.
func (l *loop) ready() error {
	_, scalars := l.scalarsParam()
	l.scalars, l.index, l.params = scalars+"+32(FP)", "index+56(FP)", 64
	if scalars == "s" {
		l.index, l.params = "index+40(FP)", 48
	}
	l.array = func(k int) (string, string) {
		if k < len(pointers) {
			return pointers[k], ""
		}
		return "R13", fmt.Sprintf("MOVQ %d(BX), R13", 8*k)
	}
	return l.allocate()
}

// newLoop describes the loop of a program.
func newLoop(p *lane.Prog, isa ISA) (*loop, error) {
	p = legalize(p, isa)
	if err := p.Err(); err != nil {
		return nil, err
	}
	outs := p.Outs()
	if len(outs) == 0 {
		return nil, fmt.Errorf("x86: a loop without results")
	}
	l := &loop{isa: isa, p: p, lanes: isa.vectorBytes() / widest(p)}
	for _, v := range outs {
		l.arrays = append(l.arrays, array{t: p.Type(v), used: true})
	}
	live := p.Live()
	for _, t := range p.Args() {
		l.arrays = append(l.arrays, array{t: t, read: true})
	}
	for v := 1; v < p.Len(); v++ {
		if n := p.Node(lane.V(v)); live[v] && n.Op == lane.OpArg {
			l.arrays[len(outs)+int(n.Imm)].used = true
		}
	}
	return l, nil
}

// code selects copies of the body, stores included.
func (l *loop) code(copies int) (*selector, error) {
	s := newSelector(l.p, l.isa, l.lanes)
	outs := len(l.p.Outs())
	s.arg = func(i int, t lane.Type) vreg {
		return s.atHome(vdef{bytes: s.size(t), home: homeArray, at: outs + i, size: t.Size(), skip: s.skip})
	}
	err := s.interleave(copies, func(int) {
		for i := range outs {
			s.insts = append(s.insts, inst{form: store, src: []vreg{s.out(i)}, at: i, size: l.arrays[i].t.Size(), skip: s.skip})
		}
	})
	return s, err
}

// allocate selects and allocates the loop's code.
func (l *loop) allocate() error {
	one, err := l.code(1)
	if err != nil {
		return err
	}
	copies, spills := l.side(one)
	low := 0
	if one.calls {
		low = l.isa.preserved()
	}
	for ; ; copies = (copies + 1) / 2 {
		many, err := l.code(copies)
		if err != nil {
			return err
		}
		if err = l.hoist(one, many, low); err != nil && copies == 1 {
			return err
		}
		if l.copies = copies; copies == 1 || err == nil && l.main.spills <= spills {
			return nil
		}
	}
}

// mostSpills is how many values of a chain may go to the frame: in those that package jit has there is
// room for 64 of AVX-512, and for twice as many of AVX2.
const mostSpills = 48

// side is how many vectors of so much code are computed side by side at first, and how many of
// their values may go to the frame: half as many vectors are tried while there are more. A chain
// waits for its operators: what more vectors cost in the frame is less.
func (l *loop) side(one *selector) (copies, spills int) {
	n := len(one.insts)
	switch {
	case l.chain && !one.calls && n <= 160:
		if n > 50 {
			return 5, mostSpills
		}
		return 4, mostSpills
	case one.calls && !l.chain || n > 120:
		return 1, 0
	case one.calls || n > 50:
		return 2, 0
	}
	return 4, 0
}

// hoist allocates the code of one vector, of the tail, and of many vectors, with as
// many invariants in registers of their own as suits the last. Registers below low
// are not for them.
func (l *loop) hoist(one, many *selector, low int) error {
	list := one.invariants()
	h := hoisting{loop: l, many: many, list: list, live: many.live(), most: min(len(list), l.isa.registers()-low)}
	oneLive := h.live
	if one != many {
		oneLive = one.live()
	}
	for {
		n, err := h.best()
		if err != nil {
			return err
		}
		main, err := l.attempt(many, h.live, list[:n], false, nil)
		if err == nil {
			l.single, err = l.attempt(one, oneLive, list[:n], false, nil)
		}
		if err == nil {
			l.tail, err = l.attempt(one, oneLive, list[:n], true, nil)
		}
		if err == nil {
			l.main, l.hoisted = main, list[:n]
			return nil
		}
		h.fail(n, err)
	}
}

// A hoisting is the search for how many invariants to keep in registers.
type hoisting struct {
	*loop
	many   *selector
	live   *liveness
	list   []vdef
	most   int
	failed map[int]bool // what other code than that of many vectors has no registers for
	err    error
	spare  *allocator
}

// best is the number that makes the code of many vectors cheapest.
func (h *hoisting) best() (int, error) {
	best, cost := -1, math.Inf(1)
	for n := h.most; n >= 0; n -= h.step(n) {
		if h.failed[n] {
			continue
		}
		a := h.prepare(h.many, h.live, h.list[:n], false, nil, h.spare)
		h.spare, a.dry, a.limit = a, true, cost
		if err := a.run(); err != nil {
			if err != errCostly {
				h.err = err
			}
			continue
		}
		best, cost = n, a.cost
		if a.spills == 0 { // fewer would only be read from memory instead
			break
		}
	}
	if best < 0 {
		return 0, h.err
	}
	return best, nil
}

// step is how many fewer to try after n: not every number where code is made while a program waits
// for it, and is long.
func (h *hoisting) step(n int) int {
	if h.chain && n > 1 {
		return 2
	}
	return 1
}

// fail excludes a number.
func (h *hoisting) fail(n int, err error) {
	if h.failed == nil {
		h.failed = map[int]bool{}
	}
	h.failed[n], h.err = true, err
}

// pin is the registers of hoisted values by the values' numbers in s, and all those
// registers, by bit.
func (l *loop) pin(s *selector, hoisted []vdef) (pinned map[vreg]int, taken uint64) {
	pinned = map[vreg]int{}
	for i, d := range hoisted {
		r := l.isa.registers() - 1 - i
		taken |= 1 << r
		if v, ok := s.homes[d]; ok {
			pinned[v] = r
		}
	}
	return pinned, taken
}

// attempt allocates code with some invariants in registers, within those that
// usable allows, if it is given.
func (l *loop) attempt(s *selector, live *liveness, hoisted []vdef, tail bool, usable func(r int) bool) (*allocator, error) {
	a := l.prepare(s, live, hoisted, tail, usable, nil)
	return a, a.run()
}

func (l *loop) prepare(s *selector, live *liveness, hoisted []vdef, tail bool, usable func(r int) bool, recycled *allocator) *allocator {
	pinned, taken := l.pin(s, hoisted)
	may := uint64(1<<numRegisters - 1)
	if usable != nil {
		may = registers(usable)
	}
	if may &^= taken; tail {
		may &^= 1 << (maskBase + tailMask)
	}
	a := newAllocator(s, live, pinned, may, recycled)
	a.masked = tail
	a.sites = sites{scalars: l.scalars, index: l.index}
	if tail && l.isa == AVX2 {
		a.sites.buffers = map[int]int{}
		for k, x := range l.arrays {
			if x.used && x.t.Size() < 4 {
				a.sites.buffers[k] = a.frame
				a.frame += l.isa.vectorBytes()
			}
		}
	}
	return a
}

// invariants are the constants and scalars of the code, those used most first.
func (s *selector) invariants() []vdef {
	uses := map[vdef]int{}
	var list []vdef
	for _, in := range s.insts {
		for _, v := range in.src {
			d := s.defs[v]
			if d.home != homeConst && d.home != homeScalar {
				continue
			}
			if uses[d] == 0 {
				list = append(list, d)
			}
			uses[d]++
			if d.home == homeScalar {
				uses[d] += 2 // it is no memory operand
			}
		}
	}
	sort.SliceStable(list, func(i, j int) bool { return uses[list[i]] > uses[list[j]] })
	return list
}

// frame is the size of the function's frame.
func (l *loop) frame() int { return l.frameLow + max(l.main.frame, l.single.frame, l.tail.frame) }

// print writes the loops: several vectors at a time, single vectors, the tail. AX
// holds the number of elements and CX is free.
func (l *loop) print(b *amd64.Block) {
	place := l.place()
	l.printInvariants(b, place)
	b.Asm("\tXORQ CX, CX\n")
	if step := l.lanes * l.copies; l.copies > 1 {
		b.Asm("\tSUBQ $%d, AX\n\tJLT singles\n\tPCALIGN $32\nmain:\n", step)
		place.put(b, l.main.code)
		b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, AX\n\tJLE main\nsingles:\n", step)
		if l.isa == AVX512 {
			l.printMasked(b, place, step)
			return
		}
		b.Asm("\tADDQ $%d, AX\n", step-l.lanes)
	} else {
		b.Asm("\tSUBQ $%d, AX\n", l.lanes)
	}
	l.printRest(b, place)
}

// printMasked writes the loop over what several vectors at a time leave, fewer than
// 256 elements, each under the mask of those that are left. AX holds the number of
// elements less step.
func (l *loop) printMasked(b *amd64.Block, place *place, step int) {
	b.Asm("\tADDQ $%d, AX\n\tSUBQ CX, AX\n\tJEQ done\nmasked:\n", step)
	l.printTail(b, place)
	b.Asm("\tADDQ $%d, CX\n\tSUBQ $%d, AX\n\tJGT masked\ndone:\n", l.lanes, l.lanes)
}

// printRest writes the loop over single vectors from index CX on, and the tail. AX
// holds the number of elements less those of a vector.
func (l *loop) printRest(b *amd64.Block, place *place) {
	b.Asm("\tCMPQ CX, AX\n\tJGT tail\n\tPCALIGN $32\nsingle:\n")
	place.put(b, l.single.code)
	b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, AX\n\tJLE single\ntail:\n\tADDQ $%d, AX\n\tSUBQ CX, AX\n\tJEQ done\n", l.lanes, l.lanes)
	l.printTail(b, place)
	b.Asm("done:\n")
}

// place resolves the operands of the loop's code.
func (l *loop) place() *place { return &place{array: l.array, frame: l.frameLow} }

// printInvariants loads the hoisted values.
func (l *loop) printInvariants(b *amd64.Block, place *place) {
	s := l.single.selector
	pinned, _ := l.pin(s, l.hoisted)
	a := newAllocator(s, l.single.liveness, nil, 0, nil)
	a.sites = l.single.sites
	for _, d := range l.hoisted {
		a.load(s.homes[d], pinned[s.homes[d]])
	}
	place.put(b, a.code)
}

// printTail writes the code for the last AX elements, fewer than lanes.
func (l *loop) printTail(b *amd64.Block, place *place) {
	if l.isa == AVX512 {
		all := ^uint64(0) >> (64 - l.lanes) // not more: a register of bytes has room for others
		b.Asm("\tMOVQ $%d, R12\n\tBZHIQ AX, R12, R12\n\tKMOVQ R12, K%d\n", int64(all), tailMask)
	}
	copies := func(read bool) {
		for k, x := range l.arrays {
			if at, ok := l.tail.sites.buffers[k]; ok && x.read == read {
				l.printCopy(b, k, x.t.Size(), l.frameLow+at, read)
			}
		}
	}
	copies(true)
	masked := l.isa == AVX2 && l.hasWide()
	if masked {
		b.Add("LEAQ", amd64.Arg{Kind: amd64.Data, Name: tailTable}, b.Arg("R11"))
		b.Asm("NEGQ AX")
	}
	place.put(b, l.tail.code)
	if masked {
		b.Asm("\tNEGQ AX\n")
	}
	copies(false)
}

// hasWide reports whether an array has elements that AVX2 can move under a mask.
func (l *loop) hasWide() bool {
	for _, x := range l.arrays {
		if x.t.Size() >= 4 {
			return true
		}
	}
	return false
}

// printCopy copies the last elements of an array into the frame or out of it.
func (l *loop) printCopy(b *amd64.Block, k, size, at int, in bool) {
	reg, before := l.array(k)
	if before != "" {
		b.Asm("\t%s\n", before)
	}
	b.Asm("\tLEAQ (%s)(CX*%d), R13\n", reg, size)
	load, store, word := "MOVBLZX", "MOVB", "MOVQ"
	if size == 2 {
		load, store = "MOVWLZX", "MOVW"
	}
	label := fmt.Sprintf("%sout%d", l.prefix, k)
	from, to := fmt.Sprintf("%d(SP)(R12*%d)", at, size), fmt.Sprintf("(R13)(R12*%d)", size)
	if in {
		label, from, to = fmt.Sprintf("%sin%d", l.prefix, k), to, from
		for i := 0; i < l.isa.vectorBytes(); i += 8 {
			b.Asm("\t%s $0, %d(SP)\n", word, at+i)
		}
	}
	b.Asm("\tXORL R12, R12\n%s:\n\t%s %s, R11\n\t%s R11, %s\n\tINCQ R12\n\tCMPQ R12, AX\n\tJLT %s\n", label, load, from, store, to, label)
}
