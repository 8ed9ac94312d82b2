package x86

import (
	"fmt"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/lane"
)

// A Fold is a reduction's parts. Map has one input, the element, and gives the
// accumulator's type; Combine has two accumulators as inputs and gives one; Init
// has no inputs and gives the identity, a constant. Where types differ but not in
// size, bits are passed on.
type Fold struct {
	Init, Map, Combine *lane.Prog
}

// accumulatorBytes is the size of the accumulators of Fold, whatever their type:
// 64 of 4 bytes, 32 of 8.
const accumulatorBytes = 256

// Labels, registers: AX, CX as in loops; SI the elements; DX the accumulators, less
// what the index adds; R8 those to combine with them, R10 and R11 their number.

// Rows adds what FoldRows makes.
func (f *File) Rows(name string, fold Fold, isa ISA) error { return f.add(FoldRows(name, fold, isa)) }

// FoldRows makes a function that folds x[j] into acc[j] for n values of j:
//
//	func <name><isa>(n int, acc, x unsafe.Pointer, s []ir.Scalar)
//
// If the programs have scalars, s is a *[K]uint64 of their bits in its stead.
func FoldRows(name string, fold Fold, isa ISA) (*Func, error) {
	p, err := fold.step()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l, params, size, err := foldLoop(p, isa)
	if err == nil {
		err = l.allocate()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	var b amd64.Block
	b.Asm("\tMOVQ n+0(FP), AX\n\tMOVQ acc+8(FP), DX\n\tMOVQ x+16(FP), SI\n")
	l.print(&b)
	return function(name+isa.String(), params, &b, l.frame(), size), nil
}

// step is the program combine(acc, map(x)) of inputs acc and x.
func (fold Fold) step() (*lane.Prog, error) {
	for _, p := range []*lane.Prog{fold.Init, fold.Map, fold.Combine} {
		if err := p.Err(); err != nil {
			return nil, err
		}
	}
	if len(fold.Init.Outs()) != 1 || len(fold.Map.Outs()) != 1 || len(fold.Combine.Outs()) != 1 ||
		len(fold.Init.Args()) != 0 || len(fold.Map.Args()) != 1 || len(fold.Combine.Args()) != 2 {
		return nil, fmt.Errorf("x86: fold: want results of no, one and two inputs")
	}
	elem, types := fold.Map.Args()[0], fold.Combine.Args()
	var p lane.Prog
	x := p.Inline(fold.Map, p.Arg(1, elem))[0]
	p.Out(p.Bits(p.Inline(fold.Combine, p.Arg(0, types[0]), p.Bits(x, types[1]))[0], types[0]))
	if err := p.Err(); err != nil {
		return nil, err
	}
	if got := fold.Init.Type(fold.Init.Outs()[0]); got.Size() != types[0].Size() {
		return nil, fmt.Errorf("x86: fold: the identity is %v, accumulators are %v", got, types[0])
	}
	return &p, nil
}

// foldLoop is the loop of a fold's step; arrays 0 and 1 are the accumulators.
func foldLoop(p *lane.Prog, isa ISA) (l *loop, params string, size int, err error) {
	if l, err = newLoop(p, isa); err != nil {
		return nil, "", 0, err
	}
	sig, scalars := scalarsParam(p)
	l.scalars, size = scalars+"+24(FP)", 48
	if len(p.Scalars()) > 0 {
		size = 32
	}
	l.array = func(k int) (string, string) { return [...]string{"DX", "DX", "SI"}[k], "" }
	return l, "n int, acc, x unsafe.Pointer, " + sig, size, nil
}

// folder writes one function that folds into one accumulator.
type folder struct {
	*loop
	combine *lane.Prog
	acc     lane.Type
	init    constant
	groups  int // vectors of accumulators
	each    int // bytes of a vector's accumulators
	b       amd64.Block
	place   *place
	extra   int // bytes of slots that bodies beside the loop's take
}

// Fold adds what FoldAll makes.
func (f *File) Fold(name string, fold Fold, isa ISA) error { return f.add(FoldAll(name, fold, isa)) }

// FoldAll makes a function that folds n elements of x into *acc:
//
//	func <name><isa>(n int, acc, x unsafe.Pointer, s []ir.Scalar)
//
// K accumulators, 256 bytes together, begin as the identity; element i is folded
// into accumulator i mod K. Then accumulator j is combined with j + K/2 for j below
// K/2, and so on down to one, and *acc with that one. The order does not depend on
// the instruction set. If the programs have scalars, s is a *[K]uint64 of their
// bits in its stead.
func FoldAll(name string, fold Fold, isa ISA) (*Func, error) {
	p, err := fold.step()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	l, params, size, err := foldLoop(p, isa)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	w := &folder{loop: l, combine: legalize(fold.Combine, isa), acc: p.Args()[0]}
	w.init = splat(w.acc.Size(), lane.Eval(fold.Init)[0])
	w.each = l.lanes * w.acc.Size()
	w.groups = accumulatorBytes / w.each
	w.frameLow = accumulatorBytes + isa.vectorBytes() // vectors at the end reach beyond
	if err := w.write(); err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return function(name+isa.String(), params, &w.b, w.frame()+w.extra, size), nil
}

func (w *folder) write() error {
	one, err := w.code(1)
	if err != nil {
		return err
	}
	inRegisters := !one.calls && w.groups <= w.isa.registers()/2
	low := w.isa.preserved()
	if !one.calls {
		low = 0
	}
	if err := w.hoist(one, one, low); err != nil {
		return err
	}
	w.place = &place{array: w.array, frame: w.frameLow}
	var blocks []*allocator
	if inRegisters {
		if blocks, err = w.blocks(one); err != nil {
			return err
		}
	}
	w.b.Asm("\tMOVQ n+0(FP), AX\n\tMOVQ x+16(FP), SI\n")
	w.printInvariants(&w.b, w.place)
	if inRegisters {
		return w.registers(blocks)
	}
	return w.memory()
}

// identity fills register r with the identity.
func (w *folder) identity(r int) {
	a := newAllocator(w.single.selector, w.single.liveness, nil, 0, nil)
	a.loadConst(&vdef{bytes: w.isa.vectorBytes(), home: homeConst, value: w.init}, r)
	w.place.put(&w.b, a.code)
}

// group is the place in the frame of a vector of accumulators.
func (w *folder) group(g int) string { return fmt.Sprintf("%d(SP)", g*w.each) }

// moveGroups moves all accumulators between registers and the frame.
func (w *folder) moveGroups(load bool) {
	for g := range w.groups {
		from, to := regName(g, w.each), w.group(g)
		if load {
			from, to = to, from
		}
		w.b.Asm("\t%s %s, %s\n", move(w.each), from, to)
	}
}

// registers folds into accumulators in the first registers, then the rest of the
// elements into their copies in the frame.
func (w *folder) registers(blocks []*allocator) error {
	k := w.groups * w.lanes
	w.b.Asm("\tXORQ CX, CX\n")
	for g := range w.groups {
		w.identity(g)
	}
	w.b.Asm("\tSUBQ $%d, AX\n\tJLT rest\n\tPCALIGN $32\nmain:\n", k)
	for _, a := range blocks {
		w.put(a)
	}
	w.b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, AX\n\tJLE main\nrest:\n\tADDQ $%d, AX\n\tCMPQ CX, AX\n\tJEQ tree\n", k, k)
	w.moveGroups(false)
	w.b.Asm("\tLEAQ (CX*%d), R12\n\tLEAQ 0(SP), DX\n\tSUBQ R12, DX\n\tSUBQ $%d, AX\n", w.acc.Size(), w.lanes)
	w.printRest(&w.b, w.place)
	w.moveGroups(true)
	w.b.Asm("tree:\n")
	for n := w.groups / 2; n > 0; n /= 2 {
		for g := range n {
			if err := w.pair(g, g+n, w.groups); err != nil {
				return err
			}
		}
	}
	for half := w.each / 2; half >= w.acc.Size(); half /= 2 {
		w.lower(1, half)
		if err := w.pair(0, 1, 2); err != nil {
			return err
		}
	}
	return w.last()
}

// blocks is the code that folds a vector into each accumulator in its register,
// some at a time, with the invariants hoisted for which that code has room.
func (w *folder) blocks(one *selector) ([]*allocator, error) {
	list := one.invariants()
	var failed error
	for copies := min(4, w.groups); copies > 0; copies /= 2 {
		var best []*allocator
		cost, spills := -1.0, 0
		hoisted := 0
		for n := min(len(list), w.isa.registers()-w.groups); n >= 0; n-- {
			list, err := w.tryBlocks(copies, list[:n])
			if err != nil {
				failed = err
				continue
			}
			if c := list[0].cost; cost < 0 || c < cost {
				best, cost, spills, hoisted = list, c, list[0].spills, n
			}
		}
		if best == nil || spills > 0 && copies > 1 {
			continue
		}
		w.hoisted = list[:hoisted]
		var err error
		live := one.live()
		if w.single, err = w.attempt(one, live, w.hoisted, false, nil); err != nil {
			return nil, err
		}
		w.tail, err = w.attempt(one, live, w.hoisted, true, nil)
		w.main = w.single
		return best, err
	}
	return nil, failed
}

// tryBlocks allocates the code for all accumulators, copies at a time.
func (w *folder) tryBlocks(copies int, hoisted []vdef) ([]*allocator, error) {
	var blocks []*allocator
	for g := 0; g < w.groups; g += copies {
		a, err := w.block(g, copies, hoisted)
		if err != nil {
			return nil, err
		}
		blocks = append(blocks, a)
	}
	return blocks, nil
}

// block is the code that folds vectors into accumulators from g on in their registers.
func (w *folder) block(g, copies int, hoisted []vdef) (*allocator, error) {
	s := newSelector(w.p, w.isa, w.lanes)
	accs := make([]vreg, copies)
	outs := map[vreg]int{}
	copyOf := 0
	s.arg = func(i int, t lane.Type) vreg {
		if i == 0 {
			if accs[copyOf] == 0 {
				accs[copyOf] = s.def(vdef{bytes: w.each, fixed: g + copyOf + 1})
			}
			return accs[copyOf]
		}
		return s.atHome(vdef{bytes: s.size(t), home: homeArray, at: 2, size: t.Size(), skip: g*w.lanes + s.skip})
	}
	if err := s.interleave(copies, func(c int) { outs[s.out(0)] = g + c; copyOf = c + 1 }); err != nil {
		return nil, err
	}
	return w.into(s, outs, hoisted, func(r int) bool { return r >= w.groups || r >= g && r < g+copies })
}

// into allocates code whose results are to be in certain registers.
func (w *folder) into(s *selector, outs map[vreg]int, hoisted []vdef, usable func(r int) bool) (*allocator, error) {
	pinned, taken := w.pin(s, hoisted)
	a := newAllocator(s, s.live(), pinned, registers(usable)&^taken, nil)
	a.sites = sites{scalars: w.scalars}
	a.want = outs
	if err := a.run(); err != nil {
		return nil, err
	}
	return a, a.settle()
}

// put prints allocated code.
func (w *folder) put(a *allocator) {
	w.extra = max(w.extra, a.frame-max(w.main.frame, w.single.frame, w.tail.frame))
	w.place.put(&w.b, a.code)
}

// combiner selects the combination of two accumulators.
func (w *folder) combiner(arg func(s *selector, i int) vreg) (*selector, error) {
	s := newSelector(w.combine, w.isa, w.lanes)
	s.arg = func(i int, _ lane.Type) vreg { return arg(s, i) }
	return s, s.run()
}

// pair combines the accumulators in registers x and y into x.
func (w *folder) pair(x, y, busy int) error {
	ins := map[int]vreg{}
	s, err := w.combiner(func(s *selector, i int) vreg {
		if ins[i] == 0 {
			ins[i] = s.def(vdef{bytes: w.each, fixed: [...]int{x, y}[i] + 1})
		}
		return ins[i]
	})
	if err != nil {
		return err
	}
	a, err := w.into(s, map[vreg]int{s.out(0): x}, w.hoisted, func(r int) bool { return r == x || r >= busy })
	if err != nil {
		return err
	}
	w.put(a)
	return nil
}

// lower sets register r to the first one's bytes from half on.
func (w *folder) lower(r, half int) {
	switch half {
	case 32:
		w.b.Asm("\tVEXTRACTF64X4 $1, Z0, Y%d\n", r)
	case 16:
		w.b.Asm("\tVEXTRACTF128 $1, Y0, X%d\n", r)
	default:
		w.b.Asm("\tVPSRLDQ $%d, X0, X%d\n", half, r)
	}
}

// last combines *acc with the accumulator in the first register.
func (w *folder) last() error {
	w.b.Asm("\tMOVQ acc+8(FP), DX\n\tVMOVAPS %s, %s\n", regName(0, w.isa.vectorBytes()), regName(1, w.isa.vectorBytes()))
	size := w.acc.Size()
	switch size {
	case 4, 8:
		w.b.Asm("\t%s (DX), X0\n", move(size))
	default:
		w.b.Asm("\t%s (DX), R12\n\tVMOVD R12, X0\n", map[int]string{1: "MOVBLZX", 2: "MOVWLZX"}[size])
	}
	if err := w.pair(0, 1, 2); err != nil {
		return err
	}
	switch size {
	case 4, 8:
		w.b.Asm("\t%s X0, (DX)\n", move(size))
	default:
		w.b.Asm("\tVMOVD X0, R12\n\t%s R12, (DX)\n", map[int]string{1: "MOVB", 2: "MOVW"}[size])
	}
	return nil
}

// memory folds into accumulators in the frame, block by block.
func (w *folder) memory() error {
	k, lanes := w.groups*w.lanes, w.lanes
	w.identity(0)
	for at := 0; at < accumulatorBytes; at += w.isa.vectorBytes() {
		w.b.Asm("\tVMOVUPS %s, %d(SP)\n", regName(0, w.isa.vectorBytes()), at)
	}
	// R10: elements left; each block's index starts at zero.
	w.b.Asm("\tLEAQ 0(SP), DX\n\tMOVQ AX, R10\nblock:\n\tMOVQ $%d, AX\n\tCMPQ R10, AX\n\tCMOVQLT R10, AX\n\tXORQ CX, CX\n\tSUBQ $%d, AX\n", k, lanes)
	w.printRest(&w.b, w.place)
	w.b.Asm("\tADDQ $%d, SI\n\tSUBQ $%d, R10\n\tJGT block\n", k*w.arrays[2].t.Size(), k)
	if err := w.memoryTree(k); err != nil {
		return err
	}
	w.b.Asm("\t%s 0(SP), %s\n", move(w.each), regName(0, w.each))
	return w.last()
}

// memoryTree combines accumulators in the frame: R10 with as many above them.
func (w *folder) memoryTree(k int) error {
	homes := [2]vreg{}
	s, err := w.combiner(func(s *selector, i int) vreg {
		homes[i] = s.atHome(vdef{bytes: w.each, home: homeArray, at: i, size: w.acc.Size()})
		return homes[i]
	})
	if err != nil {
		return err
	}
	array := w.place.array
	w.place.array = func(k int) (string, string) { return [...]string{"DX", "R8"}[k], "" }
	defer func() { w.place.array = array }()
	s.insts = append(s.insts, inst{form: store, src: []vreg{s.out(0)}, at: 0, size: w.acc.Size()})
	a, err := w.attempt(s, s.live(), w.hoisted, false, nil)
	if err != nil {
		return err
	}
	w.b.Asm("\tMOVQ $%d, R10\nhalve:\n\tLEAQ (DX)(R10*%d), R8\n\tXORQ CX, CX\npairs:\n", k/2, w.acc.Size())
	w.put(a)
	w.b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, R10\n\tJLT pairs\n\tSHRQ $1, R10\n\tJNE halve\n", w.lanes)
	return nil
}
