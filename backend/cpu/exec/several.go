package exec

import (
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

// A several is an element-wise call with several results made ready: one loop writes
// them all, tile by tile.
type several struct {
	loop    vector.Func
	scalars []ir.Scalar
	args    []tile.Operand // the results, then the operands
	results int
	size    int              // elements in one call of the loop, at most
	cover   func(lo, hi int) // span, as a value that is made once
}

var severals = sync.Pool{New: func() any {
	m := new(several)
	m.cover = m.span
	return m
}}

// runSeveral computes an element-wise call with several results.
func runSeveral(c *ir.Call, loop vector.Func, n int) {
	m := severals.Get().(*several)
	m.loop, m.scalars, m.results = loop, c.Scalars, len(c.Out)
	if need := len(c.Out) + len(c.In); cap(m.args) < need {
		m.args = make([]tile.Operand, need)
	}
	m.args = m.args[:len(c.Out)+len(c.In)]
	for i, v := range c.Out {
		m.args[i].Init(v, c.Kernel.Out[i].Compute)
	}
	for i, v := range c.In {
		m.args[m.results+i].Init(v, c.Kernel.In[i].Compute)
	}
	m.size = jointRun
	for i := range m.args {
		if !m.args[i].Contiguous() {
			m.size = tile.Size
		}
	}
	if n <= grain {
		m.span(0, n)
	} else {
		pool.For(n, grain, m.cover)
	}
	for i := range m.args {
		m.args[i].Clear()
	}
	m.scalars = nil
	severals.Put(m)
}

// span computes positions [lo, hi).
func (m *several) span(lo, hi int) {
	s := tile.Borrow(len(m.args))
	defer s.Return()
	p := s.Pointers(len(m.args))
	for lo < hi {
		n := min(hi-lo, m.size)
		for i := range m.args {
			if i < m.results {
				p[i] = m.args[i].Target(lo, n, s.Buffer(i))
			} else {
				p[i] = m.args[i].Load(lo, n, s.Buffer(i))
			}
		}
		m.piece(n, lo, p)
		for i := range m.results {
			m.args[i].Store(lo, n, p[i])
		}
		lo += n
	}
}

// piece is one call of the loop. It is not inlined: the collector can stop a goroutine
// where a function begins, and nowhere in assembly.
//
//go:noinline
func (m *several) piece(n, lo int, p []unsafe.Pointer) { m.loop(n, p, m.scalars, int64(lo)) }
