package exec

import (
	"unsafe"

	"github.com/sinter-go/sinter/ir"
)

// intoElements bounds one call of such code, in elements.
const intoElements = 16 * 1024

// prepare finds the code for the operands' layouts, where there is some.
func (f *source) prepare(scalars []ir.Scalar) {
	if f.into != nil || f.make == nil || f.stored || f.size != f.args[f.folded].Size() {
		return
	}
	single := uint64(0)
	for i := range f.args {
		switch step := f.args[i].Step(); {
		case i == f.folded || step == 1:
		case step == 0 && i >= f.results:
			single |= 1 << (i - f.results)
		default:
			return
		}
	}
	if f.into = f.make(single); f.into != nil {
		f.block = make([]uint64, f.into.Words+1)
		f.into.Fill(f.block, append(append([]ir.Scalar(nil), f.scalars...), scalars...))
	}
}

// fold computes rows rows of n elements, the first from position lo on and the next ones step
// positions further each, and folds them into the n accumulators at acc. It reports false, and
// does nothing, where there is no code for that.
func (e *elements) fold(rows, n, lo, step int, acc unsafe.Pointer) bool {
	if e == nil || e.into == nil {
		return false
	}
	for k, v := range e.into.Values {
		if v < 0 {
			e.at[k], e.steps[k] = acc, 0
			continue
		}
		a := &e.args[v]
		off, down, ok := a.Rows(lo, n, rows, step)
		if !ok {
			return false
		}
		e.at[k], e.steps[k] = unsafe.Add(a.Ptr(), off*a.Size()), down*a.Size()
	}
	each := max(1, intoElements/n)
	for e.rows(min(rows, each), n); rows > each; e.rows(min(rows, each), n) {
		rows -= each
		for k := range e.at {
			e.at[k] = unsafe.Add(e.at[k], each*e.steps[k])
		}
	}
	clear(e.at)
	return true
}

// rows is one call of the code. It is not inlined: the collector can stop a goroutine where a
// function begins, and nowhere in assembly.
//
//go:noinline
func (e *elements) rows(rows, n int) { e.into.Run(rows, n, e.at, e.steps, e.words) }
