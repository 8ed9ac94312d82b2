package exec

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/ir"
)

// A reduction is a reduction call made ready. Its space is split into the kept
// axes and the reduced ones; both are walked in row-major order.
type reduction struct {
	loops   *ir.ReduceLoops
	scalars []ir.Scalar
	x       ir.View
	out     ir.View
	compute ir.DType
	count   int          // elements folded into each result
	reduced tile.Operand // x along the reduced axes, from any start
	load    convert.Func // x to the compute dtype
	store   convert.Func // results to out
}

func runReduction(c *ir.Call) error {
	loops := pick(c, c.Op.CPU.Reduce)
	if loops == nil {
		return unsupported(c)
	}
	if len(c.Out) != 1 || len(c.In) != 1 {
		return fmt.Errorf("%d results and %d operands for 1 and 1", len(c.Out), len(c.In))
	}
	r := &reduction{
		loops: loops, scalars: c.Scalars, x: c.In[0], out: c.Out[0],
		compute: c.Compute, count: int(c.ReducedCount()),
		load:  convert.Between(c.Compute, c.In[0].DType),
		store: convert.Between(c.Out[0].DType, loops.Out),
	}
	kept, folded := split(c)
	if kept.n == 0 {
		return nil
	}
	r.reduced.InitAxes(r.x.Ptr, r.x.DType, folded.shape, folded.steps, c.Compute)
	if a := rowAxis(&kept, &folded); a >= 0 {
		r.runRows(kept, folded, a)
	} else {
		r.runFolds(kept)
	}
	return nil
}

// axes are some axes of the iteration space.
type axes struct {
	n     int // positions
	shape []int
	steps []int // of x
	outs  []int // of out
}

// split separates the kept axes of c's space from the reduced ones. Neighbours
// that are one run in both views are joined.
func split(c *ir.Call) (kept, folded axes) {
	kept.n, folded.n = 1, 1
	next := 0
	for i, d := range c.Space {
		to := &kept
		if next < len(c.Axes) && c.Axes[next] == i {
			to = &folded
			next++
		}
		to.add(d, c.In[0].Strides[i], c.Out[0].Strides[i])
	}
	return kept, folded
}

func (a *axes) add(extent, step, out int) {
	a.n *= extent
	if extent == 1 {
		return
	}
	if last := len(a.shape) - 1; last >= 0 && a.steps[last] == step*extent && a.outs[last] == out*extent {
		a.shape[last] *= extent
		a.steps[last], a.outs[last] = step, out
		return
	}
	a.shape, a.steps, a.outs = append(a.shape, extent), append(a.steps, step), append(a.outs, out)
}

// offsets returns how far position i is from the first, in x and in out.
func (a *axes) offsets(i int) (x, out int) {
	for k := len(a.shape) - 1; k >= 0; k-- {
		if k == 0 {
			return x + i*a.steps[0], out + i*a.outs[0]
		}
		q := i / a.shape[k]
		m := i - q*a.shape[k]
		x, out, i = x+m*a.steps[k], out+m*a.outs[k], q
	}
	return x, out
}

// without returns the axes other than k.
func (a *axes) without(k int) axes {
	b := axes{n: a.n / a.shape[k]}
	for i := range a.shape {
		if i != k {
			b.shape, b.steps, b.outs = append(b.shape, a.shape[i]), append(b.steps, a.steps[i]), append(b.outs, a.outs[i])
		}
	}
	return b
}

// shortestRow is the extent from which whole rows are folded into rows of
// accumulators.
const shortestRow = 8

// rowAxis returns the kept axis along which x lies closer together than along
// any reduced one, or -1: then each result is folded by itself.
func rowAxis(kept, folded *axes) int {
	if len(folded.shape) == 0 || folded.n == 0 {
		return -1
	}
	return kept.nearest(slices.Min(folded.steps))
}

// nearest returns the axis with the smallest step of x below the given one, or
// -1 where there is none that is worth working along.
func (a *axes) nearest(step int) int {
	best := -1
	for i, s := range a.steps {
		if a.shape[i] >= shortestRow && s < step {
			best, step = i, s
		}
	}
	return best
}

// groups returns how many groups the reduced elements make.
func (r *reduction) groups() int { return (r.count + group - 1) / group }

// batch is how many results are finished at once when each is folded by itself.
const batch = 256

