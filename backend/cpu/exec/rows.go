package exec

import (
	"runtime"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
)

const (
	// rowColumns is how many results one processor takes at least, where there are
	// as many. Those of two such units side by side are folded together: rows of
	// whole pages are read best.
	rowColumns = 512
	// wideBlock is what block is for rows of rowColumns elements or more: then one
	// processor can take some rows, and another the next. Where each takes a part of
	// every row, what it fetches ahead of itself, up to the end of a page, is another's.
	wideBlock = block / 8
	// Rows are folded in groups of leastGroup elements or more, at most mostGroups.
	leastGroup = 64 << 10
	mostGroups = 64
	// wideBytes is how much of a row is folded at once, where rows are few and used
	// where they are: processors fetch ahead of long runs only.
	wideBytes = 64 << 10
	// tallRows is how many rows are read side by side at least, where there are as
	// many, and tallBytes what a call of Grid takes of them.
	tallRows  = 4
	tallBytes = 32 << 10
)

// columns is how rows of x are folded into rows of accumulators: the columns are
// positions along one kept axis, the rows the reduced positions.
type columns struct {
	rest    axes // the other kept axes
	extent  int  // of the row axis, and its steps
	step    int
	outStep int
	wide    int // runs of columns that one row has: those of places next to each other
	tall    int // rows
	tiles   int // along the row axis
	most    int // of them that are folded together
	block   int // rows that are folded in order before results are merged pairwise
	span    int // rows of a group: a power of two of blocks
	direct  bool
}

// runRows reduces by rows along kept axis a. Ordered is ir.Op.Ordered.
func (r *reduction) runRows(a int, ordered bool) {
	r.rest.except(&r.kept, a)
	r.extent, r.step, r.outStep = r.kept.shape[a], r.kept.steps[a], r.kept.outs[a]
	if r.wide, r.tall = 1, r.count; !ordered {
		r.wide = r.folded.widen(&r.kept, a)
		r.extent, r.tall = r.extent*r.wide, r.count/r.wide
	}
	r.tiles = (r.extent + rowColumns - 1) / rowColumns
	if r.from != nil && r.loops.Acc == r.compute {
		r.from.prepare(r.scalars)
	}
	r.direct = r.from == nil && r.x.DType == r.compute && r.step == 1
	if r.block = block; r.extent >= rowColumns {
		r.block = wideBlock
	}
	r.most = tile.Size / rowColumns
	if r.tall <= r.block && r.loops.Grid != nil && r.direct && len(r.folded.shape) == 1 && r.outStep == 1 && r.out.DType == r.loops.Out {
		r.most = max(r.most, wideBytes/(rowColumns*r.compute.Size()))
	}
	for r.span = r.block; r.span*min(r.extent, tile.Size) < leastGroup || r.tall > mostGroups*r.span; {
		r.span *= 2
	}
	units, groups := r.rest.n*r.tiles, (r.tall+r.span-1)/r.span
	if groups > 1 && units < 16 && runtime.GOMAXPROCS(0) > 1 {
		r.rowGroups(units, groups)
		return
	}
	r.run = (*reduction).rows
	pool.Run(units, max(1, grain/max(min(r.extent, rowColumns)*r.tall, 1)), r)
}

// rows computes the results of units [lo, hi).
func (r *reduction) rows(lo, hi int) {
	s := tile.Borrow(2)
	defer s.Return()
	e := r.elements()
	defer e.release()
	t := newTree(r.loops, r.scalars, min(r.most*rowColumns, r.extent), r.tall/r.block+1)
	defer t.release()
	for some := 0; lo < hi; lo += some {
		some = r.together(lo, hi)
		n, x, out := r.unit(lo, some)
		t.width = n
		r.putRow(n, out, r.foldRows(&t, n, x, 0, r.tall, s.Buffer(0), e), s.Buffer(1))
	}
}

// putRow turns a row of n accumulators into results from offset out on: runs of one row are
// merged pairwise before, as blocks are.
func (r *reduction) putRow(n, out int, accs unsafe.Pointer, buf *tile.Buffer) {
	n /= r.wide
	size := n * r.loops.Acc.Size()
	for step := 1; step < r.wide; step *= 2 {
		for i := 0; i+step < r.wide; i += 2 * step {
			r.loops.Merge(n, unsafe.Add(accs, i*size), unsafe.Add(accs, (i+step)*size), r.scalars)
		}
	}
	r.put(n, out, r.outStep, accs, buf)
}

// together returns how many of the units [lo, hi) are folded together.
func (r *reduction) together(lo, hi int) int {
	return min(hi-lo, r.tiles-lo%r.tiles, r.most)
}

// unit returns how many columns some units from i on have, all of the same rows, and
// where they start in x and out.
func (r *reduction) unit(i, some int) (n, x, out int) {
	first := i % r.tiles * rowColumns
	x, out = r.rest.offsets(i / r.tiles)
	return min(some*rowColumns, r.extent-first), x + first*r.step, out + first*r.outStep
}

// foldRows folds rows [lo, hi) of the n columns that start x elements into x and
// returns their accumulators, which the tree owns.
func (r *reduction) foldRows(t *tree, n, x, lo, hi int, buf *tile.Buffer, e *elements) unsafe.Pointer {
	for ; lo < hi; lo += r.block {
		acc, end := t.top(), min(lo+r.block, hi)
		r.loops.Init(n, acc, r.scalars)
		switch {
		case !r.direct:
			r.foldLoaded(n, x, lo, end, acc, buf, e)
		case r.loops.Grid != nil:
			r.foldGrid(n, x, lo, end, acc)
		default:
			r.foldEach(n, x, lo, end, acc)
		}
		t.push(1)
	}
	return t.root()
}

