package x86

import (
	"fmt"
	"slices"

	"github.com/sinter-go/sinter/codegen/amd64"
	"github.com/sinter-go/sinter/codegen/lane"
)

// Passes are what a function computes of each of some rows, one pass after the other. What
// there is once for a row lies in its block, of 8 bytes each: numbers of the call first, then
// what passes compute. They are scalars of all programs.
type Passes struct {
	List   []Pass
	Arrays int // with elements for every place of a row, and what is copied to blocks or out of them
	In     []Copied
	Out    []Copied
	// Past: results that no later pass reads are written past the caches, and the next rows
	// are asked for. Such a row begins with a cache line and has whole ones. A fence must follow
	// the last call before another goroutine reads them.
	Past bool
}

// A Copied is an array with one element a row, of so many bytes, and its place in blocks.
type Copied struct {
	Array, At, Size int
	Half            Half
}

// A Half says how elements of 2 bytes are a float32 in blocks, which is rounded to them already.
type Half int

// Whole elements are in blocks as they are.
const (
	Whole    Half = iota
	Float16       // of 11 bits of precision
	BFloat16      // the upper half of a float32
)

// A Pass is once over a row. What its programs compute of blocks is read by later ones.
type Pass struct {
	Before *lane.Prog // of the blocks alone, or nil
	Given  []int      // the places of its results
	Prog   *lane.Prog // results: those stored, then those folded; accumulators are not among its inputs
	In     []int      // by input: its array
	Out    []int      // by result that is stored: its array
	Last   []bool     // by result that is stored: no later pass reads it
	Folds  []PassFold // of the other results
	Ahead  []Ahead    // what is asked for meanwhile, of Past
}

// A PassFold is how a result is folded. Accumulators are of the type of Combine; Step folds an
// element into one, Combine two of them; Finish makes a block's values of the block.
type PassFold struct {
	Init, Step, Combine, Finish *lane.Prog
	At                          int // where the accumulator goes, which Finish reads
	Given                       int // where the result of Finish goes
}

// An Ahead is a part of the rows that come next of an array with elements of so many bytes:
// from Part quarters on, Of quarters.
type Ahead struct{ Array, Size, Part, Of int }

// passBlock is how many elements are folded before results are merged pairwise.
const passBlock = 1024

// mostBlocks is how many of these a row has at most.
const mostBlocks = 64

// LongestRow is the length of rows with folds that a function of Passes takes.
const LongestRow = passBlock * mostBlocks

// The parameters of a function of Passes.
const (
	passParams = "rows, length int, p *unsafe.Pointer, steps *int, blocks *uint64, size int, ahead *int"
	passRows   = "rows+0(FP)"
	passLength = "length+8(FP)"
	passArrays = "p+16(FP)"
	passSteps  = "steps+24(FP)"
	passBlocks = "blocks+32(FP)"
	passSize   = "size+40(FP)"
	passAhead  = "ahead+48(FP)"
)

// PassFunc makes the function of passes:
//
//	func <name><isa>(rows, length int, p *unsafe.Pointer, steps *int, blocks *uint64, size int, ahead *int)
//
// where p holds the arrays' first rows, steps how many bytes further the next rows are, and
// blocks the rows' blocks, each so many bytes long; ahead is how many bytes further the rows
// are that are asked for. An element of a fold goes to the
// accumulator of its number modulo those in 256 bytes; halves of them are combined until one
// is left; this is combined with the identity, and those of 1024 elements each pairwise.
func PassFunc(name string, passes Passes, isa ISA) (*Func, error) {
	w := &passWriter{isa: isa, passes: passes}
	frame := 0
	for i := range passes.List {
		f, err := w.pass(i)
		if err != nil {
			return nil, fmt.Errorf("%s: pass %d: %w", name, i, err)
		}
		frame = max(frame, f)
	}
	return function(name+isa.String(), passParams, &w.b, frame, 56), nil
}

// passWriter writes such a function.
type passWriter struct {
	isa    ISA
	passes Passes
	b      amd64.Block
}

// A passCode is one pass in the making. Its frame holds the arrays' addresses, four words of
// the loop, the folds' words and memory, and then what the allocator put there.
type passCode struct {
	*loop
	w       *passWriter
	of      *Pass
	at      int // its number
	folders []*folder
	groups  int // vectors of a fold's accumulators
	blocks  []*allocator
	each    int // accumulators of a fold
	size    int // bytes of one
}

// Words of the frame behind the arrays' addresses.
const (
	rowsWord = iota
	blockWord
	endWord
	limitWord
	passWords
)

func (c *passCode) word(k int) string { return fmt.Sprintf("%d(SP)", 8*(c.w.passes.Arrays+k)) }

// foldBytes is what a fold has in the frame: the address of its accumulators less the index,
// these, and its blocks' results.
func (c *passCode) foldBytes() int { return 8 + accumulatorBytes + 2*lineBytes + 8*mostBlocks }

