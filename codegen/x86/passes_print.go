package x86

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/lane"
)

// printStart writes what comes before the first row, and the beginning of the loop over rows.
func (c *passCode) printStart(b *amd64.Block) {
	b.Asm("\tMOVQ %s, R13\n", passArrays)
	for k := range c.w.passes.Arrays {
		b.Asm("\tMOVQ %d(R13), R12\n\tMOVQ R12, %d(SP)\n", 8*k, 8*k)
	}
	b.Asm("\tMOVQ %s, R12\n\tMOVQ R12, %s\n\tMOVQ %s, R12\n\tMOVQ R12, %s\n%s:\n",
		passRows, c.word(rowsWord), passBlocks, c.word(blockWord), c.label("row"))
	if c.at == 0 {
		for _, x := range c.w.passes.In {
			b.Asm("\tMOVQ %d(SP), R12\n\t%s (R12), R12\n%s\tMOVQ %s, R13\n\tMOVQ R12, %d(R13)\n", 8*x.Array, wordLoad(x.Size), x.Half.widen(), c.word(blockWord), 8*x.At)
		}
	}
}

// printNext writes the end of the loop over rows.
func (c *passCode) printNext(b *amd64.Block) {
	if c.at == len(c.w.passes.List)-1 {
		for _, x := range c.w.passes.Out {
			size := x.Size
			if x.Half != Whole {
				size *= 2
			}
			b.Asm("\tMOVQ %s, R13\n\t%s %d(R13), R12\n%s\tMOVQ %d(SP), R13\n\t%s R12, (R13)\n", c.word(blockWord), wordLoad(size), 8*x.At, x.Half.narrow(), 8*x.Array, wordStore(x.Size))
		}
	}
	b.Asm("\tMOVQ %s, R13\n", passSteps)
	for k := range c.w.passes.Arrays {
		b.Asm("\tMOVQ %d(SP), R12\n\tMOVQ %d(R13), R11\n\tADDQ R11, R12\n\tMOVQ R12, %d(SP)\n", 8*k, 8*k, 8*k)
	}
	b.Asm("\tMOVQ %s, R12\n\tMOVQ %s, R11\n\tADDQ R11, R12\n\tMOVQ R12, %s\n", c.word(blockWord), passSize, c.word(blockWord))
	b.Asm("\tMOVQ %s, R12\n\tDECQ R12\n\tMOVQ R12, %s\n\tJNE %s\n", c.word(rowsWord), c.word(rowsWord), c.label("row"))
}

// widen makes a float32 of the element in R12, narrow the element of one. No vector register is in
// use where elements are copied.
func (h Half) widen() string {
	switch h {
	case Float16:
		return "\tVMOVD R12, X0\n\tVCVTPH2PS X0, X0\n\tVMOVD X0, R12\n"
	case BFloat16:
		return "\tSHLQ $16, R12\n"
	}
	return ""
}

func (h Half) narrow() string {
	switch h {
	case Float16:
		return "\tVMOVD R12, X0\n\tVCVTPS2PH $0, X0, X0\n\tVMOVD X0, R12\n"
	case BFloat16:
		return "\tSHRQ $16, R12\n"
	}
	return ""
}

// wordLoad and wordStore are the moves of an element of so many bytes.
func wordLoad(size int) string {
	return map[int]string{1: "MOVBLZX", 2: "MOVWLZX", 4: "MOVL", 8: "MOVQ"}[size]
}

func wordStore(size int) string {
	return map[int]string{1: "MOVB", 2: "MOVW", 4: "MOVL", 8: "MOVQ"}[size]
}

// ofBlock writes a program of the block alone, whose results go to places of it. It returns the
// frame that it needs.
func (c *passCode) ofBlock(p *lane.Prog, given []int) (frame int, err error) {
	p = legalize(p, c.isa)
	if err := p.Err(); err != nil {
		return 0, err
	}
	s := newSelector(p, c.isa, c.isa.vectorBytes()/widest(p))
	s.arg = func(int, lane.Type) vreg { return 0 }
	if len(p.Args()) > 0 || len(given) > c.isa.preserved() {
		return 0, fmt.Errorf("x86: a block's program of %d inputs and %d results: %w", len(p.Args()), len(given), ErrUnsupported)
	}
	if err := s.run(); err != nil {
		return 0, err
	}
	a := newAllocator(s, s.live(), nil, registers(func(int) bool { return true }), nil)
	a.sites = sites{scalars: c.loop.scalars}
	for i, at := range given {
		v := s.out(i)
		s.insts = append(s.insts, inst{form: element, src: []vreg{v}, at: at, size: p.Type(p.Outs()[i]).Size()})
	}
	a.liveness = s.live()
	copy(a.cursor, a.first)
	if err := a.run(); err != nil {
		return 0, err
	}
	c.place().put(&c.w.b, a.code)
	return c.frameLow + a.frame, nil
}

