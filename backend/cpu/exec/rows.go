package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
)

const (
	// rowColumns is how many results one row of accumulators holds, at most.
	rowColumns = 512
	// tallRows is how many rows are read side by side.
	tallRows = 16
	// tallElements is how many elements a call of Grid takes at least, where there
	// are as many.
	tallElements = 4096
)

// columns is how rows of x are folded into rows of accumulators: the columns are
// positions along one kept axis, the rows the reduced positions.
type columns struct {
	rest    axes // the other kept axes
	extent  int  // of the row axis, and its steps
	step    int
	outStep int
	tiles   int // along the row axis
	direct  bool
}

// runRows reduces by rows along kept axis a.
func (r *reduction) runRows(a int) {
	r.rest.except(&r.kept, a)
	r.extent, r.step, r.outStep = r.kept.shape[a], r.kept.steps[a], r.kept.outs[a]
	r.tiles = (r.extent + rowColumns - 1) / rowColumns
	r.direct = r.x.DType == r.compute && r.step == 1
	units, groups := r.rest.n*r.tiles, r.groupCount()
	if groups > 1 && units < 16 {
		r.rowGroups(units, groups)
		return
	}
	r.run = (*reduction).rows
	pool.Run(units, max(1, grain/max(min(r.extent, rowColumns)*r.count, 1)), r)
}

// rows computes the results of units [lo, hi).
func (r *reduction) rows(lo, hi int) {
	s := tile.Borrow(2)
	defer s.Return()
	t := newTree(r.loops, r.scalars, min(rowColumns, r.extent), r.count/block+1)
	defer t.release()
	for ; lo < hi; lo++ {
		n, x, out := r.unit(lo)
		t.width = n
		r.put(n, out, r.outStep, r.foldRows(&t, n, x, 0, r.count, s.Buffer(0)), s.Buffer(1))
	}
}

// unit returns how many columns unit i has and where they start in x and out.
func (r *reduction) unit(i int) (n, x, out int) {
	first := i % r.tiles * rowColumns
	x, out = r.rest.offsets(i / r.tiles)
	return min(rowColumns, r.extent-first), x + first*r.step, out + first*r.outStep
}

// foldRows folds rows [lo, hi) of the n columns that start x elements into x and
// returns their accumulators, which the tree owns.
func (r *reduction) foldRows(t *tree, n, x, lo, hi int, buf *tile.Buffer) unsafe.Pointer {
	for ; lo < hi; lo += block {
		acc := t.top()
		r.loops.Init(n, acc, r.scalars)
		if end := min(lo+block, hi); r.direct && r.loops.Grid != nil && len(r.folded.shape) == 1 {
			r.foldGrid(n, x, lo, end, acc)
		} else {
			r.foldEach(n, x, lo, end, acc, buf)
		}
		t.push(1)
	}
	return t.root()
}

// foldGrid folds rows of equal distances, used where they are.
func (r *reduction) foldGrid(n, x, lo, hi int, acc unsafe.Pointer) {
	step, tall := r.folded.steps[0], max(tallRows, tallElements/n)
	for ; lo < hi; lo += tall {
		r.loops.Grid(min(tall, hi-lo), n, step*r.x.DType.Size(), acc, r.at(x+lo*step), r.scalars)
	}
}

func (r *reduction) foldEach(n, x, lo, hi int, acc unsafe.Pointer, buf *tile.Buffer) {
	for ; lo < hi; lo++ {
		off, _ := r.folded.offsets(lo)
		from := r.at(x + off)
		if !r.direct {
			r.load(n, buf.Ptr(), 1, from, r.step)
			from = buf.Ptr()
		}
		r.loops.Rows(n, acc, from, r.scalars)
	}
}

// rowGroups reduces few columns of many rows: groups of rows in parallel, then
// the groups of each unit.
func (r *reduction) rowGroups(units, groups int) {
	size := r.loops.Acc.Size()
	stride := rowColumns * size
	r.grouped = grouped{groups, scratch.Get(units * groups * stride)}
	defer r.accs.Put()
	r.run = (*reduction).someRowGroups
	pool.Run(units*groups, 1, r)
	s := tile.Borrow(1)
	defer s.Return()
	t := newTree(r.loops, r.scalars, min(rowColumns, r.extent), groups)
	defer t.release()
	for u := range units {
		n, _, out := r.unit(u)
		t.width = n
		for g := range groups {
			convert.Copy(size)(n, t.top(), 1, unsafe.Add(r.accs.Ptr(), (u*groups+g)*stride), 1)
			t.push(1)
		}
		r.put(n, out, r.outStep, t.root(), s.Buffer(0))
	}
}

// someRowGroups folds groups [lo, hi), counted over all units.
func (r *reduction) someRowGroups(lo, hi int) {
	size := r.loops.Acc.Size()
	s := tile.Borrow(1)
	defer s.Return()
	t := newTree(r.loops, r.scalars, min(rowColumns, r.extent), group/block)
	defer t.release()
	for ; lo < hi; lo++ {
		n, x, _ := r.unit(lo / r.groups)
		t.width = n
		from := lo % r.groups * group
		acc := r.foldRows(&t, n, x, from, min(from+group, r.count), s.Buffer(0))
		convert.Copy(size)(n, unsafe.Add(r.accs.Ptr(), lo*rowColumns*size), 1, acc, 1)
	}
}
