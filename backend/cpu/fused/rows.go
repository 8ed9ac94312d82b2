package fused

import (
	"errors"
	"runtime"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/cache"
	"github.com/sinter-go/sinter/backend/cpu/exec"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/backend/cpu/vector"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/fusion"
)

// tileElements is how many elements of rows all stages run over before the next rows: few
// enough to stay in the second cache, as many as one goroutine takes of an element-wise call.
const tileElements = 8 << 10

// aloneElements is the same where a fold of operands is all that goes over whole rows.
const aloneElements = 256 << 10

// Rows returns the function of rows. Where code can be made of all stages they are passes of one
// function of machine code; otherwise they run as calls of their own over some rows at a time.
// A fold's order is that of the fold alone in both.
func Rows(r *fusion.Rows) (ir.Code, error) {
	t := &tiles{rows: r, target: make([]int, len(r.Single)), sizes: make([]int, len(r.Single))}
	for v := range t.target {
		t.target[v], t.sizes[v] = -1, r.DType(v).Size()
	}
	for i, v := range r.Outs {
		t.target[v] = i
	}
	for i := range r.Stages {
		region := r.Stages[i].Region
		if region == nil {
			continue
		}
		code, err := Code(region)
		if err != nil {
			return ir.Code{}, err
		}
		region.Op.Code = []ir.Code{code}
	}
	t.compiled.rows = r
	t.compiled.prepare()
	return ir.Code{For: vector.Kind, Of: ir.KernelFunc(t.run)}, nil
}

// tiles runs rows on the processor.
type tiles struct {
	rows   *fusion.Rows
	target []int // by value: the result that it is, or -1
	sizes  []int // of an element, by value
	works  sync.Pool

	compiled compiled
}

// A work is what one goroutine works with.
type work struct {
	calls  []ir.Call
	memory []uint64
	at     []unsafe.Pointer // by value: where it is in memory, or the elements of the first row
	bytes  []int            // by value: from one row to the next; 0 of what is in memory
	past   []int            // values that are in memory, and are written past the caches from there
	next   int              // an operand that is read meanwhile, or -1
}

// run is the function.
func (t *tiles) run(c *ir.Call) error {
	if code := t.compiled.of(c); code != nil {
		t.passes(c, code)
		return nil
	}
	rows, length := c.Space[0], c.Space[1]
	some := max(1, tileElements/length)
	if t.compiled.alone { // nothing as long as a row waits in a cache
		some = max(some, min(aloneElements/length, (rows-1)/(2*runtime.GOMAXPROCS(0))+1))
	}
	var failed error
	var mu sync.Mutex
	pool.For(rows, some, func(lo, hi int) {
		w := t.work(c, min(some, rows))
		defer t.done(w)
		for ; lo < hi; lo += some {
			n := min(some, hi-lo)
			if err := t.tile(w, lo, n); err != nil {
				mu.Lock()
				failed = errors.Join(failed, err)
				mu.Unlock()
				return
			}
			t.write(w, c, lo, n)
		}
	})
	return failed
}

// work returns calls over at most so many rows of c.
func (t *tiles) work(c *ir.Call, most int) *work {
	w, _ := t.works.Get().(*work)
	if w == nil {
		w = t.newWork()
	}
	const line = 64
	length, need := c.Space[1], 0
	for v := len(c.In); v < len(t.sizes); v++ {
		need += (t.elements(v, length)*most*t.sizes[v] + 2*line - 1) / line * line
	}
	if len(w.memory)*8 < need+line {
		w.memory = make([]uint64, need/8+line/8)
	}
	used := 0 // words of memory
	w.past, w.next = w.past[:0], -1
	large := isLarge(c)
	for v := range t.sizes {
		o := t.target[v]
		past := large && o >= 0 && !t.rows.Single[v] && c.Out[o].IsContiguous()
		if past {
			w.past = append(w.past, v)
		}
		if v < len(c.In) && c.In[v].IsContiguous() && !t.rows.Single[v] {
			w.next = v
		}
		switch {
		case v < len(c.In):
			w.at[v], w.bytes[v] = c.In[v].Ptr, c.In[v].Strides[0]*t.sizes[v]
		case o >= 0 && !past:
			w.at[v], w.bytes[v] = c.Out[o].Ptr, c.Out[o].Strides[0]*t.sizes[v]
		default:
			w.at[v], w.bytes[v] = unsafe.Pointer(&w.memory[used]), 0
			used += (t.elements(v, length)*most*t.sizes[v] + line - 1) / line * (line / 8)
		}
	}
	t.prepare(w, c)
	return w
}

// isLarge reports whether no cache holds what a call reads and writes.
func isLarge(c *ir.Call) bool {
	bytes := 0
	for _, list := range [][]ir.View{c.Out, c.In} {
		for i := range list {
			if v := &list[i]; v.IsContiguous() {
				bytes += v.NumElements() * v.DType.Size()
			}
		}
	}
	return move.UncachedAt(simd.Active()).Usable() && bytes >= cache.Last()
}