// loadArrays loads the addresses of the first of the pass's arrays.
func (c *passCode) loadArrays(b *amd64.Block) {
	for i, k := range c.used() {
		if i < len(pointers) {
			b.Asm("\tMOVQ %d(SP), %s\n", 8*k, pointers[i])
		}
	}
	for i, x := range c.ahead() {
		r := pointers[len(c.used())+i]
		b.Asm("\tMOVQ %d(SP), %s\n\tMOVQ %s, R13\n\tMOVQ %d(R13), R12\n\tADDQ R12, %s\n", 8*x.Array, r, passAhead, 8*x.Array, r)
		b.Asm("\tMOVQ %s, R12\n\tLEAQ (R12*%d), R12\n\tSHRQ $2, R12\n", passLength, x.Size)
		for range x.Part {
			b.Asm("\tADDQ R12, %s\n", r)
		}
	}
}

// ahead is what can be asked for: there are registers for the addresses.
func (c *passCode) ahead() []Ahead {
	free := len(pointers) - len(c.used())
	if !c.w.passes.Past || free <= 0 {
		return nil
	}
	return c.of.Ahead[:min(free, len(c.of.Ahead))]
}

// printAhead asks for what belongs to n elements from index CX on.
func (c *passCode) printAhead(b *amd64.Block, n int) {
	for i, x := range c.ahead() {
		scale := x.Size * x.Of / 4
		for off := 0; scale > 0 && off < n*scale; off += lineBytes {
			b.Asm("\tPREFETCHT0 %d(%s)(CX*%d)\n", off, pointers[len(c.used())+i], scale)
		}
	}
}

// put writes the pass's code, with stores past the caches where nothing reads them later.
func (c *passCode) put(b *amd64.Block, a *allocator) {
	list := a.code
	if c.w.passes.Past {
		list = slices.Clone(list)
		for i, x := range list {
			if x.op == "VMOVUPS" && x.ops[0].kind == inArray && x.ops[0].n < len(c.of.Out) && c.of.Last[x.ops[0].n] && x.ops[1].bytes == c.isa.vectorBytes() {
				list[i].op = "VMOVNTPS"
			}
		}
	}
	c.place().put(b, list)
}

// printElements writes the loops of a pass that folds nothing.
func (c *passCode) printElements(b *amd64.Block) {
	c.loadArrays(b)
	c.printInvariants(b, c.place())
	b.Asm("\tMOVQ %s, AX\n\tXORQ CX, CX\n", passLength)
	c.printSome(b)
	c.printLast(b)
}

// printSome writes the loop over several vectors at a time up to index AX, where there is one.
func (c *passCode) printSome(b *amd64.Block) {
	if c.copies == 1 {
		return
	}
	step := c.lanes * c.copies
	main, end := c.label("main"), c.label("singles")
	b.Asm("\tSUBQ $%d, AX\n\tCMPQ CX, AX\n\tJGT %s\n\tPCALIGN $32\n%s:\n", step, end, main)
	c.printAhead(b, step)
	c.put(b, c.main)
	b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, AX\n\tJLE %s\n%s:\n\tADDQ $%d, AX\n", step, main, end, step)
}

// printLast writes the loop over single vectors up to index AX, and what comes after the last.
func (c *passCode) printLast(b *amd64.Block) {
	single, tail, done := c.label("single"), c.label("tail"), c.label("done")
	b.Asm("\tSUBQ $%d, AX\n\tCMPQ CX, AX\n\tJGT %s\n\tPCALIGN $32\n%s:\n", c.lanes, tail, single)
	if c.copies == 1 {
		c.printAhead(b, c.lanes)
	}
	c.put(b, c.loop.single)
	b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, AX\n\tJLE %s\n%s:\n\tADDQ $%d, AX\n\tSUBQ CX, AX\n\tJEQ %s\n", c.lanes, single, tail, c.lanes, done)
	c.printTail(b, c.place())
	b.Asm("%s:\n", done)
}