func (c *passCode) foldAt(f, off int) int {
	return 8*(c.w.passes.Arrays+passWords) + f*c.foldBytes() + off
}

// label is one of the pass.
func (c *passCode) label(name string) string { return fmt.Sprintf("%s%d", name, c.at) }

func (w *passWriter) pass(at int) (frame int, err error) {
	c := &passCode{w: w, of: &w.passes.List[at], at: at}
	p, err := c.step()
	if err != nil {
		return 0, err
	}
	if p != nil {
		if c.loop, err = newLoop(p, w.isa); err != nil {
			return 0, err
		}
	} else {
		c.loop = &loop{isa: w.isa, p: new(lane.Prog), lanes: 1}
	}
	c.frameLow = c.foldAt(len(c.of.Folds), 0)
	c.loop.scalars = c.word(blockWord)
	c.loop.array, c.loop.prefix = c.arrayAt, c.label("copy")+"_"
	if err := c.allocateAll(p != nil); err != nil {
		return 0, err
	}
	b := &w.b
	c.printStart(b)
	if c.of.Before != nil {
		n, err := c.ofBlock(c.of.Before, c.of.Given)
		if err != nil {
			return 0, err
		}
		frame = max(frame, n)
	}
	switch {
	case p == nil:
	case len(c.folders) == 0:
		c.printElements(b)
	default:
		n, err := c.printFolds(b)
		if err != nil {
			return 0, err
		}
		frame = max(frame, n)
	}
	c.printNext(b)
	frame = max(frame, c.frameLow)
	if p != nil {
		frame = max(frame, c.frame())
		for _, a := range c.blocks {
			frame = max(frame, c.frameLow+a.frame)
		}
	}
	return frame, nil
}

// step is the pass's program with accumulators: inputs behind the others, results in place
// of what is folded. It is nil where there is nothing to do for elements.
func (c *passCode) step() (*lane.Prog, error) {
	if c.of.Prog == nil {
		return nil, nil
	}
	if err := c.of.Prog.Err(); err != nil {
		return nil, err
	}
	p, stored := &lane.Prog{}, len(c.of.Out)
	args := make([]lane.V, len(c.of.Prog.Args()))
	for i, t := range c.of.Prog.Args() {
		args[i] = p.Arg(i, t)
	}
	outs := p.Inline(c.of.Prog, args...)
	for _, v := range outs[:stored] {
		p.Out(v)
	}
	for i, f := range c.of.Folds {
		t := f.Step.Args()[0]
		p.Out(p.Inline(f.Step, p.Arg(len(args)+i, t), outs[stored+i])[0])
		if c.size != 0 && c.size != t.Size() {
			return nil, fmt.Errorf("x86: accumulators of %d and %d bytes: %w", c.size, t.Size(), ErrUnsupported)
		}
		c.size = t.Size()
	}
	return p, p.Err()
}

// arrayAt returns where an array of the loop is: results first, then inputs. The first of the
// pass are in registers, accumulators of the frame are found by their word.
func (c *passCode) arrayAt(k int) (reg, before string) {
	array, fold := c.arrayOf(k)
	if fold >= 0 {
		return "R13", fmt.Sprintf("MOVQ %d(SP), R13", c.foldAt(fold, 0))
	}
	if i := slices.Index(c.used(), array); i < len(pointers) {
		return pointers[i], ""
	}
	return "R13", fmt.Sprintf("MOVQ %d(SP), R13", 8*array)
}

// arrayOf returns the number of an array of the loop, or of the fold whose accumulators it is.
func (c *passCode) arrayOf(k int) (array, fold int) {
	stored, folds := len(c.of.Out), len(c.of.Folds)
	switch in := k - stored - folds; {
	case k < stored:
		return c.of.Out[k], -1
	case in < 0:
		return 0, k - stored
	case in >= len(c.of.In):
		return 0, in - len(c.of.In)
	default:
		return c.of.In[in], -1
	}
}

// used are the arrays of the pass.
func (c *passCode) used() []int {
	var list []int
	for _, k := range slices.Concat(c.of.Out, c.of.In) {
		if !slices.Contains(list, k) {
			list = append(list, k)
		}
	}
	return list
}