// write stores n rows from row lo on of what is written past the caches, and meanwhile asks
// for the rows that come next of an operand.
func (t *tiles) write(w *work, c *ir.Call, lo, n int) {
	if len(w.past) == 0 {
		return
	}
	s := move.UncachedAt(simd.Active())
	for _, v := range w.past {
		row := c.Space[1] * t.sizes[v]
		to, from, bytes := unsafe.Add(c.Out[t.target[v]].Ptr, lo*row), w.at[v], n*row
		head := min(bytes, int(-uintptr(to)%move.Line))
		body := (bytes - head) / move.Line * move.Line
		next, ahead := from, 0
		if w.next >= 0 {
			next, ahead = unsafe.Add(w.at[w.next], lo*w.bytes[w.next]), n*w.bytes[w.next]
		}
		copy(unsafe.Slice((*byte)(to), head), unsafe.Slice((*byte)(from), head))
		s.Write(unsafe.Add(to, head), unsafe.Add(from, head), body, next, next, ahead)
		copy(unsafe.Slice((*byte)(to), bytes)[head+body:], unsafe.Slice((*byte)(from), bytes)[head+body:])
	}
	s.Fence()
}

// elements returns how many elements of a row a value has.
func (t *tiles) elements(v, length int) int {
	if t.rows.Single[v] {
		return 1
	}
	return length
}

// newWork returns calls without memory.
func (t *tiles) newWork() *work {
	w := &work{calls: make([]ir.Call, len(t.rows.Stages)), at: make([]unsafe.Pointer, len(t.sizes)), bytes: make([]int, len(t.sizes))}
	for i := range w.calls {
		s, c := &t.rows.Stages[i], &w.calls[i]
		c.Kernel, c.Space = s.Kernel, make([]int, 2)
		shape := c.Space
		if s.Kernel.Op.Kind == ir.Reduction {
			c.Axes, shape = []int{1}, []int{0, 1}
		}
		for _, p := range s.Kernel.Out {
			c.Out = append(c.Out, ir.View{DType: p.DType, Shape: shape, Strides: make([]int, 2)})
		}
		for _, p := range s.Kernel.In {
			c.In = append(c.In, ir.View{DType: p.DType, Shape: c.Space, Strides: make([]int, 2)})
		}
	}
	return w
}

// prepare sets what does not change from tile to tile.
func (t *tiles) prepare(w *work, c *ir.Call) {
	for i := range w.calls {
		s, own := &t.rows.Stages[i], &w.calls[i]
		own.Space[1] = c.Space[1]
		if s.Single {
			own.Space[1] = 1
		}
		set := func(v *ir.View, value int) {
			switch {
			case value < len(c.In):
				copy(v.Strides, c.In[value].Strides)
			case t.rows.Single[value]:
				v.Strides[0], v.Strides[1] = 1, 0
			default:
				v.Strides[0], v.Strides[1] = c.Space[1], 1
			}
			if s.Single {
				v.Strides[1] = 1
			}
		}
		for j := range own.Out {
			set(&own.Out[j], s.Out+j)
		}
		for j := range own.In {
			set(&own.In[j], s.In[j])
		}
		n := 0
		for _, a := range s.Kernel.Op.Attrs {
			switch a.Kind {
			case ir.AttrScalar, ir.AttrFloat, ir.AttrInt, ir.AttrBool:
				n++
			}
		}
		own.Scalars, own.Attrs = c.Scalars[s.Scalar:s.Scalar+n], c.Attrs[s.Scalar:s.Scalar+n]
	}
}

// tile runs all stages over n rows from row lo on.
func (t *tiles) tile(w *work, lo, n int) error {
	for i := range w.calls {
		s, c := &t.rows.Stages[i], &w.calls[i]
		c.Space[0] = n
		for j := range c.Out {
			c.Out[j].Shape[0] = n
			c.Out[j].Ptr = unsafe.Add(w.at[s.Out+j], lo*w.bytes[s.Out+j])
		}
		for j := range c.In {
			c.In[j].Ptr = unsafe.Add(w.at[s.In[j]], lo*w.bytes[s.In[j]])
		}
		if c.Op.Kind == ir.Elementwise {
			c.Flat = c.AllFlat()
		}
		if err := exec.Run(c); err != nil {
			return err
		}
	}
	return nil
}

// done takes back what tensors a work refers to.
func (t *tiles) done(w *work) {
	clear(w.at)
	for i := range w.calls {
		c := &w.calls[i]
		c.Scalars, c.Attrs, c.Room = nil, nil, [6]unsafe.Pointer{}
		for j := range c.Out {
			c.Out[j].Ptr = nil
		}
		for j := range c.In {
			c.In[j].Ptr = nil
		}
	}
	t.works.Put(w)
}
