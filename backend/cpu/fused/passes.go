package fused

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/sinter-go/sinter/backend/cpu/made"
	"github.com/sinter-go/sinter/backend/cpu/move"
	"github.com/sinter-go/sinter/backend/cpu/pool"
	"github.com/sinter-go/sinter/backend/cpu/simd"
	"github.com/sinter-go/sinter/codegen/loops"
	"github.com/sinter-go/sinter/codegen/lower"
	"github.com/sinter-go/sinter/codegen/x86"
	"github.com/sinter-go/sinter/ir"
	"github.com/sinter-go/sinter/ir/body"
	"github.com/sinter-go/sinter/ir/fusion"
)

// The passes go over passBytes of what rows read and keep before the next rows, but over
// passRows at most: few enough for the first cache, and enough that one need not wait for what
// becomes of another's fold.
const (
	passBytes = 24 << 10
	passRows  = 4
)

// The code of rows takes rows of leastRow elements or more, and of leastFolded where nothing
// but folds goes over them: what is done once a row and a fold is as much as the work on so
// many elements, and loops of a fold alone do it for several rows at once.
const (
	leastRow    = 64
	leastFolded = 256
)

// compiled is the machine code of rows, made for the operands that have one element a row
// when these are first seen.
type compiled struct {
	rows  *fusion.Rows
	sizes []int    // of an element, by value
	least int      // elements of a row; shorter ones are quicker as calls over many
	alone bool     // one fold of an operand is all that goes over rows, which has a loop of its own
	code  sync.Map // by the operands with one element a row, by bit: a func() *made.Passes
}

// of returns the code for a call, or nil.
func (m *compiled) of(c *ir.Call) *made.Passes {
	if c.Space[1] > x86.LongestRow || c.Space[1] < m.least || m.alone {
		return nil
	}
	single := uint64(0)
	for i := range c.In {
		switch v := &c.In[i]; {
		case m.rows.Single[i], v.Strides[1] == 0 && c.Space[1] > 1:
			single |= 1 << i
		case v.Strides[1] != 1:
			return nil
		}
	}
	return m.get(single)
}

// prepare makes the code for operands that are as long as rows unless they cannot be.
func (m *compiled) prepare() {
	m.least = leastFolded
	for v := range m.rows.Single {
		m.sizes = append(m.sizes, m.dtype(v).Size())
	}
	folds := 0
	for i := range m.rows.Stages {
		switch s := &m.rows.Stages[i]; {
		case s.Single:
		case s.Region != nil:
			m.least = leastRow
		default:
			folds++
		}
	}
	if m.alone = folds == 1 && m.least == leastFolded; m.alone {
		return
	}
	single := uint64(0)
	for i := range m.rows.Op.In {
		if m.rows.Single[i] {
			single |= 1 << i
		}
	}
	m.get(single)
}

// dtype is what elements of a value are. What is between passes alone is as it is computed with,
// rounded as it would be in memory: it takes no conversion.
func (m *compiled) dtype(v int) ir.DType {
	d := m.rows.DType(v)
	if v < len(m.rows.Op.In) || m.rows.Single[v] || slices.Contains(m.rows.Outs, v) {
		return d
	}
	return d.Compute()
}

// get returns the code for the operands with one element a row, by bit; nil where there is none.
func (m *compiled) get(single uint64) *made.Passes {
	code, ok := m.code.Load(single)
	if !ok {
		code, _ = m.code.LoadOrStore(single, sync.OnceValue(func() *made.Passes { return m.make(single) }))
	}
	return code.(func() *made.Passes)()
}

// make compiles the rows; nil where that is not possible.
func (m *compiled) make(single uint64) *made.Passes {
	r := m.rows
	l := &loops.Rows{Operands: len(r.Op.In), Single: append([]bool(nil), r.Single...), Stored: make([]bool, len(r.Single)), Scalars: len(r.Op.Attrs)}
	for v := range r.Single {
		l.DTypes = append(l.DTypes, m.dtype(v))
		if v < len(r.Op.In) {
			l.Single[v] = single>>v&1 != 0
		}
	}
	for _, v := range r.Outs {
		l.Stored[v] = true
	}
	for i := range r.Stages {
		s := &r.Stages[i]
		b, err := body.Of(s.Kernel)
		if err != nil {
			return nil
		}
		own := loops.Stage{Single: s.Single, In: s.In, Out: s.Out, Results: len(s.Kernel.Out), Scalar: s.Scalar}
		if s.Region != nil {
			own.Graph, own.Inputs = b.Expr, lower.Inputs(b.Expr)
		} else {
			own.Fold = &loops.Fold{Init: b.Init, Map: b.Map, Combine: b.Combine, Operand: s.Kernel.Op.In[0].Name, Inputs: lower.Inputs}
			own.Finish = b.Finish
		}
		l.Stages = append(l.Stages, own)
	}
	code, err := made.CompilePasses(l)
	if err != nil {
		return nil
	}
	return code
}