// printFolds writes the loops of a pass that folds. It returns the frame that it needs.
func (c *passCode) printFolds(b *amd64.Block) (frame int, err error) {
	block, rest, tree := c.label("block"), c.label("rest"), c.label("tree")
	b.Asm("\tXORQ CX, CX\n%s:\n", block)
	c.loadArrays(b)
	c.printInvariants(b, c.place())
	b.Asm("\tLEAQ %d(CX), AX\n\tMOVQ %s, R12\n\tCMPQ R12, AX\n\tCMOVQLT R12, AX\n\tMOVQ AX, %s\n", passBlock, passLength, c.word(endWord))
	if c.blocks != nil {
		main := c.label("main")
		c.identities(b, true)
		b.Asm("\tSUBQ $%d, AX\n\tCMPQ CX, AX\n\tJGT %s\n\tPCALIGN $32\n%s:\n", c.each, rest, main)
		c.printAhead(b, c.each)
		for _, a := range c.blocks {
			c.put(b, a)
		}
		b.Asm("\tADDQ $%d, CX\n\tCMPQ CX, AX\n\tJLE %s\n%s:\n", c.each, main, rest)
		b.Asm("\tMOVQ %s, AX\n", c.word(endWord))
		if len(c.folders) == 1 { // the accumulators are where the tree wants them
			b.Asm("\tCMPQ CX, AX\n\tJEQ %s\n", c.label("folded"))
			c.moveAll(b, false)
		} else {
			c.moveAll(b, false)
			b.Asm("\tCMPQ CX, AX\n\tJEQ %s\n", tree)
		}
		c.printChunk(b)
	} else {
		chunks := c.label("chunks")
		c.identities(b, false)
		b.Asm("%s:\n", chunks)
		c.printChunk(b)
		b.Asm("\tMOVQ %s, AX\n\tCMPQ CX, AX\n\tJLT %s\n", c.word(endWord), chunks)
	}
	b.Asm("%s:\n", tree)
	for f := range c.folders {
		if err := c.printTree(b, f); err != nil {
			return 0, err
		}
	}
	b.Asm("\tMOVQ %s, AX\n\tCMPQ CX, AX\n\tJLT %s\n", passLength, block)
	for f := range c.folders {
		if err := c.printMerge(b, f); err != nil {
			return 0, err
		}
		x := &c.of.Folds[f]
		b.Asm("\tMOVQ %s, R13\n\t%s X0, R12\n\tMOVQ R12, %d(R13)\n", c.word(blockWord), move(c.size), 8*x.At)
		if x.Finish == nil {
			continue
		}
		n, err := c.ofBlock(x.Finish, []int{x.Given})
		if err != nil {
			return 0, err
		}
		frame = max(frame, n)
	}
	for _, f := range c.folders {
		frame = max(frame, c.frameLow+f.extra)
	}
	return frame, nil
}

// identities fills all accumulators, in registers or in the frame.
func (c *passCode) identities(b *amd64.Block, inRegisters bool) {
	for f, own := range c.folders {
		if !inRegisters {
			own.identityTo(b, 0)
			c.accumulators(b, f)
		}
		for g := range c.groups {
			if inRegisters {
				own.identityTo(b, f*c.groups+g)
			} else {
				b.Asm("\tVMOVUPS %s, %d(R13)\n", regName(0, c.isa.vectorBytes()), g*c.lanes*c.size)
			}
		}
	}
	if !inRegisters {
		c.printInvariants(b, c.place()) // register 0 may have held one
	}
}

// identityTo fills register r with the identity.
func (w *folder) identityTo(b *amd64.Block, r int) {
	a := newAllocator(w.single.selector, w.single.liveness, nil, 0, nil)
	a.loadConst(&vdef{bytes: w.isa.vectorBytes(), home: homeConst, value: w.init}, r)
	w.place.put(b, a.code)
}

// accumulators sets R13 to the place of a fold's accumulators in the frame, whole cache lines:
// what is loaded soon after it was stored is slow across two.
func (c *passCode) accumulators(b *amd64.Block, f int) {
	b.Asm("\tLEAQ %d(SP), R13\n\tANDQ $-%d, R13\n", c.foldAt(f, 8+lineBytes-1), lineBytes)
}

// moveAll moves all accumulators between registers and the frame.
func (c *passCode) moveAll(b *amd64.Block, load bool) {
	for f := range c.folders {
		c.accumulators(b, f)
		for g := range c.groups {
			from, to := regName(f*c.groups+g, c.lanes*c.size), fmt.Sprintf("%d(R13)", g*c.lanes*c.size)
			if load {
				from, to = to, from
			}
			b.Asm("\t%s %s, %s\n", move(c.lanes*c.size), from, to)
		}
	}
}