// foldGrid folds rows that are used where they are, those of equal distances together.
func (r *reduction) foldGrid(n, x, lo, hi int, acc unsafe.Pointer) {
	last, tall := len(r.folded.shape)-1, tallOf(n*r.x.DType.Size())
	extent, step := r.folded.shape[last], r.folded.steps[last]
	if last == 0 {
		extent = hi
	}
	for some := 0; lo < hi; lo += some {
		some = min(tall, hi-lo, extent-lo%extent)
		off, _ := r.folded.offsets(lo)
		r.loops.Grid(some, n, step*r.x.DType.Size(), acc, r.at(x+off), r.scalars)
	}
}

// tallOf returns how many rows of so many bytes are worked on at once.
func tallOf(bytes int) int { return max(tallRows, tallBytes/bytes) }

// foldLoaded folds rows from a buffer, some at a time.
func (r *reduction) foldLoaded(n, x, lo, hi int, acc unsafe.Pointer, buf *tile.Buffer, e *elements) {
	lo = r.foldInto(n, x, lo, hi, acc, e)
	size, tall := n*r.compute.Size(), r.room()/n
	for ; lo < hi; lo += tall {
		rows := min(tall, hi-lo)
		for i, some := 0, 1; i < rows; i += some {
			off, _ := r.folded.offsets(lo + i)
			if e != nil {
				some = min(rows-i, r.follow(n, lo+i))
				e.compute(x+off, some*n, unsafe.Add(buf.Ptr(), i*size))
				continue
			}
			r.load(n, unsafe.Add(buf.Ptr(), i*size), 1, r.at(x+off), r.step)
		}
		if r.loops.Grid != nil {
			r.loops.Grid(rows, n, size, acc, buf.Ptr(), r.scalars)
			continue
		}
		for i := range rows {
			r.loops.Rows(n, acc, unsafe.Add(buf.Ptr(), i*size), r.scalars)
		}
	}
}

// foldInto folds rows by code that computes them, as far as there is some, and returns where it
// stopped.
func (r *reduction) foldInto(n, x, lo, hi int, acc unsafe.Pointer, e *elements) int {
	last := len(r.folded.shape) - 1
	for lo < hi {
		off, _ := r.folded.offsets(lo)
		some := min(hi-lo, r.folded.shape[last]-lo%r.folded.shape[last])
		if !e.fold(some, n, x+off, r.folded.steps[last], acc) {
			return lo
		}
		lo += some
	}
	return hi
}

// follow returns how many rows of n elements, at least one, follow one another from row i on.
func (r *reduction) follow(n, i int) int {
	last := len(r.folded.shape) - 1
	if r.folded.steps[last] != n {
		return 1
	}
	return r.folded.shape[last] - i%r.folded.shape[last]
}

// foldEach folds rows that are used where they are, by loops without Grid.
func (r *reduction) foldEach(n, x, lo, hi int, acc unsafe.Pointer) {
	for ; lo < hi; lo++ {
		off, _ := r.folded.offsets(lo)
		r.loops.Rows(n, acc, r.at(x+off), r.scalars)
	}
}

// rowGroups reduces few columns of many rows: groups of rows in parallel, then the
// groups of each unit. Accumulators of units follow one another, group by group.
func (r *reduction) rowGroups(units, groups int) {
	size := r.loops.Acc.Size()
	stride := rowColumns * size
	r.grouped = grouped{units, 0, scratch.Get(units * groups * stride)}
	defer r.accs.Put()
	r.run = (*reduction).someRowGroups
	pool.Run(units*groups, min(units, tile.Size/rowColumns), r)
	s := tile.Borrow(1)
	defer s.Return()
	t := newTree(r.loops, r.scalars, min(tile.Size, r.extent), groups)
	defer t.release()
	for u, some := 0, 0; u < units; u += some {
		some = r.together(u, units)
		n, _, out := r.unit(u, some)
		t.width = n
		for g := range groups {
			convert.Copy(size)(n, t.top(), 1, unsafe.Add(r.accs.Ptr(), (g*units+u)*stride), 1)
			t.push(1)
		}
		r.putRow(n, out, t.root(), s.Buffer(0))
	}
}

// someRowGroups folds units [lo, hi), counted over all groups.
func (r *reduction) someRowGroups(lo, hi int) {
	size := r.loops.Acc.Size()
	s := tile.Borrow(1)
	defer s.Return()
	e := r.elements()
	defer e.release()
	t := newTree(r.loops, r.scalars, min(tile.Size, r.extent), r.span/r.block)
	defer t.release()
	for some := 0; lo < hi; lo += some {
		u, from := lo%r.parts, lo/r.parts*r.span
		some = r.together(u, min(r.parts, u+hi-lo))
		n, x, _ := r.unit(u, some)
		t.width = n
		acc := r.foldRows(&t, n, x, from, min(from+r.span, r.tall), s.Buffer(0), e)
		convert.Copy(size)(n, unsafe.Add(r.accs.Ptr(), lo*rowColumns*size), 1, acc, 1)
	}
}
