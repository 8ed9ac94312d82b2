package exec

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/scratch"
	"github.com/sinter-go/sinter/backend/cpu/simd"
)

// A gridBlock is a part of a grid, with what one goroutine needs to work through it.
type gridBlock struct {
	start      []int // along the grid's shape
	rows, cols int
	index      int // the linear index of its first element
	rowIndex   int // from one row to the next
	p          []unsafe.Pointer
	views      []blockView
	spare      unsafe.Pointer // a buffer for what is converted
}

// A blockView is a view of the grid in a block.
type blockView struct {
	base   unsafe.Pointer // the block's first element
	buffer unsafe.Pointer
	kept   unsafe.Pointer // of a view whose rows are all one: the base of what buffer holds
	held   int            // its rows
}

var gridBlocks = sync.Pool{New: func() any { return new(gridBlock) }}

// blockSpan computes blocks [lo, hi).
func (e *elementwise) blockSpan(lo, hi int) {
	g, b := &e.grid, gridBlocks.Get().(*gridBlock)
	room := scratch.Get((len(g.views) + 1) * g.size)
	b.prepare(g, room.Ptr())
	for ; lo < hi; lo++ {
		b.set(g, lo)
		for i := range g.views {
			b.views[i].base = g.views[i].at(b.start)
		}
		switch {
		case g.outers:
			e.outerBlock(b)
		case g.packed:
			e.packedBlock(b)
		case g.crosses:
			e.crossingBlock(b)
		default:
			e.eachRow(b)
		}
	}
	b.clear()
	room.Put()
}

// prepare divides the memory at room among the views.
func (b *gridBlock) prepare(g *grid, room unsafe.Pointer) {
	if cap(b.p) < len(g.views) {
		b.p, b.views = make([]unsafe.Pointer, len(g.views)), make([]blockView, len(g.views))
	}
	b.p, b.views = b.p[:len(g.views)], b.views[:len(g.views)]
	b.start = append(b.start[:0], g.shape...)
	for i := range b.views {
		b.views[i] = blockView{buffer: unsafe.Add(room, i*g.size)}
	}
	b.spare = unsafe.Add(room, len(b.views)*g.size)
}

// clear drops every pointer, and gives the block back.
func (b *gridBlock) clear() {
	clear(b.p)
	clear(b.views)
	b.spare = nil
	gridBlocks.Put(b)
}

// set makes b block u: blocks that follow each other go down the rows, so that
// crossing views are read on where they were left.
func (b *gridBlock) set(g *grid, u int) {
	last := len(g.shape) - 1
	row := u % g.perCol() * g.rows
	u /= g.perCol()
	col := u % g.perRow() * g.cols
	u /= g.perRow()
	b.index = 0
	stride := 1
	for a := last; a >= 0; a-- {
		switch a {
		case last:
			b.start[a] = col
		case g.rowAxis:
			b.start[a] = row
			b.rowIndex = stride
		default:
			b.start[a] = u % g.shape[a]
			u /= g.shape[a]
		}
		b.index += b.start[a] * stride
		stride *= g.shape[a]
	}
	b.rows, b.cols = min(g.rows, g.shape[g.rowAxis]-row), min(g.cols, g.shape[last]-col)
}

// at returns the address of the element at a position.
func (v *gridView) at(start []int) unsafe.Pointer {
	off := 0
	for a, s := range start {
		off += s * v.steps[a]
	}
	return unsafe.Add(v.ptr, off*v.size)
}

// packedBlock calls the loop once for all rows. The result is in place.
//
//go:noinline
func (e *elementwise) packedBlock(b *gridBlock) {
	g := &e.grid
	for i := range g.views {
		v, w := &g.views[i], &b.views[i]
		if v.inPlace {
			b.p[i] = w.base
			continue
		}
		b.p[i] = w.buffer
		if v.down == 0 && w.kept == w.base && w.held >= b.rows {
			continue
		}
		w.kept, w.held = w.base, b.rows
		if v.step == 0 {
			from, down := w.base, v.down
			if !v.same {
				v.load(b.rows, b.spare, 1, w.base, v.down)
				from, down = b.spare, 1
			}
			move.Spread(simd.Active(), v.want)(w.buffer, from, down, b.rows, b.cols)
			continue
		}
		if b.cols < b.rows { // few long columns rather than many short rows
			for c := range b.cols {
				v.load(b.rows, unsafe.Add(w.buffer, c*v.want), b.cols, unsafe.Add(w.base, c*v.step*v.size), v.down)
			}
			continue
		}
		for r := range b.rows {
			v.load(b.cols, unsafe.Add(w.buffer, r*b.cols*v.want), 1, unsafe.Add(w.base, r*v.down*v.size), v.step)
		}
	}
	e.loop(b.rows*b.cols, b.p, e.scalars, int64(b.index))
}

// eachRow calls the loop for each row, or parts of it.
//
//go:noinline
func (e *elementwise) eachRow(b *gridBlock) {
	g, loop := &e.grid, e.loop
	if g.shared != nil {
		loop = g.shared
	}
	for r := range b.rows {
		for c := 0; c < b.cols; c += g.run {
			n := min(g.run, b.cols-c)
			for i := range g.views {
				v, w := &g.views[i], &b.views[i]
				switch from := unsafe.Add(w.base, (r*v.down+c*v.step)*v.size); {
				case v.inPlace:
					b.p[i] = from
				case v.crosses:
					b.p[i] = unsafe.Add(w.buffer, (r*b.cols+c)*v.want)
				default:
					b.p[i] = w.buffer
					switch {
					case i == 0:
					case v.step == 0 && c > 0, v.down == 0 && r > 0 && (v.step == 0 || n == b.cols): // as the buffer was left
					case v.step == 0 && v.same:
						v.fill(w.buffer, from, n)
					default:
						v.load(n, w.buffer, 1, from, v.step)
					}
				}
			}
			loop(n, b.p, e.scalars, int64(b.index+r*b.rowIndex+c))
			if v := &g.views[0]; !v.inPlace && !v.crosses {
				v.store(n, unsafe.Add(b.views[0].base, (r*v.down+c*v.step)*v.size), v.step, b.views[0].buffer, 1)
			}
		}
	}
}

// crossingBlock is eachRow with what crosses brought to buffers before, and from there
// afterwards.
func (e *elementwise) crossingBlock(b *gridBlock) {
	g := &e.grid
	for i := range g.views {
		if v, w := &g.views[i], &b.views[i]; v.crosses && i > 0 {
			to := w.buffer
			if !v.same {
				to = b.spare
			}
			move.Transpose(simd.Active(), v.size)(to, w.base, b.cols*v.size, v.step*v.size, b.cols, b.rows)
			if !v.same {
				v.load(b.rows*b.cols, w.buffer, 1, to, 1)
			}
		}
	}
	e.eachRow(b)
	if v, w := &g.views[0], &b.views[0]; v.crosses {
		from := w.buffer
		if !v.same {
			from = b.spare
			v.store(b.rows*b.cols, from, 1, w.buffer, 1)
		}
		move.Transpose(simd.Active(), v.size)(w.base, from, v.step*v.size, b.cols*v.size, b.rows, b.cols)
	}
}
