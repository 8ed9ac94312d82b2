package exec

import (
	"fmt"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/tile"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
)

const (
	// jointGrain is how many elements of a joint operator are worth another processor.
	jointGrain = 16 * tile.Size
	// jointRun bounds one call of a loop over several arrays.
	jointRun = 16 * 1024
)

// A joint is the tensors of one place: those that are written, then the other operands.
type joint struct {
	loop    vector.Func
	scalars []ir.Scalar
	results int
	lists   []tile.Operand
	room    [ir.MaxJoint]tile.Operand
	cover   func(lo, hi int) // span, as a value that is made once
}

var joints = sync.Pool{New: func() any {
	j := new(joint)
	j.cover = j.span
	return j
}}

// runJoint computes a joint body for the tensors of each place of the lists in turn.
func runJoint(c *ir.Call) error {
	loop := codes.Of(c.Kernel).loop
	if loop == nil {
		return unsupported(c)
	}
	results, operands := len(c.Op.Out), len(c.Op.In)
	n := len(c.Out) / max(results, 1)
	if n*results != len(c.Out) || n*operands != len(c.In) || results+operands > ir.MaxJoint {
		return fmt.Errorf("%d results and %d operands for %d and %d", len(c.Out), len(c.In), results, operands)
	}
	j := joints.Get().(*joint)
	j.loop, j.scalars, j.results, j.lists = loop, c.Scalars, results, j.room[:results+operands]
	for k := range n {
		size := c.Out[k].NumElements()
		for i := range results {
			j.lists[i].Init(c.Out[i*n+k], c.Compute)
		}
		for i := range operands {
			v := c.In[i*n+k]
			if len(v.Shape) == 0 { // one element for all
				v.Shape, v.Strides = []int{size}, []int{0}
			}
			j.lists[results+i].Init(v, c.Compute)
		}
		if size <= jointGrain {
			j.span(0, size)
			continue
		}
		pool.For(size, jointGrain, j.cover)
	}
	j.release()
	return nil
}

// release drops every pointer into tensors' memory.
func (j *joint) release() {
	for i := range j.lists {
		j.lists[i].Clear()
	}
	j.scalars = nil
	joints.Put(j)
}

// span computes positions [lo, hi). A loop has the results, then what was in them, then
// the other operands; the first two are the same memory, which a loop reads before it
// writes.
func (j *joint) span(lo, hi int) {
	s := tile.Borrow(len(j.lists))
	defer s.Return()
	p := s.Pointers(j.results + len(j.lists))
	size := tile.Size
	if j.direct() {
		size = jointRun
	}
	for lo < hi {
		n := min(hi-lo, size)
		for i := range j.lists {
			p[j.results+i] = j.lists[i].Load(lo, n, s.Buffer(i))
		}
		copy(p, p[j.results:2*j.results])
		j.piece(n, lo, p)
		for i := range j.results {
			j.lists[i].Store(lo, n, p[i])
		}
		lo += n
	}
}

// piece is one call of the loop. It is not inlined: the collector can stop a goroutine
// where a function begins, and nowhere in assembly.
//
//go:noinline
func (j *joint) piece(n, lo int, p []unsafe.Pointer) { j.loop(n, p, j.scalars, int64(lo)) }

// direct reports whether no piece needs a buffer.
func (j *joint) direct() bool {
	for i := range j.lists {
		if !j.lists[i].Contiguous() {
			return false
		}
	}
	return true
}
