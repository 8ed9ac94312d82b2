package exec

import (
	"fmt"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A scan is a scan call made ready: every position of the kept axes has a line
// of elements along the scanned axis.
type scan struct {
	loops   *vector.FoldFuncs
	scalars []ir.Scalar
	kept    axes
	rest    axes         // kept, less the axis that rows go along
	x, out  tile.Operand // one line
	compute ir.DType
	xSize   int // bytes of a stored element
	oSize   int
	length  int // of a line
	width   int // lines scanned at once, at most
}

// crossColumns is how many lines are scanned at once across what lies together:
// few enough that the caches keep a line's neighbourhood. It pays where elements
// take long to combine, so that they wait for one another longer than for memory: in
// loops that fold by runs.
const crossColumns = 64

func runScan(c *ir.Call) error {
	loops := codes.Of(c.Kernel).fold
	if loops == nil {
		return unsupported(c)
	}
	if len(c.Out) != 1 || len(c.In) != 1 || len(c.Axes) != 1 {
		return fmt.Errorf("%d results, %d operands and %d axes for one of each", len(c.Out), len(c.In), len(c.Axes))
	}
	x, out, axis := c.In[0], c.Out[0], c.Axes[0]
	s := &scan{
		loops: loops, scalars: c.Scalars, compute: c.Compute, length: c.Space[axis],
		xSize: x.DType.Size(), oSize: out.DType.Size(),
	}
	var scanned axes
	split(c, &s.kept, &scanned)
	if s.length == 0 || s.kept.n == 0 {
		return nil
	}
	s.width = rowColumns
	a := s.kept.nearest(x.Strides[axis])
	if a < 0 && loops.Run != nil {
		if a = s.kept.longest(); a >= 0 {
			s.width = crossColumns
		}
	}
	if a >= 0 && s.length > 1 {
		s.scanRows(c, a)
		return nil
	}
	line := c.Space[axis : axis+1]
	s.x.InitAxes(x.Ptr, x.DType, line, x.Strides[axis:axis+1], c.Compute)
	s.out.InitAxes(out.Ptr, out.DType, line, out.Strides[axis:axis+1], loops.Out)
	pool.For(s.kept.n, max(1, grain/s.length), s.lines)
	return nil
}

// lines scans the lines at kept positions [lo, hi), each by itself.
func (s *scan) lines(lo, hi int) {
	buf := tile.Borrow(7)
	defer buf.Return()
	acc := buf.Buffer(2).Ptr()
	run := tile.Size
	if s.x.Contiguous() && s.out.Contiguous() {
		run = longRun / 4
	}
	var t *tally
	if s.loops.Run != nil {
		t = newTally(s.loops, s.scalars, 1, s.length)
	}
	for ; lo < hi; lo++ {
		if t != nil {
			t.begin(1)
		}
		off, outOff := s.kept.offsets(lo)
		from, to := unsafe.Add(s.x.Ptr(), off*s.xSize), unsafe.Add(s.out.Ptr(), outOff*s.oSize)
		s.loops.Init(1, acc, s.scalars)
		for i := 0; i < s.length; i += run {
			n := min(run, s.length-i)
			res := s.out.TargetAt(to, i, n, buf.Buffer(1))
			x := s.x.LoadFrom(from, i, n, buf.Buffer(0))
			if t != nil {
				s.runs(t, i, n, res, acc, x, buf)
			} else {
				s.loops.Prefix(n, res, acc, x, s.scalars)
			}
			s.out.StoreAt(to, i, n, res)
		}
	}
}

// runs scans n elements of one line from place i on. Calls begin where a run does.
func (s *scan) runs(t *tally, i, n int, out, acc, x unsafe.Pointer, buf *tile.Scratch) {
	size, outSize := s.compute.Size(), s.loops.Out.Size()
	at := 0
	for ; n-at >= sideBySide*scanRun; at += sideBySide * scanRun {
		s.together(t, unsafe.Add(out, at*outSize), unsafe.Add(x, at*size), i+at+sideBySide*scanRun < s.length, buf)
	}
	for ; at < n; at += scanRun {
		m := min(scanRun, n-at)
		s.loops.Run(m, unsafe.Add(out, at*outSize), acc, t.before(), unsafe.Add(x, at*size), s.scalars)
		if i+at+m < s.length {
			t.end(1, acc)
			s.loops.Init(1, acc, s.scalars)
		}
	}
}

// sideBySide is how many runs of a line are scanned at once, an element of each after the
// other: loops over many accumulators have assembly, and one accumulator waits for itself.
const sideBySide = tile.Size / scanRun

// together scans the elements of so many runs. All are combined in the order in which runs
// combines them. more says that elements follow.
func (s *scan) together(t *tally, out, x unsafe.Pointer, more bool, buf *tile.Scratch) {
	const n = sideBySide
	size, outSize, accSize := s.compute.Size(), s.loops.Out.Size(), s.loops.Acc.Size()
	prefixes, acc, row := buf.Buffer(3).Ptr(), buf.Buffer(4).Ptr(), buf.Buffer(5).Ptr()
	res := buf.Buffer(6).Ptr()
	load, store := convert.Between(s.compute, s.compute), convert.Between(s.loops.Out, s.loops.Out)
	s.loops.Init(n, acc, s.scalars)
	for j := range scanRun {
		load(n, row, 1, unsafe.Add(x, j*size), scanRun)
		s.loops.Rows(n, acc, row, s.scalars)
		t.copy(n, unsafe.Add(prefixes, j*n*accSize), acc)
	}
	before := row // of each run
	for k := range n {
		t.copy(1, unsafe.Add(before, k*accSize), t.before())
		if more || k < n-1 {
			t.end(1, unsafe.Add(acc, k*accSize))
		}
	}
	whole := acc
	for j := range scanRun {
		t.copy(n, whole, before)
		s.loops.Merge(n, whole, unsafe.Add(prefixes, j*n*accSize), s.scalars)
		s.loops.Finish(n, res, whole, s.scalars, 0)
		store(n, unsafe.Add(out, j*outSize), scanRun, res, 1)
	}
}

// scanRows scans many lines at once, neighbours along kept axis a.
func (s *scan) scanRows(c *ir.Call, a int) {
	x, out, axis := c.In[0], c.Out[0], c.Axes[0]
	s.rest.except(&s.kept, a)
	extent, step, outStep := s.kept.shape[a], s.kept.steps[a], s.kept.outs[a]
	r := scanRow{
		scan: s, from: x.Strides[axis] * s.xSize, to: out.Strides[axis] * s.oSize, step: step, outStep: outStep,
		load: convert.Between(c.Compute, x.DType), store: convert.Between(out.DType, s.loops.Out),
	}
	direct := s.loops.Next != nil && step == 1 && outStep == 1 && x.DType == c.Compute && out.DType == s.loops.Out
	tiles := (extent + s.width - 1) / s.width
	pool.For(s.rest.n*tiles, max(1, grain/(min(extent, s.width)*s.length)), func(lo, hi int) {
		buf := tile.Borrow(3)
		defer buf.Return()
		for ; lo < hi; lo++ {
			off, outOff := s.rest.offsets(lo / tiles)
			first := lo % tiles * s.width
			n := min(s.width, extent-first)
			p, q := unsafe.Add(x.Ptr, (off+first*step)*s.xSize), unsafe.Add(out.Ptr, (outOff+first*outStep)*s.oSize)
			s.loops.Init(n, buf.Buffer(0).Ptr(), s.scalars)
			if direct {
				r.next(n, q, p, buf.Buffer(0).Ptr())
			} else {
				r.each(n, q, p, buf)
			}
		}
	})
}

// A scanRow is how rows of a scan follow one another: distances in bytes, steps
// inside a row in elements.
type scanRow struct {
	*scan
	from, to      int
	step, outStep int
	load, store   convert.Func
}

// next scans n lines that are used where they are.
func (r *scanRow) next(n int, out, x, acc unsafe.Pointer) {
	tall := tallOf(n * r.xSize)
	for i := 0; i < r.length; i += tall {
		r.loops.Next(min(tall, r.length-i), n, r.to, r.from, unsafe.Add(out, i*r.to), acc, unsafe.Add(x, i*r.from), r.scalars)
	}
}

// each scans n lines row by row.
func (r *scanRow) each(n int, out, x unsafe.Pointer, buf *tile.Scratch) {
	acc, row, res := buf.Buffer(0).Ptr(), buf.Buffer(1).Ptr(), buf.Buffer(2).Ptr()
	var t *tally
	if r.loops.Run != nil && r.length > scanRun {
		t = newTally(r.loops, r.scalars, n, r.length)
		t.begin(n)
	}
	for i := range r.length {
		r.load(n, row, 1, unsafe.Add(x, i*r.from), r.step)
		r.loops.Rows(n, acc, row, r.scalars)
		whole := acc
		if t != nil {
			whole = t.whole()
			t.copy(n, whole, t.before())
			r.loops.Merge(n, whole, acc, r.scalars)
		}
		r.loops.Finish(n, res, whole, r.scalars, int64(i)+1)
		r.store(n, unsafe.Add(out, i*r.to), r.outStep, res, 1)
		if t != nil && (i+1)%scanRun == 0 && i+1 < r.length {
			t.end(n, acc)
			r.loops.Init(n, acc, r.scalars)
		}
	}
}