// A passWork is what one goroutine computes passes with.
type passWork struct {
	memory []uint64
	blocks []uint64
	at     []unsafe.Pointer
	base   []unsafe.Pointer
	steps  []int
	ahead  []int
	own    []bool // arrays in memory
}

var passWorks = sync.Pool{New: func() any { return new(passWork) }}

// passes runs code over all rows of a call.
func (t *tiles) passes(c *ir.Call, code *made.Passes) {
	rows, length := c.Space[0], c.Space[1]
	some := t.together(c, code)
	past := isLarge(c) && t.lines(c)
	each := tileElements
	if past {
		each = pastElements
	}
	pool.For(rows, max(some, each/length/some*some), func(lo, hi int) {
		w := passWorks.Get().(*passWork)
		t.place(w, c, code, some)
		code.Fill(w.blocks, some, length, c.Scalars)
		for ; lo < hi; lo += some {
			for k, base := range w.base {
				if w.at[k] = base; !w.own[k] {
					w.at[k] = unsafe.Add(base, lo*w.steps[k])
				}
			}
			runPasses(code, min(some, hi-lo), length, w, past)
		}
		if past {
			move.UncachedAt(simd.Active()).Fence()
		}
		clear(w.at)
		clear(w.base)
		passWorks.Put(w)
	})
}

// pastElements is how many elements one goroutine takes of rows that are written past the
// caches: after them it waits until they are.
const pastElements = 128 << 10

// together returns how many rows the passes go over before the next ones. Short rows are taken
// as many as make a long one.
func (t *tiles) together(c *ir.Call, code *made.Passes) int {
	length, bytes := c.Space[1], 1
	for _, v := range code.Values {
		if stored := t.target[v] >= 0; !t.rows.Single[v] && !stored && (v >= len(c.In) || c.In[v].Strides[0] != 0) {
			bytes += length * t.compiled.sizes[v]
		}
	}
	const usual = 1024
	most := max(passRows, passRows*usual/length)
	return max(1, min(passBytes/bytes, most, c.Space[0]))
}

// runPasses is one call of the code. It is not inlined: the collector can stop a goroutine
// where a function begins, and nowhere in assembly.
//
//go:noinline
func runPasses(code *made.Passes, rows, length int, w *passWork, past bool) {
	if !code.Run(rows, length, w.at, w.steps, w.ahead, w.blocks, past) {
		code.Run(rows, length, w.at, w.steps, w.ahead, w.blocks, false)
	}
}

// lines reports whether rows of results are whole cache lines.
func (t *tiles) lines(c *ir.Call) bool {
	for i := range c.Out {
		o := &c.Out[i]
		if !t.rows.Single[t.rows.Outs[i]] && (uintptr(o.Ptr)%move.Line != 0 || c.Space[1]*o.DType.Size()%move.Line != 0 || !o.IsContiguous()) {
			return false
		}
	}
	return true
}

// place says where the arrays of code are: in tensors, or in memory for some rows.
func (t *tiles) place(w *passWork, c *ir.Call, code *made.Passes, some int) {
	const line = move.Line
	n, length := len(code.Values), c.Space[1]
	if len(w.at) != n {
		*w = passWork{memory: w.memory, blocks: w.blocks, at: make([]unsafe.Pointer, n), base: make([]unsafe.Pointer, n), steps: make([]int, n), ahead: make([]int, n), own: make([]bool, n)}
	}
	if len(w.blocks) < some*code.Block {
		w.blocks = make([]uint64, some*code.Block)
	}
	need := 0
	for k, v := range code.Values {
		var view *ir.View
		switch o := t.target[v]; {
		case v < len(c.In):
			view = &c.In[v]
		case o >= 0:
			view = &c.Out[o]
		}
		if w.own[k] = view == nil; view == nil {
			w.steps[k] = (length*t.compiled.sizes[v] + line - 1) / line * line
			need += w.steps[k] * some
			w.base[k] = nil
			w.ahead[k] = 0
			continue
		}
		w.base[k], w.steps[k] = view.Ptr, view.Strides[0]*t.compiled.sizes[v]
		w.ahead[k] = w.steps[k] * some
	}
	if len(w.memory)*8 < need+line {
		w.memory = make([]uint64, need/8+line/8)
	}
	used := int(-uintptr(unsafe.Pointer(&w.memory[0])) % line)
	for k := range w.base {
		if w.own[k] {
			w.base[k] = unsafe.Pointer(&w.memory[used/8])
			used += w.steps[k] * some
		}
	}
}