// printChunk writes the code of as many elements as there are accumulators, or those that are
// left of the block: index CX is then behind them.
func (c *passCode) printChunk(b *amd64.Block) {
	b.Asm("\tLEAQ (CX*%d), R12\n", c.size)
	for f := range c.folders {
		c.accumulators(b, f)
		b.Asm("\tSUBQ R12, R13\n\tMOVQ R13, %d(SP)\n", c.foldAt(f, 0))
	}
	b.Asm("\tLEAQ %d(CX), AX\n\tMOVQ %s, R12\n\tCMPQ R12, AX\n\tCMOVQLT R12, AX\n\tMOVQ AX, %s\n", c.each, c.word(endWord), c.word(limitWord))
	if c.blocks == nil {
		c.printSome(b)
	}
	c.printLast(b)
	b.Asm("\tMOVQ %s, CX\n", c.word(limitWord))
}

// printTree writes the fold of a fold's accumulators, which are in the frame, into the result
// of the block that ends before CX.
func (c *passCode) printTree(b *amd64.Block, f int) error {
	own := c.folders[f]
	c.accumulators(b, f)
	for g := range c.groups {
		b.Asm("\t%s %d(R13), %s\n", move(own.each), g*own.each, regName(g, own.each))
	}
	if c.blocks != nil && len(c.folders) == 1 {
		b.Asm("%s:\n", c.label("folded"))
	}
	combine := func(x, y, busy int) error {
		own.b = amd64.Block{}
		if err := own.pair(x, y, busy); err != nil {
			return err
		}
		b.Append(&own.b)
		return nil
	}
	for n := c.groups / 2; n > 0; n /= 2 {
		for g := range n {
			if err := combine(g, g+n, c.groups); err != nil {
				return err
			}
		}
	}
	for half := own.each / 2; half >= c.size; half /= 2 {
		own.b = amd64.Block{}
		own.lower(1, half)
		b.Append(&own.b)
		if err := combine(0, 1, 2); err != nil {
			return err
		}
	}
	full := c.isa.vectorBytes()
	b.Asm("\tVMOVAPS %s, %s\n", regName(0, full), regName(1, full))
	own.identityTo(b, 0)
	if err := combine(0, 1, 2); err != nil {
		return err
	}
	b.Asm("\tLEAQ -1(CX), R12\n\tSHRQ $10, R12\n\t%s X0, %d(SP)(R12*%d)\n", move(c.size), c.foldAt(f, 8+accumulatorBytes+2*lineBytes), c.size)
	return nil
}

// printMerge writes the pairwise merges of a row's blocks. The result is in the first register.
func (c *passCode) printMerge(b *amd64.Block, f int) error {
	own, at := c.folders[f], c.foldAt(f, 8+accumulatorBytes+2*lineBytes)
	label := func(name string) string { return fmt.Sprintf("%s%d_%d", name, c.at, f) }
	load := func(off int, index string, r int) {
		b.Asm("\t%s %d(SP)(%s*%d), X%d\n", move(c.size), at+off, index, c.size, r)
	}
	b.Asm("\tMOVQ %s, R8\n\tADDQ $%d, R8\n\tSHRQ $10, R8\n%s:\n", passLength, passBlock-1, label("merge"))
	b.Asm("\tXORQ R9, R9\n\tXORQ R10, R10\n\tMOVQ $1, R12\n\tCMPQ R8, R12\n\tJEQ %s\n%s:\n", label("merged"), label("pair"))
	b.Asm("\tLEAQ 1(R10), R12\n\tCMPQ R12, R8\n\tJGE %s\n", label("odd"))
	load(0, "R10", 0)
	load(c.size, "R10", 1)
	own.b = amd64.Block{}
	if err := own.pair(0, 1, 2); err != nil {
		return err
	}
	b.Append(&own.b)
	b.Asm("\t%s X0, %d(SP)(R9*%d)\n\tINCQ R9\n\tADDQ $2, R10\n\tJMP %s\n%s:\n", move(c.size), at, c.size, label("pair"), label("odd"))
	b.Asm("\tCMPQ R10, R8\n\tJGE %s\n", label("even"))
	load(0, "R10", 0)
	b.Asm("\t%s X0, %d(SP)(R9*%d)\n\tINCQ R9\n%s:\n\tMOVQ R9, R8\n\tJMP %s\n%s:\n", move(c.size), at, c.size, label("even"), label("merge"), label("merged"))
	b.Asm("\t%s %d(SP), X0\n", move(c.size), at)
	return nil
}
