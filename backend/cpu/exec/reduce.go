package exec

import (
	"fmt"
	"math/bits"
	"runtime"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/fold"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A reduction is a reduction call made ready. Its space is split into the kept
// axes and the reduced ones; both are walked in row-major order.
type reduction struct {
	loops        *vector.FoldFuncs
	scalars      []ir.Scalar
	x            ir.View
	out          ir.View
	compute      ir.DType
	count        int // elements folded into each result
	kept, folded axes
	reduced      tile.Operand // x along the reduced axes, from any start
	inPlace      bool         // all reduced elements of a result are one run
	apart                     // where a result's elements are
	half         *fold.Halves // where there are some, and such a run is of 16-bit floats; or nil
	bytes        fold.Bytes   // where such a run is of bytes that are added up; or nil
	load         convert.Func // x to the compute dtype
	store        convert.Func // results to out
	run          func(r *reduction, lo, hi int)
	one          [16]byte // the accumulator of a single result
	from         *source  // what computes x, which is in no memory; or nil
	grouped               // where results are few
	columns               // where rows are folded into rows
	runs                  // where elements of a result are several runs
}

// grouped is the state of a reduction of few results of many elements.
type grouped struct {
	parts int            // groups of a result, or units of a group of rows
	size  int            // elements of a group
	accs  *scratch.Block // of all of them
}

var reductions = sync.Pool{New: func() any { return new(reduction) }}

// Run does a piece of the work, as pool.Runner.
func (r *reduction) Run(lo, hi int) { r.run(r, lo, hi) }

func runReduction(c *ir.Call) error { return reduce(c, nil) }

// reduce computes c, whose operand a source gives where it is not nil.
func reduce(c *ir.Call, from *source) error {
	loops := codes.Of(c.Kernel).fold
	if loops == nil {
		return unsupported(c)
	}
	if len(c.Out) != 1 || len(c.In) != 1 {
		return fmt.Errorf("%d results and %d operands for 1 and 1", len(c.Out), len(c.In))
	}
	r := reductions.Get().(*reduction)
	r.loops, r.scalars, r.x, r.out = loops, c.Scalars, c.In[0], c.Out[0]
	r.compute, r.count = c.Compute, int(c.ReducedCount())
	r.load, r.store = convert.Between(c.Compute, c.In[0].DType), convert.Between(c.Out[0].DType, loops.Out)
	r.from = from
	split(c, &r.kept, &r.folded)
	if r.kept.n != 0 {
		r.reduced.InitAxes(r.x.Ptr, r.x.DType, r.folded.shape, r.folded.steps, c.Compute)
		r.inPlace, r.half = r.reduced.Contiguous(), nil
		if from == nil && c.Compute == ir.Float32 && c.In[0].DType.Size() == 2 && r.unconverted() {
			r.half = fold.HalvesOf(loops, c.In[0].DType)
		}
		if a := rowAxis(&r.kept, &r.folded); a >= 0 {
			r.runRows(a, c.Op.Ordered)
		} else {
			r.place()
			if r.bytes = nil; c.In[0].DType == ir.Bool && r.count > block && r.unconverted() {
				r.bytes = fold.BytesOf(loops)
			}
			if r.bytes != nil && from != nil {
				from.raw()
			}
			r.runs = runs{}
			if from != nil || r.x.DType == r.compute {
				r.runs = runsOf(loops, r.compute, &r.kept, &r.folded, r.count)
				if from != nil && r.lanes > 0 {
					from.prepare(r.scalars)
				}
			}
			r.runFolds()
		}
	}
	r.release()
	return nil
}

// release drops every pointer into tensors' memory.
func (r *reduction) release() {
	r.loops, r.half, r.bytes, r.scalars, r.x, r.out, r.accs, r.from = nil, nil, nil, nil, ir.View{}, ir.View{}, nil, nil
	r.reduced.Clear()
	reductions.Put(r)
}

// groupCount returns how many groups the reduced elements make.
func (r *reduction) groupCount() int { return (r.count + group - 1) / group }

// batch is how many results are finished at once when each is folded by itself.
const batch = 256

// runFolds folds the elements of each result by themselves.
func (r *reduction) runFolds() {
	if r.single() {
		return
	}
	if g := r.groupCount(); g > 1 && r.kept.n < 64 {
		r.foldGroups(g)
		return
	}
	r.run = (*reduction).folds
	if least := max(1, grain/max(r.count, 1)); r.kept.n > least {
		pool.Run(r.kept.n, least, r)
	} else {
		r.folds(0, r.kept.n)
	}
}

// single computes the result, if it is one of few elements in their place.
func (r *reduction) single() bool {
	if r.from != nil || r.kept.n != 1 || !r.inPlace || r.out.DType != r.loops.Out || r.count == 0 {
		return false
	}
	acc := unsafe.Pointer(&r.one)
	switch blocks := r.count / block; {
	case r.count <= block && r.loops.Lines != nil:
		r.loops.Lines(1, r.count, 0, acc, r.x.Ptr, r.scalars)
	case blocks*block == r.count && blocks&(blocks-1) == 0 && blocks <= group/block && r.loops.Blocks != nil:
		r.loops.Blocks(blocks, acc, r.x.Ptr, r.scalars)
	default:
		return false
	}
	r.loops.Finish(1, r.out.Ptr, acc, r.scalars, int64(r.count))
	return true
}

// folds computes the results at kept positions [lo, hi).
func (r *reduction) folds(lo, hi int) {
	s := tile.Borrow(4)
	defer s.Return()
	e := r.elements()
	defer e.release()
	t := newTree(r.loops, r.scalars, 1, r.count/block+1)
	defer t.release()
	size := r.loops.Acc.Size()
	for ; lo < hi; lo += batch {
		n := min(batch, hi-lo)
		accs := s.Buffer(1).Ptr()
		if r.across {
			r.acrossResults(lo, n, accs, s.Buffer(0).Ptr())
			r.finish(lo, n, accs, s.Buffer(2))
			continue
		}
		if r.lanes > 0 {
			r.foldRuns(lo, n, accs, s.Buffer(0), s.Buffer(3), e)
			r.finish(lo, n, accs, s.Buffer(2))
			continue
		}
		if r.count > 0 && r.count <= block && r.loops.Lines != nil && (r.inPlace || r.dense() || r.halfLines() || len(r.places) > 0) {
			r.lines(lo, n, accs, s.Buffer(0).Ptr(), e)
			r.finish(lo, n, accs, s.Buffer(2))
			continue
		}
		r.loops.Init(n, accs, r.scalars)
		for i := range n {
			x, _ := r.kept.offsets(lo + i)
			r.fold(&t, unsafe.Add(accs, i*size), x, 0, r.count, s.Buffer(0), e)
		}
		r.finish(lo, n, accs, s.Buffer(2))
	}
}

// dense reports whether the elements of neighbouring results follow one another
// without gaps: then they are converted together.
func (r *reduction) dense() bool {
	last := len(r.kept.shape) - 1
	return len(r.folded.shape) == 1 && r.folded.steps[0] == 1 && (last < 0 || r.kept.steps[last] == r.count)
}

// unconverted reports whether the reduced elements of a result are one run, of
// another dtype than the compute dtype.
func (r *reduction) unconverted() bool {
	return r.x.DType != r.compute && len(r.folded.shape) == 1 && r.folded.steps[0] == 1
}

// halfLines reports whether the reduced elements of a result are folded by half.
func (r *reduction) halfLines() bool { return r.half != nil && r.count%fold.HalfLanes == 0 }

// room returns how many elements of the compute dtype a buffer holds, a power of two.
func (r *reduction) room() int { return tile.Size * ir.Complex128.Size() / r.compute.Size() }

// lines folds the elements of n results from kept position lo on, in place or else
// from a buffer.
func (r *reduction) lines(lo, n int, accs, buf unsafe.Pointer, e *elements) {
	last, extent, step := len(r.kept.shape)-1, 1, 0
	if last >= 0 {
		extent, step = r.kept.shape[last], r.kept.steps[last]*r.x.DType.Size()
	}
	for done := 0; done < n; {
		x, _ := r.kept.offsets(lo + done)
		m := min(n-done, extent-(lo+done)%extent)
		for i, some := 0, 0; i < m; i += some {
			some = min(m-i, max(1, group/r.count))
			acc := unsafe.Add(accs, (done+i)*r.loops.Acc.Size())
			if e != nil {
				some = min(some, r.room()/r.count)
				e.compute(x+i*r.count, some*r.count, buf)
				r.loops.Lines(some, r.count, r.count*r.compute.Size(), acc, buf, r.scalars)
				continue
			}
			from := unsafe.Add(r.at(x), i*step)
			switch {
			case r.inPlace:
				r.loops.Lines(some, r.count, step, acc, from, r.scalars)
			case r.halfLines():
				r.half.Lines(some, r.count, step, acc, from)
			default:
				some = min(m-i, r.room()/r.count)
				if len(r.places) == 0 {
					r.load(some*r.count, buf, 1, from, 1)
				}
				for k, off := range r.places {
					r.load(some, unsafe.Add(buf, k*r.compute.Size()), r.count, unsafe.Add(from, off*r.x.DType.Size()), r.kept.steps[last])
				}
				r.loops.Lines(some, r.count, r.count*r.compute.Size(), acc, buf, r.scalars)
			}
		}
		done += m
	}
}

// fold folds the reduced positions [lo, hi) of the elements from x on into *acc, which holds
// the identity.
func (r *reduction) fold(t *tree, acc unsafe.Pointer, x, lo, hi int, buf *tile.Buffer, e *elements) {
	if r.bytes != nil {
		r.foldBytes(acc, x, lo, hi, buf, e)
		return
	}
	if hi-lo <= block {
		if lo < hi {
			n := hi - lo
			r.loops.Fold(n, acc, r.some(x, lo, n, buf, e), r.scalars)
		}
		return
	}
	for lo < hi {
		top := t.top()
		if n := (hi - lo) / block; n > 0 {
			if n = r.blocks(t.fits(n), top, x, lo, buf, e); n > 0 {
				t.push(n)
				lo += n * block
				continue
			}
		}
		n := min(block, hi-lo)
		r.loops.Init(1, top, r.scalars)
		r.loops.Fold(n, top, r.some(x, lo, n, buf, e), r.scalars)
		t.push(1)
		lo += n
	}
	convert.Copy(r.loops.Acc.Size())(1, acc, 1, t.root(), 1)
}

// foldBytes is fold of elements that are added up as they are stored.
func (r *reduction) foldBytes(acc unsafe.Pointer, x, lo, hi int, buf *tile.Buffer, e *elements) {
	if e == nil {
		r.bytes(hi-lo, acc, r.at(x+lo))
		return
	}
	for n := 0; lo < hi; lo += n {
		n = min(hi-lo, tile.Bytes/2)
		e.compute(x+lo, n, buf.Ptr())
		r.bytes(n, acc, buf.Ptr())
	}
}

// some returns the elements at the reduced positions [lo, lo+n) of those from x on, at most
// as many as a block has.
func (r *reduction) some(x, lo, n int, buf *tile.Buffer, e *elements) unsafe.Pointer {
	if e == nil {
		return r.reduced.LoadFrom(r.at(x), lo, n, buf)
	}
	e.reduced(r, x, lo, n, buf.Ptr())
	return buf.Ptr()
}

// blocks sets *acc to the fold of as many of n blocks as can be folded at once, a power
// of two of those at the reduced positions from lo on, and returns how many these are; 0
// where blocks are folded one by one.
func (r *reduction) blocks(n int, acc unsafe.Pointer, x, lo int, buf *tile.Buffer, e *elements) int {
	switch {
	case e != nil && r.loops.Blocks == nil:
		return 0
	case e != nil:
		n = min(n, r.room()/block)
		e.reduced(r, x, lo, n*block, buf.Ptr())
		r.loops.Blocks(n, acc, buf.Ptr(), r.scalars)
		return n
	}
	// These have the reduced elements side by side. Others may have none so far from x.
	switch {
	case r.half != nil:
		r.half.Blocks(n, acc, r.at(x+lo))
	case r.loops.Blocks == nil:
		return 0
	case r.inPlace:
		r.loops.Blocks(n, acc, r.at(x+lo), r.scalars)
	case r.unconverted():
		n = min(n, r.room()/block)
		r.load(n*block, buf.Ptr(), 1, r.at(x+lo), 1)
		r.loops.Blocks(n, acc, buf.Ptr(), r.scalars)
	default:
		return 0
	}
	return n
}

// foldGroups folds few results of many elements: groups of elements in
// parallel, then the groups of each result.
func (r *reduction) foldGroups(groups int) {
	size, elements := r.loops.Acc.Size(), group
	for elements < mostGroup && r.kept.n*groups >= 2*shares*runtime.GOMAXPROCS(0) {
		elements, groups = 2*elements, (groups+1)/2
	}
	r.grouped = grouped{groups, elements, scratch.Get(r.kept.n * groups * size)}
	defer r.accs.Put()
	r.run = (*reduction).someGroups
	pool.Run(r.kept.n*groups, 1, r)
	s := tile.Borrow(2)
	defer s.Return()
	t := newTree(r.loops, r.scalars, 1, groups)
	defer t.release()
	move := convert.Copy(size)
	for k := range r.kept.n {
		for g := range groups {
			move(1, t.top(), 1, unsafe.Add(r.accs.Ptr(), (k*groups+g)*size), 1)
			t.push(1)
		}
		move(1, unsafe.Add(s.Buffer(0).Ptr(), k*size), 1, t.root(), 1)
	}
	r.finish(0, r.kept.n, s.Buffer(0).Ptr(), s.Buffer(1))
}

// someGroups folds groups [lo, hi), counted over all results.
func (r *reduction) someGroups(lo, hi int) {
	s := tile.Borrow(1)
	defer s.Return()
	e := r.elements()
	defer e.release()
	t := newTree(r.loops, r.scalars, 1, r.size/block)
	defer t.release()
	for i := lo; i < hi; i++ {
		x, _ := r.kept.offsets(i / r.parts)
		from := i % r.parts * r.size
		acc := unsafe.Add(r.accs.Ptr(), i*r.loops.Acc.Size())
		r.loops.Init(1, acc, r.scalars)
		r.fold(&t, acc, x, from, min(from+r.size, r.count), s.Buffer(0), e)
	}
}

// at returns the address of the element off elements after the first of x.
func (r *reduction) at(off int) unsafe.Pointer {
	return unsafe.Add(r.x.Ptr, off*r.x.DType.Size())
}

// finish turns the n accumulators at accs into the results at kept positions
// [lo, lo+n).
func (r *reduction) finish(lo, n int, accs unsafe.Pointer, buf *tile.Buffer) {
	_, first := r.kept.offsets(lo)
	step := 1
	if len(r.kept.shape) == 1 {
		step = r.kept.outs[0]
	}
	if len(r.kept.shape) <= 1 {
		r.put(n, first, step, accs, buf)
		return
	}
	from, size, outSize := buf.Ptr(), r.loops.Out.Size(), r.out.DType.Size()
	r.loops.Finish(n, from, accs, r.scalars, int64(r.count))
	last := len(r.kept.shape) - 1
	extent, step := r.kept.shape[last], r.kept.outs[last]
	for i, m := 0, 0; i < n; i += m {
		m = min(n-i, extent-(lo+i)%extent)
		_, out := r.kept.offsets(lo + i)
		r.store(m, unsafe.Add(r.out.Ptr, out*outSize), step, unsafe.Add(from, i*size), 1)
	}
}

// put turns n accumulators into the results that start at offset out, step apart.
func (r *reduction) put(n, out, step int, accs unsafe.Pointer, buf *tile.Buffer) {
	to := unsafe.Add(r.out.Ptr, out*r.out.DType.Size())
	if r.out.DType == r.loops.Out && (step == 1 || n == 1) {
		r.loops.Finish(n, to, accs, r.scalars, int64(r.count))
		return
	}
	r.loops.Finish(n, buf.Ptr(), accs, r.scalars, int64(r.count))
	r.store(n, to, step, buf.Ptr(), 1)
}

// fits returns how many of n blocks, at least one, can be folded at once so that
// the result is merged as those of its blocks would be.
func (t *tree) fits(n int) int {
	n = min(1<<(bits.Len(uint(n))-1), mostGroup/block)
	if t.added != 0 {
		n = min(n, 1<<bits.TrailingZeros(uint(t.added)))
	}
	return n
}
