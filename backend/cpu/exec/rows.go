package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
)

// columns is how many results one row of accumulators holds, at most.
const columns = 512

// rows folds rows of x into rows of accumulators: the columns are positions
// along one kept axis, the rows the reduced positions.
type rows struct {
	*reduction
	rest    axes // the other kept axes
	folded  axes
	extent  int // of the row axis, and its steps
	step    int
	outStep int
	tiles   int // along the row axis
	direct  bool
}

// runRows reduces by rows along kept axis a.
func (r *reduction) runRows(kept, folded axes, a int) {
	w := &rows{
		reduction: r, rest: kept.without(a), folded: folded,
		extent: kept.shape[a], step: kept.steps[a], outStep: kept.outs[a],
		tiles:  (kept.shape[a] + columns - 1) / columns,
		direct: r.x.DType == r.compute && kept.steps[a] == 1,
	}
	units, groups := w.rest.n*w.tiles, r.groups()
	if groups > 1 && units < 16 {
		w.runGroups(units, groups)
		return
	}
	work := min(w.extent, columns) * r.count
	pool.For(units, max(1, grain/max(work, 1)), func(lo, hi int) {
		s := tile.Borrow(2)
		defer s.Return()
		t := newTree(r.loops, r.scalars, min(columns, w.extent), r.count/block+1)
		defer t.release()
		for ; lo < hi; lo++ {
			n, x, out := w.unit(lo)
			t.width = n
			w.finishRow(n, out, w.fold(t, n, x, 0, r.count, s.Buffer(0)), s.Buffer(1))
		}
	})
}

// unit returns how many columns unit i has and where they start in x and out.
func (w *rows) unit(i int) (n, x, out int) {
	first := i % w.tiles * columns
	x, out = w.rest.offsets(i / w.tiles)
	return min(columns, w.extent-first), x + first*w.step, out + first*w.outStep
}

// fold folds rows [lo, hi) of the n columns that start x elements into x and
// returns their accumulators, which the tree owns.
func (w *rows) fold(t *tree, n, x, lo, hi int, buf *tile.Buffer) unsafe.Pointer {
	for ; lo < hi; lo += block {
		acc := t.top()
		w.loops.Init(n, acc, w.scalars)
		for i := lo; i < min(lo+block, hi); i++ {
			off, _ := w.folded.offsets(i)
			from := w.at(x + off)
			if !w.direct {
				w.load(n, buf.Ptr(), 1, from, w.step)
				from = buf.Ptr()
			}
			w.loops.Rows(n, acc, from, w.scalars)
		}
		t.push()
	}
	return t.root()
}

// runGroups reduces few columns of many rows: groups of rows in parallel, then
// the groups of each unit.
func (w *rows) runGroups(units, groups int) {
	size := w.loops.Acc.Size()
	stride := columns * size
	accs := scratch.Get(units * groups * stride)
	defer accs.Put()
	pool.For(units*groups, 1, func(lo, hi int) {
		s := tile.Borrow(1)
		defer s.Return()
		t := newTree(w.loops, w.scalars, min(columns, w.extent), group/block)
		defer t.release()
		for ; lo < hi; lo++ {
			n, x, _ := w.unit(lo / groups)
			t.width = n
			from := lo % groups * group
			acc := w.fold(t, n, x, from, min(from+group, w.count), s.Buffer(0))
			convert.Copy(size)(n, unsafe.Add(accs.Ptr(), lo*stride), 1, acc, 1)
		}
	})
	s := tile.Borrow(1)
	defer s.Return()
	t := newTree(w.loops, w.scalars, min(columns, w.extent), groups)
	defer t.release()
	for u := range units {
		n, _, out := w.unit(u)
		t.width = n
		for g := range groups {
			convert.Copy(size)(n, t.top(), 1, unsafe.Add(accs.Ptr(), (u*groups+g)*stride), 1)
			t.push()
		}
		w.finishRow(n, out, t.root(), s.Buffer(0))
	}
}

// finishRow turns n accumulators into the results that start at offset out.
func (w *rows) finishRow(n, out int, accs unsafe.Pointer, buf *tile.Buffer) {
	w.loops.Finish(n, buf.Ptr(), accs, w.scalars, int64(w.count))
	w.store(n, unsafe.Add(w.out.Ptr, out*w.out.DType.Size()), w.outStep, buf.Ptr(), 1)
}
