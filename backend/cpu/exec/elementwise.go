package exec

import (
	"fmt"
	"sync"

	"github.com/sinter-go/sinter/backend/cpu/convert"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

const (
	// grain is the least number of elements worth another processor.
	grain = 8 * 1024
	// pieces is how many pieces large work is cut into, about: few enough for what
	// each needs to be ready not to count.
	pieces = 64
	// longRun bounds one call of a loop that needs no buffers. Assembly cannot
	// be preempted: this keeps the collector from waiting for it.
	longRun = 64 * 1024
	// shortRow is the row length below which tiles run across rows, and
	// operands are gathered, rather than stop at the end of each.
	shortRow = 128
)

// An elementwise is an element-wise call made ready.
type elementwise struct {
	loop    vector.Func
	args    []tile.Operand // the result, then the operands
	scalars []ir.Scalar
	row     int // tiles stop at multiples of row; 0: they need not
	run     int // elements in one call of loop, at most
	bypass  bypass
	grid    grid
	cover   func(lo, hi int) // span, as a value that is made once
	blocks  func(lo, hi int) // blockSpan
}

var elementwises = sync.Pool{New: func() any {
	e := new(elementwise)
	e.cover, e.blocks = e.span, e.blockSpan
	return e
}}

func runElementwise(c *ir.Call) error {
	if len(c.Out) != len(c.Kernel.Out) || len(c.In) != len(c.Kernel.In) {
		return fmt.Errorf("%d results and %d operands for %d and %d", len(c.Out), len(c.In), len(c.Kernel.Out), len(c.Kernel.In))
	}
	n := ir.NumElements(c.Space)
	if n == 0 {
		return nil
	}
	if from := c.Copied(); from != nil { // 16-bit floats need not become float32 and back
		out := &c.Out[0]
		switch {
		case from.DType != out.DType || from.Ptr != out.Ptr && (!c.Flat || n > flatSize):
			tile.Copy(*out, *from)
		case from.Ptr != out.Ptr:
			convert.Copy(out.DType.Size())(n, out.Ptr, 1, from.Ptr, 1)
		}
		return nil
	}
	code := codes.Of(c.Kernel)
	if code.loop == nil {
		return unsupported(c)
	}
	if runLines(c, code) {
		return nil
	}
	if len(c.Out) > 1 {
		runSeveral(c, code.loop, n)
		return nil
	}
	e := elementwises.Get().(*elementwise)
	e.loop, e.scalars = code.loop, c.Scalars
	e.prepare(c, code)
	switch {
	case !e.flat() && e.grid.make(c, code, e):
		pool.For(e.grid.units(), e.grid.grain(), e.blocks)
	case n <= grain:
		e.span(0, n)
	default:
		e.bypass.make(c, code, e)
		pool.For(n, e.grain(n), e.cover)
	}
	e.release()
	return nil
}

// asStored reports whether every view has the dtype of its port.
func asStored(c *ir.Call) bool { return stored(c.Out, c.Kernel.Out) && stored(c.In, c.Kernel.In) }

// stored reports whether views have the dtypes of their ports.
func stored(views []ir.View, ports []ir.Port) bool {
	for i := range views {
		if views[i].DType != ports[i].DType {
			return false
		}
	}
	return true
}

// prepare sets up the operands and chooses the tiles.
func (e *elementwise) prepare(c *ir.Call, code *code) {
	if cap(e.args) <= len(c.In) {
		e.args = make([]tile.Operand, len(c.In)+1)
	}
	e.args = e.args[:len(c.In)+1]
	e.args[0].Init(c.Out[0], c.Kernel.Out[0].Compute)
	for i, v := range c.In {
		e.args[i+1].Init(v, c.Kernel.In[i].Compute)
	}
	if code.narrow && code.stored != nil && asStored(c) && e.flat() {
		e.loop = code.stored
		e.args[0].Init(c.Out[0], c.Out[0].DType)
		for i, v := range c.In {
			e.args[i+1].Init(v, v.DType)
		}
	}
	e.row, e.run = 0, longRun
	for i := range e.args {
		a := &e.args[i]
		if !a.Direct() {
			e.run = tile.Size
		}
		if !a.Flat() && (e.row == 0 || a.Row() < e.row) {
			e.row = a.Row()
		}
	}
	if e.row != 0 && e.row < shortRow {
		e.row, e.run = 0, tile.Size
	}
}

// flat reports whether the elements of every view have equal distances.
func (e *elementwise) flat() bool {
	for i := range e.args {
		if !e.args[i].Flat() {
			return false
		}
	}
	return true
}

// grain is a whole number of rows where tiles stop at rows, and of cache lines.
func (e *elementwise) grain(n int) int {
	if e.bypass.on {
		return e.bypass.grain()
	}
	each := max(grain, n/pieces&^(grain-1))
	if e.row == 0 {
		return each
	}
	return (each + e.row - 1) / e.row * e.row
}

// release drops every pointer into tensors' memory.
func (e *elementwise) release() {
	for i := range e.args {
		e.args[i].Clear()
	}
	e.grid.clear()
	e.bypass.clear()
	e.scalars = nil
	elementwises.Put(e)
}

// span computes the elements [lo, hi) of the iteration space.
func (e *elementwise) span(lo, hi int) {
	s := tile.Borrow(len(e.args) + 1)
	defer s.Return()
	if e.bypass.on {
		lo = e.bypassSpan(lo, hi, s)
	}
	for lo < hi {
		n := min(hi-lo, e.run)
		if e.row != 0 {
			n = min(n, e.row-lo%e.row)
		}
		e.piece(lo, n, s)
		lo += n
	}
}

// piece computes n elements from lo on with one call of the loop. It is not inlined:
// the collector can stop a goroutine where a function begins, and nowhere in assembly.
//
//go:noinline
func (e *elementwise) piece(lo, n int, s *tile.Scratch) {
	p := s.Pointers(len(e.args))
	p[0] = e.args[0].Target(lo, n, s.Buffer(0))
	for i := 1; i < len(p); i++ {
		p[i] = e.args[i].Load(lo, n, s.Buffer(i))
	}
	out := p[0]
	e.loop(n, p, e.scalars, int64(lo))
	e.args[0].Store(lo, n, out)
}
