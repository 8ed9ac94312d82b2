package exec

import (
	"fmt"
	"sync"

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
	loop    ir.Loop
	args    []tile.Operand // the result, then the operands
	scalars []ir.Scalar
	row     int // tiles stop at multiples of row; 0: they need not
	run     int // elements in one call of loop, at most
	stream  stream
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
	loop := pick(c, c.Op.CPU.Elementwise)
	if loop == nil {
		return unsupported(c)
	}
	if len(c.Out) != 1 || len(c.In) != len(c.Op.In) {
		return fmt.Errorf("%d results and %d operands for 1 and %d", len(c.Out), len(c.In), len(c.Op.In))
	}
	n := ir.NumElements(c.Space)
	if n == 0 {
		return nil
	}
	if c.Identity() && c.In[0].Ptr != c.Out[0].Ptr { // 16-bit floats need not become float32 and back
		tile.Copy(c.Out[0], c.In[0])
		return nil
	}
	e := elementwises.Get().(*elementwise)
	e.loop, e.scalars = loop, c.Scalars
	e.prepare(c)
	switch {
	case !e.flat() && e.grid.make(c, e):
		pool.For(e.grid.units(), e.grid.grain(), e.blocks)
	case n <= grain:
		e.span(0, n)
	default:
		e.stream.make(c, e)
		pool.For(n, e.grain(n), e.cover)
	}
	e.release()
	return nil
}

// stored returns the loop that reads and writes 16-bit floats where c has but such, or
// nil.
func stored(c *ir.Call) ir.Loop {
	if c.Compute != ir.Float32 {
		return nil
	}
	d := c.Out[0].DType
	if want := bodyDType(c); want != ir.Float32 { // of comparisons
		if d != want || len(c.In) == 0 {
			return nil
		}
		d = c.In[len(c.In)-1].DType
	}
	for i, v := range c.In {
		if c.Op.In[i].Fixed == ir.Invalid && v.DType != d || c.Op.In[i].Fixed != ir.Invalid && v.DType != operandDType(c, i) {
			return nil
		}
	}
	return vector.Stored(entry(c), d)
}

// entry is the place of c's loop in its operator's table.
func entry(c *ir.Call) *ir.Loop { return &c.Op.CPU.Elementwise[c.Variant][c.Compute] }

// prepare sets up the operands and chooses the tiles.
func (e *elementwise) prepare(c *ir.Call) {
	if cap(e.args) <= len(c.In) {
		e.args = make([]tile.Operand, len(c.In)+1)
	}
	e.args = e.args[:len(c.In)+1]
	e.args[0].Init(c.Out[0], bodyDType(c))
	for i, v := range c.In {
		e.args[i+1].Init(v, operandDType(c, i))
	}
	if loop := stored(c); loop != nil && e.flat() {
		e.loop = loop
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
	if e.stream.on {
		return e.stream.grain()
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
	e.stream.clear()
	e.scalars = nil
	elementwises.Put(e)
}

// span computes the elements [lo, hi) of the iteration space.
func (e *elementwise) span(lo, hi int) {
	s := tile.Borrow(len(e.args) + 1)
	defer s.Return()
	if e.stream.on {
		lo = e.streamSpan(lo, hi, s)
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
