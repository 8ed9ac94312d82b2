package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

const (
	// blockRows and blockCols are how much of two axes a grid works through at a
	// time where a view crosses: a cache line of each column, what the first
	// cache holds.
	blockRows = 16
	blockCols = 256
	// lineCols bounds the columns of a block where none crosses.
	lineCols = 4096
	// repeatCols is how often an element is repeated that all of a row shares.
	repeatCols = 512
	// packCols is the length of the longest rows that are joined, and packSize how
	// many elements several of them have.
	packCols = 512
	packSize = 1024
	// sharedCols is the length of the shortest rows that a shared loop is called for.
	sharedCols = 64
	// leastRows is the least extent of the axis that crossing views run along.
	leastRows = 4
)

// A grid is how a call works whose views do not all follow each other in memory: by
// blocks of two axes, row by row, or several rows at once where these are short.
// Views that are stored along another axis than the last, as transposed ones are, are
// transposed a block at a time, so that whole cache lines are used.
type grid struct {
	shape   []int       // the axes of the call, neighbours joined where every view allows
	rowAxis int         // the axis that crossing views are stored along, or the last but one
	crosses bool        // a view does
	packed  bool        // a block's rows are computed at once
	outers  bool        // a block's rows are computed by outer
	shared  vector.Func // computes rows whose operands behind the first have one element each; nil where others are
	outer   outer
	rows    int // of a block, and its columns
	cols    int
	run     int // columns in one call of the loop
	views   []gridView
	size    int   // bytes of a view's buffer
	steps   []int // backs the views' steps
}

// A gridView is the result, or an operand.
type gridView struct {
	ptr        unsafe.Pointer
	dtype      ir.DType
	steps      []int // along shape
	step, down int   // of steps, along the last axis and along rows
	load       convert.Func
	store      convert.Func
	fill       move.Filler
	size, want int // bytes of an element as stored and as computed with
	same       bool
	crosses    bool
	inPlace    bool // what one call of the loop takes is used where it is
}

// make sets the grid up, or reports that the call has no use for one: where all is
// one row, or no view crosses and the result is to go past the caches.
func (g *grid) make(c *ir.Call, code *code, e *elementwise) bool {
	g.join(c)
	last := len(g.shape) - 1
	if last < 1 {
		return false
	}
	g.findRows(last)
	if !g.crosses && e.bypass.make(c, code, e) {
		return false
	}
	out, cols := &g.views[0], g.shape[last]
	out.step, out.down = out.steps[last], out.steps[g.rowAxis]
	g.outers = !g.crosses && cols >= shortestRow && g.outer.make(c, g.views)
	if g.shared = nil; !g.crosses && !g.outers && cols >= sharedCols && g.shares(last) {
		g.shared = code.set.Shared
	}
	g.packed = !g.crosses && !g.outers && g.shared == nil && cols <= packCols && out.same && out.step == 1 && out.down == cols
	switch {
	case g.crosses:
		g.rows, g.cols = blockRows, min(blockCols, cols)
	case g.packed:
		g.rows, g.cols = max(1, packSize/cols), cols
	default:
		g.rows, g.cols = max(1, grain/cols), min(lineCols, cols)
	}
	g.chooseRun(last)
	return true
}

// shares reports whether the views are those that a shared loop reads and writes.
func (g *grid) shares(last int) bool {
	for i := range g.views {
		v := &g.views[i]
		if step := v.steps[last]; !v.same || step != 1 && i < 2 || step != 0 && i >= 2 {
			return false
		}
	}
	return true
}

// chooseRun decides which views are used in place, and how long a call of the loop is.
func (g *grid) chooseRun(last int) {
	g.run, g.size = g.cols, 0
	for i := range g.views {
		v := &g.views[i]
		v.step, v.down = v.steps[last], v.steps[g.rowAxis]
		v.inPlace = g.shared != nil || !v.crosses && v.same && v.step == 1 && (!g.packed || v.down == g.cols)
		g.size = max(g.size, v.want, v.size)
		switch {
		case v.crosses, v.inPlace:
		case v.step == 0:
			g.run = min(g.run, repeatCols)
		default:
			g.run = min(g.run, tile.Size)
		}
	}
	if g.crosses || g.packed {
		g.run = g.cols
		g.size *= g.rows * g.cols
	} else {
		g.size *= g.run
	}
}

// findRows chooses the axis that rows follow each other along.
func (g *grid) findRows(last int) {
	g.rowAxis, g.crosses = last-1, false
	for i := range g.views {
		v := &g.views[i]
		for a, step := range v.steps[:last] {
			if step == 1 && v.steps[last] > 1 && g.shape[a] >= leastRows && (!g.crosses || g.rowAxis == a) {
				v.crosses, g.crosses, g.rowAxis = true, true, a
			}
		}
	}
}

// join sets shape, and the views with their steps along it.
func (g *grid) join(c *ir.Call) {
	g.shape, g.views = g.shape[:0], g.views[:0]
	rank, count := len(c.Space), 1+len(c.In)
	if cap(g.steps) < rank*count {
		g.steps = make([]int, rank*count)
	}
	for i := range count {
		v, want := &c.Out[0], c.Kernel.Out[0].Compute
		if i > 0 {
			v, want = &c.In[i-1], c.Kernel.In[i-1].Compute
		}
		g.views = append(g.views, gridView{
			ptr: v.Ptr, dtype: v.DType, load: convert.Between(want, v.DType), store: convert.Between(v.DType, want), fill: move.Fill(simd.Active(), v.DType.Size()),
			size: v.DType.Size(), want: want.Size(), same: v.DType == want, steps: g.steps[i*rank : i*rank : (i+1)*rank],
		})
	}
	for a, d := range c.Space {
		if d == 1 {
			continue
		}
		last, joined := len(g.shape)-1, len(g.shape) > 0
		for i := 0; joined && i < count; i++ {
			joined = g.views[i].steps[last] == stride(c, i, a)*d
		}
		if joined {
			g.shape[last] *= d
		} else {
			g.shape = append(g.shape, d)
		}
		for i := range g.views {
			v := &g.views[i]
			if joined {
				v.steps[last] = stride(c, i, a)
			} else {
				v.steps = append(v.steps, stride(c, i, a))
			}
		}
	}
}

// stride returns the step along an axis of the result, or of operand i-1.
func stride(c *ir.Call, i, axis int) int {
	if i == 0 {
		return c.Out[0].Strides[axis]
	}
	return c.In[i-1].Strides[axis]
}

// clear drops every pointer into tensors' memory.
func (g *grid) clear() {
	clear(g.views)
	g.shared = nil
}

// perRow and perCol are the blocks along the two axes.
func (g *grid) perRow() int { return (g.shape[len(g.shape)-1] + g.cols - 1) / g.cols }
func (g *grid) perCol() int { return (g.shape[g.rowAxis] + g.rows - 1) / g.rows }

// units is how many blocks there are.
func (g *grid) units() int {
	n := g.perRow() * g.perCol()
	for a, d := range g.shape[:len(g.shape)-1] {
		if a != g.rowAxis {
			n *= d
		}
	}
	return n
}

// grain is how many blocks are worth another processor.
func (g *grid) grain() int {
	return max(1, grain/(min(g.rows, g.shape[g.rowAxis])*g.cols), g.units()/pieces)
}
