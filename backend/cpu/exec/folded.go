package exec

import (
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A source computes leastRun elements at a time at least, for what a call costs not to be more
// than writing them to memory and reading them again. Rows of leastColumns or more that follow
// one another are computed together.
const (
	leastRun     = 256
	leastColumns = 32
	// Of runs or rows that follow one another it computes so many elements at a time at least:
	// calls one by one read those well, too.
	leastTogether = 2048
)

// A source computes the elements of a reduction's operand, a piece at a time, where they are
// folded next. Every element is asked for once.
type source struct {
	loop    vector.Func
	scalars []ir.Scalar
	args    []tile.Operand // the results, then the operands
	results int
	folded  int          // the result that is folded
	stored  bool         // which is written to memory, too
	alone   bool         // which is computed where it is folded
	load    convert.Func // it to the dtype that is folded in
	size    int          // bytes of an element of that
	row     int          // pieces stop at multiples of row; 0: they need not
	run     int          // elements of a piece, at most

	direct bool // operands and other results need no buffers

	make  func(single uint64) *vector.Rows // code for operands, by bit, with one element for a row; or nil
	into  *vector.Rows                     // what it gave for these operands, or nil
	block []uint64                         // of it
}

// An elements is what one goroutine computes elements with.
type elements struct {
	*source
	s     *tile.Scratch
	at    []unsafe.Pointer // of arrays of into
	steps []int
	words []uint64 // a block of its own: what there is once for a row is written there
}

// FoldsComputed reports whether RunComputed takes a reduction: elements that are folded, or
// that belong to neighbouring results, follow one another in runs that are worth it.
func FoldsComputed(c *ir.Call) bool {
	k := codes.Of(c.Kernel)
	if c.Op.Kind != ir.Reduction || k.fold == nil || k.parts.start != nil || len(c.In) != 1 || len(c.Out) != 1 || !c.In[0].IsContiguous() {
		return false
	}
	var kept, folded axes
	split(c, &kept, &folded)
	if kept.n == 0 || folded.n == 0 {
		return false
	}
	if a := rowAxis(&kept, &folded); a >= 0 {
		n := kept.shape[a]
		if !c.Op.Ordered {
			n *= folded.widen(&kept, a)
		}
		last := len(folded.shape) - 1
		together := folded.steps[last] == n && n >= leastColumns && (last == 0 || n*folded.shape[last] >= leastTogether)
		return kept.steps[a] == 1 && (n >= leastRun || together)
	}
	if r := runsOf(k.fold, c.Compute, &kept, &folded, int(c.ReducedCount())); r.lanes > 0 && r.closed(&folded) && folded.n*r.beside >= leastTogether {
		return true
	}
	last := len(folded.shape) - 1
	if len(folded.shape) == 1 && folded.steps[0] == 1 { // and so do the elements of neighbouring results
		return folded.shape[0] >= leastColumns
	}
	return last >= 0 && folded.steps[last] == 1 && folded.shape[last] >= leastRun
}

// RunComputed computes c, a reduction of one of the results of an element-wise call over as
// many elements in the same order, which need not have memory. It gives what the calls give
// one after the other, to the bit. What into returns for operands that have one element for
// each row of some, by bit, need not give the elements' memory either.
func RunComputed(c, before *ir.Call, folded int, into func(single uint64) *vector.Rows) error {
	code := codes.Of(before.Kernel)
	if code.loop == nil {
		return unsupported(before)
	}
	loop, as := code.loop, func(p ir.Port) ir.DType { return p.Compute }
	if code.narrow && code.stored != nil && asStored(before) {
		loop, as = code.stored, func(p ir.Port) ir.DType { return p.DType }
	}
	f := &source{loop: loop, scalars: before.Scalars, results: len(before.Out), folded: folded, stored: before.Out[folded].Ptr != nil, run: tile.Size, make: into}
	f.args = make([]tile.Operand, len(before.Out)+len(before.In))
	for i, v := range before.Out {
		f.args[i].Init(v, as(before.Kernel.Out[i]))
	}
	for i, v := range before.In {
		f.args[f.results+i].Init(v, as(before.Kernel.In[i]))
	}
	from := as(before.Kernel.Out[folded])
	f.load, f.size, f.alone = convert.Between(c.Compute, from), c.Compute.Size(), from == c.Compute && !f.stored
	f.direct = true
	for i := range f.args {
		a := &f.args[i]
		f.direct = f.direct && (a.Direct() || i == folded)
		if !a.Flat() && (f.row == 0 || a.Row() < f.row) {
			f.row = a.Row()
		}
	}
	if f.row != 0 && f.row < shortRow {
		f.row, f.direct = 0, false
	}
	if f.direct && f.alone {
		f.run = longRun
	}
	return reduce(c, f)
}

// raw lets f give elements as they are stored, a byte each.
func (f *source) raw() {
	f.load, f.size, f.alone = convert.Copy(1), 1, !f.stored
	if f.direct && f.alone {
		f.run = longRun
	}
}

// elements returns what a goroutine computes elements with; nil where they are in memory.
func (r *reduction) elements() *elements {
	if r.from == nil {
		return nil
	}
	e := &elements{source: r.from, s: tile.Borrow(len(r.from.args))}
	if into := e.into; into != nil {
		e.at, e.steps, e.words = make([]unsafe.Pointer, len(into.Values)), make([]int, len(into.Values)), slices.Clone(e.block)
	}
	return e
}

func (e *elements) release() {
	if e != nil {
		e.s.Return()
	}
}

// reduced computes the elements at the reduced positions [lo, lo+n) of those from x on.
func (e *elements) reduced(r *reduction, x, lo, n int, to unsafe.Pointer) {
	if len(r.folded.shape) == 1 {
		e.compute(x+lo, n, to)
		return
	}
	row := r.folded.shape[len(r.folded.shape)-1]
	for at := 0; at < n; {
		m := min(n-at, row-(lo+at)%row)
		off, _ := r.folded.offsets(lo + at)
		e.compute(x+off, m, unsafe.Add(to, at*r.compute.Size()))
		at += m
	}
}

// compute sets *to to the n elements from position lo on, in the dtype that is folded in.
func (e *elements) compute(lo, n int, to unsafe.Pointer) {
	for at := 0; at < n; {
		m := min(n-at, e.run)
		if e.row != 0 {
			m = min(m, e.row-(lo+at)%e.row)
		}
		e.piece(lo+at, m, unsafe.Add(to, at*e.size))
		at += m
	}
}

// piece is compute with one call of the loop. It is not inlined: the collector can stop a
// goroutine where a function begins, and nowhere in assembly.
//
//go:noinline
func (e *elements) piece(lo, n int, to unsafe.Pointer) {
	p := e.s.Pointers(len(e.args))
	for i := range p {
		switch a, buf := &e.args[i], e.s.Buffer(i); {
		case i == e.folded && e.alone:
			p[i] = to
		case i == e.folded && !e.stored:
			p[i] = buf.Ptr()
		case i < e.results:
			p[i] = a.Target(lo, n, buf)
		default:
			p[i] = a.Load(lo, n, buf)
		}
	}
	e.loop(n, p, e.scalars, int64(lo))
	for i := range e.results {
		if i != e.folded || e.stored {
			e.args[i].Store(lo, n, p[i])
		}
	}
	if !e.alone {
		e.load(n, to, 1, p[e.folded], 1)
	}
}