// runFolds folds the elements of each result by themselves.
func (r *reduction) runFolds(kept axes) {
	if g := r.groups(); g > 1 && kept.n < 64 {
		r.foldGroups(kept, g)
		return
	}
	pool.For(kept.n, max(1, grain/max(r.count, 1)), func(lo, hi int) {
		s := tile.Borrow(3)
		defer s.Return()
		t := newTree(r.loops, r.scalars, 1, r.count/block+1)
		defer t.release()
		for ; lo < hi; lo += batch {
			n := min(batch, hi-lo)
			accs := s.Buffer(1).Ptr()
			r.loops.Init(n, accs, r.scalars)
			for i := range n {
				x, _ := kept.offsets(lo + i)
				r.fold(t, unsafe.Add(accs, i*r.loops.Acc.Size()), r.at(x), 0, r.count, s.Buffer(0))
			}
			r.finish(&kept, lo, n, accs, s.Buffer(2))
		}
	})
}

// fold folds the reduced positions [lo, hi) of the elements at base into *acc,
// which holds the identity.
func (r *reduction) fold(t *tree, acc, base unsafe.Pointer, lo, hi int, buf *tile.Buffer) {
	if hi-lo <= block {
		if lo < hi {
			n := hi - lo
			r.loops.Fold(n, acc, r.reduced.LoadFrom(base, lo, n, buf), r.scalars)
		}
		return
	}
	for ; lo < hi; lo += block {
		n := min(block, hi-lo)
		top := t.top()
		r.loops.Init(1, top, r.scalars)
		r.loops.Fold(n, top, r.reduced.LoadFrom(base, lo, n, buf), r.scalars)
		t.push()
	}
	convert.Copy(r.loops.Acc.Size())(1, acc, 1, t.root(), 1)
}

// foldGroups folds few results of many elements: groups of elements in
// parallel, then the groups of each result.
func (r *reduction) foldGroups(kept axes, groups int) {
	size := r.loops.Acc.Size()
	accs := scratch.Get(kept.n * groups * size)
	defer accs.Put()
	pool.For(kept.n*groups, 1, func(lo, hi int) {
		s := tile.Borrow(1)
		defer s.Return()
		t := newTree(r.loops, r.scalars, 1, group/block)
		defer t.release()
		for i := lo; i < hi; i++ {
			x, _ := kept.offsets(i / groups)
			from := i % groups * group
			acc := unsafe.Add(accs.Ptr(), i*size)
			r.loops.Init(1, acc, r.scalars)
			r.fold(t, acc, r.at(x), from, min(from+group, r.count), s.Buffer(0))
		}
	})
	s := tile.Borrow(2)
	defer s.Return()
	t := newTree(r.loops, r.scalars, 1, groups)
	defer t.release()
	move := convert.Copy(size)
	for k := range kept.n {
		for g := range groups {
			move(1, t.top(), 1, unsafe.Add(accs.Ptr(), (k*groups+g)*size), 1)
			t.push()
		}
		move(1, unsafe.Add(s.Buffer(0).Ptr(), k*size), 1, t.root(), 1)
	}
	r.finish(&kept, 0, kept.n, s.Buffer(0).Ptr(), s.Buffer(1))
}

// at returns the address of the element off elements after the first of x.
func (r *reduction) at(off int) unsafe.Pointer {
	return unsafe.Add(r.x.Ptr, off*r.x.DType.Size())
}

// finish turns the n accumulators at accs into the results at kept positions
// [lo, lo+n).
func (r *reduction) finish(kept *axes, lo, n int, accs unsafe.Pointer, buf *tile.Buffer) {
	from := buf.Ptr()
	r.loops.Finish(n, from, accs, r.scalars, int64(r.count))
	size, outSize := r.loops.Out.Size(), r.out.DType.Size()
	if len(kept.shape) <= 1 {
		_, out := kept.offsets(lo)
		step := 1
		if len(kept.shape) == 1 {
			step = kept.outs[0]
		}
		r.store(n, unsafe.Add(r.out.Ptr, out*outSize), step, from, 1)
		return
	}
	for i := range n {
		_, out := kept.offsets(lo + i)
		r.store(1, unsafe.Add(r.out.Ptr, out*outSize), 1, unsafe.Add(from, i*size), 1)
	}
}
