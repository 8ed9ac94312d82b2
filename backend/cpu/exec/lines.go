package exec

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

const (
	// Code over rows is called for rows of shortestLine elements or more: what is done once a row
	// is as much as the work on some. Rows longer than longestLine, or longestShared where an operand
	// has one element for each, are worth calls of a loop of several vectors side by side.
	shortestLine  = 32
	longestLine   = 128
	longestShared = 512
	// fewLines is from how many rows on the axis before the last is that of rows; where it has
	// fewer, the longest is.
	fewLines = 16
	// lineElements bounds one call of such code, in elements.
	lineElements = 16 * 1024
)

// lines is an element-wise call over rows of two axes made ready: its code computes many of them
// in one call, whichever distances rows of a view have.
type lines struct {
	shape  []int // the axes of the call, neighbours joined where every view allows
	row    int   // the axis of rows
	each   int   // rows in one call, at most
	blocks int   // of the axis of rows
	views  []lineView
	backs  []int // the views' steps
	code   *vector.Rows
	block  []uint64
	cover  func(lo, hi int) // span, as a value that is made once
}

// A lineView is a result, or an operand.
type lineView struct {
	ptr   unsafe.Pointer
	size  int
	steps []int // along shape
}

// A lineWork is what one goroutine computes rows with.
type lineWork struct {
	at    []unsafe.Pointer
	steps []int
	words []uint64
}

var (
	linesPool = sync.Pool{New: func() any { l := new(lines); l.cover = l.span; return l }}
	lineWorks = sync.Pool{New: func() any { return new(lineWork) }}
)

// runLines computes an element-wise call by code over rows, and reports whether it did: where
// views do not all follow each other in memory, and rows are short.
func runLines(c *ir.Call, code *code) bool {
	if code.rows == nil || c.Flat {
		return false
	}
	l := linesPool.Get().(*lines)
	ok := l.make(c, code)
	if ok {
		n := ir.NumElements(l.shape[:len(l.shape)-1])
		units, rows := n/l.shape[l.row]*l.blocks, min(l.each, l.shape[l.row])
		pool.For(units, max(1, grain/(rows*l.shape[len(l.shape)-1])), l.cover)
	}
	clear(l.views)
	l.code = nil
	linesPool.Put(l)
	return ok
}

// make makes the call ready, or reports that it cannot.
func (l *lines) make(c *ir.Call, code *code) bool {
	if !asStored(c) {
		return false
	}
	l.join(c)
	last := len(l.shape) - 1
	if last < 1 || l.shape[last] < shortestLine || l.shape[last] > longestShared {
		return false
	}
	single := uint64(0)
	for i := range l.views {
		k := i - len(c.Out)
		switch step := l.views[i].steps[last]; {
		case step == 1:
		case step == 0 && k >= 0:
			single |= 1 << k
		default:
			return false
		}
	}
	if single == 0 && l.shape[last] > longestLine {
		return false
	}
	if l.code = code.rows(single); l.code == nil {
		return false
	}
	l.row = last - 1
	if l.shape[l.row] < fewLines {
		for a, n := range l.shape[:last] {
			if n > l.shape[l.row] {
				l.row = a
			}
		}
	}
	l.each = max(1, lineElements/l.shape[last])
	l.blocks = (l.shape[l.row] + l.each - 1) / l.each
	l.block = slices.Grow(l.block[:0], l.code.Words+1)[:l.code.Words+1]
	l.code.Fill(l.block, c.Scalars)
	return true
}

// join sets shape, and the views with their steps along it.
func (l *lines) join(c *ir.Call) {
	l.shape = l.shape[:0]
	rank, n := len(c.Space), len(c.Out)+len(c.In)
	l.views, l.backs = slices.Grow(l.views[:0], n)[:n], slices.Grow(l.backs[:0], rank*n)[:rank*n]
	view := func(i int) *ir.View {
		if i < len(c.Out) {
			return &c.Out[i]
		}
		return &c.In[i-len(c.Out)]
	}
	for i := range l.views {
		v := view(i)
		l.views[i] = lineView{ptr: v.Ptr, size: v.DType.Size(), steps: l.backs[i*rank : i*rank : (i+1)*rank]}
	}
	for a, d := range c.Space {
		if d == 1 {
			continue
		}
		last := len(l.shape) - 1
		joined := last >= 0
		for i := 0; joined && i < len(l.views); i++ {
			joined = l.views[i].steps[last] == view(i).Strides[a]*d
		}
		if joined {
			l.shape[last] *= d
		} else {
			l.shape = append(l.shape, d)
		}
		for i := range l.views {
			v, step := &l.views[i], view(i).Strides[a]
			if joined {
				v.steps[last] = step
			} else {
				v.steps = append(v.steps, step)
			}
		}
	}
}

// span computes blocks [lo, hi) of rows.
func (l *lines) span(lo, hi int) {
	w := lineWorks.Get().(*lineWork)
	w.words = append(w.words[:0], l.block...)
	w.at, w.steps = w.at[:0], w.steps[:0]
	for _, v := range l.code.Values {
		w.at, w.steps = append(w.at, nil), append(w.steps, l.views[v].steps[l.row]*l.views[v].size)
	}
	for ; lo < hi; lo++ {
		first := lo % l.blocks * l.each
		for k, v := range l.code.Values {
			w.at[k] = l.views[v].at(l, lo/l.blocks, first)
		}
		l.rows(w, min(l.each, l.shape[l.row]-first))
	}
	clear(w.at)
	lineWorks.Put(w)
}

// at returns the address of the first element of a row: that of a number along the axis of
// rows, at a position of the axes but that and the last.
func (v *lineView) at(l *lines, position, row int) unsafe.Pointer {
	off := row * v.steps[l.row]
	for a := len(l.shape) - 2; a >= 0; a-- {
		if a != l.row {
			off += position % l.shape[a] * v.steps[a]
			position /= l.shape[a]
		}
	}
	return unsafe.Add(v.ptr, off*v.size)
}

// rows is one call of the code. It is not inlined: the collector can stop a goroutine where a
// function begins, and nowhere in assembly.
//
//go:noinline
func (l *lines) rows(w *lineWork, n int) {
	l.code.Run(n, l.shape[len(l.shape)-1], w.at, w.steps, w.words)
}