// allocateAll allocates the pass's code: of one vector for each accumulator where these can
// stay in registers, or else of as many as suits.
func (c *passCode) allocateAll(elements bool) error {
	if !elements {
		return nil
	}
	if len(c.of.Folds) == 0 {
		return c.allocate()
	}
	c.each = accumulatorBytes / c.size
	c.groups = c.each / c.lanes
	for i := range c.of.Folds {
		f := &c.of.Folds[i]
		own := &folder{loop: &loop{isa: c.isa, p: f.Combine, lanes: c.lanes, scalars: c.loop.scalars}, combine: legalize(f.Combine, c.isa), acc: f.Combine.Args()[0], groups: c.groups}
		own.each = c.lanes * c.size
		own.init = splat(c.size, lane.Eval(f.Init)[0])
		own.place = c.place()
		own.main, own.single, own.tail = &allocator{}, &allocator{}, &allocator{}
		empty := newSelector(own.combine, c.isa, c.lanes)
		own.single = &allocator{selector: empty, liveness: empty.live()}
		c.folders = append(c.folders, own)
	}
	if err := c.allocate(); err != nil {
		return err
	}
	one, err := c.code(1)
	if err != nil {
		return err
	}
	if one.calls || c.groups*len(c.folders) > c.isa.registers()/2 {
		return nil
	}
	return c.inRegisters(one)
}

// inRegisters allocates code whose accumulators are in the first registers, where there are
// enough of them. Code is selected once for all numbers of invariants, and those are given up
// with the first value that goes to the frame.
func (c *passCode) inRegisters(one *selector) error {
	list := one.invariants()
	busy := c.groups * len(c.folders)
	live := one.live()
	for copies := min(4, c.groups); copies > 0; copies /= 2 {
		var parts []*registerBlock
		for g := 0; g < c.groups; g += copies {
			b, err := c.registerBlock(g, copies)
			if err != nil {
				return nil // there is none for fewer vectors either
			}
			parts = append(parts, b)
		}
		for n := min(len(list), c.isa.registers()-busy-2); n >= 0; n-- {
			blocks := c.allocateBlocks(parts, list[:n])
			if blocks == nil {
				continue
			}
			single, err := c.attempt(one, live, list[:n], false, nil)
			if err != nil {
				continue
			}
			tail, err := c.attempt(one, live, list[:n], true, nil)
			if err != nil {
				continue
			}
			c.blocks, c.hoisted, c.single, c.tail, c.main, c.copies = blocks, list[:n], single, tail, single, 1
			return nil
		}
	}
	return nil
}

// allocateBlocks allocates all blocks with some invariants in registers; nil where a value
// would go to the frame.
func (c *passCode) allocateBlocks(parts []*registerBlock, hoisted []vdef) []*allocator {
	var blocks []*allocator
	for _, b := range parts {
		a, err := b.allocate(c, hoisted)
		if err != nil {
			return nil
		}
		blocks = append(blocks, a)
	}
	return blocks
}

// A registerBlock is the selected code of some vectors whose accumulators are in registers.
type registerBlock struct {
	*selector
	live      *liveness
	at        int          // the first vector
	copies    int          // how many
	results   map[vreg]int // the registers of accumulators at the end
	allocator *allocator   // of the last attempt that failed: its memory is used again
}

// registerBlock selects the code of some vectors from one on.
func (c *passCode) registerBlock(g, copies int) (*registerBlock, error) {
	s := newSelector(c.p, c.isa, c.lanes)
	stored, folds, inputs := len(c.of.Out), len(c.folders), len(c.of.In)
	accs := map[[2]int]vreg{}
	outs := map[vreg]int{}
	copyOf := 0
	at := func(fold, copy int) int { return fold*c.groups + g + copy }
	s.arg = func(i int, t lane.Type) vreg {
		if fold := i - inputs; fold >= 0 {
			key := [2]int{fold, copyOf}
			if accs[key] == 0 {
				accs[key] = s.def(vdef{bytes: c.lanes * c.size, fixed: at(fold, copyOf) + 1})
			}
			return accs[key]
		}
		return s.atHome(vdef{bytes: s.size(t), home: homeArray, at: stored + folds + i, size: t.Size(), skip: g*c.lanes + s.skip})
	}
	err := s.interleave(copies, func(n int) {
		for i := range stored {
			s.insts = append(s.insts, inst{form: store, src: []vreg{s.out(i)}, at: i, size: c.arrays[i].t.Size(), skip: g*c.lanes + s.skip})
		}
		for f := range folds {
			outs[s.out(stored+f)] = at(f, n)
		}
		copyOf = n + 1
	})
	if err != nil {
		return nil, err
	}
	return &registerBlock{selector: s, live: s.live(), at: g, copies: copies, results: outs}, nil
}

// allocate allocates the block with some invariants in registers.
func (b *registerBlock) allocate(c *passCode, hoisted []vdef) (*allocator, error) {
	pinned, taken := c.pin(b.selector, hoisted)
	busy := c.groups * len(c.folders)
	usable := func(r int) bool {
		own := r < busy && r%c.groups >= b.at && r%c.groups < b.at+b.copies
		return r >= busy || own
	}
	a := newAllocator(b.selector, b.live, pinned, registers(usable)&^taken, b.allocator)
	b.allocator = nil
	a.strict = true
	a.sites = sites{scalars: c.loop.scalars}
	a.want = b.results
	err := a.run()
	if err == nil {
		err = a.settle()
	}
	if err != nil {
		b.allocator = a
	}
	return a, err
}
